/** Deletes obsolete rows in small steps that never hold a lock for long. */
import { randomBytes } from 'node:crypto';
import { dropExpiredDays } from './audit-days.ts';
import type { Database } from './database.ts';
import { defineQuery, sql } from './sql.ts';

/** An expired code is kept that long, so that its reuse is still recognized. Seconds. */
const CODE_RETENTION = 600;
/** The revocation of an access token is kept that long after the token expired: the clocks of guards may be slow. Seconds. */
const REVOCATION_RETENTION = 600;
/** An ended grant is kept that long: access tokens issued just before it ended still refer to it. Seconds. */
const GRANT_RETENTION = 86_400;
/** An expired client that was never used is kept that long, so that a sign-in that has begun can finish. Seconds. */
const UNUSED_CLIENT_RETENTION = 3600;
/** An expired client that holds a live grant is looked at again after that long. Seconds. */
const CLIENT_EXTENSION = 30 * 86_400;

/** Obsolete rows of a table: those whose `column`, plus the time that they are kept, has passed. */
interface Rule {
  readonly table: string;
  readonly key: string;
  readonly column: string;
  readonly retention?: number;
  /** Further conditions on the rows that are selected, by the index of the column. */
  readonly where?: string;
  /** A condition that the index does not know. */
  readonly unless?: string;
}

const HAS_LIVE_GRANT = (id: string): string =>
  `EXISTS (SELECT 1 FROM grants g WHERE g.client_id = ${id} AND g.revoked_at IS NULL AND g.id <> '' AND g.expires_at > ?)`;

/** A client with a live grant is never deleted. */
const clientRules: readonly Rule[] = [
  {
    table: 'clients',
    key: 'id',
    column: 'expires_at',
    retention: UNUSED_CLIENT_RETENTION,
    where: 'last_used_at IS NULL',
  },
  { table: 'clients', key: 'id', column: 'expires_at', where: 'last_used_at IS NOT NULL' },
  { table: 'client_metadata_documents', key: 'url', column: 'expires_at' },
];

const rules: readonly Rule[] = [
  { table: 'authorization_transactions', key: 'id', column: 'expires_at' },
  { table: 'sessions', key: 'hash', column: 'expires_at' },
  { table: 'device_authorizations', key: 'hash', column: 'expires_at', retention: CODE_RETENTION },
  { table: 'account_links', key: 'hash', column: 'expires_at' },
  { table: 'authorization_codes', key: 'hash', column: 'expires_at', retention: CODE_RETENTION },
  { table: 'revoked_access_tokens', key: 'id', column: 'expires_at', retention: REVOCATION_RETENTION },
  { table: 'grants', key: 'id', column: 'expires_at', retention: GRANT_RETENTION },
  { table: 'grants', key: 'id', column: 'revoked_at', retention: GRANT_RETENTION },
  { table: 'federated_logins', key: 'state_hash', column: 'expires_at' },
  {
    table: 'provider_tokens',
    key: 'grant_id',
    column: 'ended_at',
    retention: GRANT_RETENTION,
    // Tokens that are still to be revoked at the identity provider stay.
    unless: 'encrypted_tokens IS NOT NULL',
  },
  { table: 'status_indexes', key: 'status_index', column: 'expires_at', where: `owner_kind = 'client'` },
  { table: 'status_indexes', key: 'status_index', column: 'expires_at', where: `owner_kind = 'grant'` },
  { table: 'used_client_assertions', key: 'hash', column: 'expires_at' },
  { table: 'initial_access_tokens', key: 'id', column: 'expires_at' },
  // The tables of days are dropped.
  { table: 'ONLY audit_events', key: 'id', column: 'expires_at' },
  { table: 'rate_limits', key: 'key', column: 'full_at' },
];

function obsolete({ table, key, column, where }: Rule): string {
  const condition = where === undefined ? '' : `${where} AND `;
  return `${key} IN (SELECT ${key} FROM ${table} WHERE ${condition}${column} <= ? ORDER BY ${column} LIMIT ?)`;
}

/** Deletes at most `limit` rows. @returns how many */
type Deletion = (database: Database, now: number, limit: number) => Promise<number>;

const deletions: readonly Deletion[] = rules.map((rule) => {
  const query = defineQuery(
    `DELETE FROM ${rule.table} WHERE ${obsolete(rule)}${rule.unless === undefined ? '' : ` AND NOT (${rule.unless})`} RETURNING 1 AS one`,
  );
  const { retention = 0 } = rule;
  return async (database, now, limit) => (await database.write(query(now - retention, limit))).length;
});

/**
 * The expiry of a client with a live grant is moved on instead, so that such clients do not stay at the head of the index, to be
 * looked at by every sweep.
 */
const clientDeletions: readonly Deletion[] = clientRules.map((rule) => {
  const hasLiveGrant = HAS_LIVE_GRANT(`${rule.table}.${rule.key}`);
  const extend = defineQuery(
    `UPDATE ${rule.table} SET expires_at = ? WHERE ${obsolete(rule)} AND ${hasLiveGrant}`,
  );
  const remove = defineQuery(
    `DELETE FROM ${rule.table} WHERE ${obsolete(rule)} AND NOT ${hasLiveGrant} RETURNING 1 AS one`,
  );
  const { retention = 0 } = rule;
  return async (database, now, limit) => {
    await database.write(extend(now + CLIENT_EXTENSION, now - retention, limit, now));
    return (await database.write(remove(now - retention, limit, now))).length;
  };
});

const allDeletions: readonly Deletion[] = [...deletions, ...clientDeletions];

/** Seconds that a process which sweeps is alone, unless it says that it has finished. It renews the lease in half that time. */
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
    // Once a sweep, not once a batch: there are many days.
    if (leasedAt !== null && database.partitionsEvents) await dropExpiredDays(database, now);
    return leasedAt !== null;
  }

  return async (now, limit) => {
    if (!(await holdLease(now))) return 0;
    const counts: number[] = [];
    for (const deletion of allDeletions) counts.push(await deletion(database, now, limit));
    if (counts.every((count) => count < limit)) {
      leasedAt = null;
      await database.write(sql`DELETE FROM sweep_lease WHERE one = 1 AND holder = ${holder}`);
    }
    return counts.reduce((sum, count) => sum + count, 0);
  };
}

/** A lease that lies further ahead than any is granted was taken by a clock that was wrong. */
async function takeLease(database: Database, holder: string, now: number): Promise<boolean> {
  const taken = await database.write(
    sql`INSERT INTO sweep_lease (one, holder, expires_at) VALUES (1, ${holder}, ${now + LEASE})
      ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
      WHERE sweep_lease.holder = excluded.holder OR sweep_lease.expires_at <= ${now} OR sweep_lease.expires_at > ${now + LEASE}
      RETURNING 1 AS one`,
  );
  return taken.length > 0;
}
