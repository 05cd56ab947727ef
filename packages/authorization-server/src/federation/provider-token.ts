/** The token of a third party for the principal whom a protected server is serving. */
import type { Scopes } from '@portcullis/protocol';

/** A token that a third party gave for the person, opened. */
export interface ProviderToken {
  /** A secret of the third party's: for its API, and for nobody else. */
  readonly accessToken: string;
  /** As the third party says; mostly `Bearer`. */
  readonly tokenType: string;
  /** Epoch seconds; `null` when the third party did not say. */
  readonly expiresAt: number | null;
  /** What it is good for, in the third party's words. */
  readonly scopes: Scopes;
  /** The identifier of the third party in the configuration. */
  readonly identityProvider: string;
}

/** What is asked for. */
export interface ProviderTokenRequest {
  /** The identifier of the third party; whichever the grant rests on, when left out. */
  readonly identityProvider?: string;
  /** Scopes of the third party that the token must have. */
  readonly scopes?: Scopes;
}

/** What the endpoints of this server ask of the bonds with third parties. */
export interface ProviderTokenSource {
  /**
   * The third party's token for a grant, renewed when it is about to expire. It has all scopes that the person granted there,
   * and those of no other grant.
   * @throws OAuthError `invalid_grant` when the grant has ended here or there; `invalid_target` when it rests on no third party,
   * or on another; `invalid_scope` when its token lacks a wanted scope; `temporarily_unavailable` while the third party is away
   */
  tokenFor(grantId: string, want?: ProviderTokenRequest): Promise<ProviderToken>;
}
