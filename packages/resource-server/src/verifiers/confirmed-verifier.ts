/** A token verified on the spot first and asked about afterwards: junk never reaches the issuer, and revocation is noticed soon. */
import { ConfigurationError } from '@portcullis/protocol/protected-resource';
import type { TokenVerifier } from './token-verifier.ts';

/**
 * Makes a verifier of two for the same issuers, such as `jwtVerifier` and `introspectionVerifier`. What it vouches for are
 * the claims of the first; the finding is as fresh as the one that is forgotten sooner.
 * @throws ConfigurationError when they do not trust the same issuers.
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
