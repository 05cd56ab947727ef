/** Connected accounts: stored for one grant and backend, replaced as a whole, ended with their grant and never ending it. */
import type {
  ConnectedAccountKey,
  ConnectedAccountRecord,
  ConnectedAccountStore,
  UpstreamTokens,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineTokenTable } from '../federation/token-table.ts';
import { defineQuery, sql } from '../sql.ts';
import { createBackendRegistrationStore } from './backend-registrations.ts';

type Own = Omit<ConnectedAccountRecord, keyof UpstreamTokens>;

const table = defineTokenTable<Own, ConnectedAccountKey>({
  table: 'connected_accounts',
  primaryKey: ['grant_id', 'backend'],
  keyValues: ({ grantId, backend }) => [grantId, backend],
  own: 'backend connection',
});

const accountsOfGrant = defineQuery(
  `SELECT ${table.columns} FROM connected_accounts WHERE grant_id = ? AND ended_at IS NULL ORDER BY created_at, backend`,
);

export function createConnectedAccountStore(database: Database): ConnectedAccountStore {
  return {
    ...createBackendRegistrationStore(database),
    saveConnectedAccount: (account, transactionId) =>
      database.transact(() => save(account, transactionId), null),
    async saveEndedConnectedAccount(account) {
      await database.write(table.insert(account));
    },
    hasConnectedAccounts: () => table.hasLive(database),
    findConnectedAccount: (key) => table.find(database, key),
    async listConnectedAccounts(grantId) {
      return table.readRows(await database.read(accountsOfGrant(grantId)));
    },
    leaseConnectedAccount: (...lease) => table.lease(database, ...lease),
    saveRefreshedConnectedAccount: (...refreshed) => table.saveRefreshed(database, ...refreshed),
    releaseConnectedAccount: (...lease) => table.release(database, ...lease),
    endConnectedAccount: (key, version, reason, at) => database.changes(table.end(key, version, reason, at)),
    endConnectedAccountsOfRevokedGrants: (since, at) => table.endOfRevokedGrants(database, since, at),
    claimAccountRevocations: (now, until, limit) => table.claim(database, now, until, limit),
    postponeAccountRevocation: (key, until) => table.postpone(database, key, until),
    completeAccountRevocation: (key, version) => table.complete(database, key, version),
  };
}

/** The row of the transaction or the grant is locked first, so that two connections of one grant follow each other. */
function* save(account: ConnectedAccountRecord, transactionId: string | null): Steps<boolean> {
  const { grantId, backend, accountId } = account;
  const linked = yield transactionId === null
    ? sql`UPDATE grants SET revoked_at = NULL
        WHERE id = ${grantId} AND account_id = ${accountId} AND revoked_at IS NULL AND expires_at > ${account.createdAt} RETURNING 1 AS one`
    : sql`UPDATE authorization_transactions SET linked_grant_id = ${grantId}
        WHERE id = ${transactionId} AND (linked_grant_id IS NULL OR linked_grant_id = ${grantId}) RETURNING 1 AS one`;
  if (linked.length === 0) return false;
  const [replaced] =
    (yield sql`DELETE FROM connected_accounts WHERE grant_id = ${grantId} AND backend = ${backend} RETURNING version`) as readonly {
      readonly version: number;
    }[];
  yield table.insert({ ...account, version: (replaced?.version ?? 0) + 1 });
  return true;
}
