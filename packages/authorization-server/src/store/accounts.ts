/** What a store must do for the accounts of people, their browser sessions, and the link that makes the first account. */
import type { PasskeyRecord } from './passkeys.ts';

/** A person's account. Times in epoch seconds. */
export interface AccountRecord {
  /** Starts with `user_`, which no client identifier does. */
  readonly id: string;
  /** As its owner wrote it. */
  readonly email: string;
  /** Trimmed, NFKC, lowercase: unique. */
  readonly emailKey: string;
  /** PHC string of argon2id. */
  readonly passwordHash: string;
  readonly createdAt: number;
  readonly disabledAt: number | null;
}

/** A signed-in browser. The cookie's value is stored as its hash only. */
export interface SessionRecord {
  /** Base64url SHA-256 of the cookie's value. */
  readonly hash: string;
  readonly accountId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The network address that signed in; `null` when the host of the server does not know it. */
  readonly address: string | null;
  /** The browser in words, such as `Firefox on Linux`; `null` when it did not say. */
  readonly browser: string | null;
}

/** A one-time link by which the owner of an account chooses how to sign in. Times in epoch seconds. */
export interface AccountLinkRecord {
  /** Base64url SHA-256 of the link's token. */
  readonly hash: string;
  readonly accountId: string;
  /** The owner is new, or has lost the way in. */
  readonly purpose: 'invitation' | 'reset';
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A session and whose it is. */
export interface FoundSession {
  readonly session: SessionRecord;
  readonly account: AccountRecord;
}

export interface UserStore {
  /** Whether there is an account of this server's own: people of third parties do not count. */
  hasLocalAccounts(): Promise<boolean>;
  findAccount(id: string): Promise<AccountRecord | null>;
  findAccountByEmail(emailKey: string): Promise<AccountRecord | null>;

  /** Remembers the hash of a setup link. Several may be valid until an account exists. */
  saveSetupLink(hash: string, createdAt: number): Promise<void>;
  /** Whether the link may still make the first account: it is known, and there is no account. */
  isSetupLink(hash: string): Promise<boolean>;
  /**
   * Makes the first account, by a setup link or (hash `null`) by the operator's configuration. One fact: of any number of
   * racing calls exactly one answers `created`, and with it every setup link is spent.
   */
  createFirstAccount(account: AccountRecord, setupHash: string | null): Promise<'created' | 'refused'>;
  /** Makes an account with the link of its invitation. One fact. @returns `false` when the address is taken */
  createAccount(account: AccountRecord, invitation: AccountLinkRecord): Promise<boolean>;
  /** Accounts in the order of their e-mail keys, those behind `after` only. */
  listAccounts(after: string, limit: number): Promise<readonly AccountRecord[]>;
  /**
   * Disables an account. One fact: its sessions, links, grants and codes end with it, for good. Disabling twice changes
   * nothing. @returns `false` when there is none
   */
  disableAccount(id: string, at: number): Promise<boolean>;
  /** @returns `false` when there is none */
  enableAccount(id: string): Promise<boolean>;

  /**
   * Removes an account. One fact: what was kept for its owner goes, as everything ends that it allowed, for good; what third
   * parties gave for it is given back there. Of racing calls one answers `true`. @returns `false` when there is none
   */
  removeAccount(id: string, at: number): Promise<boolean>;

  /** Keeps a link; the account's earlier ones end. */
  saveAccountLink(link: AccountLinkRecord): Promise<void>;
  /** The link, unless it was used or has expired, or its account is disabled. */
  findAccountLink(hash: string, now: number): Promise<AccountLinkRecord | null>;
  /**
   * Uses a link: its account gets this way in and loses every other one and every session. One fact: of racing calls one
   * answers `true`.
   * @param chosen a password, or a passkey and a hash that no password matches
   */
  redeemAccountLink(
    hash: string,
    chosen: { readonly passwordHash: string; readonly passkey: PasskeyRecord | null },
    at: number,
  ): Promise<boolean>;

  /** Replaces the password hash if it is still the old one. */
  replacePasswordHash(accountId: string, oldHash: string, newHash: string): Promise<void>;

  /**
   * Changes a password, if its hash is still the old one; links of the account end with it. One fact.
   * @param kept the session that goes on while every other one ends; `null`: all go on
   * @returns `false` when it is no longer the old one
   */
  changePassword(accountId: string, oldHash: string, newHash: string, kept: string | null): Promise<boolean>;

  saveSession(session: SessionRecord): Promise<void>;
  /** The session with its account, unless it has expired or the account is disabled or gone. */
  findSession(hash: string, now: number): Promise<FoundSession | null>;
  /** The live sessions of an account, newest first. */
  listSessions(accountId: string, now: number): Promise<readonly SessionRecord[]>;
  endSession(hash: string): Promise<void>;
  /** Ends every session of an account but one (`null`: every one). Answers how many. */
  endSessions(accountId: string, except: string | null): Promise<number>;
}
