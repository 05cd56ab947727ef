/** The statements of a table of stored tokens: refreshed by one process at a time, and revoked at their issuer by an outbox of jobs. */
import type {
  ProviderTokensEndReason,
  RefreshedTokens,
  UpstreamTokens,
} from '@portcullis/authorization-server/store';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery } from '../sql.ts';

const SHARED = `grantId accountId encryptedTokens:bytes dataKeyId scopes:json expiresAt isRefreshable:boolean refreshFrom checkedAt version
  leaseHolder leaseUntil createdAt endedAt endReason dueAt revocationAttempts`;

/** Seconds for which a refresh is postponed at most, by `Retry-After`. A lease is shorter, unless responses may take minutes. */
const LONGEST_PAUSE = 300;

/** A table, with the members that only its records have. */
interface TableDefinition<Key> {
  readonly table: string;
  /** The columns of its primary key. */
  readonly primaryKey: readonly string[];
  readonly keyValues: (key: Key) => readonly string[];
  /** The members, separated by spaces. */
  readonly own: string;
}

/** The operations of a table; `Key` names one of its records. */
export function createTokenTable<Own, Key>(
  database: Database,
  { table, primaryKey, keyValues, own }: TableDefinition<Key>,
) {
  const records = defineRecordColumns<UpstreamTokens & Own>(`${SHARED} ${own}`);
  const columns = records.select();
  const insert = records.insertInto(table);
  const queries = defineQueries(table, columns, primaryKey);

  function* claim(now: number, until: number, limit: number): Steps<readonly (UpstreamTokens & Own)[]> {
    yield queries.correctEnds(now, now, now + SKEW_TOLERANCE);
    yield queries.keepLive(now, now);
    yield queries.endExpired(now, now);
    return records.readAll(yield queries.claimDue(until, now, now, limit));
  }

  return {
    /** Of its `SELECT` statements. */
    columns,
    findAll: records.findAll,
    insert,
    save: (tokens: UpstreamTokens & Own) => database.write(insert(tokens)),
    find: (key: Key) => records.findFirst(database, queries.find(...keyValues(key))),
    hasLive: async () => (await database.read(queries.hasLive())).length > 0,
    lease: (key: Key, version: number, holder: string, now: number, until: number) =>
      database.changes(
        queries.lease(
          holder,
          until,
          ...keyValues(key),
          version,
          now,
          Math.max(until, now + LONGEST_PAUSE) + SKEW_TOLERANCE,
        ),
      ),
    /** Tokens that ended during a refresh keep the refreshed ones: those are the ones to revoke. */
    saveRefreshed(key: Key, holder: string, refreshed: RefreshedTokens) {
      const { encryptedTokens, dataKeyId, scopes, expiresAt, isRefreshable, refreshFrom, checkedAt } =
        refreshed;
      const tokens = [encryptedTokens, dataKeyId, JSON.stringify(scopes), expiresAt];
      const values = [...tokens, Number(isRefreshable), refreshFrom, checkedAt];
      return database.changes(queries.refresh(...values, ...keyValues(key), holder));
    },
    release: (key: Key, holder: string, until: number | null) =>
      database.write(queries.release(until, ...keyValues(key), holder)),
    end: (key: Key, version: number, reason: ProviderTokensEndReason, at: number) =>
      queries.end(at, reason, at, ...keyValues(key), version),
    endOfRevokedGrants: async (since: number, at: number) =>
      (await database.writeRows(queries.endOfRevokedGrants(at, at, since))).length,
    claim: (now: number, until: number, limit: number) =>
      database.transact(() => claim(now, until, limit), null),
    postpone: (key: Key, until: number) => database.write(queries.postpone(until, ...keyValues(key))),
    complete: (key: Key, version: number) => database.write(queries.complete(...keyValues(key), version)),
  };
}

function defineQueries(table: string, columns: string, primaryKey: readonly string[]) {
  const key = primaryKey.map((column) => `${column} = ?`).join(' AND ');
  const keys = primaryKey.join(', ');
  const update = (set: string, where: string) => defineQuery(`UPDATE ${table} SET ${set} WHERE ${where}`);
  return {
    find: defineQuery(`SELECT ${columns} FROM ${table} WHERE ${key}`),
    hasLive: defineQuery(`SELECT 1 AS one FROM ${table} WHERE ended_at IS NULL LIMIT 1`),
    /** A lease further ahead than the longest was acquired by a process with a wrong clock. */
    lease: update(
      'lease_holder = ?, lease_until = ?',
      `${key} AND version = ? AND ended_at IS NULL AND (lease_until IS NULL OR lease_until <= ? OR lease_until > ?) RETURNING 1 AS one`,
    ),
    refresh: update(
      `encrypted_tokens = ?, data_key_id = ?, scopes = ?, expires_at = ?, is_refreshable = ?, refresh_from = ?, checked_at = ?,
        version = version + 1, lease_holder = NULL, lease_until = NULL, due_at = CASE WHEN ended_at IS NULL THEN due_at ELSE ended_at END`,
      `${key} AND lease_holder = ? RETURNING 1 AS one`,
    ),
    release: update('lease_holder = NULL, lease_until = ?', `${key} AND lease_holder = ?`),
    end: update(
      'ended_at = ?, end_reason = ?, due_at = ?',
      `${key} AND version = ? AND ended_at IS NULL RETURNING 1 AS one`,
    ),
    endOfRevokedGrants: update(
      "ended_at = ?, end_reason = 'revoked_here', due_at = ?",
      'ended_at IS NULL AND grant_id IN (SELECT id FROM grants WHERE revoked_at >= ?) RETURNING 1 AS one',
    ),
    /** Tokens that a process with a wrong clock ended are due now. */
    correctEnds: update(
      'ended_at = ?, due_at = CASE WHEN due_at IS NULL THEN due_at ELSE ? END',
      'ended_at > ?',
    ),
    /** Tokens that are due while their grant is live are checked again when the grant expires. */
    keepLive: update(
      `due_at = (SELECT g.expires_at FROM grants g WHERE g.id = ${table}.grant_id)`,
      `ended_at IS NULL AND due_at <= ? AND EXISTS
        (SELECT 1 FROM grants g WHERE g.id = ${table}.grant_id AND g.revoked_at IS NULL AND g.expires_at > ?)`,
    ),
    endExpired: update("ended_at = ?, end_reason = 'grant_expired'", 'ended_at IS NULL AND due_at <= ?'),
    claimDue: update(
      'due_at = ?, revocation_attempts = revocation_attempts + 1',
      `due_at <= ? AND (${keys}) IN
        (SELECT ${keys} FROM ${table} WHERE due_at <= ? AND ended_at IS NOT NULL ORDER BY due_at LIMIT ?) RETURNING ${columns}`,
    ),
    postpone: update('due_at = ?', `${key} AND ended_at IS NOT NULL`),
    complete: update(
      'encrypted_tokens = NULL, due_at = NULL',
      `${key} AND version = ? AND ended_at IS NOT NULL`,
    ),
  };
}
