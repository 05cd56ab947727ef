/** What a store must do for authorization codes, grants and refresh tokens: each method is one fact, atomic and durable. */
import type { Scopes } from '@portcullis/protocol';

/** An issued authorization code. Times in epoch seconds. */
export interface AuthorizationCodeRecord {
  /** What the code is found by: when it was made, and its Base64url SHA-256. */
  readonly hash: string;
  /** The grant that redeeming it makes. */
  readonly grantId: string;
  readonly clientId: string;
  readonly accountId: string;
  /** `null` when the authorization request carried none: then the token request need not either. */
  readonly redirectUri: string | null;
  readonly codeChallenge: string;
  readonly scopes: Scopes;
  readonly resources: readonly string[];
  /** The workspace that the person chose; `null` where there are none. */
  readonly workspace: string | null;
  /** Base64url SHA-256 of what was shown of the client: its redirect URI and what it said of itself. */
  readonly consentDigest: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** What a person allowed one client, from redemption of a code to revocation: a family of tokens. */
export interface GrantRecord {
  readonly id: string;
  readonly clientId: string;
  readonly accountId: string;
  readonly scopes: Scopes;
  readonly resources: readonly string[];
  /** The workspace that it is bound to; `null` where there are none. */
  readonly workspace: string | null;
  /** What was shown of the client when it was allowed, as in its code. While the grant stands, the same need not be asked twice. */
  readonly consentDigest: string;
  readonly createdAt: number;
  /** However often it is refreshed, it ends here. */
  readonly expiresAt: number;
  /** When it last gave an access token, as far as that was noted. */
  readonly lastUsedAt: number;
  /** The network address that asked for it; `null` when nobody knows. */
  readonly lastUsedFrom: string | null;
}

/**
 * The refresh token of a grant that is live. Those that came before it are known by their numbers, so a family keeps one
 * record, however often it is rotated.
 */
export interface RefreshTokenRecord {
  /** Base64url SHA-256 of the token. */
  readonly hash: string;
  /** How many of its family came before it. */
  readonly generation: number;
  /** Random, the same for a whole family: what its tokens are derived from, together with a key that is not in the store. */
  readonly seed: string;
  readonly issuedAt: number;
  /** Unused until then, it dies. */
  readonly expiresAt: number;
  /** When the last ones before it were rotated, in the words of whoever rotates: the store only keeps it. */
  readonly rotations: string;
}

/** A code as found: whether it was used, and for how long it may live, is for the caller to judge. */
export interface FoundAuthorizationCode extends AuthorizationCodeRecord {
  readonly consumedAt: number | null;
}

/** A grant as found. Revocation, expiry and reuse are for the caller to judge. */
export interface FoundGrant {
  readonly grant: GrantRecord & {
    readonly revokedAt: number | null;
    /** Whether its account is there, and not disabled, at this same moment. */
    readonly hasAccount: boolean;
  };
  /** `null` when the client gets none. */
  readonly token: RefreshTokenRecord | null;
}

/** What grants of one kind have in common: what was allowed, and when one of them was last used. */
export interface RememberedConsent
  extends Pick<GrantRecord, 'scopes' | 'resources' | 'workspace' | 'lastUsedAt'> {}

/**
 * `spent`: the code was used, or burnt, or is none, and nothing has changed. `ownerless`: its account is disabled or gone; the
 * code is spent, and makes nothing.
 */
export type CodeRedemption = 'redeemed' | 'already_used' | 'account_unavailable';

export interface GrantStore {
  findCode(hash: string): Promise<FoundAuthorizationCode | null>;
  /**
   * Spends the code and makes its grant and first refresh token (`null`: the client gets none). One fact: of any number of
   * racing calls exactly one answers `redeemed`; a crash leaves all of it or nothing; and whoever disables or removes the account at
   * that moment either did so before, and no grant is made, or ends the grant that was.
   */
  redeemCode(
    codeHash: string,
    grant: GrantRecord,
    refreshToken: RefreshTokenRecord | null,
    at: number,
  ): Promise<CodeRedemption>;
  /** Spends a code that must not be used any more. */
  invalidateCode(hash: string, at: number): Promise<void>;

  findGrant(id: string): Promise<FoundGrant | null>;
  /** The grant of a refresh token from before tokens named their grant, by the token's hash; `null` when there is none. */
  findFormerToken(hash: string): Promise<string | null>;
  /**
   * Puts a successor in the place of the refresh token that was live, and notes that its grant was used, and from where. One
   * fact: of any number of racing calls that present the same token exactly one answers `rotated`. `overtaken`: that
   * token is not the live one any more, or its grant was revoked, and nothing has changed.
   * @param currentHash the hash of the token that is to be replaced
   */
  rotateRefreshToken(
    grantId: string,
    currentHash: string,
    successor: RefreshTokenRecord,
    from: string | null,
  ): Promise<'rotated' | 'conflict'>;

  /** The grants of an account that stand, the last used first. */
  listGrants(accountId: string, now: number): Promise<readonly GrantRecord[]>;
  /** What the newest grant allows of those that an account gave a client on these terms, and that stand. */
  findNewestRememberedConsent(
    accountId: string,
    clientId: string,
    terms: string,
    now: number,
  ): Promise<RememberedConsent | null>;
  /**
   * What an account allows a client on these terms, by grants that stand: one of each kind, however many grants there are, the
   * last used first.
   */
  listRememberedConsents(
    accountId: string,
    clientId: string,
    terms: string,
    now: number,
  ): Promise<readonly RememberedConsent[]>;
  /**
   * Revokes a grant of this account with all its tokens, or (`null`) every grant, and then its unspent codes are spent too.
   * One fact: a code that is being redeemed at that moment makes a grant that is ended, or none. Answers how many ended.
   */
  revokeAccountGrants(accountId: string, grantId: string | null, at: number): Promise<number>;
  /** Revokes a grant and all tokens of it; whether it stood until now. Revoking twice changes nothing. */
  revokeGrant(grantId: string, at: number): Promise<boolean>;
  /** Revokes one access token by its `jti`, which is forgotten after it has expired; whether that was not done before. */
  revokeAccessToken(tokenId: string, expiresAt: number): Promise<boolean>;
  /** Whether an access token still stands: itself not revoked, its grant (if it has one) neither revoked nor unknown. */
  isAccessTokenLive(tokenId: string, grantId: string | null): Promise<boolean>;
}
