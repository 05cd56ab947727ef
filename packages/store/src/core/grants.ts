/** Grants, each with its refresh token family in the same row, and remembered consent. */
import type { FoundGrant, GrantStore, RememberedConsent } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';
import { createAuthorizationCodeStore } from './authorization-codes.ts';
import { GRANT_MEMBERS, grantColumns, tokenColumns } from './grant-columns.ts';

const foundColumns = defineRecordColumns<Omit<FoundGrant['grant'], 'hasAccount'>>(
  `${GRANT_MEMBERS} revokedAt keyBoundFrom?`,
);
/** A grant with its refresh token, if it has one. */
const grantById = defineQuery(
  `SELECT ${foundColumns.select('g.')}, ${tokenColumns.select('g.')}, a.id IS NOT NULL AS has_account
    FROM grants g LEFT JOIN accounts a ON a.id = g.account_id AND a.disabled_at IS NULL WHERE g.id = ?`,
);
const SELECT = `SELECT ${grantColumns.select()} FROM grants`;
/** By the index by account, client and creation. */
const grantsOfAccount = defineQuery(`${SELECT} WHERE account_id = ? AND revoked_at IS NULL AND expires_at > ?
    AND (client_id, created_at, id) > (?, ?, ?) ORDER BY client_id, created_at, id LIMIT ?`);
/** The condition on the identifier is that of the index of grants by client. */
const grantsOfClient = defineQuery(
  `${SELECT} WHERE client_id = ? AND revoked_at IS NULL AND id <> '' AND expires_at > ? LIMIT ?`,
);

const consentMembers = defineRecordColumns('scopes:list resources:list workspace managedBy?');
const consentColumns = defineRecordColumns<RememberedConsent>(
  'scopes:list resources:list workspace managedBy? lastUsedAt',
);
/** Live grants of an account and a client as consents, by the same index. */
const CONSENTS = `FROM grants WHERE account_id = ? AND client_id = ? AND revoked_at IS NULL
    AND consent_digest = COALESCE(?, consent_digest) AND expires_at > ?`;
const newestConsent = defineQuery(
  `SELECT ${consentColumns.select()} ${CONSENTS} ORDER BY created_at DESC LIMIT 1`,
);
const allConsents = defineQuery(
  `SELECT ${consentMembers.select()}, MAX(last_used_at) AS "lastUsedAt" ${CONSENTS}
    GROUP BY ${consentMembers.names} ORDER BY "lastUsedAt" DESC`,
);

interface FoundRow {
  /** A boolean from PostgreSQL, a number from SQLite. */
  readonly has_account: boolean | number;
  readonly refreshTokenHash: string | null;
}

export function createGrantStore(database: Database): GrantStore {
  return {
    ...createAuthorizationCodeStore(database),
    findNewestConsent: (...consent) => consentColumns.findFirst(database, newestConsent(...consent)),
    listConsents: (...consent) => consentColumns.findAll(database, allConsents(...consent)),
    ...createGrantLists(database),
    findGrant: (id) => database.read<FoundRow>(grantById(id)).then(readFound),
    rotateRefreshToken(grantId, currentHash, successor, from, bindTo = null) {
      const { hash, generation, seed, issuedAt, expiresAt, rotations } = successor;
      // Point of no return: from here on the current token is a predecessor.
      const rotating = database.changes(
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
      return rotating.then((isRotated) => (isRotated ? 'rotated' : 'conflict'));
    },
    async revokeAccountGrants(accountId, grantId, at) {
      if (grantId === null) {
        return database.transact(() => revokeAllOfAccount(accountId, at), 'accounts');
      }
      const ended = await database.writeRows(
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
    async listRevokedGrants(since) {
      const grants = await database.read<{ readonly id: string }>(
        sql`SELECT id FROM grants WHERE revoked_at >= ${since}
          UNION ALL
          SELECT grant_id AS id FROM provider_tokens WHERE ended_at >= ${since}`,
      );
      return grants.map(({ id }) => id);
    },
    revokeAccessToken: (tokenId, expiresAt) =>
      database.changes(
        sql`INSERT INTO revoked_access_tokens (id, expires_at) VALUES (${tokenId}, ${expiresAt})
          ON CONFLICT (id) DO NOTHING RETURNING 1 AS one`,
      ),
    isAccessTokenLive(tokenId, grantId) {
      const live =
        grantId === null
          ? sql`SELECT 1 AS one WHERE NOT EXISTS (SELECT 1 FROM revoked_access_tokens WHERE id = ${tokenId})`
          : sql`SELECT 1 AS one FROM grants WHERE id = ${grantId} AND revoked_at IS NULL
              AND NOT EXISTS (SELECT 1 FROM revoked_access_tokens WHERE id = ${tokenId})`;
      return database.read(live).then(({ length }) => length > 0);
    },
  };
}

type GrantLists = Pick<
  GrantStore,
  'listGrants' | 'listGrantsOfClient' | 'hasClientGrants' | 'revokeSurplusGrants'
>;

/** Exceeds the grants of any account: both databases require a limit with an offset. */
const ALL_ROWS = 1_000_000_000;

function createGrantLists(database: Database): GrantLists {
  return {
    async listGrants(accountId, now, after, limit) {
      const { clientId, createdAt, id } = after ?? { clientId: '', createdAt: 0, id: '' };
      return grantColumns.findAll(database, grantsOfAccount(accountId, now, clientId, createdAt, id, limit));
    },
    listGrantsOfClient: (clientId, now, limit) =>
      grantColumns.findAll(database, grantsOfClient(clientId, now, limit)),
    hasClientGrants(accountId, clientId, count) {
      const rows = database.read(
        sql`SELECT 1 AS one FROM grants WHERE account_id = ${accountId} AND client_id = ${clientId} AND revoked_at IS NULL
          LIMIT 1 OFFSET ${count - 1}`,
      );
      return rows.then(({ length }) => length > 0);
    },
    async revokeSurplusGrants(accountId, clientId, keep, at) {
      const revoked = await database.writeRows(
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
  return {
    grant: { ...foundColumns.read(row), hasAccount: Boolean(row.has_account) },
    token: row.refreshTokenHash === null ? null : tokenColumns.read(row),
  };
}
