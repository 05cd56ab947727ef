/** Authorization codes, grants and refresh tokens as facts of a database. */
import type {
  FoundCode,
  FoundGrant,
  GrantRecord,
  GrantStore,
  Redemption,
  RefreshTokenRecord,
  StandingConsent,
} from '@portcullis/authorization-server/ports';
import type { Database, Steps } from './database.ts';
import { readList } from './json.ts';
import { type Query, sql } from './sql.ts';

interface CodeRow {
  readonly hash: string;
  readonly grant_id: string;
  readonly client_id: string;
  readonly account_id: string;
  readonly redirect_uri: string | null;
  readonly code_challenge: string;
  readonly scopes: string;
  readonly resources: string;
  readonly workspace: string | null;
  readonly terms: string;
  readonly issued_at: number;
  readonly expires_at: number;
  readonly spent_at: number | null;
}

interface GrantRow {
  readonly grant_id: string;
  readonly client_id: string;
  readonly account_id: string;
  readonly scopes: string;
  readonly resources: string;
  readonly workspace: string | null;
  readonly terms: string;
  readonly created_at: number;
  readonly ends_at: number;
  readonly last_used_at: number;
  readonly last_used_from: string | null;
}

interface ConsentRow extends Pick<GrantRow, 'scopes' | 'resources' | 'workspace'> {
  readonly used_at: number;
}

/** A grant with its refresh token, if it has one. */
interface FoundRow extends GrantRow {
  readonly revoked_at: number | null;
  /** A truth of PostgreSQL, a number of SQLite. */
  readonly has_account: boolean | number;
  readonly token_hash: string | null;
  readonly token_number: number | null;
  readonly token_seed: string | null;
  readonly token_issued_at: number | null;
  readonly token_expires_at: number | null;
  readonly token_rotations: string | null;
}

export function createGrantStore(database: Database): GrantStore {
  return {
    async findCode(hash) {
      return readCode(
        await database.read<CodeRow>(sql`SELECT hash, grant_id, client_id, account_id, redirect_uri, code_challenge, scopes, resources, workspace, terms,
              issued_at, expires_at, spent_at
            FROM codes WHERE hash = ${hash}`),
      );
    },
    redeemCode: (codeHash, grant, refreshToken, at) =>
      database.fact({
        steps: () => redeem(codeHash, grant, refreshToken, at),
        postgres: {
          query: () => redeemAtOnce(codeHash, grant, refreshToken, at),
          read: readRedemption,
        },
      }),
    async burnCode(hash, at) {
      await database.change(sql`UPDATE codes SET spent_at = ${at} WHERE hash = ${hash} AND spent_at IS NULL`);
    },
    async findGrant(id) {
      return readFound(
        await database.read<FoundRow>(
          sql`SELECT g.id AS grant_id, g.client_id, g.account_id, g.scopes, g.resources, g.workspace, g.terms, g.created_at,
              g.expires_at AS ends_at, g.last_used_at, g.last_used_from, g.revoked_at, g.token_hash, g.token_number,
              g.token_seed, g.token_issued_at, g.token_expires_at, g.token_rotations, a.id IS NOT NULL AS has_account
            FROM grants g LEFT JOIN accounts a ON a.id = g.account_id AND a.disabled_at IS NULL
            WHERE g.id = ${id}`,
        ),
      );
    },
    async findFormerToken(hash) {
      const [row] = await database.read<{ readonly grant_id: string }>(
        sql`SELECT grant_id FROM former_refresh_tokens WHERE hash = ${hash}`,
      );
      return row?.grant_id ?? null;
    },
    async rotateRefreshToken(grantId, presentedHash, successor, from) {
      const { hash, number, seed, issuedAt, expiresAt, rotations } = successor;
      // Point of no return: from here on the presented token is the past.
      const rotated = await database.change(
        sql`UPDATE grants SET token_hash = ${hash}, token_number = ${number}, token_seed = ${seed}, token_issued_at = ${issuedAt},
            token_expires_at = ${expiresAt}, token_rotations = ${rotations}, last_used_at = ${issuedAt}, last_used_from = ${from}
          WHERE id = ${grantId} AND token_hash = ${presentedHash} AND revoked_at IS NULL RETURNING 1 AS one`,
      );
      return rotated.length > 0 ? 'rotated' : 'overtaken';
    },
    async listGrants(accountId, now) {
      const rows = await database.read<GrantRow>(
        sql`SELECT id AS grant_id, client_id, account_id, scopes, resources, workspace, terms, created_at, expires_at AS ends_at,
            last_used_at, last_used_from
          FROM grants WHERE account_id = ${accountId} AND revoked_at IS NULL AND expires_at > ${now}
          ORDER BY last_used_at DESC, id`,
      );
      return rows.map(readGrant);
    },
    async findNewestConsent(accountId, clientId, terms, now) {
      const [row] = await database.read<ConsentRow>(
        sql`SELECT scopes, resources, workspace, last_used_at AS used_at FROM grants
          WHERE account_id = ${accountId} AND client_id = ${clientId} AND revoked_at IS NULL AND terms = ${terms}
            AND expires_at > ${now}
          ORDER BY created_at DESC LIMIT 1`,
      );
      return row === undefined ? null : readConsent(row);
    },
    async listConsents(accountId, clientId, terms, now) {
      const rows = await database.read<ConsentRow>(
        sql`SELECT scopes, resources, workspace, MAX(last_used_at) AS used_at FROM grants
          WHERE account_id = ${accountId} AND revoked_at IS NULL AND client_id = ${clientId} AND terms = ${terms}
            AND expires_at > ${now}
          GROUP BY scopes, resources, workspace ORDER BY used_at DESC`,
      );
      return rows.map(readConsent);
    },
    async endGrants(accountId, grantId, at) {
      if (grantId === null) {
        return database.fact({ steps: () => endAll(accountId, at), postgres: { lock: 'accounts' } });
      }
      const ended = await database.change(
        sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND account_id = ${accountId} AND revoked_at IS NULL
          RETURNING 1 AS one`,
      );
      return ended.length;
    },
    async revokeGrant(grantId, at) {
      const revoked = await database.change(
        sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND revoked_at IS NULL RETURNING 1 AS one`,
      );
      return revoked.length > 0;
    },
    async revokeAccessToken(tokenId, expiresAt) {
      await database.change(
        sql`INSERT INTO revoked_access_tokens (id, expires_at) VALUES (${tokenId}, ${expiresAt})
          ON CONFLICT (id) DO NOTHING`,
      );
    },
    async isAccessTokenLive(tokenId, grantId) {
      const live =
        grantId === null
          ? sql`SELECT 1 AS one WHERE NOT EXISTS (SELECT 1 FROM revoked_access_tokens WHERE id = ${tokenId})`
          : sql`SELECT 1 AS one FROM grants WHERE id = ${grantId} AND revoked_at IS NULL
              AND NOT EXISTS (SELECT 1 FROM revoked_access_tokens WHERE id = ${tokenId})`;
      return (await database.read(live)).length > 0;
    },
  };
}

function* redeem(
  codeHash: string,
  grant: GrantRecord,
  token: RefreshTokenRecord | null,
  at: number,
): Steps<Redemption> {
  // Point of no return: of all who come, one finds the code unspent.
  const spent =
    yield sql`UPDATE codes SET spent_at = ${at} WHERE hash = ${codeHash} AND spent_at IS NULL RETURNING 1 AS one`;
  if (spent.length === 0) return 'spent';
  // `OR ROLLBACK`: a fault ends the transaction, so that SQLite copies no pages for taking back the statement alone.
  const granted =
    yield sql`INSERT OR ROLLBACK INTO grants (id, client_id, account_id, scopes, resources, workspace, terms, created_at, expires_at,
      last_used_at, last_used_from, token_hash, token_number, token_seed, token_issued_at, token_expires_at, token_rotations)
    SELECT ${grant.id}, ${grant.clientId}, ${grant.accountId}, ${JSON.stringify(grant.scopes)},
      ${JSON.stringify(grant.resources)}, ${grant.workspace}, ${grant.terms}, ${grant.createdAt}, ${grant.expiresAt},
      ${grant.lastUsedAt}, ${grant.lastUsedFrom}, ${token?.hash ?? null}, ${token?.number ?? null}, ${token?.seed ?? null},
      ${token?.issuedAt ?? null}, ${token?.expiresAt ?? null}, ${token?.rotations ?? null}
    FROM accounts WHERE id = ${grant.accountId} AND disabled_at IS NULL RETURNING 1 AS one`;
  return granted.length > 0 ? 'redeemed' : 'ownerless';
}

/**
 * The account is held first (`FOR SHARE`), before the code is touched: whoever disables or removes it at this moment is waited
 * for, or waits, and then finds the grant. They take account and code in the same order, so nobody blocks the other for good.
 */
function redeemAtOnce(
  codeHash: string,
  grant: GrantRecord,
  token: RefreshTokenRecord | null,
  at: number,
): Query {
  return sql`WITH owner AS (
      SELECT id FROM accounts WHERE id = ${grant.accountId} AND disabled_at IS NULL FOR SHARE
    ), spent AS (
      UPDATE codes SET spent_at = ${at} WHERE hash = ${codeHash} AND spent_at IS NULL AND (SELECT count(*) FROM owner) >= 0
      RETURNING hash
    ), granted AS (
      INSERT INTO grants (id, client_id, account_id, scopes, resources, workspace, terms, created_at, expires_at,
        last_used_at, last_used_from, token_hash, token_number, token_seed, token_issued_at, token_expires_at, token_rotations)
      SELECT ${grant.id}, ${grant.clientId}, owner.id, ${JSON.stringify(grant.scopes)},
        ${JSON.stringify(grant.resources)}, ${grant.workspace}::text, ${grant.terms}, ${grant.createdAt}::bigint, ${grant.expiresAt}::bigint,
        ${grant.lastUsedAt}::bigint, ${grant.lastUsedFrom}::text, ${token?.hash ?? null}::text, ${token?.number ?? null}::bigint,
        ${token?.seed ?? null}::text, ${token?.issuedAt ?? null}::bigint, ${token?.expiresAt ?? null}::bigint,
        ${token?.rotations ?? null}::text
      FROM spent, owner RETURNING id
    ) SELECT CASE WHEN EXISTS (SELECT 1 FROM granted) THEN 'redeemed' ELSE 'ownerless' END AS outcome FROM spent`;
}

function readRedemption(rows: readonly unknown[]): Redemption {
  const [row] = rows as readonly { readonly outcome: Redemption }[];
  return row?.outcome ?? 'spent';
}

/**
 * Codes come first: whoever is redeeming one holds its row, so on PostgreSQL this waits, and then finds the grant that was
 * made. A code of today has not expired, which is how the few are found.
 */
export function* endAll(accountId: string, at: number): Steps<number> {
  yield sql`UPDATE codes SET spent_at = ${at} WHERE expires_at > ${at} AND account_id = ${accountId} AND spent_at IS NULL`;
  const ended =
    yield sql`UPDATE grants SET revoked_at = ${at} WHERE account_id = ${accountId} AND revoked_at IS NULL RETURNING 1 AS one`;
  return ended.length;
}

function readCode([row]: readonly CodeRow[]): FoundCode | null {
  if (row === undefined) return null;
  return {
    hash: row.hash,
    grantId: row.grant_id,
    clientId: row.client_id,
    accountId: row.account_id,
    redirectUri: row.redirect_uri,
    codeChallenge: row.code_challenge,
    scopes: readList(row.scopes),
    resources: readList(row.resources),
    workspace: row.workspace,
    terms: row.terms,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    spentAt: row.spent_at,
  };
}

function readFound([row]: readonly FoundRow[]): FoundGrant | null {
  if (row === undefined) return null;
  const { revoked_at: revokedAt, has_account: hasAccount } = row;
  return { grant: { ...readGrant(row), revokedAt, hasAccount: Boolean(hasAccount) }, token: readToken(row) };
}

/** The columns are there together or not at all. */
function readToken(row: FoundRow): RefreshTokenRecord | null {
  if (row.token_hash === null) return null;
  return {
    hash: row.token_hash,
    number: row.token_number ?? 0,
    seed: row.token_seed ?? '',
    issuedAt: row.token_issued_at ?? 0,
    expiresAt: row.token_expires_at ?? 0,
    rotations: row.token_rotations ?? '',
  };
}

function readConsent(row: ConsentRow): StandingConsent {
  return {
    scopes: readList(row.scopes),
    resources: readList(row.resources),
    workspace: row.workspace,
    lastUsedAt: row.used_at,
  };
}

function readGrant(row: GrantRow): GrantRecord {
  return {
    id: row.grant_id,
    clientId: row.client_id,
    accountId: row.account_id,
    scopes: readList(row.scopes),
    resources: readList(row.resources),
    workspace: row.workspace,
    terms: row.terms,
    createdAt: row.created_at,
    expiresAt: row.ends_at,
    lastUsedAt: row.last_used_at,
    lastUsedFrom: row.last_used_from,
  };
}
