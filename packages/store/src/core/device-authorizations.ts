/** Device authorizations: pending until a user decides once, polled at a limited rate. */
import type {
  DeviceAuthorizationRecord,
  DeviceAuthorizationStore,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';

const MEMBERS = `hash userCodeHash clientId scopes:json resource codeChallenge requestedFrom createdAt expiresAt pollInterval outcome
  codeHash`;
const columns = defineRecordColumns<DeviceAuthorizationRecord>(MEMBERS);
const insert = defineRecordColumns(`${MEMBERS} lastPolledAt`).insertInto(
  'device_authorizations',
  'ON CONFLICT DO NOTHING RETURNING 1 AS one',
);
const SELECT = `SELECT ${columns.select()} FROM device_authorizations`;
const byUserCode = defineQuery(`${SELECT} WHERE user_code_hash = ? AND outcome IS NULL AND expires_at > ?`);
const byHash = defineQuery(`${SELECT} WHERE hash = ?`);

export function createDeviceAuthorizationStore(database: Database): DeviceAuthorizationStore {
  return {
    saveDeviceAuthorization: (record) => database.changes(insert({ ...record, lastPolledAt: 0 })),
    findDeviceAuthorizationByUserCode: (userCodeHash, now) =>
      columns.findFirst(database, byUserCode(userCodeHash, now)),
    findDeviceAuthorization: (hash) => columns.findFirst(database, byHash(hash)),
    decideDeviceAuthorization: (hash, codeHash, now) =>
      database.changes(
        sql`UPDATE device_authorizations SET outcome = ${codeHash === null ? 'denied' : 'approved'}, code_hash = ${codeHash}
          WHERE hash = ${hash} AND outcome IS NULL AND expires_at > ${now} RETURNING 1 AS one`,
      ),
    recordDevicePoll: (hash, now, slower) => database.transact(() => recordPoll(hash, now, slower), null),
  };
}

function* recordPoll(hash: string, now: number, slower: number): Steps<boolean> {
  const early =
    yield sql`UPDATE device_authorizations SET poll_interval = poll_interval + ${slower}, last_polled_at = ${now}
    WHERE hash = ${hash} AND last_polled_at + poll_interval > ${now} RETURNING 1 AS one`;
  if (early.length > 0) return false;
  yield sql`UPDATE device_authorizations SET last_polled_at = ${now} WHERE hash = ${hash}`;
  return true;
}
