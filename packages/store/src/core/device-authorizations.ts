/** Device authorizations: pending until a user decides once, polled at a limited rate. */
import type {
  DeviceAuthorizationRecord,
  DeviceAuthorizationStore,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { readJson } from '../json.ts';
import { sql } from '../sql.ts';

interface Row {
  readonly hash: string;
  readonly user_code_hash: string;
  readonly client_id: string;
  readonly scopes: string | null;
  readonly resource: string | null;
  readonly code_challenge: string;
  readonly requested_from: string | null;
  readonly created_at: number;
  readonly expires_at: number;
  readonly poll_interval: number;
  readonly outcome: DeviceAuthorizationRecord['outcome'];
  readonly code_hash: string | null;
}

export function createDeviceAuthorizationStore(database: Database): DeviceAuthorizationStore {
  return {
    async saveDeviceAuthorization(record) {
      const saved = await database.write(
        sql`INSERT INTO device_authorizations (hash, user_code_hash, client_id, scopes, resource, code_challenge, requested_from,
            created_at, expires_at, poll_interval, last_polled_at)
          VALUES (${record.hash}, ${record.userCodeHash}, ${record.clientId}, ${record.scopes === null ? null : JSON.stringify(record.scopes)},
            ${record.resource}, ${record.codeChallenge}, ${record.requestedFrom}, ${record.createdAt}, ${record.expiresAt},
            ${record.interval}, ${0})
          ON CONFLICT DO NOTHING RETURNING 1 AS one`,
      );
      return saved.length > 0;
    },
    async findDeviceAuthorizationByUserCode(userCodeHash, now) {
      const [row] = await database.read<Row>(
        sql`SELECT hash, user_code_hash, client_id, scopes, resource, code_challenge, requested_from, created_at, expires_at,
            poll_interval, outcome, code_hash
          FROM device_authorizations WHERE user_code_hash = ${userCodeHash} AND outcome IS NULL AND expires_at > ${now}`,
      );
      return row === undefined ? null : readRow(row);
    },
    async findDeviceAuthorization(hash) {
      const [row] = await database.read<Row>(
        sql`SELECT hash, user_code_hash, client_id, scopes, resource, code_challenge, requested_from, created_at, expires_at,
            poll_interval, outcome, code_hash
          FROM device_authorizations WHERE hash = ${hash}`,
      );
      return row === undefined ? null : readRow(row);
    },
    async decideDeviceAuthorization(hash, codeHash, now) {
      const decided = await database.write(
        sql`UPDATE device_authorizations SET outcome = ${codeHash === null ? 'denied' : 'approved'}, code_hash = ${codeHash}
          WHERE hash = ${hash} AND outcome IS NULL AND expires_at > ${now} RETURNING 1 AS one`,
      );
      return decided.length > 0;
    },
    recordDevicePoll: (hash, now, slower) =>
      database.transact({ steps: () => recordPoll(hash, now, slower), postgres: { lock: null } }),
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

function readRow(row: Row): DeviceAuthorizationRecord {
  return {
    hash: row.hash,
    userCodeHash: row.user_code_hash,
    clientId: row.client_id,
    scopes: row.scopes === null ? null : readJson(row.scopes),
    resource: row.resource,
    codeChallenge: row.code_challenge,
    requestedFrom: row.requested_from,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    interval: row.poll_interval,
    outcome: row.outcome,
    codeHash: row.code_hash,
  };
}
