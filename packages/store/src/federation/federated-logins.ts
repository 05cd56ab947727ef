/** Federated logins and linked identities. */
import type {
  AccountRecord,
  FederatedLoginRecord,
  FederationStore,
  LinkedIdentityRecord,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { readJson } from '../json.ts';
import { type Query, sql } from '../sql.ts';
import { insertAccount } from '../users/account-rows.ts';
import { createDataKeyStore } from './data-keys.ts';
import { createProviderTokensStore } from './provider-tokens.ts';

interface FederatedLoginRow {
  readonly state_hash: string;
  readonly browser_hash: string;
  readonly identity_provider: string | null;
  readonly backend: string | null;
  readonly transaction_id: string | null;
  readonly return_to: string | null;
  readonly account_id: string | null;
  readonly approved_scopes: string;
  readonly workspace: string | null;
  readonly encrypted_secrets: Uint8Array;
  readonly expires_at: number;
}

export function createFederationStore(database: Database): FederationStore {
  return {
    ...createFederatedLoginStore(database),
    ...createLinkedIdentityStore(database),
    ...createProviderTokensStore(database),
    ...createDataKeyStore(database),
  };
}

type FederatedLoginStore = Pick<
  FederationStore,
  'setTransactionIdentityProvider' | 'saveFederatedLogin' | 'findFederatedLogin' | 'consumeFederatedLogin'
>;

function createFederatedLoginStore(database: Database): FederatedLoginStore {
  return {
    async setTransactionIdentityProvider(id, identityProvider) {
      await database.write(
        sql`UPDATE authorization_transactions SET identity_provider = ${identityProvider} WHERE id = ${id}`,
      );
    },
    saveFederatedLogin: (login) => database.transact({ steps: () => save(login), postgres: { lock: null } }),
    async findFederatedLogin(stateHash, now) {
      const [row] = await database.read<FederatedLoginRow>(
        sql`SELECT state_hash, browser_hash, identity_provider, backend, transaction_id, return_to, account_id, approved_scopes,
            workspace, encrypted_secrets, expires_at
          FROM federated_logins WHERE state_hash = ${stateHash} AND expires_at > ${now}`,
      );
      return row === undefined ? null : readFederatedLogin(row);
    },
    async consumeFederatedLogin(stateHash, now) {
      const taken = await database.write(
        sql`DELETE FROM federated_logins WHERE state_hash = ${stateHash} AND expires_at > ${now} RETURNING 1 AS one`,
      );
      return taken.length > 0;
    },
  };
}

function* save(login: FederatedLoginRecord): Steps<void> {
  const { transactionId } = login;
  if (transactionId !== null) yield sql`DELETE FROM federated_logins WHERE transaction_id = ${transactionId}`;
  yield sql`INSERT INTO federated_logins (state_hash, browser_hash, identity_provider, backend, transaction_id, return_to, account_id,
      approved_scopes, workspace, encrypted_secrets, expires_at)
    VALUES (${login.stateHash}, ${login.browserHash}, ${login.identityProvider}, ${login.backend},
      ${transactionId}, ${login.returnTo}, ${login.accountId}, ${JSON.stringify(login.approvedScopes)}, ${login.workspace},
      ${login.encryptedSecrets}, ${login.expiresAt})`;
}

type LinkedIdentityStore = Pick<
  FederationStore,
  'findLinkedIdentity' | 'findLinkedIdentityByAccount' | 'linkIdentity'
>;

interface LinkedIdentityRow {
  readonly issuer: string;
  readonly subject: string;
  readonly account_id: string;
}

function createLinkedIdentityStore(database: Database): LinkedIdentityStore {
  return {
    findLinkedIdentity: (issuer, subject) =>
      readIdentity(
        database,
        sql`SELECT issuer, subject, account_id FROM linked_identities WHERE issuer = ${issuer} AND subject = ${subject}`,
      ),
    findLinkedIdentityByAccount: (accountId) =>
      readIdentity(
        database,
        sql`SELECT issuer, subject, account_id FROM linked_identities WHERE account_id = ${accountId}`,
      ),
    linkIdentity: (identity, account) =>
      database.transact({ steps: () => link(identity, account), postgres: { lock: 'accounts' } }),
  };
}

function* link({ issuer, subject }: LinkedIdentityRecord, account: AccountRecord): Steps<string> {
  const [linked] =
    (yield sql`SELECT account_id FROM linked_identities WHERE issuer = ${issuer} AND subject = ${subject}`) as readonly LinkedIdentityRow[];
  if (linked !== undefined) return linked.account_id;
  yield insertAccount(account);
  yield sql`INSERT INTO linked_identities (issuer, subject, account_id) VALUES (${issuer}, ${subject}, ${account.id})`;
  return account.id;
}

function readFederatedLogin(row: FederatedLoginRow): FederatedLoginRecord {
  return {
    stateHash: row.state_hash,
    browserHash: row.browser_hash,
    identityProvider: row.identity_provider,
    backend: row.backend,
    transactionId: row.transaction_id,
    returnTo: row.return_to,
    accountId: row.account_id,
    approvedScopes: readJson(row.approved_scopes),
    workspace: row.workspace,
    encryptedSecrets: new Uint8Array(row.encrypted_secrets),
    expiresAt: row.expires_at,
  };
}

async function readIdentity(database: Database, query: Query): Promise<LinkedIdentityRecord | null> {
  const [row] = await database.read<LinkedIdentityRow>(query);
  return row === undefined ? null : { issuer: row.issuer, subject: row.subject, accountId: row.account_id };
}
