/** The first local account, and the setup links that create it. */
import type { AccountRecord, UserStore } from '@portcullis/authorization-server/store';
import type { Database, Steps } from '../database.ts';
import { defineQuery, type Query, sql } from '../sql.ts';
import { insertAccount } from './account-rows.ts';

export type FirstAccountOperations = Pick<
  UserStore,
  'hasLocalAccounts' | 'saveSetupLink' | 'isSetupLink' | 'createFirstAccount'
>;

/** Lifetime of a setup link, in seconds. */
const LINK_LIFETIME = 86_400;
/** Users of an identity provider count: a link that is found in an old log must not make an operator. */
const UNUSED = 'NOT EXISTS (SELECT 1 FROM accounts) AND NOT EXISTS (SELECT 1 FROM scim_resources)';
const insertLink = defineQuery(
  `INSERT INTO setup_links (hash, created_at) SELECT ?, ? WHERE ${UNUSED} RETURNING 1 AS one`,
);
const usableLink = defineQuery(
  `SELECT 1 AS one FROM setup_links WHERE hash = ? AND created_at > ? AND ${UNUSED}`,
);

export function createFirstAccountOperations(database: Database): FirstAccountOperations {
  return {
    hasLocalAccounts: async () => (await database.read(localAccounts())).length > 0,
    async saveSetupLink(hash, createdAt) {
      await database.write(sql`DELETE FROM setup_links WHERE created_at <= ${createdAt - LINK_LIFETIME}`);
      return database.changes(insertLink(hash, createdAt));
    },
    isSetupLink: async (hash, now) => (await database.read(usableLink(hash, now - LINK_LIFETIME))).length > 0,
    createFirstAccount: (account, setupHash) =>
      database.transact(() => createFirst(account, setupHash), 'accounts'),
  };
}

function* createFirst(account: AccountRecord, setupHash: string | null): Steps<'created' | 'refused'> {
  if (setupHash === null) {
    const others = yield localAccounts();
    if (others.length > 0) return 'refused';
  } else {
    const links = yield usableLink(setupHash, account.createdAt - LINK_LIFETIME);
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
