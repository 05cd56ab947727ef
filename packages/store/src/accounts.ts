/** Accounts as facts of a database. */
import type { AccountLinkRecord, AccountRecord, UserStore } from '@portcullis/authorization-server/store';
import { type AccountLinkFacts, createAccountLinkFacts, insertLink } from './account-links.ts';
import { ACCOUNT_COLUMNS, type AccountRow, insertAccount, readAccount } from './account-rows.ts';
import type { Database, Steps } from './database.ts';
import { createFirstAccountFacts, type FirstAccountFacts } from './first-account.ts';
import { endAll } from './grants.ts';
import { removeAccount } from './removal.ts';
import { createSessionFacts, type SessionFacts } from './sessions.ts';
import { defineQuery, sql } from './sql.ts';

const accountById = defineQuery(`SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE id = ?`);
const accountByEmail = defineQuery(`SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE email_key = ?`);
const accountsAfter = defineQuery(
  `SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE email_key > ? ORDER BY email_key LIMIT ?`,
);

export function createAccountStore(database: Database): UserStore {
  return {
    ...createFirstAccountFacts(database),
    ...createAccountFacts(database),
    ...createPasswordFacts(database),
    ...createAccountLinkFacts(database),
    ...createSessionFacts(database),
  };
}

type PasswordFacts = Pick<UserStore, 'replacePasswordHash' | 'changePassword'>;
type AccountFacts = Omit<
  UserStore,
  keyof FirstAccountFacts | keyof PasswordFacts | keyof AccountLinkFacts | keyof SessionFacts
>;

function createAccountFacts(database: Database): AccountFacts {
  return {
    async findAccount(id) {
      return readAccount(await database.read<AccountRow>(accountById(id)));
    },
    async findAccountByEmail(emailKey) {
      return readAccount(await database.read<AccountRow>(accountByEmail(emailKey)));
    },
    createAccount: (account, initialAccessToken) =>
      database.fact({ steps: () => add(account, initialAccessToken), postgres: { lock: 'accounts' } }),
    async listAccounts(after, limit) {
      const rows = await database.read<AccountRow>(accountsAfter(after, limit));
      return rows.flatMap((row) => readAccount([row]) ?? []);
    },
    disableAccount: (id, at) =>
      database.fact({ steps: () => disable(id, at), postgres: { lock: 'accounts' } }),
    async enableAccount(id) {
      const enabled = await database.change(
        sql`UPDATE accounts SET disabled_at = NULL WHERE id = ${id} RETURNING 1 AS one`,
      );
      return enabled.length > 0;
    },
    removeAccount: (id, at) =>
      database.fact({ steps: () => removeAccount(id, at), postgres: { lock: 'accounts' } }),
  };
}

function createPasswordFacts(database: Database): PasswordFacts {
  return {
    async replacePasswordHash(accountId, oldHash, newHash) {
      await database.change(
        sql`UPDATE accounts SET password_hash = ${newHash} WHERE id = ${accountId} AND password_hash = ${oldHash}`,
      );
    },
    changePassword: (accountId, oldHash, newHash, kept) =>
      database.fact({
        steps: () => changePassword(accountId, oldHash, newHash, kept),
        postgres: { lock: 'accounts' },
      }),
  };
}

function* changePassword(id: string, oldHash: string, newHash: string, kept: string | null): Steps<boolean> {
  const changed =
    yield sql`UPDATE accounts SET password_hash = ${newHash} WHERE id = ${id} AND password_hash = ${oldHash} RETURNING 1 AS one`;
  if (changed.length === 0) return false;
  yield sql`DELETE FROM account_links WHERE account_id = ${id}`;
  if (kept !== null) yield sql`DELETE FROM sessions WHERE account_id = ${id} AND hash <> ${kept}`;
  return true;
}

function* add(account: AccountRecord, initialAccessToken: AccountLinkRecord): Steps<boolean> {
  const others = yield sql`SELECT 1 AS one FROM accounts WHERE email_key = ${account.emailKey}`;
  if (others.length > 0) return false;
  yield insertAccount(account);
  yield insertLink(initialAccessToken);
  return true;
}

/** Whoever redeems a code at this moment is waited for, or finds it spent: see `endAll`. */
function* disable(id: string, at: number): Steps<boolean> {
  const found = yield sql`SELECT 1 AS one FROM accounts WHERE id = ${id}`;
  yield sql`UPDATE accounts SET disabled_at = ${at} WHERE id = ${id} AND disabled_at IS NULL`;
  yield sql`DELETE FROM sessions WHERE account_id = ${id}`;
  yield sql`DELETE FROM account_links WHERE account_id = ${id}`;
  yield* endAll(id, at);
  return found.length > 0;
}
