/**
 * Verifies a token locally first and by introspection afterwards: junk never reaches the issuer, and revocation takes
 * effect soon.
 */
import { ConfigurationError } from '@portcullis/protocol/protected-resource';
import type { TokenVerifier } from './token-verifier.ts';

/**
 * Combines two verifiers for the same issuers, such as `jwtVerifier` and `introspectionVerifier`. The claims are
 * those of the first; the result stays fresh as long as both do.
 * @throws ConfigurationError if they do not trust the same issuers
 */
export function confirmVerifier(onTheSpot: TokenVerifier, asking: TokenVerifier): TokenVerifier {
  const [one, other] = [onTheSpot, asking].map(({ issuers }) => issuers.toSorted().join(' '));
  if (one !== other) throw new ConfigurationError(['both verifiers must trust the same issuers']);
  const { isLive, isLiveNow } = onTheSpot;
  return {
    issuers: onTheSpot.issuers,
    ...(isLive !== undefined && { isLive: (claims) => isLive(claims) }),
    ...(isLiveNow !== undefined && { isLiveNow: (claims) => isLiveNow(claims) }),
    async verify(token, expectation) {
      const found = await onTheSpot.verify(token, expectation);
      const confirmed = await asking.verify(token, expectation);
      return { claims: found.claims, freshUntil: Math.min(found.freshUntil, confirmed.freshUntil) };
    },
  };
}
