/** Counted hours of the audit log: one row for each hour, long after its events have expired. */
import type {
  EventHour,
  EventHourKeys,
  EventHourStore,
  LiveCounts,
} from '@portcullis/authorization-server/store';
import type { Database } from './database.ts';
import { defineRecordColumns } from './record-columns.ts';
import { defineQuery } from './sql.ts';

const hours = defineRecordColumns<EventHour>('at counts:json');
const keys = defineRecordColumns<EventHourKeys>('at keys:bytes');

const save = defineQuery(`INSERT INTO event_hours (at, counts, keys) VALUES (?, ?, ?)
  ON CONFLICT (at) DO UPDATE SET counts = excluded.counts, keys = excluded.keys`);
const list = defineQuery(`SELECT ${hours.select()} FROM event_hours WHERE at >= ? AND at < ? ORDER BY at`);
const listKeys = defineQuery(
  `SELECT ${keys.select()} FROM event_hours WHERE at >= ? AND at < ? ORDER BY at DESC`,
);
/** Counts live records: those that have not expired, less those that have ended; each count reads an index only. */
const count = defineQuery(`SELECT
  (SELECT COUNT(*) FROM grants WHERE expires_at > ?) - (SELECT COUNT(*) FROM grants WHERE revoked_at IS NOT NULL) AS grants,
  (SELECT COUNT(*) FROM clients WHERE id > '') - (SELECT COUNT(*) FROM clients WHERE last_used_at IS NULL AND expires_at IS NOT NULL) AS clients,
  (SELECT COUNT(*) FROM sessions WHERE expires_at > ?) AS sessions`);

export function createEventHourStore(database: Database): EventHourStore {
  return {
    saveEventHour: (hour) => database.write(save(hour.at, JSON.stringify(hour.counts), hour.keys)),
    listEventHours: (from, before) => hours.findAll(database, list(from, before)),
    listEventHourKeys: (from, before) => keys.findAll(database, listKeys(from, before)),
    async countLive(now) {
      const [row] = await database.read<LiveCounts>(count(now, now));
      // PostgreSQL returns large integers as text. A grant that is revoked and has expired counts twice.
      const read = (value: number | undefined) => Math.max(0, Number(value ?? 0));
      return {
        grants: read(row?.grants),
        clients: read(row?.clients),
        sessions: read(row?.sessions),
      };
    },
  };
}
