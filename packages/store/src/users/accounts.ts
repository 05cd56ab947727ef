/** Accounts and passwords. */
import type { AccountLinkRecord, AccountRecord, UserStore } from '@portcullis/authorization-server/store';
import { revokeAllOfAccount } from '../core/grants.ts';
import type { Database, Steps } from '../database.ts';
import { defineQuery, sql } from '../sql.ts';
import { type AccountLinkOperations, createAccountLinkOperations, insertLink } from './account-links.ts';
import { accountColumns, insertAccount } from './account-rows.ts';
import { createFirstAccountOperations, type FirstAccountOperations } from './first-account.ts';
import { createProfileOperations, type ProfileOperations } from './profiles.ts';
import { createSessionOperations, type SessionOperations } from './sessions.ts';

const SELECT = `SELECT ${accountColumns.select()}`;
const accountById = defineQuery(`${SELECT} FROM accounts WHERE id = ?`);
const accountByEmail = defineQuery(`${SELECT} FROM accounts WHERE email_key = ?`);
const accountsByVerifiedEmail = defineQuery(
  `${SELECT} FROM accounts
    WHERE id IN (SELECT account_id FROM user_profiles WHERE lower(email) = ?) ORDER BY id LIMIT 10`,
);
const accountsAfter = defineQuery(`${SELECT} FROM accounts WHERE email_key > ? ORDER BY email_key LIMIT ?`);

export function createUserStore(database: Database): UserStore {
  return {
    ...createFirstAccountOperations(database),
    ...createAccountOperations(database),
    ...createAccountLinkOperations(database),
    ...createSessionOperations(database),
    ...createProfileOperations(database),
  };
}

type AccountOperations = Omit<
  UserStore,
  | keyof FirstAccountOperations
  | keyof AccountLinkOperations
  | keyof SessionOperations
  | keyof ProfileOperations
>;

function createAccountOperations(database: Database): AccountOperations {
  return {
    findAccount: (id) => accountColumns.findFirst(database, accountById(id)),
    findAccountByEmail: (emailKey) => accountColumns.findFirst(database, accountByEmail(emailKey)),
    findAccountsByVerifiedEmail: (emailKey) =>
      accountColumns.findAll(database, accountsByVerifiedEmail(emailKey)),
    createAccount: (account, invitation) => database.transact(() => add(account, invitation), 'accounts'),
    listAccounts: (after, limit) => accountColumns.findAll(database, accountsAfter(after, limit)),
    disableAccount: (id, at) => database.transact(() => decide(id, disableSteps(id, at)), 'accounts'),
    enableAccount: (id) => database.transact(() => decide(id, enableSteps(id)), 'accounts'),
    setAccountRole: (id, role) =>
      database.changes(sql`UPDATE accounts SET role = ${role} WHERE id = ${id} RETURNING 1 AS one`, [
        'accounts',
        id,
      ]),
    removeAccount: (id, at) => database.transact(() => removeSteps(id, at), 'accounts'),
    replacePasswordHash: (accountId, oldHash, newHash) =>
      database.write(
        sql`UPDATE accounts SET password_hash = ${newHash} WHERE id = ${accountId} AND password_hash = ${oldHash}`,
      ),
    changePassword: (accountId, oldHash, newHash, exceptSession) =>
      database.transact(() => changePassword(accountId, oldHash, newHash, exceptSession), 'accounts'),
  };
}

function* changePassword(
  id: string,
  oldHash: string,
  newHash: string,
  exceptSession: string | null,
): Steps<boolean> {
  const changed =
    yield sql`UPDATE accounts SET password_hash = ${newHash} WHERE id = ${id} AND password_hash = ${oldHash}
      AND disabled_at IS NULL RETURNING 1 AS one`;
  if (changed.length === 0) return false;
  if (exceptSession !== null)
    yield sql`DELETE FROM sessions WHERE account_id = ${id} AND hash <> ${exceptSession}`;
  return true;
}

function* add(account: AccountRecord, invitation: AccountLinkRecord): Steps<boolean> {
  const others = yield sql`SELECT 1 AS one FROM accounts WHERE email_key = ${account.emailKey}`;
  if (others.length > 0) return false;
  yield insertAccount(account);
  yield insertLink(invitation);
  return true;
}

/** An operator's decision: a deactivation, reactivation or removal by a provisioning service that read the user before it conflicts with the version. */
function* decide(id: string, steps: Steps<boolean>): Steps<boolean> {
  yield sql`UPDATE scim_resources SET disabled_account = 0, version = version + 1 WHERE account_id = ${id}`;
  return yield* steps;
}

/** Waits for a concurrent code redemption, or makes it find its code used: see `revokeAllOfAccount`. */
export function* disableSteps(id: string, at: number): Steps<boolean> {
  const found = yield sql`SELECT 1 AS one FROM accounts WHERE id = ${id}`;
  yield sql`UPDATE accounts SET disabled_at = CASE WHEN disabled_at >= ${at} THEN disabled_at + 1 ELSE ${at} END WHERE id = ${id}`;
  yield sql`DELETE FROM sessions WHERE account_id = ${id}`;
  yield sql`DELETE FROM account_links WHERE account_id = ${id}`;
  yield* revokeAllOfAccount(id, at);
  return found.length > 0;
}

/** Codes of consents that were being stored at the disabling end here: until now the account could redeem none. */
export function* enableSteps(id: string): Steps<boolean> {
  const [found] = (yield sql`SELECT disabled_at FROM accounts WHERE id = ${id}`) as readonly {
    readonly disabled_at: number | null;
  }[];
  if (found === undefined) return false;
  const { disabled_at: since } = found;
  if (since === null) return true;
  yield sql`UPDATE accounts SET disabled_at = NULL WHERE id = ${id}`;
  yield sql`UPDATE authorization_codes SET consumed_at = ${since} WHERE expires_at > ${since} AND account_id = ${id} AND consumed_at IS NULL`;
  return true;
}

/**
 * Sessions, links, passkeys, TOTP factors and the linked identity are deleted with the row (`ON DELETE CASCADE`). Grants and
 * provider tokens are only marked as revoked and swept later, so that reused tokens are recognized and provider tokens are revoked. An
 * open transaction expires within minutes and cannot complete.
 */
export function* removeSteps(id: string, at: number): Steps<boolean> {
  const removed = yield sql`DELETE FROM accounts WHERE id = ${id} RETURNING 1 AS one`;
  if (removed.length === 0) return false;
  yield* revokeAllOfAccount(id, at);
  // Also those whose grant was not created yet.
  yield sql`UPDATE provider_tokens SET ended_at = ${at}, end_reason = 'revoked_here', due_at = ${at}
    WHERE account_id = ${id} AND ended_at IS NULL`;
  yield sql`UPDATE connected_accounts SET ended_at = ${at}, end_reason = 'revoked_here', due_at = ${at}
    WHERE account_id = ${id} AND ended_at IS NULL`;
  return true;
}
