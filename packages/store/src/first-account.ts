/** The first account, and the links by which it is made, as facts of a database. */
import type { AccountRecord, UserStore } from '@portcullis/authorization-server/store';
import { insertAccount } from './account-rows.ts';
import type { Database, Steps } from './database.ts';
import { type Query, sql } from './sql.ts';

export type FirstAccountFacts = Pick<
  UserStore,
  'hasLocalAccounts' | 'saveSetupLink' | 'isSetupLink' | 'createFirstAccount'
>;

export function createFirstAccountFacts(database: Database): FirstAccountFacts {
  return {
    async hasLocalAccounts() {
      return (await database.read(ownAccounts())).length > 0;
    },
    async saveSetupLink(hash, createdAt) {
      await database.change(sql`INSERT INTO setup_links (hash, created_at) VALUES (${hash}, ${createdAt})`);
    },
    async isSetupLink(hash) {
      const found = await database.read(
        sql`SELECT 1 AS one FROM setup_links WHERE hash = ${hash} AND NOT EXISTS (SELECT 1 FROM accounts
          WHERE NOT EXISTS (SELECT 1 FROM persons WHERE persons.account_id = accounts.id))`,
      );
      return found.length > 0;
    },
    createFirstAccount: (account, setupHash) =>
      database.fact({ steps: () => makeFirst(account, setupHash), postgres: { lock: 'accounts' } }),
  };
}

function* makeFirst(account: AccountRecord, setupHash: string | null): Steps<'created' | 'refused'> {
  const others = yield ownAccounts();
  if (others.length > 0) return 'refused';
  if (setupHash !== null) {
    const links = yield sql`SELECT 1 AS one FROM setup_links WHERE hash = ${setupHash}`;
    if (links.length === 0) return 'refused';
  }
  yield insertAccount(account);
  yield sql`DELETE FROM setup_links`;
  return 'created';
}

/** One is enough. People of third parties may come before anybody has an account of this server's own. */
function ownAccounts(): Query {
  return sql`SELECT 1 AS one FROM accounts
    WHERE NOT EXISTS (SELECT 1 FROM persons WHERE persons.account_id = accounts.id) LIMIT 1`;
}
