/** Reloads the configuration file on SIGHUP and on changes, and applies its servers and clients without a restart. */
import { type Stats, unwatchFile, watchFile } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { reasonOf, SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import type { Sources } from '../settings/resolve.ts';
import { settingNames } from '../settings/schema.ts';
import { type Prepared, prepare } from './prepare.ts';
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
  const onStat = ({ mtimeMs }: Stats) => {
    // The file may be missing while an editor replaces it.
    if (mtimeMs !== 0) request();
  };
  watchFile(configFile, { interval: POLL_INTERVAL, persistent: false }, onStat);
  process.on('SIGHUP', request);
  return () => {
    process.off('SIGHUP', request);
    unwatchFile(configFile, onStat);
  };
}

/** The settings whose values differ, and that are not replaced. */
function changedSettings(one: Prepared, other: Prepared): readonly string[] {
  return settingNames.filter(
    (name) => !REPLACED.includes(name) && !isDeepStrictEqual(one.settings[name], other.settings[name]),
  );
}
