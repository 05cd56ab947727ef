/** What a guard asks of whoever verifies access tokens. */
import type { VerifiedClaims } from '../principal.ts';

/** What a token must be good for. */
export interface TokenExpectation {
  /** The canonical URI of the protected resource, byte for byte. */
  readonly resource: string;
  /** Epoch seconds. */
  readonly now: number;
  /** Seconds by which clocks may differ. */
  readonly clockTolerance: number;
  /** Whether the caller itself demands proof of the key that a token is bound to; such tokens are refused otherwise. */
  readonly provesPossession?: boolean;
}

/** A token that was found good. */
export interface VerificationResult {
  readonly claims: VerifiedClaims;
  /** Epoch seconds until which the finding may be used again without asking; never later than the token's end. */
  readonly freshUntil: number;
}

/**
 * Verifies access tokens of the issuers that it trusts. `jwtVerifier` and `introspectionVerifier` make one,
 * `combineVerifiers` makes one of several.
 */
export interface TokenVerifier {
  /** Issuer identifiers that it trusts, byte for byte. */
  readonly issuers: readonly string[];
  /** Whether it judges tokens that say nothing themselves. */
  readonly opaque?: boolean;
  /**
   * Judges signature or status, issuer, audience and times.
   * @throws OAuthError `invalid_token` for a bad token, `temporarily_unavailable` when that cannot be found out now.
   */
  verify(token: string, expectation: TokenExpectation): VerificationResult | Promise<VerificationResult>;
  /** Whether a token found good before still stands; asked at every request, so that revocation takes effect at once. */
  isLive?(claims: VerifiedClaims): boolean | Promise<boolean>;
  /** Whether that is known without waiting. Otherwise `isLive` is asked, and says why not. */
  isLiveNow?(claims: VerifiedClaims): boolean;
}
