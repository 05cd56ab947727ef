/** Authorization codes: single use, redeemed together with the creation of their grant. */
import type {
  AuthorizationCodeRecord,
  CodeRedemption,
  FoundAuthorizationCode,
  GrantRecord,
  GrantStore,
  RefreshTokenRecord,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { jsonOrNull, readJson, readList } from '../json.ts';
import { type Query, sql } from '../sql.ts';

interface CodeRow {
  readonly hash: string;
  readonly grant_id: string;
  readonly client_id: string;
  readonly account_id: string;
  readonly redirect_uri: string | null;
  readonly code_challenge: string;
  readonly key_thumbprint: string | null;
  /** JSON. */
  readonly authentication: string | null;
  readonly scopes: string;
  readonly resources: string;
  readonly workspace: string | null;
  readonly consent_digest: string;
  readonly issued_at: number;
  readonly expires_at: number;
  readonly consumed_at: number | null;
}

export type AuthorizationCodeStore = Pick<GrantStore, 'findCode' | 'redeemCode' | 'invalidateCode'>;

export function createAuthorizationCodeStore(database: Database): AuthorizationCodeStore {
  return {
    async findCode(hash) {
      return readCode(
        await database.read<CodeRow>(sql`SELECT hash, grant_id, client_id, account_id, redirect_uri, code_challenge, key_thumbprint, authentication, scopes, resources, workspace, consent_digest,
              issued_at, expires_at, consumed_at
            FROM authorization_codes WHERE hash = ${hash}`),
      );
    },
    redeemCode: (codeHash, grant, refreshToken, at) =>
      database.transact(() => redeem(codeHash, grant, refreshToken, at), {
        query: () => redeemInOneStatement(codeHash, grant, refreshToken, at),
        read: readRedemption,
        row: ['accounts', grant.accountId],
      }),
    async invalidateCode(hash, at) {
      await database.write(
        sql`UPDATE authorization_codes SET consumed_at = ${at} WHERE hash = ${hash} AND consumed_at IS NULL`,
      );
    },
  };
}

export function insertCode(code: AuthorizationCodeRecord): Query {
  return sql`INSERT INTO authorization_codes (hash, grant_id, client_id, account_id, redirect_uri, code_challenge, scopes, resources,
        workspace, consent_digest, issued_at, expires_at, key_thumbprint, authentication)
      VALUES (${code.hash}, ${code.grantId}, ${code.clientId}, ${code.accountId}, ${code.redirectUri}, ${code.codeChallenge},
        ${JSON.stringify(code.scopes)}, ${JSON.stringify(code.resources)}, ${code.workspace}, ${code.consentDigest},
        ${code.issuedAt}, ${code.expiresAt}, ${code.keyThumbprint ?? null}, ${jsonOrNull(code.authentication)})`;
}

function* redeem(
  codeHash: string,
  grant: GrantRecord,
  token: RefreshTokenRecord | null,
  at: number,
): Steps<CodeRedemption> {
  // Point of no return: only one of several concurrent redemptions finds the code unused.
  const consumed =
    yield sql`UPDATE authorization_codes SET consumed_at = ${at} WHERE hash = ${codeHash} AND consumed_at IS NULL RETURNING 1 AS one`;
  if (consumed.length === 0) return 'already_used';
  // `OR ROLLBACK`: an error ends the transaction, so SQLite need not copy pages to undo the statement alone.
  const granted =
    yield sql`INSERT OR ROLLBACK INTO grants (id, client_id, account_id, scopes, resources, workspace, consent_digest, created_at, expires_at,
      last_used_at, last_used_from, refresh_token_hash, refresh_token_generation, refresh_token_seed, refresh_token_issued_at, refresh_token_expires_at, refresh_token_rotations, key_thumbprint, authentication)
    SELECT ${grant.id}, ${grant.clientId}, ${grant.accountId}, ${JSON.stringify(grant.scopes)},
      ${JSON.stringify(grant.resources)}, ${grant.workspace}, ${grant.consentDigest}, ${grant.createdAt}, ${grant.expiresAt},
      ${grant.lastUsedAt}, ${grant.lastUsedFrom}, ${token?.hash ?? null}, ${token?.generation ?? null}, ${token?.seed ?? null},
      ${token?.issuedAt ?? null}, ${token?.expiresAt ?? null}, ${token?.rotations ?? null}, ${grant.keyThumbprint ?? null}, ${jsonOrNull(grant.authentication)}
    FROM accounts WHERE id = ${grant.accountId} AND disabled_at IS NULL RETURNING 1 AS one`;
  return granted.length > 0 ? 'redeemed' : 'account_unavailable';
}

/**
 * The account is locked first (`FOR SHARE`), before the code is touched: a concurrent disabling or removal either completes first, or
 * waits and then finds the grant. Both lock account and code in the same order, so they never deadlock.
 */
function redeemInOneStatement(
  codeHash: string,
  grant: GrantRecord,
  token: RefreshTokenRecord | null,
  at: number,
): Query {
  return sql`WITH owner AS (
      SELECT id FROM accounts WHERE id = ${grant.accountId} AND disabled_at IS NULL FOR SHARE
    ), consumed AS (
      UPDATE authorization_codes SET consumed_at = ${at} WHERE hash = ${codeHash} AND consumed_at IS NULL AND (SELECT count(*) FROM owner) >= 0
      RETURNING hash
    ), granted AS (
      INSERT INTO grants (id, client_id, account_id, scopes, resources, workspace, consent_digest, created_at, expires_at,
        last_used_at, last_used_from, refresh_token_hash, refresh_token_generation, refresh_token_seed, refresh_token_issued_at, refresh_token_expires_at, refresh_token_rotations, key_thumbprint, authentication)
      SELECT ${grant.id}, ${grant.clientId}, owner.id, ${JSON.stringify(grant.scopes)},
        ${JSON.stringify(grant.resources)}, ${grant.workspace}::text, ${grant.consentDigest}, ${grant.createdAt}::bigint, ${grant.expiresAt}::bigint,
        ${grant.lastUsedAt}::bigint, ${grant.lastUsedFrom}::text, ${token?.hash ?? null}::text, ${token?.generation ?? null}::bigint,
        ${token?.seed ?? null}::text, ${token?.issuedAt ?? null}::bigint, ${token?.expiresAt ?? null}::bigint,
        ${token?.rotations ?? null}::text, ${grant.keyThumbprint ?? null}::text, ${jsonOrNull(grant.authentication)}::text
      FROM consumed, owner RETURNING id
    ) SELECT CASE WHEN EXISTS (SELECT 1 FROM granted) THEN 'redeemed' ELSE 'account_unavailable' END AS outcome FROM consumed`;
}

function readRedemption(rows: readonly unknown[]): CodeRedemption {
  const [row] = rows as readonly { readonly outcome: CodeRedemption }[];
  return row?.outcome ?? 'already_used';
}

function readCode([row]: readonly CodeRow[]): FoundAuthorizationCode | null {
  if (row === undefined) return null;
  return {
    hash: row.hash,
    grantId: row.grant_id,
    clientId: row.client_id,
    accountId: row.account_id,
    redirectUri: row.redirect_uri,
    codeChallenge: row.code_challenge,
    ...(row.authentication !== null && { authentication: readJson(row.authentication) }),
    ...(row.key_thumbprint !== null && { keyThumbprint: row.key_thumbprint }),
    scopes: readList(row.scopes),
    resources: readList(row.resources),
    workspace: row.workspace,
    consentDigest: row.consent_digest,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    consumedAt: row.consumed_at,
  };
}
