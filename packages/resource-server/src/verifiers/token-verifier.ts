/** The port for token verification, and its types. */
import type { VerifiedClaims } from '../principal.ts';

/** What a token must match. */
export interface TokenExpectation {
  /** The canonical URI of the protected resource, byte for byte. */
  readonly resource: string;
  /** Epoch seconds. */
  readonly now: number;
  /** Seconds by which clocks may differ. */
  readonly clockTolerance: number;
  /** Whether the caller verifies proof of possession; bound tokens are rejected otherwise. */
  readonly provesPossession?: boolean;
  /** The request, for its remote address, if a request presents the token. */
  readonly request?: { readonly address?: string | null | undefined };
}

/** The result for a valid token. */
export interface VerificationResult {
  readonly claims: VerifiedClaims;
  /** Epoch seconds until which the result may be cached; never later than the token's expiry. */
  readonly freshUntil: number;
  /** The `kid` of the key that verified its signature, if that is known. */
  readonly keyId?: string | undefined;
}

/**
 * Verifies access tokens of trusted issuers. Created by `jwtVerifier`, `introspectionVerifier` or `combineVerifiers`.
 */
export interface TokenVerifier {
  /** Trusted issuer identifiers, byte for byte. */
  readonly issuers: readonly string[];
  /** Whether it accepts opaque tokens. */
  readonly opaque?: boolean;
  /**
   * Verifies signature or status, issuer, audience and times.
   * @throws OAuthError `invalid_token` for an invalid token, `temporarily_unavailable` if that cannot be determined
   * now
   */
  verify(token: string, expectation: TokenExpectation): VerificationResult | Promise<VerificationResult>;
  /**
   * Whether a verified token has not been revoked, nor the key that signed it; called at every request, so that revocation takes
   * effect immediately.
   * @param keyId of the verification result
   */
  isLive?(claims: VerifiedClaims, keyId?: string): boolean | Promise<boolean>;
}
