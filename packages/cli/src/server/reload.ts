/** Reloads the configuration file on SIGHUP and on changes, and applies its servers and clients without a restart. */

import { stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { reasonOf, SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import type { Sources } from '../settings/resolve.ts';
import { settingNames } from '../settings/schema.ts';
import { type Prepared, prepare } from './prepare.ts';
import { repeat } from './repeat.ts';
import type { Running } from './start.ts';

/** Milliseconds between checks of the file. */
const POLL_INTERVAL = 2_000;

/** The settings that take effect without a restart. */
const REPLACED: readonly (typeof settingNames)[number][] = ['servers', 'clients'];

/**
 * Reports the issues of an invalid file without applying it.
 * @param starting the server, whose start need not have ended: a signal that arrives before waits for it
 * @returns a function that stops watching
 */
export function watchConfiguration(
  sources: Sources,
  started: Prepared,
  starting: Promise<Pick<Running, 'replaceServers' | 'log'>>,
  { complain }: Pick<ProcessContext, 'complain'>,
): () => void {
  const { configFile } = started;
  if (configFile === null) return () => {};
  let current = started;
  // A start that fails is reported by its caller.
  let work: Promise<unknown> = starting.catch(() => {});

  async function reload(): Promise<void> {
    const { replaceServers, log } = await starting;
    try {
      const next = await prepare(sources);
      const others = changedSettings(started, next);
      if (others.length > 0) complain(`${others.join(', ')}: a change takes effect at the next start`);
      if (REPLACED.every((name) => isDeepStrictEqual(next.settings[name], current.settings[name]))) return;
      const { servers, clients } = next.settings;
      const settings = { ...current.settings, servers, clients };
      const merged = { ...current, serversAt: next.serversAt, settings };
      await replaceServers(merged);
      current = merged;
      log({ type: 'configuration.reloaded', servers: servers.length });
    } catch (error) {
      const issues = error instanceof SettingsError ? error.issues : [reasonOf(error)];
      log({ type: 'configuration.refused', count: issues.length, reason: issues[0] ?? '' });
      for (const issue of issues) complain(issue);
    }
  }

  const request = () => {
    work = work.then(reload).catch(() => {});
  };
  const stopPolling = pollFile(configFile, request);
  process.on('SIGHUP', request);
  return () => {
    process.off('SIGHUP', request);
    stopPolling();
  };
}

/** The settings whose values differ, and that are not replaced. */
function changedSettings(one: Prepared, other: Prepared): readonly string[] {
  return settingNames.filter(
    (name) => !REPLACED.includes(name) && !isDeepStrictEqual(one.settings[name], other.settings[name]),
  );
}

function pollFile(file: string, onChange: () => void): () => void {
  const read = () =>
    stat(file).then(
      ({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`,
      () => null,
    );
  let known: string | null = null;
  let isFirst = true;
  const look = async () => {
    const found = await read();
    // The file may be missing while an editor replaces it.
    if (found === null) return;
    if (!isFirst && found !== known) onChange();
    known = found;
    isFirst = false;
  };
  void look();
  const stop = repeat(POLL_INTERVAL, look);
  return () => void stop();
}
