/** Grants and refresh tokens as facts of a database. */
import type {
  FoundGrant,
  GrantRecord,
  GrantStore,
  RefreshTokenRecord,
} from '@portcullis/authorization-server/store';
import { createCodeStore } from './codes.ts';
import { createConsentStore } from './consents.ts';
import type { Database, Steps } from './database.ts';
import { readList } from './json.ts';
import { sql } from './sql.ts';

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
    ...createCodeStore(database),
    ...createConsentStore(database),
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
      const { hash, generation: number, seed, issuedAt, expiresAt, rotations } = successor;
      // Point of no return: from here on the presented token is the past.
      const rotated = await database.change(
        sql`UPDATE grants SET token_hash = ${hash}, token_number = ${number}, token_seed = ${seed}, token_issued_at = ${issuedAt},
            token_expires_at = ${expiresAt}, token_rotations = ${rotations}, last_used_at = ${issuedAt}, last_used_from = ${from}
          WHERE id = ${grantId} AND token_hash = ${presentedHash} AND revoked_at IS NULL RETURNING 1 AS one`,
      );
      return rotated.length > 0 ? 'rotated' : 'conflict';
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
    async revokeAccountGrants(accountId, grantId, at) {
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
      const revoked = await database.change(
        sql`INSERT INTO revoked_access_tokens (id, expires_at) VALUES (${tokenId}, ${expiresAt})
          ON CONFLICT (id) DO NOTHING RETURNING 1 AS one`,
      );
      return revoked.length > 0;
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
    generation: row.token_number ?? 0,
    seed: row.token_seed ?? '',
    issuedAt: row.token_issued_at ?? 0,
    expiresAt: row.token_expires_at ?? 0,
    rotations: row.token_rotations ?? '',
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
    consentDigest: row.terms,
    createdAt: row.created_at,
    expiresAt: row.ends_at,
    lastUsedAt: row.last_used_at,
    lastUsedFrom: row.last_used_from,
  };
}
