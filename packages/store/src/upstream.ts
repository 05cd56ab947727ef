/** Departures to third parties, and who people are there, as facts of a database. */
import type {
  AccountRecord,
  FederatedLoginRecord,
  FederationStore,
  LinkedIdentityRecord,
} from '@portcullis/authorization-server/store';
import { insertAccount } from './account-rows.ts';
import { createProviderTokensStore } from './bonds.ts';
import type { Database, Steps } from './database.ts';
import { readJson } from './json.ts';
import { sql } from './sql.ts';
import { createDataKeyStore } from './upstream-keys.ts';

interface FederatedLoginRow {
  readonly state_hash: string;
  readonly browser_hash: string;
  readonly third_party: string;
  readonly transaction_id: string | null;
  readonly page: string | null;
  readonly account_id: string | null;
  readonly approved: string;
  readonly workspace: string | null;
  readonly sealed_secrets: Uint8Array;
  readonly expires_at: number;
}

export function createUpstreamStore(database: Database): FederationStore {
  return {
    ...createFederatedLoginStore(database),
    ...createUserStore(database),
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
      await database.change(sql`UPDATE transactions SET third_party = ${identityProvider} WHERE id = ${id}`);
    },
    saveFederatedLogin: (federatedLogin) =>
      database.fact({ steps: () => depart(federatedLogin), postgres: { lock: null } }),
    async findFederatedLogin(stateHash, now) {
      const [row] = await database.read<FederatedLoginRow>(
        sql`SELECT state_hash, browser_hash, third_party, transaction_id, page, account_id, approved, workspace,
            sealed_secrets, expires_at
          FROM departures WHERE state_hash = ${stateHash} AND expires_at > ${now}`,
      );
      return row === undefined ? null : readFederatedLogin(row);
    },
    async consumeFederatedLogin(stateHash, now) {
      const taken = await database.change(
        sql`DELETE FROM departures WHERE state_hash = ${stateHash} AND expires_at > ${now} RETURNING 1 AS one`,
      );
      return taken.length > 0;
    },
  };
}

function* depart(federatedLogin: FederatedLoginRecord): Steps<void> {
  const { transactionId } = federatedLogin;
  if (transactionId !== null) yield sql`DELETE FROM departures WHERE transaction_id = ${transactionId}`;
  yield sql`INSERT INTO departures (state_hash, browser_hash, third_party, transaction_id, page, account_id, approved,
      workspace, sealed_secrets, expires_at)
    VALUES (${federatedLogin.stateHash}, ${federatedLogin.browserHash}, ${federatedLogin.identityProvider}, ${transactionId},
      ${federatedLogin.returnTo}, ${federatedLogin.accountId}, ${JSON.stringify(federatedLogin.approvedScopes)}, ${federatedLogin.workspace},
      ${federatedLogin.encryptedSecrets}, ${federatedLogin.expiresAt})`;
}

type UserStore = Pick<FederationStore, 'findLinkedIdentity' | 'findLinkedIdentityByAccount' | 'linkIdentity'>;

interface LinkedIdentityRow {
  readonly issuer: string;
  readonly subject: string;
  readonly account_id: string;
}

function createUserStore(database: Database): UserStore {
  return {
    async findLinkedIdentity(issuer, subject) {
      return readUser(
        await database.read<LinkedIdentityRow>(
          sql`SELECT issuer, subject, account_id FROM persons WHERE issuer = ${issuer} AND subject = ${subject}`,
        ),
      );
    },
    async findLinkedIdentityByAccount(accountId) {
      return readUser(
        await database.read<LinkedIdentityRow>(
          sql`SELECT issuer, subject, account_id FROM persons WHERE account_id = ${accountId}`,
        ),
      );
    },
    linkIdentity: (user, account) =>
      database.fact({ steps: () => addUser(user, account), postgres: { lock: 'accounts' } }),
  };
}

function* addUser({ issuer, subject }: LinkedIdentityRecord, account: AccountRecord): Steps<string> {
  const [known] =
    (yield sql`SELECT account_id FROM persons WHERE issuer = ${issuer} AND subject = ${subject}`) as readonly LinkedIdentityRow[];
  if (known !== undefined) return known.account_id;
  yield insertAccount(account);
  yield sql`INSERT INTO persons (issuer, subject, account_id) VALUES (${issuer}, ${subject}, ${account.id})`;
  return account.id;
}

function readFederatedLogin(row: FederatedLoginRow): FederatedLoginRecord {
  return {
    stateHash: row.state_hash,
    browserHash: row.browser_hash,
    identityProvider: row.third_party,
    transactionId: row.transaction_id,
    returnTo: row.page,
    accountId: row.account_id,
    approvedScopes: readJson(row.approved),
    workspace: row.workspace,
    encryptedSecrets: new Uint8Array(row.sealed_secrets),
    expiresAt: row.expires_at,
  };
}

function readUser([row]: readonly LinkedIdentityRow[]): LinkedIdentityRecord | null {
  return row === undefined ? null : { issuer: row.issuer, subject: row.subject, accountId: row.account_id };
}
