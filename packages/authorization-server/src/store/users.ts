/** The store capability `users`: accounts, passwords, browser sessions, and the one-time links of account set-up. */
import type { PasskeyRecord } from './mfa.ts';

/** What an account may do with the installation: `viewer` sees it, `operator` changes it as well. */
export type AccountRole = 'operator' | 'viewer';

/** A user's account. Times in epoch seconds. */
export interface AccountRecord {
  /** Starts with `user_`, which no client identifier does. */
  readonly id: string;
  /** As the user entered it. */
  readonly email: string;
  /** Trimmed, NFKC, lowercase: unique. */
  readonly emailKey: string;
  /** PHC string of argon2id. */
  readonly passwordHash: string;
  readonly createdAt: number;
  readonly disabledAt: number | null;
  /** `null`: it uses its servers, and administers nothing. */
  readonly role: AccountRole | null;
}

/** The profile of a user: the source of claims. */
export interface UserProfile {
  /** The address that the identity provider verified; `null` for a local account, or if there is none. */
  readonly email: string | null;
  readonly name: string | null;
  /** Those of the last sign-in at the identity provider, or set by an operator. */
  readonly groups: readonly string[];
  /** Names of the groups that the identity provider provisions by SCIM. */
  readonly provisionedGroups?: readonly string[];
}

/** A signed-in browser. Only the hash of its cookie is stored. */
export interface SessionRecord {
  /** Base64url SHA-256 of the cookie's value. */
  readonly hash: string;
  readonly accountId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The network address that signed in; `null` when it is unknown. */
  readonly address: string | null;
  /** The browser's name, such as `Firefox on Linux`; `null` when it is unknown. */
  readonly browser: string | null;
  /** The methods of the sign-in, by their names in RFC 8176; absent: not known. */
  readonly methods?: readonly string[];
  /** When the user authenticated at the identity provider, which may be long before; absent: at `createdAt`. */
  readonly authenticatedAt?: number;
  /** The session at the identity provider: base64url SHA-256 of its issuer and identifier; absent: not known. */
  readonly providerSession?: string;
  /** The language of its pages at sign-in, as a tag, for mail; absent: not known. */
  readonly language?: string;
}

/** A one-time link with which a user chooses how to sign in. Times in epoch seconds. */
export interface AccountLinkRecord {
  /** Base64url SHA-256 of the link's token. */
  readonly hash: string;
  readonly accountId: string;
  /** A new user, or one who lost access. */
  readonly purpose: 'invitation' | 'reset';
  /** Whether it is mailed on a request, which anyone can make. */
  readonly isMailed: boolean;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A user has logged out at an identity provider. */
interface ProviderLogout {
  /** `null`: the provider does not name the user. */
  readonly accountId: string | null;
  /** `null`: all sessions of the user. */
  readonly providerSession: string | null;
  /** Sessions that began later continue, unless a clock that was ahead of `now` began them. Epoch seconds. */
  readonly before: number;
  readonly now: number;
}

/** A session together with its account. */
interface FoundSession {
  readonly session: SessionRecord;
  readonly account: AccountRecord;
}

/** Accounts, sessions and account links. */
export interface UserStore {
  /** Whether there is a local account: one that is not linked to an identity provider. */
  hasLocalAccounts(): Promise<boolean>;
  findAccount(id: string): Promise<AccountRecord | null>;
  findAccountByEmail(emailKey: string): Promise<AccountRecord | null>;
  /** Accounts whose identity provider verified an e-mail address, at most ten. @param emailKey compared without case */
  findAccountsByVerifiedEmail(emailKey: string): Promise<readonly AccountRecord[]>;

  /** The profile of an account; `null` when none was saved, and no groups are provisioned. */
  findProfile(accountId: string): Promise<UserProfile | null>;
  /** Saves the profile, replacing the previous one, without provisioned groups. @returns `false` when there is no such account */
  saveProfile(accountId: string, profile: UserProfile): Promise<boolean>;

  /** Groups in the profiles of accounts, without provisioned ones: a page ordered by account, after the account `after`. */
  listProfileGroups(
    after: string,
    limit: number,
  ): Promise<readonly { readonly accountId: string; readonly groups: readonly string[] }[]>;

  /** Saves the hash of a setup link, unless it could create no account; several may be valid. Deletes expired ones. @returns whether it was saved */
  saveSetupLink(hash: string, createdAt: number): Promise<boolean>;
  /** Whether the link can still create the first account: it was saved within a day, and there is neither an account nor a provisioned resource. */
  isSetupLink(hash: string, now: number): Promise<boolean>;
  /**
   * Creates the first account, with a setup link that is valid at `createdAt` of the account, or (hash `null`) from the operator's
   * configuration if there is no local account. Atomic: of concurrent calls exactly one returns `created`, and all setup links are
   * deleted with it.
   */
  createFirstAccount(account: AccountRecord, setupHash: string | null): Promise<'created' | 'refused'>;
  /** Creates an account together with its invitation link. Atomic. @returns `false` when the e-mail address is taken */
  createAccount(account: AccountRecord, invitation: AccountLinkRecord): Promise<boolean>;
  /** A page of accounts, ordered by e-mail key, after the key `after`. */
  listAccounts(after: string, limit: number): Promise<readonly AccountRecord[]>;
  /**
   * Disables an account. Atomic: also deletes its sessions and links, revokes its grants and invalidates its codes.
   * A disabled one is disabled as of later, at least by a second, so that no two disablings share a time.
   * Sets `disabledAccount` of its provisioned users to `false`, always as a new version: what a provisioning service does at the same
   * time must not undo it.
   * @returns `false` when there is no such account
   */
  disableAccount(id: string, at: number): Promise<boolean>;
  /** Enables an account. Atomic: also invalidates its codes, and changes provisioned users as `disableAccount` does. @returns `false` when there is no such account */
  enableAccount(id: string): Promise<boolean>;
  /** Changes what an account may administer. @returns `false` when there is no such account */
  setAccountRole(id: string, role: AccountRole | null): Promise<boolean>;
  /**
   * Removes an account. Atomic: the user's data is deleted, grants are revoked, and provider tokens are queued for revocation at
   * their identity providers. Of concurrent calls one returns `true`. @returns `false` when there is no such account
   */
  removeAccount(id: string, at: number): Promise<boolean>;

  /** Saves a link, replacing the account's earlier ones: a mailed link only those that were mailed. Atomic. */
  saveAccountLink(link: AccountLinkRecord): Promise<void>;
  /** The link, unless it was used or has expired, or its account is disabled. */
  findAccountLink(hash: string, now: number): Promise<AccountLinkRecord | null>;
  /**
   * Uses a link: the account gets the chosen credential and loses every other credential and every session. Atomic: of
   * concurrent calls one returns `true`.
   * @param chosen a password, or a passkey and a hash that no password matches; and whether TOTP and recovery codes remain
   */
  redeemAccountLink(
    hash: string,
    chosen: {
      readonly passwordHash: string;
      readonly passkey: PasskeyRecord | null;
      readonly keepsSecondFactor?: boolean;
    },
    at: number,
  ): Promise<boolean>;

  /** Replaces the password hash if it still equals `oldHash`: for rehashing with new parameters. */
  replacePasswordHash(accountId: string, oldHash: string, newHash: string): Promise<void>;
  /**
   * Changes a password if its hash still equals `oldHash`. Atomic. Links remain: who knows only the old password cannot prevent a reset.
   * @param exceptSession the only session that survives; `null`: all sessions do
   * @returns `false` when the hash has changed, or the account is disabled
   */
  changePassword(
    accountId: string,
    oldHash: string,
    newHash: string,
    exceptSession: string | null,
  ): Promise<boolean>;

  /**
   * Saves the session of a verified sign-in. Atomic. Afterwards the oldest of more sessions of the account end.
   * @param passwordHash of the account when the credential was verified: each reset changes it
   * @param most sessions of the account; without it, none ends
   * @returns `false` when the hash has changed, or the account is disabled or gone
   */
  saveSession(session: SessionRecord, passwordHash: string, most?: number): Promise<boolean>;
  /** The session with its account, unless it has expired or the account is disabled or removed. */
  findSession(hash: string, now: number): Promise<FoundSession | null>;
  /** The live sessions of an account, newest first. */
  listSessions(accountId: string, now: number): Promise<readonly SessionRecord[]>;
  endSession(hash: string): Promise<void>;
  /** Ends every session of an account except one (`null`: every one). @returns how many */
  endSessions(accountId: string, except: string | null): Promise<number>;
  /**
   * Ends the sessions that a provider's logout names: those of `providerSession`, and those of the account (without `providerSession`:
   * all; with it: those whose session at the provider is not known). Atomic.
   * @returns the account of each ended session
   */
  endProviderSessions(logout: ProviderLogout): Promise<readonly string[]>;
}
