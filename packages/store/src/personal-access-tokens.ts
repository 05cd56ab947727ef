/** Personal access tokens, each with a grant that holds its scopes, resource, expiry and revocation. */
import type {
  GrantRecord,
  PersonalAccessTokenRecord,
  PersonalAccessTokenStore,
} from '@portcullis/authorization-server/store';
import { insertGrant } from './core/grant-columns.ts';
import type { Database, Steps } from './database.ts';
import { defineRecordColumns } from './record-columns.ts';
import { defineQuery, sql } from './sql.ts';

const columns = defineRecordColumns<PersonalAccessTokenRecord>('grantId hash name');
const insertToken = columns.insertInto('personal_access_tokens');
const tokenOfGrant = defineQuery(`SELECT ${columns.select()} FROM personal_access_tokens WHERE grant_id = ?`);

export function createPersonalAccessTokenStore(database: Database): PersonalAccessTokenStore {
  return {
    savePersonalAccessToken: (token, grant) => database.transact(() => save(token, grant), 'accounts'),
    findPersonalAccessToken: (grantId) => columns.findFirst(database, tokenOfGrant(grantId)),
    recordPersonalAccessTokenUse: (grantId, at) =>
      database.write(sql`UPDATE grants SET last_used_at = ${at} WHERE id = ${grantId}`),
  };
}

function* save(token: PersonalAccessTokenRecord, grant: GrantRecord): Steps<boolean> {
  const owner =
    yield sql`SELECT 1 AS one FROM accounts WHERE id = ${grant.accountId} AND disabled_at IS NULL`;
  if (owner.length === 0) return false;
  yield insertGrant(grant);
  yield insertToken(token);
  return true;
}
