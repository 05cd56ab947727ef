/** Provider tokens: stored with a transaction, ended together with their grant. */
import type {
  ProviderTokensEndReason,
  ProviderTokensRecord,
  ProviderTokensStore,
  RevocationJobStore,
  UpstreamTokens,
} from '@portcullis/authorization-server/store';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import type { Database, Steps } from '../database.ts';
import { defineQuery, sql } from '../sql.ts';
import { createTokenTable } from './token-table.ts';

type Own = Omit<ProviderTokensRecord, keyof UpstreamTokens>;

export function createProviderTokensStore(database: Database): ProviderTokensStore & RevocationJobStore {
  const table = createTokenTable<Own, string>(database, {
    table: 'provider_tokens',
    primaryKey: ['grant_id'],
    keyValues: (grantId) => [grantId],
    own: 'identityProvider issuer subject name',
  });
  const tokensByAccount = defineQuery(
    `SELECT ${table.columns} FROM provider_tokens WHERE account_id = ? AND ended_at IS NULL ORDER BY created_at, grant_id`,
  );

  function* save(transactionId: string, tokens: ProviderTokensRecord): Steps<boolean> {
    const linked =
      yield sql`UPDATE authorization_transactions SET account_id = ${tokens.accountId}, network = NULL, identity_provider = ${tokens.identityProvider},
        linked_grant_id = ${tokens.grantId}
      WHERE id = ${transactionId} RETURNING 1 AS one`;
    if (linked.length === 0) return false;
    yield table.insert(tokens);
    return true;
  }

  function* end(
    grantId: string,
    version: number,
    reason: ProviderTokensEndReason,
    at: number,
  ): Steps<boolean> {
    const ended = yield table.end(grantId, version, reason, at);
    if (ended.length === 0) return false;
    yield sql`UPDATE grants SET revoked_at = ${at} WHERE id = ${grantId} AND revoked_at IS NULL`;
    return true;
  }

  return {
    saveProviderTokens: (transactionId, tokens) => database.transact(() => save(transactionId, tokens), null),
    saveEndedProviderTokens: table.save,
    hasProviderTokens: table.hasLive,
    findProviderTokens: table.find,
    listProviderTokens: (accountId) => table.findAll(database, tokensByAccount(accountId)),
    recordProviderTokensCheck: (grantId, at) =>
      database.write(
        sql`UPDATE provider_tokens SET checked_at = ${at}
          WHERE grant_id = ${grantId} AND (checked_at < ${at} OR checked_at > ${at + SKEW_TOLERANCE})`,
      ),
    leaseProviderTokens: table.lease,
    saveRefreshedProviderTokens: table.saveRefreshed,
    releaseProviderTokens: table.release,
    endProviderTokens: (grantId, version, reason, at) =>
      database.transact(() => end(grantId, version, reason, at), null),
    async countProviderTokensOfIdentity(issuer, subject, except) {
      const rows = await database.read(
        sql`SELECT grant_id FROM provider_tokens WHERE issuer = ${issuer} AND subject = ${subject} AND ended_at IS NULL
          AND grant_id <> ${except}`,
      );
      return rows.length;
    },
    endProviderTokensOfRevokedGrants: table.endOfRevokedGrants,
    claimRevocationJobs: table.claim,
    postponeRevocationJob: table.postpone,
    completeRevocationJob: table.complete,
  };
}
