/** Verifies opaque tokens by a function of the same process, such as the authorization server's own. */
import { type AccessTokenClaims, ConfigurationError, issuerError, tokenRejected } from '@portcullis/protocol';
import { checkClaims } from './check-claims.ts';
import type { TokenVerifier } from './token-verifier.ts';

/** Options of `opaqueTokenVerifier`, for a server in the process of its authorization server. */
export interface OpaqueTokenVerifierOptions {
  readonly issuer: string;
  /** The claims of a live token; `null` for any other text. */
  readonly read: (token: string) => Promise<AccessTokenClaims | null>;
}

/** Seconds for which a result is cached, the maximum delay of revocation without `isLive`. */
const FRESHNESS = 10;

/**
 * Creates a verifier of opaque tokens. Beside a `jwtVerifier` with `isLive`, in `combineVerifiers`, each request also checks
 * that the token was not revoked.
 * @throws ConfigurationError if the issuer is not a URL
 */
export function opaqueTokenVerifier({ issuer, read }: OpaqueTokenVerifierOptions): TokenVerifier {
  const wrong = issuerError(issuer);
  if (wrong !== null) throw new ConfigurationError([`issuer ${wrong}`]);
  const issuers = Object.freeze([issuer]);
  return {
    issuers,
    opaque: true,
    async verify(token, expectation) {
      const found = await read(token);
      if (found === null) throw tokenRejected('token is not active');
      const { claims, checked } = checkClaims({ ...found }, issuers, expectation, {});
      return { claims, freshUntil: Math.min(checked.exp, expectation.now + FRESHNESS) };
    },
  };
}
