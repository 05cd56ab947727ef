/** Several issuers, or several kinds of token, behind one verifier: each token goes to the one that it belongs to. */
import { ConfigurationError, OAuthError } from '@portcullis/protocol/protected-resource';
import type { VerifiedClaims } from '../principal.ts';
import { readUnverifiedIssuer } from './compact-jws.ts';
import type { TokenVerifier } from './token-verifier.ts';

/**
 * Combines verifiers. A JWT goes to the verifier of the issuer that it names, any other token to the one that takes
 * opaque ones. No token is ever shown to an issuer that it does not name, so there can be one such verifier only.
 * @throws ConfigurationError with every fault.
 */
export function combineVerifiers(verifiers: readonly TokenVerifier[]): TokenVerifier {
  const issuers = validateVerifiers(verifiers);
  const opaque = verifiers.find((verifier) => verifier.opaque === true);
  const ofIssuer = new Map<string, TokenVerifier>();
  // Where an issuer has two, its JWTs are verified on the spot.
  for (const verifier of verifiers.toSorted(
    (a, b) => Number(a.opaque ?? false) - Number(b.opaque ?? false),
  )) {
    for (const issuer of verifier.issuers) if (!ofIssuer.has(issuer)) ofIssuer.set(issuer, verifier);
  }

  function choose(token: string): TokenVerifier | undefined {
    const issuer = readUnverifiedIssuer(token);
    return issuer === null ? opaque : ofIssuer.get(issuer);
  }

  const verifiersWithLiveness = (claims: VerifiedClaims): TokenVerifier[] =>
    verifiers.filter((verifier) => verifier.isLive !== undefined && verifier.issuers.includes(claims.iss));

  return {
    issuers,
    ...(opaque !== undefined && { opaque: true }),
    verify(token, expectation) {
      const verifier = choose(token);
      if (verifier !== undefined) return verifier.verify(token, expectation);
      throw new OAuthError('invalid_token', 'The access token is not valid here.', {
        reason: 'nobody is trusted for such a token',
      });
    },
    ...(verifiers.some((verifier) => verifier.isLive !== undefined) && {
      async isLive(claims: VerifiedClaims) {
        for (const verifier of verifiersWithLiveness(claims))
          if ((await verifier.isLive?.(claims)) !== true) return false;
        return true;
      },
      isLiveNow: (claims: VerifiedClaims) =>
        verifiersWithLiveness(claims).every((verifier) => verifier.isLiveNow?.(claims) === true),
    }),
  };
}

function validateVerifiers(verifiers: readonly TokenVerifier[]): readonly string[] {
  const issues: string[] = [];
  if (verifiers.length === 0) issues.push('verifiers must name at least one');
  if (verifiers.filter((verifier) => verifier.opaque === true).length > 1) {
    issues.push('verifiers: one alone may take opaque tokens, which do not say to whom they can be shown');
  }
  for (const isOpaque of [true, false]) {
    const alike = verifiers.filter((verifier) => (verifier.opaque ?? false) === isOpaque);
    const named = alike.flatMap((verifier) => verifier.issuers);
    const twice = named.find((issuer, index) => named.indexOf(issuer) !== index);
    if (twice !== undefined) issues.push(`verifiers: ${twice} stands there twice`);
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
  return Object.freeze([...new Set(verifiers.flatMap((verifier) => verifier.issuers))]);
}
