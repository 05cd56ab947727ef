/** Runs administration on the database of running servers, and records every change in the audit log. */
import { type AuditLog, createAuditLog, type EventSink } from '@portcullis/authorization-server';
import type { FullStore } from '@portcullis/store';
import { SettingsError } from '../errors.ts';
import { openBesideServers } from '../server/storage.ts';
import { issuerAt, type Settings, titleOf } from '../settings/schema.ts';
import type { Installation } from './installation.ts';

export interface Tools {
  readonly store: FullStore;
  /** Writes to the audit log, unless it is disabled. */
  readonly events: EventSink;
  /** The same for events of another component. */
  readonly recordOf: AuditLog['recordOf'];
  /** Epoch seconds. */
  readonly clock: () => number;
}

/**
 * Runs a task on the store, and closes it.
 * @throws SettingsError naming the setting
 */
export async function withStore<T>(
  { settings, folder }: Installation,
  task: (tools: Tools) => Promise<T>,
): Promise<T> {
  process.umask(0o077);
  const store = await openBesideServers(settings, folder);
  const clock = () => Math.floor(Date.now() / 1000);
  const auditLog = createAuditLog(store, settings.auditRetention || 0, clock);
  try {
    return await task({
      store,
      clock,
      ...(settings.auditRetention === false
        ? { events: () => {}, recordOf: () => {} }
        : { events: auditLog.record, recordOf: auditLog.recordOf }),
    });
  } finally {
    await auditLog.close();
    await store.close();
  }
}

/** The public URL of the server, for links. */
export function issuerOf(settings: Settings): string {
  const { publicUrl, port } = settings;
  if (publicUrl !== null || port !== 0) return issuerAt(port, settings);
  throw new SettingsError([
    `${titleOf('publicUrl')} must be set: with port 0 the URL of the server is unknown`,
  ]);
}
