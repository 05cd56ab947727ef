/** The first local account, and the setup links that create it. */
import type { AccountRecord, UserStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { type Query, sql } from '../sql.ts';
import { insertAccount } from './account-rows.ts';

export type FirstAccountOperations = Pick<
  UserStore,
  'hasLocalAccounts' | 'saveSetupLink' | 'isSetupLink' | 'createFirstAccount'
>;

export function createFirstAccountOperations(database: Database): FirstAccountOperations {
  return {
    hasLocalAccounts: async () => (await database.read(localAccounts())).length > 0,
    saveSetupLink: (hash, createdAt) =>
      database.write(sql`INSERT INTO setup_links (hash, created_at) VALUES (${hash}, ${createdAt})`),
    async isSetupLink(hash) {
      const found = await database.read(sql`SELECT 1 AS one FROM setup_links WHERE hash = ${hash}`);
      // Only then: if all accounts are linked to an identity provider, the query reads each of them.
      return found.length > 0 && (await database.read(localAccounts())).length === 0;
    },
    createFirstAccount: (account, setupHash) =>
      database.transact(() => createFirst(account, setupHash), 'accounts'),
  };
}

function* createFirst(account: AccountRecord, setupHash: string | null): Steps<'created' | 'refused'> {
  const others = yield localAccounts();
  if (others.length > 0) return 'refused';
  if (setupHash !== null) {
    const links = yield sql`SELECT 1 AS one FROM setup_links WHERE hash = ${setupHash}`;
    if (links.length === 0) return 'refused';
  }
  yield insertAccount(account);
  yield sql`DELETE FROM setup_links`;
  return 'created';
}

/** Whether a local account exists. Accounts linked to an identity provider do not count: they may exist before the first local account. */
function localAccounts(): Query {
  return sql`SELECT 1 AS one FROM accounts
    WHERE NOT EXISTS (SELECT 1 FROM linked_identities WHERE linked_identities.account_id = accounts.id) LIMIT 1`;
}
