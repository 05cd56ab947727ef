/** Authorization codes, grants and refresh tokens as facts of a database. */
import type {
  FoundCode,
  FoundRefreshToken,
  GrantRecord,
  GrantStore,
  RefreshTokenRecord,
  Rotation,
} from '@portcullis/authorization-server/ports';
import type { Database, Steps } from './database.ts';
import { readJson } from './json.ts';
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

/** A refresh token joined with its grant. */
interface RefreshTokenRow extends GrantRow {
  readonly hash: string;
  readonly issued_at: number;
  readonly expires_at: number;
  readonly rotated_at: number | null;
  readonly revoked_at: number | null;
}

interface PresentedRow {
  readonly grant_id: string;
  readonly rotated_at: number | null;
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
          read: (spent) => (spent.length > 0 ? 'redeemed' : 'spent'),
        },
      }),
    async burnCode(hash, at) {
      await database.change(sql`UPDATE codes SET spent_at = ${at} WHERE hash = ${hash} AND spent_at IS NULL`);
    },
    async findRefreshToken(hash) {
      return readRefreshToken(
        await database.read<RefreshTokenRow>(
          sql`SELECT t.hash, t.grant_id, t.issued_at, t.expires_at, t.rotated_at, g.client_id, g.account_id, g.scopes,
              g.resources, g.workspace, g.terms, g.created_at, g.expires_at AS ends_at, g.last_used_at, g.last_used_from, g.revoked_at
            FROM refresh_tokens t JOIN grants g ON g.id = t.grant_id WHERE t.hash = ${hash}`,
        ),
      );
    },
    rotateRefreshToken: (presentedHash, successor, at, grace) =>
      database.fact({
        steps: () => rotate(presentedHash, successor, at, grace),
        postgres: { query: () => rotateAtOnce(presentedHash, successor, at, grace), read: readRotation },
      }),
    async noteGrantUse(grantId, at, from) {
      await database.change(
        sql`UPDATE grants SET last_used_at = ${at}, last_used_from = ${from} WHERE id = ${grantId}`,
      );
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
      await database.change(
        sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND revoked_at IS NULL`,
      );
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
  refreshToken: RefreshTokenRecord | null,
  at: number,
): Steps<'redeemed' | 'spent'> {
  // Point of no return: of all who come, one finds the code unspent.
  const spent =
    yield sql`UPDATE codes SET spent_at = ${at} WHERE hash = ${codeHash} AND spent_at IS NULL RETURNING hash`;
  if (spent.length === 0) return 'spent';
  yield sql`INSERT INTO grants (id, client_id, account_id, scopes, resources, workspace, terms, created_at, expires_at,
      last_used_at, last_used_from)
    VALUES (${grant.id}, ${grant.clientId}, ${grant.accountId}, ${JSON.stringify(grant.scopes)},
      ${JSON.stringify(grant.resources)}, ${grant.workspace}, ${grant.terms}, ${grant.createdAt}, ${grant.expiresAt}, ${grant.lastUsedAt},
      ${grant.lastUsedFrom})`;
  if (refreshToken !== null) yield insertRefreshToken(refreshToken, grant.id);
  return 'redeemed';
}

function redeemAtOnce(
  codeHash: string,
  grant: GrantRecord,
  refreshToken: RefreshTokenRecord | null,
  at: number,
): Query {
  return sql`WITH spent AS (
      UPDATE codes SET spent_at = ${at} WHERE hash = ${codeHash} AND spent_at IS NULL RETURNING hash
    ), granted AS (
      INSERT INTO grants (id, client_id, account_id, scopes, resources, workspace, terms, created_at, expires_at,
        last_used_at, last_used_from)
      SELECT ${grant.id}, ${grant.clientId}, ${grant.accountId}, ${JSON.stringify(grant.scopes)},
        ${JSON.stringify(grant.resources)}, ${grant.workspace}::text, ${grant.terms}, ${grant.createdAt}::bigint, ${grant.expiresAt}::bigint,
        ${grant.lastUsedAt}::bigint, ${grant.lastUsedFrom}::text
      FROM spent
    ), stored AS (
      INSERT INTO refresh_tokens (hash, grant_id, issued_at, expires_at)
      SELECT ${refreshToken?.hash ?? null}::text, ${grant.id}, ${refreshToken?.issuedAt ?? 0}::bigint,
        ${refreshToken?.expiresAt ?? 0}::bigint
      FROM spent WHERE ${refreshToken?.hash ?? null}::text IS NOT NULL
    ) SELECT hash FROM spent`;
}

function* rotate(
  presentedHash: string,
  successor: RefreshTokenRecord,
  at: number,
  grace: number,
): Steps<Rotation> {
  // Point of no return: from here on the presented token is the past.
  const [rotated] = (yield sql`UPDATE refresh_tokens SET rotated_at = ${at}
    WHERE hash = ${presentedHash} AND rotated_at IS NULL AND expires_at > ${at} AND EXISTS (
      SELECT 1 FROM grants g WHERE g.id = grant_id AND g.expires_at > ${at} AND g.revoked_at IS NULL)
    RETURNING grant_id`) as readonly Pick<PresentedRow, 'grant_id'>[];
  if (rotated !== undefined) {
    yield insertRefreshToken(successor, rotated.grant_id);
    return 'rotated';
  }
  const [presented] =
    (yield sql`SELECT t.grant_id, t.rotated_at FROM refresh_tokens t JOIN grants g ON g.id = t.grant_id
    WHERE t.hash = ${presentedHash} AND t.expires_at > ${at} AND g.expires_at > ${at} AND g.revoked_at IS NULL`) as readonly PresentedRow[];
  if (presented === undefined || presented.rotated_at === null) return 'gone';
  if (at <= presented.rotated_at + grace) return 'replayed';
  yield sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${presented.grant_id}`;
  return 'reused';
}

/** Whoever comes second waits for the row that the first has locked, and then reads what the first has made of it. */
function rotateAtOnce(
  presentedHash: string,
  successor: RefreshTokenRecord,
  at: number,
  grace: number,
): Query {
  return sql`WITH presented AS (
      SELECT t.hash, t.grant_id, t.rotated_at FROM refresh_tokens t JOIN grants g ON g.id = t.grant_id
      WHERE t.hash = ${presentedHash} AND t.expires_at > ${at} AND g.expires_at > ${at} AND g.revoked_at IS NULL
      FOR UPDATE OF t
    ), verdict AS (
      SELECT hash, grant_id, CASE
        WHEN rotated_at IS NULL THEN 'rotated'
        WHEN ${at}::bigint <= rotated_at + ${grace}::bigint THEN 'replayed'
        ELSE 'reused' END AS rotation
      FROM presented
    ), rotated AS (
      UPDATE refresh_tokens t SET rotated_at = ${at} FROM verdict v WHERE t.hash = v.hash AND v.rotation = 'rotated'
    ), stored AS (
      INSERT INTO refresh_tokens (hash, grant_id, issued_at, expires_at)
      SELECT ${successor.hash}, grant_id, ${successor.issuedAt}::bigint, ${successor.expiresAt}::bigint
      FROM verdict WHERE rotation = 'rotated'
    ), revoked AS (
      UPDATE grants g SET revoked_at = ${at} FROM verdict v
      WHERE g.id = v.grant_id AND v.rotation = 'reused' AND g.revoked_at IS NULL
    ) SELECT rotation FROM verdict`;
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

function readRotation([verdict]: readonly unknown[]): Rotation {
  return verdict === undefined ? 'gone' : (verdict as { readonly rotation: Rotation }).rotation;
}

function insertRefreshToken({ hash, issuedAt, expiresAt }: RefreshTokenRecord, grantId: string): Query {
  return sql`INSERT INTO refresh_tokens (hash, grant_id, issued_at, expires_at)
    VALUES (${hash}, ${grantId}, ${issuedAt}, ${expiresAt})`;
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
    scopes: readJson(row.scopes),
    resources: readJson(row.resources),
    workspace: row.workspace,
    terms: row.terms,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    spentAt: row.spent_at,
  };
}

function readRefreshToken([row]: readonly RefreshTokenRow[]): FoundRefreshToken | null {
  if (row === undefined) return null;
  return {
    token: {
      hash: row.hash,
      grantId: row.grant_id,
      issuedAt: row.issued_at,
      expiresAt: row.expires_at,
      rotatedAt: row.rotated_at,
    },
    grant: { ...readGrant(row), revokedAt: row.revoked_at },
  };
}

function readGrant(row: GrantRow): GrantRecord {
  return {
    id: row.grant_id,
    clientId: row.client_id,
    accountId: row.account_id,
    scopes: readJson(row.scopes),
    resources: readJson(row.resources),
    workspace: row.workspace,
    terms: row.terms,
    createdAt: row.created_at,
    expiresAt: row.ends_at,
    lastUsedAt: row.last_used_at,
    lastUsedFrom: row.last_used_from,
  };
}
