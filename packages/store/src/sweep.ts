/** Deletes obsolete rows in small batches with short locks. */
import { randomBytes } from 'node:crypto';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import { sweepDays } from './audit-days.ts';
import type { Database } from './database.ts';
import { defineQuery, sql } from './sql.ts';

/** Retention of an expired code, so that its reuse is detected. Seconds. */
const CODE_RETENTION = 600;
/** Retention of a revocation or a used proof after its expiry, because a guard or process whose clock is slow still accepts it. Seconds. */
const REFUSAL_RETENTION = 600;
/** Retention of a revoked or expired grant: access tokens issued just before still refer to it. Seconds. */
const GRANT_RETENTION = 86_400;
/** Retention of a counted hour: a year, and the month that is compared with. Seconds. */
const HOUR_RETENTION = 400 * 86_400;
/** Retention of an expired client that was never used, so that a pending authorization can complete. Seconds. */
const UNUSED_CLIENT_RETENTION = 3600;
/** Delay before an expired client with a live grant is checked again. Seconds. */
const CLIENT_EXTENSION = 30 * 86_400;

/** Obsolete rows of a table: those whose `column` plus `retention` has passed. */
interface Rule {
  readonly table: string;
  /** The columns of its primary key. */
  readonly key: string;
  readonly column: string;
  readonly retention?: number;
  /** Further conditions on the rows that are selected, by the index of the column. */
  readonly where?: string;
  /** A condition that is not covered by the index. */
  readonly unless?: string;
}

const HAS_LIVE_GRANT = (id: string): string =>
  `EXISTS (SELECT 1 FROM grants g WHERE g.client_id = ${id} AND g.revoked_at IS NULL AND g.id <> '' AND g.expires_at > ?)`;

/** A client with a live grant is never deleted, nor a metadata document that is verified. */
const clientRules: readonly Rule[] = [
  {
    table: 'clients',
    key: 'id',
    column: 'expires_at',
    retention: UNUSED_CLIENT_RETENTION,
    where: 'last_used_at IS NULL',
  },
  { table: 'clients', key: 'id', column: 'expires_at', where: 'last_used_at IS NOT NULL' },
  { table: 'client_metadata_documents', key: 'url', column: 'expires_at', unless: 'verified_at IS NOT NULL' },
];

const rules: readonly Rule[] = [
  { table: 'authorization_transactions', key: 'id', column: 'expires_at' },
  { table: 'sessions', key: 'hash', column: 'expires_at' },
  { table: 'device_authorizations', key: 'hash', column: 'expires_at', retention: CODE_RETENTION },
  { table: 'approvals', key: 'id', column: 'expires_at' },
  { table: 'account_links', key: 'hash', column: 'expires_at' },
  { table: 'authorization_codes', key: 'hash', column: 'expires_at', retention: CODE_RETENTION },
  { table: 'revoked_access_tokens', key: 'id', column: 'expires_at', retention: REFUSAL_RETENTION },
  { table: 'grants', key: 'id', column: 'expires_at', retention: GRANT_RETENTION },
  { table: 'grants', key: 'id', column: 'revoked_at', retention: GRANT_RETENTION },
  { table: 'federated_logins', key: 'state_hash', column: 'expires_at' },
  {
    table: 'provider_tokens',
    key: 'grant_id',
    column: 'ended_at',
    retention: GRANT_RETENTION,
    // Tokens with a pending revocation at their issuer are retained.
    unless: 'encrypted_tokens IS NOT NULL',
  },
  {
    table: 'connected_accounts',
    key: 'grant_id, backend',
    column: 'ended_at',
    retention: GRANT_RETENTION,
    unless: 'encrypted_tokens IS NOT NULL',
  },
  { table: 'used_client_assertions', key: 'hash', column: 'expires_at', retention: REFUSAL_RETENTION },
  { table: 'initial_access_tokens', key: 'id', column: 'expires_at' },
  { table: 'scim_tokens', key: 'id', column: 'expires_at' },
  // Daily tables are dropped instead: `sweepDays`.
  { table: 'ONLY audit_events', key: 'id', column: 'expires_at' },
  { table: 'rate_limits', key: 'key', column: 'full_at' },
  { table: 'event_hours', key: 'at', column: 'at', retention: HOUR_RETENTION },
];

function obsolete({ table, key, column, where }: Rule): string {
  const condition = where === undefined ? '' : `${where} AND `;
  return `(${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition}${column} <= ? ORDER BY ${column} LIMIT ?)`;
}

/** Deletes at most `limit` rows. @returns how many */
type Deletion = (database: Database, now: number, limit: number) => Promise<number>;

const deletions: readonly Deletion[] = rules.map((rule) => {
  const query = defineQuery(
    `DELETE FROM ${rule.table} WHERE ${obsolete(rule)}${rule.unless === undefined ? '' : ` AND NOT (${rule.unless})`} RETURNING 1 AS one`,
  );
  const { retention = 0 } = rule;
  return async (database, now, limit) => (await database.writeRows(query(now - retention, limit))).length;
});

/**
 * The expiry of a client with a live grant is postponed instead, so that such clients do not stay at the head of the index, read
 * by every sweep.
 */
const clientDeletions: readonly Deletion[] = clientRules.map((rule) => {
  const hasLiveGrant = HAS_LIVE_GRANT(`${rule.table}.${rule.key}`);
  const isRetained = rule.unless === undefined ? hasLiveGrant : `(${hasLiveGrant} OR ${rule.unless})`;
  const extend = defineQuery(
    `UPDATE ${rule.table} SET expires_at = ? WHERE ${obsolete(rule)} AND ${isRetained}`,
  );
  const remove = defineQuery(
    `DELETE FROM ${rule.table} WHERE ${obsolete(rule)} AND NOT ${isRetained} RETURNING 1 AS one`,
  );
  const { retention = 0 } = rule;
  return async (database, now, limit) => {
    await database.write(extend(now + CLIENT_EXTENSION, now - retention, limit, now));
    return (await database.writeRows(remove(now - retention, limit, now))).length;
  };
});

const allDeletions: readonly Deletion[] = [...deletions, ...clientDeletions];

/** Duration of the sweeper's lease in seconds, renewed at half time and released when the sweep ends. */
const LEASE = 60;

/**
 * A sweep: deletes at most `limit` rows by each rule, and returns how many. Processes that share the database sweep one at a time:
 * another gets 0.
 */
export function createSweep(database: Database): (now: number, limit: number) => Promise<number> {
  const holder = randomBytes(9).toString('base64url');
  let leasedAt: number | null = null;

  async function holdLease(now: number): Promise<boolean> {
    if (leasedAt !== null && Math.abs(now - leasedAt) < LEASE / 2) return true;
    leasedAt = (await takeLease(database, holder, now)) ? now : null;
    return leasedAt !== null;
  }

  return async (now, limit) => {
    if (!(await holdLease(now))) return 0;
    const counts: number[] = [];
    for (const deletion of allDeletions) counts.push(await deletion(database, now, limit));
    if (counts.every((count) => count < limit)) {
      leasedAt = null;
      await database.write(sql`DELETE FROM sweep_lease WHERE one = 1 AND holder = ${holder}`);
      // Once per sweep, not per batch, as there are many daily tables; and last, as one of them may be locked, by a backup for example.
      if (database.partitionsEvents) counts.push(await sweepDays(database, now, limit));
    }
    return counts.reduce((sum, count) => sum + count, 0);
  };
}

/** A lease further ahead than the maximum duration was acquired by a process with a wrong clock. */
function takeLease(database: Database, holder: string, now: number): Promise<boolean> {
  const lease = sql`INSERT INTO sweep_lease (one, holder, expires_at) VALUES (1, ${holder}, ${now + LEASE})
      ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
      WHERE sweep_lease.holder = excluded.holder OR sweep_lease.expires_at <= ${now} OR sweep_lease.expires_at > ${now + LEASE + SKEW_TOLERANCE}
      RETURNING 1 AS one`;
  return database.changes(lease);
}
