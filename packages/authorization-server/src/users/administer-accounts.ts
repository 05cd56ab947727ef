/** Accounts in the hands of an administrator: added, listed, disabled, enabled, removed, and given a new way in. */
import type { Configuration } from '../configuration.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { AccountLinkRecord, AccountRecord } from '../store/index.ts';
import { createAccountRecord, emailKey } from './accounts.ts';
import { unusableHash } from './passwords.ts';

/** Seconds that a link waits for its owner. */
const LINK_LIFETIMES = { invitation: 7 * 86_400, reset: 86_400 } as const;

/** A link for the owner of an account: whoever has it gets in, once. */
export interface AccountLink {
  readonly link: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** What is told of an account. */
export type ListedAccount = Pick<AccountRecord, 'id' | 'email' | 'emailKey' | 'createdAt' | 'disabledAt'>;

/** All that it works with: it needs no running server. */
export type AccountAdministrationContext = Pick<Configuration, 'issuer' | 'store' | 'clock' | 'events'>;

/** The accounts of people, in the hands of an administrator. */
export interface AccountAdministration {
  /** Makes an account and the link by which its owner chooses how to sign in. */
  add(email: string): Promise<AccountLink | { readonly refused: 'no-address' | 'exists' }>;
  /** Accounts in the order of their keys: those behind the address or `emailKey` `after`, at most `limit`. */
  list(after?: string, limit?: number): Promise<readonly ListedAccount[]>;
  /** Ends the sessions, grants and tokens of an account, by its address or identifier, and lets nobody in until it is enabled again. @returns `false` when there is none */
  disable(account: string): Promise<boolean>;
  /** Lets its owner sign in again. What was ended stays ended. @returns `false` when there is none */
  enable(account: string): Promise<boolean>;
  /**
   * Removes an account with all that was kept for its owner; what it allowed ends. The audit log keeps its identifier. Whoever
   * signs in by a third party gets another account when they come again: disable theirs to keep them out.
   * @returns `false` when there is none
   */
  remove(account: string): Promise<boolean>;
  /** A link by which the owner chooses anew how to sign in. When it is used, every session and every other way in ends. */
  reset(email: string): Promise<AccountLink | { readonly refused: 'unknown' | 'disabled' }>;
}

/** Administers the accounts of a store, with or without a server beside it. */
export function createAccountAdministration({
  issuer,
  store,
  clock,
  events,
}: AccountAdministrationContext): AccountAdministration {
  const find = (named: string) => findNamedAccount(store, named);
  const makeLink = (accountId: string, purpose: AccountLinkRecord['purpose']) => {
    const token = newSecret();
    const createdAt = clock();
    const expiresAt = createdAt + LINK_LIFETIMES[purpose];
    const record: AccountLinkRecord = { hash: hashSecret(token), accountId, purpose, createdAt, expiresAt };
    return { record, answer: { link: `${new URL(issuer).origin}/${purpose}?token=${token}`, expiresAt } };
  };
  return {
    async add(email) {
      const key = emailKey(email);
      if (key === null) return { refused: 'no-address' };
      const account = createAccountRecord(email, key, unusableHash(), clock());
      const { record, answer } = makeLink(account.id, 'invitation');
      if (!(await store.createAccount(account, record))) return { refused: 'exists' };
      events({ type: 'account.created', accountId: account.id });
      return answer;
    },
    async list(after = '', limit = 100) {
      // People of third parties have no address.
      const accounts = await store.listAccounts(emailKey(after) ?? after, limit);
      return accounts.map(describe);
    },
    async disable(email) {
      const account = await find(email);
      if (account === null || !(await store.disableAccount(account.id, clock()))) return false;
      events({ type: 'account.disabled', accountId: account.id });
      return true;
    },
    async enable(email) {
      const account = await find(email);
      if (account === null || !(await store.enableAccount(account.id))) return false;
      events({ type: 'account.enabled', accountId: account.id });
      return true;
    },
    async remove(named) {
      const account = await find(named);
      // Point of no return: nobody has what was allowed any more.
      if (account === null || !(await store.removeAccount(account.id, clock()))) return false;
      events({ type: 'account.removed', accountId: account.id });
      return true;
    },
    async reset(email) {
      // Whoever has no address here signs in at a third party, and nowhere else.
      const account = emailKey(email) === null ? null : await find(email);
      if (account === null) return { refused: 'unknown' };
      if (account.disabledAt !== null) return { refused: 'disabled' };
      const { record, answer } = makeLink(account.id, 'reset');
      await store.saveAccountLink(record);
      events({ type: 'account.reset_link_created', accountId: account.id });
      return answer;
    },
  };
}

/** An account by its address, or by its identifier: people of third parties have no address here. */
export async function findNamedAccount(
  store: Configuration['store'],
  named: string,
): Promise<AccountRecord | null> {
  if (named.startsWith('user_')) {
    const account = await store.findAccount(named);
    if (account !== null) return account;
  }
  const key = emailKey(named);
  return key === null ? null : store.findAccountByEmail(key);
}

function describe({ id, email, emailKey, createdAt, disabledAt }: AccountRecord): ListedAccount {
  return { id, email, emailKey, createdAt, disabledAt };
}
