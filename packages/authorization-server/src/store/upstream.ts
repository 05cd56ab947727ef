/** What a store must do for third parties: who is on the way there, who somebody is there, and what a grant here rests on. */
import type { Scopes } from '@portcullis/protocol';
import type { AccountRecord } from './accounts.ts';

/** Somebody who left for a third party and is expected back. Times in epoch seconds. */
export interface FederatedLoginRecord {
  /** Base64url SHA-256 of the `state` that went along. */
  readonly stateHash: string;
  /** Base64url SHA-256 of the cookie that was set when the browser left. */
  readonly browserHash: string;
  /** The identifier of the third party in the configuration. */
  readonly identityProvider: string;
  /** The transaction that waits; `null` when somebody only signs in for a page of their own. */
  readonly transactionId: string | null;
  /** That page; `null` when a transaction waits. */
  readonly returnTo: string | null;
  /** Who was signed in here when they left; `null` when nobody was. */
  readonly accountId: string | null;
  /** What they allowed the client before they left. */
  readonly approvedScopes: Scopes;
  /** The workspace that they chose; `null` where there are none. */
  readonly workspace: string | null;
  /** The sealed PKCE verifier and nonce. */
  readonly encryptedSecrets: Uint8Array;
  readonly expiresAt: number;
}

/** Who somebody is at a third party. */
export interface LinkedIdentityRecord {
  /** Of whoever says so: an issuer identifier. */
  readonly issuer: string;
  /** Never an address: what the issuer never gives to anybody else. */
  readonly subject: string;
  /** The account here. */
  readonly accountId: string;
}

/** Why a bond ended. */
export type ProviderTokensEndReason =
  /** The grant here was revoked, or its account or client is gone. */
  | 'revoked_here'
  /** The grant expired, or its code was never redeemed. */
  | 'grant_expired'
  /** The third party answers `invalid_grant`, or says that the token is not active. */
  | 'revoked_by_provider'
  /** Their token has expired, and nothing renews it. */
  | 'expired_at_provider'
  /** A renewal was sent and its answer lost; the third party does not accept the old refresh token any more. */
  | 'refresh_lost'
  /** Their token is for somebody else now, or no longer covers anything of the grant. */
  | 'changed_by_provider';

/** What a grant here rests on at a third party. Times in epoch seconds. */
export interface ProviderTokensRecord {
  /** The grant. It exists once its code is redeemed. */
  readonly grantId: string;
  readonly accountId: string;
  /** The identifier of the third party in the configuration. */
  readonly identityProvider: string;
  readonly issuer: string;
  readonly subject: string;
  /** What the person is called there; `null` when nobody said. */
  readonly name: string | null;
  /** Their tokens, sealed; `null` when they have been forgotten. */
  readonly encryptedTokens: Uint8Array | null;
  /** The data key that they are sealed under. */
  readonly dataKeyId: string;
  /** What their token is good for, in their words. */
  readonly scopes: Scopes;
  /** When their access token expires; `null` when they did not say. */
  readonly expiresAt: number | null;
  /** Whether a refresh token renews it. */
  readonly isRefreshable: boolean;
  /** From then on it is renewed, ahead of its expiry; `null`: only when it turns out not to be active. */
  readonly refreshFrom: number | null;
  /** When it was last known to be alive. */
  readonly checkedAt: number;
  /** Rises with each renewal. */
  readonly version: number;
  /** Who renews it now; `null`: nobody. */
  readonly leaseHolder: string | null;
  /** Until then nobody else renews it: it is being renewed, or the third party asked to wait. */
  readonly leaseUntil: number | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly endReason: ProviderTokensEndReason | null;
  /** When to look whether its grant still stands, or whether its tokens can be revoked there; `null`: never again. */
  readonly dueAt: number | null;
  /** How often it was tried to revoke its tokens there. */
  readonly revocationAttempts: number;
}

/** What a renewal brought. */
export type RefreshedProviderTokens = Pick<
  ProviderTokensRecord,
  'encryptedTokens' | 'dataKeyId' | 'scopes' | 'expiresAt' | 'isRefreshable' | 'refreshFrom' | 'checkedAt'
>;

/** A key that seals what belongs to third parties, itself sealed under the sealing key. */
export interface DataKeyRecord {
  readonly id: string;
  readonly encryptedKey: Uint8Array;
  /** Epoch seconds. */
  readonly createdAt: number;
}

export interface FederationStore {
  /** Notes by whom the person of a transaction signs in; `null`: here. Nothing happens when the transaction is gone. */
  setTransactionIdentityProvider(id: string, identityProvider: string | null): Promise<void>;

  /** Keeps a departure. One fact: an earlier one of the same transaction is forgotten. */
  saveFederatedLogin(departure: FederatedLoginRecord): Promise<void>;
  /** The departure, unless it has expired or was taken. */
  findFederatedLogin(stateHash: string, now: number): Promise<FederatedLoginRecord | null>;
  /** Takes a departure away. One fact: of any number of racing calls one answers `true`. */
  consumeFederatedLogin(stateHash: string, now: number): Promise<boolean>;

  findLinkedIdentity(issuer: string, subject: string): Promise<LinkedIdentityRecord | null>;
  /** Who the owner of an account is at a third party; `null` for accounts of this server's own. */
  findLinkedIdentityByAccount(accountId: string): Promise<LinkedIdentityRecord | null>;
  /**
   * Makes an account for somebody who came from a third party, unless they have one. One fact: of racing calls one makes an
   * account, and all answer its identifier.
   */
  linkIdentity(user: LinkedIdentityRecord, account: AccountRecord): Promise<string>;

  /**
   * Keeps a bond, and notes in its transaction whose and with whom it is. One fact. @returns `false` when the transaction is gone: nothing is
   * kept then
   */
  saveProviderTokens(transactionId: string, bond: ProviderTokensRecord): Promise<boolean>;
  /** Keeps a bond that has ended already: so that its tokens are revoked at the third party. */
  saveEndedProviderTokens(bond: ProviderTokensRecord): Promise<void>;
  /** Whether any bond stands. */
  hasProviderTokens(): Promise<boolean>;
  findProviderTokens(grantId: string): Promise<ProviderTokensRecord | null>;
  /** The bonds of an account that stand. */
  listProviderTokens(accountId: string): Promise<readonly ProviderTokensRecord[]>;
  /** Notes that a bond was alive then. The time never goes back. */
  recordProviderTokensCheck(grantId: string, at: number): Promise<void>;
  /**
   * Takes the right to renew a bond. One fact: of any number of racing calls, in any number of processes, one answers `true`,
   * and nobody else before `until` has passed.
   */
  leaseProviderTokens(
    grantId: string,
    version: number,
    holder: string,
    now: number,
    until: number,
  ): Promise<boolean>;
  /** Keeps what a renewal brought and gives the lease back. One fact. @returns `false` when the lease is another's by now */
  saveRefreshedProviderTokens(
    grantId: string,
    holder: string,
    renewed: RefreshedProviderTokens,
  ): Promise<boolean>;
  /** Gives a lease back without a renewal. @param until nobody may try before then; `null`: anybody at once */
  releaseProviderTokens(grantId: string, holder: string, until: number | null): Promise<void>;
  /**
   * Ends a bond, and with it its grant and all tokens of it. One fact. @param version of the bond that was judged; `false` when
   * it is another by now, or ended already
   */
  endProviderTokens(
    grantId: string,
    version: number,
    reason: ProviderTokensEndReason,
    at: number,
  ): Promise<boolean>;
  /** Ends the bonds of grants that were revoked since then. Answers how many. */
  endProviderTokensOfRevokedGrants(since: number, at: number): Promise<number>;
  /**
   * Bonds whose tokens are to be revoked at the third party now, each for one caller until `until`. Those that are due and whose
   * grant does not stand any more end first.
   */
  claimRevocationJobs(now: number, until: number, limit: number): Promise<readonly ProviderTokensRecord[]>;
  /** How many bonds with somebody at a third party stand, but this one. */
  countProviderTokensOfIdentity(issuer: string, subject: string, except: string): Promise<number>;
  /** Puts a farewell off. */
  postponeRevocationJob(grantId: string, until: number): Promise<void>;
  /** Forgets the tokens of a bond that has ended. */
  completeRevocationJob(grantId: string): Promise<void>;

  /** All data keys, newest first. */
  listDataKeys(): Promise<readonly DataKeyRecord[]>;
  /** As `addKey`: inserts a data key if the newest is still that one. Answers all there are then, newest first. */
  addDataKey(key: DataKeyRecord, after: string | null): Promise<readonly DataKeyRecord[]>;
  /** As `resealKeys`: all of them, or nothing and `false` when there are others than these. */
  reencryptDataKeys(sealed: ReadonlyMap<string, Uint8Array>): Promise<boolean>;
  /** Removes data keys older than the newest that no bond is sealed under and that were made before then. Answers how many. */
  removeUnusedDataKeys(before: number): Promise<number>;
  /**
   * Removes data keys that nothing opens any more. One fact: what is sealed under them is forgotten, and the bonds that it was
   * of end with their grants. Answers how many bonds ended.
   */
  discardDataKeys(ids: readonly string[], at: number): Promise<number>;
}
