/** Personal access tokens, each with a grant that holds its scopes, resource, expiry and revocation. */
import type {
  GrantRecord,
  PersonalAccessTokenRecord,
  PersonalAccessTokenStore,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { sql } from './sql.ts';

interface TokenRow {
  readonly grant_id: string;
  readonly hash: string;
  readonly name: string;
}

export function createPersonalAccessTokenStore(database: Database): PersonalAccessTokenStore {
  return {
    savePersonalAccessToken: (token, grant) => database.transact(() => save(token, grant), 'accounts'),
    async findPersonalAccessToken(grantId) {
      const [row] = await database.read<TokenRow>(
        sql`SELECT grant_id, hash, name FROM personal_access_tokens WHERE grant_id = ${grantId}`,
      );
      return row === undefined ? null : { grantId: row.grant_id, hash: row.hash, name: row.name };
    },
    async recordPersonalAccessTokenUse(grantId, at) {
      await database.write(sql`UPDATE grants SET last_used_at = ${at} WHERE id = ${grantId}`);
    },
  };
}

function* save({ grantId, hash, name }: PersonalAccessTokenRecord, grant: GrantRecord): Steps<boolean> {
  const owner =
    yield sql`SELECT 1 AS one FROM accounts WHERE id = ${grant.accountId} AND disabled_at IS NULL`;
  if (owner.length === 0) return false;
  yield sql`INSERT INTO grants (id, client_id, account_id, scopes, resources, workspace, consent_digest, created_at, expires_at,
      last_used_at, last_used_from)
    VALUES (${grant.id}, ${grant.clientId}, ${grant.accountId}, ${JSON.stringify(grant.scopes)},
      ${JSON.stringify(grant.resources)}, ${grant.workspace}, ${grant.consentDigest}, ${grant.createdAt}, ${grant.expiresAt},
      ${grant.lastUsedAt}, ${grant.lastUsedFrom})`;
  yield sql`INSERT INTO personal_access_tokens (grant_id, hash, name) VALUES (${grantId}, ${hash}, ${name})`;
  return true;
}
