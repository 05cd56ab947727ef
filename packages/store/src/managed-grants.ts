/** Grants that an organization's identity provider manages, and the accounts that its assertions identify. */
import type { GrantRecord, ManagedGrantStore } from '@portcullis/authorization-server/store';
import { insertGrant } from './core/grant-columns.ts';
import type { Database, Steps } from './database.ts';
import { sql } from './sql.ts';

export function createManagedGrantStore(database: Database): ManagedGrantStore {
  return {
    async findAssertedIdentity(issuer, subject) {
      const [row] = await database.read<{ readonly account_id: string }>(
        sql`SELECT account_id FROM asserted_identities WHERE issuer = ${issuer} AND subject = ${subject}`,
      );
      return row?.account_id ?? null;
    },
    linkAssertedIdentity: (issuer, subject, accountId) =>
      database.transact(() => link(issuer, subject, accountId), 'accounts'),
    saveManagedGrant: (grant) => database.transact(() => save(grant), 'accounts'),
  };
}

function* link(issuer: string, subject: string, accountId: string): Steps<boolean> {
  const linked = yield sql`INSERT INTO asserted_identities (issuer, subject, account_id)
      SELECT ${issuer}, ${subject}, id FROM accounts WHERE id = ${accountId} AND disabled_at IS NULL
      ON CONFLICT DO NOTHING RETURNING 1 AS one`;
  if (linked.length > 0) return true;
  const known =
    yield sql`SELECT 1 AS one FROM asserted_identities WHERE issuer = ${issuer} AND subject = ${subject} AND account_id = ${accountId}`;
  return known.length > 0;
}

function* save(grant: GrantRecord): Steps<string | null> {
  const { accountId, clientId, managedBy = null } = grant;
  const [scopes, resources] = [JSON.stringify(grant.scopes), JSON.stringify(grant.resources)];
  const owner = yield sql`SELECT 1 AS one FROM accounts WHERE id = ${accountId} AND disabled_at IS NULL`;
  if (owner.length === 0) return null;
  const [live] =
    (yield sql`UPDATE grants SET expires_at = ${grant.expiresAt}, last_used_at = ${grant.lastUsedAt}, last_used_from = ${grant.lastUsedFrom}
    WHERE account_id = ${accountId} AND client_id = ${clientId} AND managed_by = ${managedBy} AND scopes = ${scopes}
      AND resources = ${resources} AND revoked_at IS NULL AND expires_at > ${grant.createdAt}
    RETURNING id`) as readonly { readonly id: string }[];
  if (live !== undefined) return live.id;
  yield insertGrant(grant);
  return grant.id;
}
