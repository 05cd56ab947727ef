/** Bonds with third parties as facts of a database: how they are made, renewed by one process at a time, and ended there too. */
import type {
  FederationStore,
  ProviderTokensEndReason,
  ProviderTokensRecord,
  RefreshedProviderTokens,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { readJson } from './json.ts';
import { defineQuery, type Query, sql } from './sql.ts';

interface ProviderTokensRow {
  readonly grant_id: string;
  readonly account_id: string;
  readonly third_party: string;
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | null;
  readonly sealed_tokens: Uint8Array | null;
  readonly data_key_id: string;
  readonly scopes: string;
  readonly expires_at: number | null;
  readonly is_renewable: number;
  readonly renew_from: number | null;
  readonly checked_at: number;
  readonly version: number;
  readonly lease_holder: string | null;
  readonly lease_until: number | null;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly end_reason: string | null;
  readonly due_at: number | null;
  readonly farewells: number;
}

const COLUMNS = `grant_id, account_id, third_party, issuer, subject, name, sealed_tokens, data_key_id, scopes, expires_at,
  is_renewable, renew_from, checked_at, version, lease_holder, lease_until, created_at, ended_at, end_reason, due_at, farewells`;

const providerTokensByGrant = defineQuery(`SELECT ${COLUMNS} FROM bonds WHERE grant_id = ?`);
const providerTokensByAccount = defineQuery(
  `SELECT ${COLUMNS} FROM bonds WHERE account_id = ? AND ended_at IS NULL ORDER BY created_at, grant_id`,
);
const claimDue = defineQuery(`UPDATE bonds SET due_at = ?, farewells = farewells + 1
  WHERE due_at <= ? AND grant_id IN
    (SELECT grant_id FROM bonds WHERE due_at <= ? AND ended_at IS NOT NULL ORDER BY due_at LIMIT ?)
  RETURNING ${COLUMNS}`);

export function createProviderTokensStore(
  database: Database,
): ProviderTokensFacts & RenewalStore & RevocationJobStore {
  return {
    ...createProviderTokensFacts(database),
    ...createRenewalStore(database),
    ...createRevocationJobStore(database),
  };
}

type ProviderTokensFacts = Pick<
  FederationStore,
  | 'saveProviderTokens'
  | 'saveEndedProviderTokens'
  | 'hasProviderTokens'
  | 'findProviderTokens'
  | 'listProviderTokens'
  | 'recordProviderTokensCheck'
  | 'endProviderTokens'
  | 'countProviderTokensOfIdentity'
>;

function createProviderTokensFacts(database: Database): ProviderTokensFacts {
  return {
    saveProviderTokens: (transactionId, providerTokens) =>
      database.fact({ steps: () => bind(transactionId, providerTokens), postgres: { lock: null } }),
    async saveEndedProviderTokens(providerTokens) {
      await database.change(insertProviderTokens(providerTokens));
    },
    async hasProviderTokens() {
      const rows = await database.read(sql`SELECT 1 AS one FROM bonds WHERE ended_at IS NULL LIMIT 1`);
      return rows.length > 0;
    },
    async findProviderTokens(grantId) {
      const [row] = await database.read<ProviderTokensRow>(providerTokensByGrant(grantId));
      return row === undefined ? null : readProviderTokens(row);
    },
    async listProviderTokens(accountId) {
      return (await database.read<ProviderTokensRow>(providerTokensByAccount(accountId))).map(
        readProviderTokens,
      );
    },
    async recordProviderTokensCheck(grantId, at) {
      await database.change(
        sql`UPDATE bonds SET checked_at = ${at} WHERE grant_id = ${grantId} AND checked_at < ${at}`,
      );
    },
    endProviderTokens: (grantId, version, reason, at) =>
      database.fact({ steps: () => end(grantId, version, reason, at), postgres: { lock: null } }),
    async countProviderTokensOfIdentity(issuer, subject, except) {
      const rows = await database.read(
        sql`SELECT grant_id FROM bonds WHERE issuer = ${issuer} AND subject = ${subject} AND ended_at IS NULL
          AND grant_id <> ${except}`,
      );
      return rows.length;
    },
  };
}

function* bind(transactionId: string, providerTokens: ProviderTokensRecord): Steps<boolean> {
  const bound =
    yield sql`UPDATE transactions SET account_id = ${providerTokens.accountId}, third_party = ${providerTokens.identityProvider},
      bond = ${providerTokens.grantId}
    WHERE id = ${transactionId} RETURNING 1 AS one`;
  if (bound.length === 0) return false;
  yield insertProviderTokens(providerTokens);
  return true;
}

function insertProviderTokens(providerTokens: ProviderTokensRecord): Query {
  return sql`INSERT INTO bonds (grant_id, account_id, third_party, issuer, subject, name, sealed_tokens, data_key_id, scopes,
      expires_at, is_renewable, renew_from, checked_at, version, lease_holder, lease_until, created_at, ended_at, end_reason, due_at,
      farewells)
    VALUES (${providerTokens.grantId}, ${providerTokens.accountId}, ${providerTokens.identityProvider}, ${providerTokens.issuer}, ${providerTokens.subject}, ${providerTokens.name},
      ${providerTokens.encryptedTokens}, ${providerTokens.dataKeyId}, ${JSON.stringify(providerTokens.scopes)}, ${providerTokens.expiresAt},
      ${Number(providerTokens.isRefreshable)}, ${providerTokens.refreshFrom}, ${providerTokens.checkedAt}, ${providerTokens.version}, ${providerTokens.leaseHolder}, ${providerTokens.leaseUntil},
      ${providerTokens.createdAt}, ${providerTokens.endedAt}, ${providerTokens.endReason}, ${providerTokens.dueAt}, ${providerTokens.revocationAttempts})`;
}

function* end(grantId: string, version: number, reason: ProviderTokensEndReason, at: number): Steps<boolean> {
  const ended = yield sql`UPDATE bonds SET ended_at = ${at}, end_reason = ${reason}, due_at = ${at}
    WHERE grant_id = ${grantId} AND version = ${version} AND ended_at IS NULL RETURNING 1 AS one`;
  if (ended.length === 0) return false;
  yield sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND revoked_at IS NULL`;
  return true;
}

type RenewalStore = Pick<
  FederationStore,
  'leaseProviderTokens' | 'saveRefreshedProviderTokens' | 'releaseProviderTokens'
>;

function createRenewalStore(database: Database): RenewalStore {
  return {
    async leaseProviderTokens(grantId, version, holder, now, until) {
      const leased = await database.change(
        sql`UPDATE bonds SET lease_holder = ${holder}, lease_until = ${until}
          WHERE grant_id = ${grantId} AND version = ${version} AND ended_at IS NULL
            AND (lease_until IS NULL OR lease_until <= ${now}) RETURNING 1 AS one`,
      );
      return leased.length > 0;
    },
    async saveRefreshedProviderTokens(grantId, holder, renewed) {
      return (await database.change(renewal(grantId, holder, renewed))).length > 0;
    },
    async releaseProviderTokens(grantId, holder, until) {
      await database.change(
        sql`UPDATE bonds SET lease_holder = NULL, lease_until = ${until} WHERE grant_id = ${grantId} AND lease_holder = ${holder}`,
      );
    },
  };
}

/** A bond that ended while it was being renewed is kept with its new tokens: those are the ones to revoke. */
function renewal(grantId: string, holder: string, renewed: RefreshedProviderTokens): Query {
  return sql`UPDATE bonds SET sealed_tokens = ${renewed.encryptedTokens}, data_key_id = ${renewed.dataKeyId},
      scopes = ${JSON.stringify(renewed.scopes)}, expires_at = ${renewed.expiresAt},
      is_renewable = ${Number(renewed.isRefreshable)}, renew_from = ${renewed.refreshFrom}, checked_at = ${renewed.checkedAt}, version = version + 1,
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
      const ended = await database.change(
        sql`UPDATE bonds SET ended_at = ${at}, end_reason = 'revoked_here', due_at = ${at}
          WHERE ended_at IS NULL AND grant_id IN (SELECT id FROM grants WHERE revoked_at >= ${since}) RETURNING 1 AS one`,
      );
      return ended.length;
    },
    claimRevocationJobs: (now, until, limit) =>
      database.fact({ steps: () => claim(now, until, limit), postgres: { lock: null } }),
    async postponeRevocationJob(grantId, until) {
      await database.change(
        sql`UPDATE bonds SET due_at = ${until} WHERE grant_id = ${grantId} AND ended_at IS NOT NULL`,
      );
    },
    async completeRevocationJob(grantId) {
      await database.change(
        sql`UPDATE bonds SET sealed_tokens = NULL, due_at = NULL WHERE grant_id = ${grantId} AND ended_at IS NOT NULL`,
      );
    },
  };
}

/** A bond that is due and whose grant stands is looked at again when that grant expires. */
function* claim(now: number, until: number, limit: number): Steps<readonly ProviderTokensRecord[]> {
  yield sql`UPDATE bonds SET due_at = (SELECT g.expires_at FROM grants g WHERE g.id = bonds.grant_id)
    WHERE ended_at IS NULL AND due_at <= ${now}
      AND EXISTS (SELECT 1 FROM grants g WHERE g.id = bonds.grant_id AND g.revoked_at IS NULL AND g.expires_at > ${now})`;
  yield sql`UPDATE bonds SET ended_at = ${now}, end_reason = 'grant_expired' WHERE ended_at IS NULL AND due_at <= ${now}`;
  const claimed = yield claimDue(until, now, now, limit);
  return (claimed as readonly ProviderTokensRow[]).map(readProviderTokens);
}

function readProviderTokens(row: ProviderTokensRow): ProviderTokensRecord {
  return {
    grantId: row.grant_id,
    accountId: row.account_id,
    identityProvider: row.third_party,
    issuer: row.issuer,
    subject: row.subject,
    name: row.name,
    encryptedTokens: row.sealed_tokens === null ? null : new Uint8Array(row.sealed_tokens),
    dataKeyId: row.data_key_id,
    scopes: readJson(row.scopes),
    expiresAt: row.expires_at,
    isRefreshable: row.is_renewable === 1,
    refreshFrom: row.renew_from,
    checkedAt: row.checked_at,
    version: row.version,
    leaseHolder: row.lease_holder,
    leaseUntil: row.lease_until,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    endReason: row.end_reason as ProviderTokensEndReason | null,
    dueAt: row.due_at,
    revocationAttempts: row.farewells,
  };
}
