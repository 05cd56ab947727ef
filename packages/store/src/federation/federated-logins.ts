/** Federated logins and linked identities. */
import type {
  AccountRecord,
  FederatedLoginRecord,
  FederationStore,
  LinkedIdentityRecord,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineRecordColumns } from '../record-columns.ts';
import { defineQuery, sql } from '../sql.ts';
import { insertAccount } from '../users/account-rows.ts';
import { createDataKeyStore } from './data-keys.ts';
import { createProviderTokensStore } from './provider-tokens.ts';

const loginColumns = defineRecordColumns<FederatedLoginRecord>(
  `stateHash browserHash identityProvider backend transactionId returnTo accountId approvedScopes:json workspace
    encryptedSecrets:bytes expiresAt`,
);
const insertLogin = loginColumns.insertInto('federated_logins');
const loginByState = defineQuery(
  `SELECT ${loginColumns.select()} FROM federated_logins WHERE state_hash = ? AND expires_at > ?`,
);
const identityColumns = defineRecordColumns<LinkedIdentityRecord>('issuer subject accountId');
const SELECT_IDENTITY = `SELECT ${identityColumns.select()} FROM linked_identities`;
const identityBySubject = defineQuery(`${SELECT_IDENTITY} WHERE issuer = ? AND subject = ?`);
const identityByAccount = defineQuery(`${SELECT_IDENTITY} WHERE account_id = ?`);

export function createFederationStore(database: Database): FederationStore {
  return {
    ...createProviderTokensStore(database),
    ...createDataKeyStore(database),
    setTransactionIdentityProvider: (id, identityProvider) =>
      database.write(
        sql`UPDATE authorization_transactions SET identity_provider = ${identityProvider} WHERE id = ${id}`,
      ),
    saveFederatedLogin: (login) => database.transact(() => save(login), null),
    findFederatedLogin: (stateHash, now) => loginColumns.findFirst(database, loginByState(stateHash, now)),
    consumeFederatedLogin: (stateHash, now) =>
      database.changes(
        sql`DELETE FROM federated_logins WHERE state_hash = ${stateHash} AND expires_at > ${now} RETURNING 1 AS one`,
      ),
    findLinkedIdentity: (issuer, subject) =>
      identityColumns.findFirst(database, identityBySubject(issuer, subject)),
    findLinkedIdentityByAccount: (accountId) =>
      identityColumns.findFirst(database, identityByAccount(accountId)),
    linkIdentity: (identity, account) => database.transact(() => link(identity, account), 'accounts'),
  };
}

function* save(login: FederatedLoginRecord): Steps<void> {
  const { transactionId } = login;
  if (transactionId !== null) yield sql`DELETE FROM federated_logins WHERE transaction_id = ${transactionId}`;
  yield insertLogin(login);
}

function* link({ issuer, subject }: LinkedIdentityRecord, account: AccountRecord): Steps<string> {
  const linked = identityColumns.readFirst(yield identityBySubject(issuer, subject));
  if (linked !== null) return linked.accountId;
  yield insertAccount(account);
  yield sql`INSERT INTO linked_identities (issuer, subject, account_id) VALUES (${issuer}, ${subject}, ${account.id})`;
  return account.id;
}
