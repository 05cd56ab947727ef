/** Grants, each with its refresh token family in the same row, and remembered consent. */
import type {
  FoundGrant,
  GrantRecord,
  GrantStore,
  RefreshTokenRecord,
  RememberedConsent,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { readJson, readList } from '../json.ts';
import { sql } from '../sql.ts';
import { createAuthorizationCodeStore } from './authorization-codes.ts';

interface GrantRow {
  readonly grant_id: string;
  readonly client_id: string;
  readonly account_id: string;
  readonly scopes: string;
  readonly resources: string;
  readonly workspace: string | null;
  readonly consent_digest: string;
  readonly created_at: number;
  readonly ends_at: number;
  readonly last_used_at: number;
  readonly last_used_from: string | null;
  readonly key_thumbprint: string | null;
  /** JSON. */
  readonly authentication: string | null;
  readonly managed_by: string | null;
}

/** A grant with its refresh token, if it has one. */
interface FoundRow extends GrantRow {
  readonly revoked_at: number | null;
  readonly key_bound_from: number | null;
  /** A boolean from PostgreSQL, a number from SQLite. */
  readonly has_account: boolean | number;
  readonly refresh_token_hash: string | null;
  readonly refresh_token_generation: number | null;
  readonly refresh_token_seed: string | null;
  readonly refresh_token_issued_at: number | null;
  readonly refresh_token_expires_at: number | null;
  readonly refresh_token_rotations: string | null;
}

export function createGrantStore(database: Database): GrantStore {
  return {
    ...createAuthorizationCodeStore(database),
    ...createConsentStore(database),
    ...createGrantLists(database),
    async findGrant(id) {
      return readFound(
        await database.read<FoundRow>(
          sql`SELECT g.id AS grant_id, g.client_id, g.account_id, g.scopes, g.resources, g.workspace, g.consent_digest, g.created_at,
              g.expires_at AS ends_at, g.last_used_at, g.last_used_from, g.key_thumbprint, g.key_bound_from, g.authentication, g.managed_by, g.revoked_at, g.refresh_token_hash, g.refresh_token_generation,
              g.refresh_token_seed, g.refresh_token_issued_at, g.refresh_token_expires_at, g.refresh_token_rotations, a.id IS NOT NULL AS has_account
            FROM grants g LEFT JOIN accounts a ON a.id = g.account_id AND a.disabled_at IS NULL
            WHERE g.id = ${id}`,
        ),
      );
    },
    async rotateRefreshToken(grantId, currentHash, successor, from, bindTo = null) {
      const { hash, generation, seed, issuedAt, expiresAt, rotations } = successor;
      // Point of no return: from here on the current token is a predecessor.
      const isRotated = await database.changes(
        bindTo === null
          ? sql`UPDATE grants SET refresh_token_hash = ${hash}, refresh_token_generation = ${generation}, refresh_token_seed = ${seed}, refresh_token_issued_at = ${issuedAt},
            refresh_token_expires_at = ${expiresAt}, refresh_token_rotations = ${rotations}, last_used_at = ${issuedAt}, last_used_from = ${from}
          WHERE id = ${grantId} AND refresh_token_hash = ${currentHash} AND revoked_at IS NULL RETURNING 1 AS one`
          : sql`UPDATE grants SET refresh_token_hash = ${hash}, refresh_token_generation = ${generation}, refresh_token_seed = ${seed}, refresh_token_issued_at = ${issuedAt},
            refresh_token_expires_at = ${expiresAt}, refresh_token_rotations = ${rotations}, last_used_at = ${issuedAt}, last_used_from = ${from},
            key_thumbprint = ${bindTo}, key_bound_from = ${generation}
          WHERE id = ${grantId} AND refresh_token_hash = ${currentHash} AND revoked_at IS NULL AND key_thumbprint IS NULL RETURNING 1 AS one`,
        ['grants', grantId],
      );
      return isRotated ? 'rotated' : 'conflict';
    },
    async revokeAccountGrants(accountId, grantId, at) {
      if (grantId === null) {
        return database.transact(() => revokeAllOfAccount(accountId, at), 'accounts');
      }
      const ended = await database.write(
        sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND account_id = ${accountId} AND revoked_at IS NULL
          RETURNING 1 AS one`,
      );
      return ended.length;
    },
    revokeGrant: (grantId, at) =>
      database.changes(
        sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND revoked_at IS NULL RETURNING 1 AS one`,
        ['grants', grantId],
      ),
    revokeAccessToken: (tokenId, expiresAt) =>
      database.changes(
        sql`INSERT INTO revoked_access_tokens (id, expires_at) VALUES (${tokenId}, ${expiresAt})
          ON CONFLICT (id) DO NOTHING RETURNING 1 AS one`,
      ),
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

type GrantLists = Pick<
  GrantStore,
  'listGrants' | 'listGrantsOfClient' | 'hasClientGrants' | 'revokeSurplusGrants'
>;

/** Exceeds the grants of any account: both databases require a limit with an offset. */
const ALL_ROWS = 1_000_000_000;

/** Uses the index by account, client and creation. */
function createGrantLists(database: Database): GrantLists {
  return {
    async listGrants(accountId, now, after, limit) {
      const rows = await database.read<GrantRow>(
        sql`SELECT id AS grant_id, client_id, account_id, scopes, resources, workspace, consent_digest, created_at, expires_at AS ends_at,
            last_used_at, last_used_from, key_thumbprint, authentication, managed_by
          FROM grants WHERE account_id = ${accountId} AND revoked_at IS NULL AND expires_at > ${now}
            AND (client_id, created_at, id) > (${after?.clientId ?? ''}, ${after?.createdAt ?? 0}, ${after?.id ?? ''})
          ORDER BY client_id, created_at, id LIMIT ${limit}`,
      );
      return rows.map(readGrant);
    },
    // The condition on the identifier is that of the index of grants by client.
    async listGrantsOfClient(clientId, now, limit) {
      const rows = await database.read<GrantRow>(
        sql`SELECT id AS grant_id, client_id, account_id, scopes, resources, workspace, consent_digest, created_at, expires_at AS ends_at,
            last_used_at, last_used_from, key_thumbprint, authentication, managed_by
          FROM grants WHERE client_id = ${clientId} AND revoked_at IS NULL AND id <> '' AND expires_at > ${now} LIMIT ${limit}`,
      );
      return rows.map(readGrant);
    },
    async hasClientGrants(accountId, clientId, count) {
      const rows = await database.read(
        sql`SELECT 1 AS one FROM grants WHERE account_id = ${accountId} AND client_id = ${clientId} AND revoked_at IS NULL
          LIMIT 1 OFFSET ${count - 1}`,
      );
      return rows.length > 0;
    },
    async revokeSurplusGrants(accountId, clientId, keep, at) {
      const revoked = await database.write(
        sql`UPDATE grants SET revoked_at = ${at} WHERE revoked_at IS NULL AND id IN (
            SELECT id FROM grants WHERE account_id = ${accountId} AND client_id = ${clientId} AND revoked_at IS NULL AND expires_at > ${at}
            ORDER BY last_used_at DESC, id LIMIT ${ALL_ROWS} OFFSET ${keep}
          ) RETURNING 1 AS one`,
      );
      return revoked.length;
    },
  };
}

/**
 * Codes first: a concurrent redemption locks its code, so on PostgreSQL this waits and then finds the grant that was
 * created. Live codes have not expired, which is how the few are found.
 */
export function* revokeAllOfAccount(accountId: string, at: number): Steps<number> {
  yield sql`UPDATE authorization_codes SET consumed_at = ${at} WHERE expires_at > ${at} AND account_id = ${accountId} AND consumed_at IS NULL`;
  const ended =
    yield sql`UPDATE grants SET revoked_at = ${at} WHERE account_id = ${accountId} AND revoked_at IS NULL RETURNING 1 AS one`;
  return ended.length;
}

function readFound([row]: readonly FoundRow[]): FoundGrant | null {
  if (row === undefined) return null;
  const { revoked_at: revokedAt, has_account: hasAccount, key_bound_from: keyBoundFrom } = row;
  const grant = {
    ...readGrant(row),
    revokedAt,
    hasAccount: Boolean(hasAccount),
    ...(keyBoundFrom !== null && { keyBoundFrom }),
  };
  return { grant, token: readToken(row) };
}

/** The columns are all set or all `null`. */
function readToken(row: FoundRow): RefreshTokenRecord | null {
  if (row.refresh_token_hash === null) return null;
  return {
    hash: row.refresh_token_hash,
    generation: row.refresh_token_generation ?? 0,
    seed: row.refresh_token_seed ?? '',
    issuedAt: row.refresh_token_issued_at ?? 0,
    expiresAt: row.refresh_token_expires_at ?? 0,
    rotations: row.refresh_token_rotations ?? '',
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
    consentDigest: row.consent_digest,
    createdAt: row.created_at,
    expiresAt: row.ends_at,
    lastUsedAt: row.last_used_at,
    lastUsedFrom: row.last_used_from,
    ...(row.authentication !== null && { authentication: readJson(row.authentication) }),
    ...(row.key_thumbprint !== null && { keyThumbprint: row.key_thumbprint }),
    ...(row.managed_by !== null && { managedBy: row.managed_by }),
  };
}

interface ConsentRow {
  readonly scopes: string;
  readonly resources: string;
  readonly workspace: string | null;
  readonly used_at: number;
}

type ClientConsentRow = ConsentRow & Pick<GrantRow, 'managed_by'>;

type ConsentStore = Pick<
  GrantStore,
  'findNewestRememberedConsent' | 'listRememberedConsents' | 'findNewestClientConsent' | 'listClientConsents'
>;

function createConsentStore(database: Database): ConsentStore {
  return {
    async findNewestRememberedConsent(accountId, clientId, consentDigest, now) {
      const [row] = await database.read<ConsentRow>(
        sql`SELECT scopes, resources, workspace, last_used_at AS used_at FROM grants
          WHERE account_id = ${accountId} AND client_id = ${clientId} AND revoked_at IS NULL AND consent_digest = ${consentDigest}
            AND expires_at > ${now}
          ORDER BY created_at DESC LIMIT 1`,
      );
      return row === undefined ? null : readConsent(row);
    },
    async listRememberedConsents(accountId, clientId, consentDigest, now) {
      const rows = await database.read<ConsentRow>(
        sql`SELECT scopes, resources, workspace, MAX(last_used_at) AS used_at FROM grants
          WHERE account_id = ${accountId} AND revoked_at IS NULL AND client_id = ${clientId} AND consent_digest = ${consentDigest}
            AND expires_at > ${now}
          GROUP BY scopes, resources, workspace ORDER BY used_at DESC`,
      );
      return rows.map(readConsent);
    },
    async findNewestClientConsent(accountId, clientId, now) {
      const [row] = await database.read<ClientConsentRow>(
        sql`SELECT scopes, resources, workspace, managed_by, last_used_at AS used_at FROM grants
          WHERE account_id = ${accountId} AND client_id = ${clientId} AND revoked_at IS NULL AND expires_at > ${now}
          ORDER BY created_at DESC LIMIT 1`,
      );
      return row === undefined ? null : readClientConsent(row);
    },
    async listClientConsents(accountId, clientId, now) {
      const rows = await database.read<ClientConsentRow>(
        sql`SELECT scopes, resources, workspace, managed_by, MAX(last_used_at) AS used_at FROM grants
          WHERE account_id = ${accountId} AND client_id = ${clientId} AND revoked_at IS NULL AND expires_at > ${now}
          GROUP BY scopes, resources, workspace, managed_by ORDER BY used_at DESC`,
      );
      return rows.map(readClientConsent);
    },
  };
}

function readClientConsent(row: ClientConsentRow) {
  return { ...readConsent(row), managedBy: row.managed_by };
}

function readConsent(row: ConsentRow): RememberedConsent {
  return {
    scopes: readList(row.scopes),
    resources: readList(row.resources),
    workspace: row.workspace,
    lastUsedAt: row.used_at,
  };
}
