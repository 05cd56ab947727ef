/** Provider tokens: stored with a transaction, refreshed by one process at a time, and revoked at the provider by an outbox of jobs. */
import type {
  FederationStore,
  ProviderTokensEndReason,
  ProviderTokensRecord,
  RefreshedProviderTokens,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { readJson } from '../json.ts';
import { defineQuery, type Query, sql } from '../sql.ts';

interface ProviderTokensRow {
  readonly grant_id: string;
  readonly backend_grant_id: string | null;
  readonly account_id: string;
  readonly identity_provider: string;
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | null;
  readonly encrypted_tokens: Uint8Array | null;
  readonly data_key_id: string;
  readonly scopes: string;
  readonly expires_at: number | null;
  readonly is_refreshable: number;
  readonly refresh_from: number | null;
  readonly checked_at: number;
  readonly version: number;
  readonly lease_holder: string | null;
  readonly lease_until: number | null;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly end_reason: string | null;
  readonly due_at: number | null;
  readonly revocation_attempts: number;
}

const COLUMNS = `grant_id, backend_grant_id, account_id, identity_provider, issuer, subject, name, encrypted_tokens, data_key_id, scopes, expires_at,
  is_refreshable, refresh_from, checked_at, version, lease_holder, lease_until, created_at, ended_at, end_reason, due_at, revocation_attempts`;

const tokensByGrant = defineQuery(`SELECT ${COLUMNS} FROM provider_tokens WHERE grant_id = ?`);
const tokensByAccount = defineQuery(
  `SELECT ${COLUMNS} FROM provider_tokens WHERE account_id = ? AND ended_at IS NULL ORDER BY created_at, grant_id`,
);
const tokensByBackendGrant = defineQuery(
  `SELECT ${COLUMNS} FROM provider_tokens WHERE backend_grant_id = ? AND ended_at IS NULL ORDER BY created_at, grant_id`,
);
const claimDue =
  defineQuery(`UPDATE provider_tokens SET due_at = ?, revocation_attempts = revocation_attempts + 1
  WHERE due_at <= ? AND grant_id IN
    (SELECT grant_id FROM provider_tokens WHERE due_at <= ? AND ended_at IS NOT NULL ORDER BY due_at LIMIT ?)
  RETURNING ${COLUMNS}`);

export function createProviderTokensStore(
  database: Database,
): ProviderTokensOperations & RefreshStore & RevocationJobStore {
  return {
    ...createProviderTokensOperations(database),
    ...createRefreshStore(database),
    ...createRevocationJobStore(database),
  };
}

type ProviderTokensOperations = Pick<
  FederationStore,
  | 'saveProviderTokens'
  | 'saveBackendTokens'
  | 'saveEndedProviderTokens'
  | 'hasProviderTokens'
  | 'findProviderTokens'
  | 'listProviderTokens'
  | 'listBackendTokens'
  | 'recordProviderTokensCheck'
  | 'endProviderTokens'
  | 'countProviderTokensOfIdentity'
>;

function createProviderTokensOperations(database: Database): ProviderTokensOperations {
  return {
    saveProviderTokens: (transactionId, tokens) =>
      database.transact({ steps: () => save(transactionId, tokens), postgres: { lock: null } }),
    saveBackendTokens: (tokens, transactionId) =>
      database.transact({ steps: () => saveOfBackend(tokens, transactionId), postgres: { lock: null } }),
    async saveEndedProviderTokens(tokens) {
      await database.write(insertProviderTokens(tokens));
    },
    async hasProviderTokens() {
      const rows = await database.read(
        sql`SELECT 1 AS one FROM provider_tokens WHERE ended_at IS NULL LIMIT 1`,
      );
      return rows.length > 0;
    },
    async findProviderTokens(grantId) {
      const [row] = await database.read<ProviderTokensRow>(tokensByGrant(grantId));
      return row === undefined ? null : readProviderTokens(row);
    },
    async listProviderTokens(accountId) {
      return (await database.read<ProviderTokensRow>(tokensByAccount(accountId))).map(readProviderTokens);
    },
    async listBackendTokens(grantId) {
      return (await database.read<ProviderTokensRow>(tokensByBackendGrant(grantId))).map(readProviderTokens);
    },
    async recordProviderTokensCheck(grantId, at) {
      await database.write(
        sql`UPDATE provider_tokens SET checked_at = ${at} WHERE grant_id = ${grantId} AND checked_at < ${at}`,
      );
    },
    endProviderTokens: (grantId, version, reason, at) =>
      database.transact({ steps: () => end(grantId, version, reason, at), postgres: { lock: null } }),
    async countProviderTokensOfIdentity(issuer, subject, except) {
      const rows = await database.read(
        sql`SELECT grant_id FROM provider_tokens WHERE issuer = ${issuer} AND subject = ${subject} AND ended_at IS NULL
          AND grant_id <> ${except}`,
      );
      return rows.length;
    },
  };
}

function* save(transactionId: string, tokens: ProviderTokensRecord): Steps<boolean> {
  const linked =
    yield sql`UPDATE authorization_transactions SET account_id = ${tokens.accountId}, network = NULL, identity_provider = ${tokens.identityProvider},
      linked_grant_id = ${tokens.grantId}
    WHERE id = ${transactionId} RETURNING 1 AS one`;
  if (linked.length === 0) return false;
  yield insertProviderTokens(tokens);
  return true;
}

function* saveOfBackend(tokens: ProviderTokensRecord, transactionId: string | null): Steps<boolean> {
  const { grantId, backendGrantId, accountId } = tokens;
  const linked = yield transactionId === null
    ? sql`UPDATE grants SET revoked_at = NULL
        WHERE id = ${backendGrantId} AND account_id = ${accountId} AND revoked_at IS NULL AND expires_at > ${tokens.createdAt} RETURNING 1 AS one`
    : sql`UPDATE authorization_transactions SET linked_grant_id = ${backendGrantId}
        WHERE id = ${transactionId} AND (linked_grant_id IS NULL OR linked_grant_id = ${backendGrantId}) RETURNING 1 AS one`;
  if (linked.length === 0) return false;
  const [replaced] =
    (yield sql`DELETE FROM provider_tokens WHERE grant_id = ${grantId} RETURNING version`) as readonly Pick<
      ProviderTokensRow,
      'version'
    >[];
  yield insertProviderTokens({ ...tokens, version: (replaced?.version ?? 0) + 1 });
  return true;
}

function insertProviderTokens(tokens: ProviderTokensRecord): Query {
  return sql`INSERT INTO provider_tokens (grant_id, backend_grant_id, account_id, identity_provider, issuer, subject, name, encrypted_tokens, data_key_id, scopes,
      expires_at, is_refreshable, refresh_from, checked_at, version, lease_holder, lease_until, created_at, ended_at, end_reason, due_at,
      revocation_attempts)
    VALUES (${tokens.grantId}, ${tokens.backendGrantId}, ${tokens.accountId}, ${tokens.identityProvider}, ${tokens.issuer}, ${tokens.subject}, ${tokens.name},
      ${tokens.encryptedTokens}, ${tokens.dataKeyId}, ${JSON.stringify(tokens.scopes)}, ${tokens.expiresAt},
      ${Number(tokens.isRefreshable)}, ${tokens.refreshFrom}, ${tokens.checkedAt}, ${tokens.version}, ${tokens.leaseHolder}, ${tokens.leaseUntil},
      ${tokens.createdAt}, ${tokens.endedAt}, ${tokens.endReason}, ${tokens.dueAt}, ${tokens.revocationAttempts})`;
}

function* end(grantId: string, version: number, reason: ProviderTokensEndReason, at: number): Steps<boolean> {
  const ended = yield sql`UPDATE provider_tokens SET ended_at = ${at}, end_reason = ${reason}, due_at = ${at}
    WHERE grant_id = ${grantId} AND version = ${version} AND ended_at IS NULL RETURNING 1 AS one`;
  if (ended.length === 0) return false;
  // The identifier of a backend's tokens is not that of a grant.
  yield sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND revoked_at IS NULL`;
  return true;
}

type RefreshStore = Pick<
  FederationStore,
  'leaseProviderTokens' | 'saveRefreshedProviderTokens' | 'releaseProviderTokens'
>;

function createRefreshStore(database: Database): RefreshStore {
  return {
    async leaseProviderTokens(grantId, version, holder, now, until) {
      const leased = await database.write(
        sql`UPDATE provider_tokens SET lease_holder = ${holder}, lease_until = ${until}
          WHERE grant_id = ${grantId} AND version = ${version} AND ended_at IS NULL
            AND (lease_until IS NULL OR lease_until <= ${now}) RETURNING 1 AS one`,
      );
      return leased.length > 0;
    },
    saveRefreshedProviderTokens: async (grantId, holder, tokens) =>
      (await database.write(refreshed(grantId, holder, tokens))).length > 0,
    async releaseProviderTokens(grantId, holder, until) {
      await database.write(
        sql`UPDATE provider_tokens SET lease_holder = NULL, lease_until = ${until} WHERE grant_id = ${grantId} AND lease_holder = ${holder}`,
      );
    },
  };
}

/** Tokens that were revoked during their refresh still store the new ones, which the job then revokes. */
function refreshed(grantId: string, holder: string, tokens: RefreshedProviderTokens): Query {
  return sql`UPDATE provider_tokens SET encrypted_tokens = ${tokens.encryptedTokens}, data_key_id = ${tokens.dataKeyId},
      scopes = ${JSON.stringify(tokens.scopes)}, expires_at = ${tokens.expiresAt},
      is_refreshable = ${Number(tokens.isRefreshable)}, refresh_from = ${tokens.refreshFrom}, checked_at = ${tokens.checkedAt}, version = version + 1,
      lease_holder = NULL, lease_until = NULL,
      due_at = CASE WHEN ended_at IS NULL THEN due_at ELSE ended_at END
    WHERE grant_id = ${grantId} AND lease_holder = ${holder} RETURNING 1 AS one`;
}

type RevocationJobStore = Pick<
  FederationStore,
  | 'endProviderTokensOfRevokedGrants'
  | 'claimRevocationJobs'
  | 'postponeRevocationJob'
  | 'completeRevocationJob'
>;

function createRevocationJobStore(database: Database): RevocationJobStore {
  return {
    async endProviderTokensOfRevokedGrants(since, at) {
      // Starts from the few grants: with `OR`, PostgreSQL would read all provider tokens.
      const ended = await database.write(
        sql`UPDATE provider_tokens SET ended_at = ${at}, end_reason = 'revoked_here', due_at = ${at}
          WHERE ended_at IS NULL AND grant_id IN (
            SELECT id FROM grants WHERE revoked_at >= ${since}
            UNION ALL SELECT t.grant_id FROM grants g JOIN provider_tokens t ON t.backend_grant_id = g.id WHERE g.revoked_at >= ${since}
          ) RETURNING 1 AS one`,
      );
      return ended.length;
    },
    claimRevocationJobs: (now, until, limit) =>
      database.transact({ steps: () => claim(now, until, limit), postgres: { lock: null } }),
    async postponeRevocationJob(grantId, until) {
      await database.write(
        sql`UPDATE provider_tokens SET due_at = ${until} WHERE grant_id = ${grantId} AND ended_at IS NOT NULL`,
      );
    },
    async completeRevocationJob(grantId) {
      await database.write(
        sql`UPDATE provider_tokens SET encrypted_tokens = NULL, due_at = NULL WHERE grant_id = ${grantId} AND ended_at IS NOT NULL`,
      );
    },
  };
}

/** Postpones tokens that are due while their grant is live until the grant expires. */
function* claim(now: number, until: number, limit: number): Steps<readonly ProviderTokensRecord[]> {
  yield sql`UPDATE provider_tokens SET due_at =
      (SELECT g.expires_at FROM grants g WHERE g.id = COALESCE(provider_tokens.backend_grant_id, provider_tokens.grant_id))
    WHERE ended_at IS NULL AND due_at <= ${now}
      AND EXISTS (SELECT 1 FROM grants g WHERE g.id = COALESCE(provider_tokens.backend_grant_id, provider_tokens.grant_id)
        AND g.revoked_at IS NULL AND g.expires_at > ${now})`;
  yield sql`UPDATE provider_tokens SET ended_at = ${now}, end_reason = 'grant_expired' WHERE ended_at IS NULL AND due_at <= ${now}`;
  const claimed = yield claimDue(until, now, now, limit);
  return (claimed as readonly ProviderTokensRow[]).map(readProviderTokens);
}

function readProviderTokens(row: ProviderTokensRow): ProviderTokensRecord {
  return {
    grantId: row.grant_id,
    backendGrantId: row.backend_grant_id,
    accountId: row.account_id,
    identityProvider: row.identity_provider,
    issuer: row.issuer,
    subject: row.subject,
    name: row.name,
    encryptedTokens: row.encrypted_tokens === null ? null : new Uint8Array(row.encrypted_tokens),
    dataKeyId: row.data_key_id,
    scopes: readJson(row.scopes),
    expiresAt: row.expires_at,
    isRefreshable: row.is_refreshable === 1,
    refreshFrom: row.refresh_from,
    checkedAt: row.checked_at,
    version: row.version,
    leaseHolder: row.lease_holder,
    leaseUntil: row.lease_until,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    endReason: row.end_reason as ProviderTokensEndReason | null,
    dueAt: row.due_at,
    revocationAttempts: row.revocation_attempts,
  };
}
