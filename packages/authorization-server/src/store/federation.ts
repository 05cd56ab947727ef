/** The store capability `federation`: logins at identity providers, linked identities, and the token vault's provider tokens. */
import type { Scopes } from '@portcullis/protocol';
import type { AccountRecord } from './users.ts';

/** A browser that was redirected to an identity provider or a backend and has not returned. Times in epoch seconds. */
export interface FederatedLoginRecord {
  /** Base64url SHA-256 of the `state` parameter. */
  readonly stateHash: string;
  /** Base64url SHA-256 of the cookie that was set with the redirect. */
  readonly browserHash: string;
  /** The identifier of the identity provider in the configuration; `null` for a connection request. */
  readonly identityProvider: string | null;
  /** The path of the backend's server where the user connects an account; `null` for a login. */
  readonly backend: string | null;
  /** The waiting authorization transaction; `null` when the user signs in to an account page. */
  readonly transactionId: string | null;
  /** That account page; `null` when a transaction waits. */
  readonly returnTo: string | null;
  /** The account that was signed in before the redirect; `null`: none. */
  readonly accountId: string | null;
  /** The scopes that the user approved before the redirect. */
  readonly approvedScopes: Scopes;
  /** The workspace that the user picked; `null` where there are none. */
  readonly workspace: string | null;
  /** The encrypted PKCE verifier and nonce. */
  readonly encryptedSecrets: Uint8Array;
  readonly expiresAt: number;
}

/** A user's identity at an identity provider, linked to an account. */
export interface LinkedIdentityRecord {
  /** The issuer identifier. */
  readonly issuer: string;
  /** The `sub`: never an e-mail address. */
  readonly subject: string;
  readonly accountId: string;
}

/** Why provider tokens ended. */
export type ProviderTokensEndReason =
  /** The grant was revoked here, or its account or client is gone. */
  | 'revoked_here'
  /** The grant expired, or its code was never redeemed. */
  | 'grant_expired'
  /** The identity provider returned `invalid_grant`, or reports the token as inactive. */
  | 'revoked_by_provider'
  /** The provider's token expired and cannot be refreshed. */
  | 'expired_at_provider'
  /** The response to a refresh was lost, and the provider no longer accepts the old refresh token. */
  | 'refresh_lost'
  /** The provider's token now belongs to another user, or covers no scope of the grant. */
  | 'changed_by_provider'
  /** The provider refreshes only after its user has signed in or consented again. */
  | 'login_required';

/** Tokens of another issuer that a grant uses: encrypted, refreshed by one process at a time, revoked there when they end. Times in epoch seconds. */
export interface UpstreamTokens {
  /** The grant, which exists once its code is redeemed. */
  readonly grantId: string;
  readonly accountId: string;
  /** The encrypted tokens; `null` once they were deleted. */
  readonly encryptedTokens: Uint8Array | null;
  /** The data key they are encrypted under. */
  readonly dataKeyId: string;
  /** The issuer's scopes. */
  readonly scopes: Scopes;
  /** When the access token expires; `null` when the issuer did not say. */
  readonly expiresAt: number | null;
  /** Whether there is a refresh token. */
  readonly isRefreshable: boolean;
  /** From then on it is refreshed ahead of expiry; `null`: only when it turns out to be inactive. */
  readonly refreshFrom: number | null;
  /** When the issuer issued it, or last confirmed it as active. */
  readonly checkedAt: number;
  /** Incremented by each refresh. */
  readonly version: number;
  /** The process that refreshes it now; `null`: none. */
  readonly leaseHolder: string | null;
  /** Until then no other process refreshes it: a refresh is running, or the issuer sent `Retry-After`. */
  readonly leaseUntil: number | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly endReason: ProviderTokensEndReason | null;
  /** When to check whether its grant is live, or to revoke its tokens at the issuer; `null`: never. */
  readonly dueAt: number | null;
  /** How often revocation at the issuer was attempted. */
  readonly revocationAttempts: number;
}

/** The identity provider's tokens that a grant depends on. */
export interface ProviderTokensRecord extends UpstreamTokens {
  /** The identifier of the identity provider in the configuration. */
  readonly identityProvider: string;
  readonly issuer: string;
  readonly subject: string;
  /** The user's name there; `null` when unknown. */
  readonly name: string | null;
}

/** The members that a refresh replaces. */
export type RefreshedTokens = Pick<
  UpstreamTokens,
  'encryptedTokens' | 'dataKeyId' | 'scopes' | 'expiresAt' | 'isRefreshable' | 'refreshFrom' | 'checkedAt'
>;

/** A data key (DEK), which encrypts tokens of other issuers, itself encrypted under the master key (KEK). */
export interface DataKeyRecord {
  readonly id: string;
  readonly encryptedKey: Uint8Array;
  /** Epoch seconds. */
  readonly createdAt: number;
}

/** Logins at identity providers until their callback. */
interface FederatedLoginStore {
  /** Records the identity provider of a transaction; `null`: local. Does nothing when the transaction is gone. */
  setTransactionIdentityProvider(id: string, identityProvider: string | null): Promise<void>;
  /** Saves a federated login. Atomic: replaces an earlier one of the same transaction. */
  saveFederatedLogin(login: FederatedLoginRecord): Promise<void>;
  /** The login, unless it has expired or was consumed. */
  findFederatedLogin(stateHash: string, now: number): Promise<FederatedLoginRecord | null>;
  /** Consumes a login. Atomic: of concurrent calls one returns `true`. */
  consumeFederatedLogin(stateHash: string, now: number): Promise<boolean>;
}

/** Identities at identity providers, linked to accounts. */
interface LinkedIdentityStore {
  findLinkedIdentity(issuer: string, subject: string): Promise<LinkedIdentityRecord | null>;
  /** The linked identity of an account; `null` for local accounts. */
  findLinkedIdentityByAccount(accountId: string): Promise<LinkedIdentityRecord | null>;
  /**
   * Creates an account for an identity, unless one is linked already. Atomic: of concurrent calls one creates an account.
   * @returns the identifier of the linked account
   */
  linkIdentity(identity: LinkedIdentityRecord, account: AccountRecord): Promise<string>;
}

/** The provider tokens of grants. */
export interface ProviderTokensStore {
  /**
   * Saves provider tokens and records their account and provider in the transaction. Atomic. @returns `false` when the
   * transaction is gone: nothing is saved then
   */
  saveProviderTokens(transactionId: string, tokens: ProviderTokensRecord): Promise<boolean>;
  /** Saves tokens that have ended already, so that they are revoked at the identity provider. */
  saveEndedProviderTokens(tokens: ProviderTokensRecord): Promise<void>;
  /** Whether any live provider tokens are stored. */
  hasProviderTokens(): Promise<boolean>;
  findProviderTokens(grantId: string): Promise<ProviderTokensRecord | null>;
  /** The live provider tokens of an account. */
  listProviderTokens(accountId: string): Promise<readonly ProviderTokensRecord[]>;
  /** Records that the provider confirmed the tokens as active. The time never moves backwards, except from one that a wrong clock wrote. */
  recordProviderTokensCheck(grantId: string, at: number): Promise<void>;
  /**
   * Leases the right to refresh. Atomic: of concurrent calls, in any number of processes, one returns `true`, and no other
   * before `until`, which is seconds or minutes ahead: a lease that is further ahead was acquired by a process with a wrong clock.
   */
  leaseProviderTokens(
    grantId: string,
    version: number,
    holder: string,
    now: number,
    until: number,
  ): Promise<boolean>;
  /** Saves refreshed tokens and ends the lease. Atomic. @returns `false` when another process holds the lease */
  saveRefreshedProviderTokens(grantId: string, holder: string, refreshed: RefreshedTokens): Promise<boolean>;
  /** Ends a lease without a refresh. @param until no process may try before then; `null`: at once */
  releaseProviderTokens(grantId: string, holder: string, until: number | null): Promise<void>;
  /**
   * Ends provider tokens and revokes the grant that depends on them. Atomic. @param version the version that was checked
   * @returns `false` when the version has changed or they have ended already
   */
  endProviderTokens(
    grantId: string,
    version: number,
    reason: ProviderTokensEndReason,
    at: number,
  ): Promise<boolean>;
  /** The number of live provider tokens of an identity, except those of one grant. */
  countProviderTokensOfIdentity(issuer: string, subject: string, except: string): Promise<number>;
}

/** The outbox of revocations at identity providers: each ended record of provider tokens is a job until its tokens are deleted. */
export interface RevocationJobStore {
  /** Ends the provider tokens of grants revoked since then. @returns how many */
  endProviderTokensOfRevokedGrants(since: number, at: number): Promise<number>;
  /**
   * The provider tokens to revoke at their providers now, each leased to this caller until `until`. First ends those that are due
   * and whose grant is no longer live.
   */
  claimRevocationJobs(now: number, until: number, limit: number): Promise<readonly ProviderTokensRecord[]>;
  postponeRevocationJob(grantId: string, until: number): Promise<void>;
  /**
   * Deletes the tokens of an ended record: its job is done. Atomic. @param version that was claimed; later ones, which a refresh
   * returned meanwhile, stay to be revoked
   */
  completeRevocationJob(grantId: string, version: number): Promise<void>;
}

/** Data keys of the token vault. */
export interface DataKeyStore {
  /** All data keys, newest first. */
  listDataKeys(): Promise<readonly DataKeyRecord[]>;
  /** As `addSigningKey`: inserts a data key if the newest is still `after`. @returns all data keys, newest first */
  addDataKey(key: DataKeyRecord, after: string | null): Promise<readonly DataKeyRecord[]>;
  /** As `reencryptSigningKeys`: all of them, or nothing and `false` when the stored keys are not exactly these. */
  reencryptDataKeys(encrypted: ReadonlyMap<string, Uint8Array>): Promise<boolean>;
  /**
   * Removes data keys made before then that encrypt nothing, or only registrations at backends of clients that are gone, but never
   * the newest. @returns how many
   */
  removeUnusedDataKeys(before: number): Promise<number>;
  /**
   * Removes data keys that can no longer be decrypted. Atomic: what they encrypt is deleted, and the grants that depend on it
   * are revoked. @returns how many provider tokens ended
   */
  discardDataKeys(ids: readonly string[], at: number): Promise<number>;
}

/** Store capability for identity providers: pending logins, linked identities, encrypted provider tokens, revocation jobs. */
export interface FederationStore
  extends FederatedLoginStore,
    LinkedIdentityStore,
    ProviderTokensStore,
    RevocationJobStore,
    DataKeyStore {}
