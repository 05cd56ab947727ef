/** Authorization codes, grants and refresh token families in the core store. */
import type { Scopes, UserAuthentication } from '@portcullis/protocol';

/** An issued authorization code. Times in epoch seconds. */
export interface AuthorizationCodeRecord {
  /** The lookup key: a time prefix and the base64url SHA-256 of the code. */
  readonly hash: string;
  /** The grant that redeeming it creates. */
  readonly grantId: string;
  /** The client it was issued to. */
  readonly clientId: string;
  /** The account that authorized it. */
  readonly accountId: string;
  /** `null` when the authorization request had none: then the token request need not have one either. */
  readonly redirectUri: string | null;
  /** The PKCE code challenge. @see RFC 7636 §4.3 */
  readonly codeChallenge: string;
  /** The thumbprint of the DPoP key that its tokens must be bound to; absent or `null`: none. @see RFC 9449 §10 */
  readonly keyThumbprint?: string | null;
  /** How and when the user signed in; absent or `null`: not known. */
  readonly authentication?: UserAuthentication | null;
  /** The approved scopes. */
  readonly scopes: Scopes;
  /** The resource indicators. @see RFC 8707 §2 */
  readonly resources: readonly string[];
  /** The workspace that the user picked; `null` where there are none. */
  readonly workspace: string | null;
  /** Base64url SHA-256 of what the consent page showed of the client: its redirect URI and metadata. */
  readonly consentDigest: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** What a user allowed one client, from code redemption to revocation. Times in epoch seconds. */
export interface GrantRecord {
  readonly id: string;
  /** The client it was given to. */
  readonly clientId: string;
  /** The account of the user. */
  readonly accountId: string;
  /** The maximum scope of its tokens. @see RFC 6749 §6 */
  readonly scopes: Scopes;
  /** The resources its tokens may be issued for. @see RFC 8707 §2.2 */
  readonly resources: readonly string[];
  /** The workspace it is bound to; `null` where there are none. */
  readonly workspace: string | null;
  /** As in its code: while the grant is live, the same request needs no second consent. */
  readonly consentDigest: string;
  readonly createdAt: number;
  /** Its absolute end, however often it is refreshed. */
  readonly expiresAt: number;
  /** When it last issued an access token, as far as that was recorded. */
  readonly lastUsedAt: number;
  /** The network address that requested it; `null` when unknown. */
  readonly lastUsedFrom: string | null;
  /** How and when the user had signed in when allowing it; absent or `null`: not known. */
  readonly authentication?: UserAuthentication | null;
  /** The thumbprint of the DPoP key that its refresh token is bound to; absent or `null`: none. @see RFC 9449 §5 */
  readonly keyThumbprint?: string | null;
  /** The issuer of the assertions that it rests on: the user's organization manages it; absent or `null`: the user does. */
  readonly managedBy?: string | null;
}

/** Where a grant is in the list of its account: by client, then by creation. */
export interface GrantPosition extends Pick<GrantRecord, 'clientId' | 'createdAt' | 'id'> {}

/**
 * The live refresh token of a grant. Its predecessors are identified by their generation, so a refresh token family stays one
 * record however often it is rotated.
 */
export interface RefreshTokenRecord {
  /** Base64url SHA-256 of the token. */
  readonly hash: string;
  /** How many tokens of the family preceded it. */
  readonly generation: number;
  /** Random, the same for the whole family: its tokens are derived from it and a key that is not in the store. */
  readonly seed: string;
  /** Epoch seconds. */
  readonly issuedAt: number;
  /** It expires then unless it is used. */
  readonly expiresAt: number;
  /** When its latest predecessors were rotated; opaque to the store. */
  readonly rotations: string;
}

/** A stored code. The caller checks use and expiry. */
export interface FoundAuthorizationCode extends AuthorizationCodeRecord {
  /** Epoch seconds at which it was redeemed or invalidated; `null`: not yet. */
  readonly consumedAt: number | null;
}

/** A stored grant. The caller checks revocation, expiry and refresh token reuse. */
export interface FoundGrant {
  /** The grant, with its state. */
  readonly grant: GrantRecord & {
    /** Epoch seconds; `null`: it is not revoked. */
    readonly revokedAt: number | null;
    /** Whether its account exists and is enabled, in the same snapshot. */
    readonly hasAccount: boolean;
    /** The generation of the first refresh token that is bound to the key; absent: of the first of all. */
    readonly keyBoundFrom?: number;
  };
  /** `null` when the client is issued none. */
  readonly token: RefreshTokenRecord | null;
}

/** What a user, or an organization for it (`managedBy`), allowed a client with one or more grants, and when one of them was last used. */
export interface RememberedConsent
  extends Pick<GrantRecord, 'scopes' | 'resources' | 'workspace' | 'managedBy' | 'lastUsedAt'> {}

/**
 * `already_used`: the code was used, invalidated or is unknown; nothing has changed. `account_unavailable`: its account is
 * disabled or gone; the code is consumed and no grant was created.
 */
export type CodeRedemption = 'redeemed' | 'already_used' | 'account_unavailable';

/** Authorization codes, grants, refresh token families and revoked access tokens. @see RFC 6749 §4.1.2, RFC 7009 §2.1, RFC 9700 §4.14 */
export interface GrantStore {
  /** The code with this hash, used or not; `null` when there is none. */
  findCode(hash: string): Promise<FoundAuthorizationCode | null>;
  /**
   * Consumes the code and creates its grant with the first refresh token (`null`: the client is issued none). Atomic: of concurrent
   * calls exactly one returns `redeemed`, and a crash leaves all of it or nothing. If the account is disabled or
   * removed concurrently, either no grant is created, or the new grant is revoked. @see RFC 6749 §4.1.2
   */
  redeemCode(
    codeHash: string,
    grant: GrantRecord,
    refreshToken: RefreshTokenRecord | null,
    at: number,
  ): Promise<CodeRedemption>;
  /** Invalidates a code. */
  invalidateCode(hash: string, at: number): Promise<void>;

  /** The grant with this identifier and its live refresh token, revoked or not; `null` when there is none. */
  findGrant(id: string): Promise<FoundGrant | null>;
  /**
   * Replaces the live refresh token with its successor and records the use of its grant. Atomic: of concurrent calls with the
   * same token exactly one returns `rotated`. `conflict`: that token is no longer live, or its grant was revoked; nothing has
   * changed. @see RFC 9700 §4.14.2
   * @param currentHash the hash of the token to replace
   * @param from the network address of the request
   * @param bindTo the thumbprint of the DPoP key that the successor and those after it are bound to; absent or `null`: no other than
   * before. `conflict` if the grant has a key already.
   */
  rotateRefreshToken(
    grantId: string,
    currentHash: string,
    successor: RefreshTokenRecord,
    from: string | null,
    bindTo?: string | null,
  ): Promise<'rotated' | 'conflict'>;

  /**
   * A page of the live grants of an account, in the order of their positions (keyset pagination).
   * @param after the position of the last grant of the previous page; `null`: the first page
   */
  listGrants(
    accountId: string,
    now: number,
    after: GrantPosition | null,
    limit: number,
  ): Promise<readonly GrantRecord[]>;
  /** Live grants of all accounts for a client, at most `limit`, in no order: for operators, who need to know what its end would end. */
  listGrantsOfClient(clientId: string, now: number, limit: number): Promise<readonly GrantRecord[]>;
  /** Whether an account has that many grants for one client, expired ones included. Reads an index only. */
  hasClientGrants(accountId: string, clientId: string, count: number): Promise<boolean>;
  /**
   * Revokes the live grants of an account for one client, except the `keep` most recently used. Atomic.
   * @returns how many were revoked
   */
  revokeSurplusGrants(accountId: string, clientId: string, keep: number, at: number): Promise<number>;
  /** The newest live grant of this account, client and consent digest (`null`: any). */
  findNewestConsent(
    accountId: string,
    clientId: string,
    consentDigest: string | null,
    now: number,
  ): Promise<RememberedConsent | null>;
  /** The live grants of this account, client and consent digest (`null`: any), one for each combination, most recently used first. */
  listConsents(
    accountId: string,
    clientId: string,
    consentDigest: string | null,
    now: number,
  ): Promise<readonly RememberedConsent[]>;
  /**
   * Revokes one grant of this account, or (`null`) every grant, and then its unused codes as well. Atomic: a code that is being
   * redeemed concurrently creates a revoked grant or none. @returns how many grants were revoked
   */
  revokeAccountGrants(accountId: string, grantId: string | null, at: number): Promise<number>;
  /** Revokes a grant with all its tokens. Idempotent. @returns whether it was live until now @see RFC 7009 §2.1 */
  revokeGrant(grantId: string, at: number): Promise<boolean>;
  /** Identifiers of grants that were revoked, or whose provider tokens ended, at or after `since`. */
  listRevokedGrants(since: number): Promise<readonly string[]>;
  /** Revokes one access token by its `jti`, until it expires. @returns `false` when it was revoked before */
  revokeAccessToken(tokenId: string, expiresAt: number): Promise<boolean>;
  /** Whether an access token is live: not revoked, and its grant (if it has one) exists and is not revoked. */
  isAccessTokenLive(tokenId: string, grantId: string | null): Promise<boolean>;
}
