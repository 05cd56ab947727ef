/** Combines verifiers: one for each issuer or kind of token, or local verification confirmed by introspection. */
import { ConfigurationError, tokenRejected } from '@portcullis/protocol';
import type { VerifiedClaims } from '../principal.ts';
import { readUnverifiedIssuer } from './compact-jws.ts';
import type { TokenVerifier } from './token-verifier.ts';

/**
 * Combines verifiers. A JWT goes to the verifier of the issuer that it names, any other token to the one for opaque
 * tokens, of which there can be only one: no token may be shown to an issuer that it does not name.
 * @throws ConfigurationError with every issue
 */
export function combineVerifiers(verifiers: readonly TokenVerifier[]): TokenVerifier {
  const issuers = validateVerifiers(verifiers);
  const opaque = verifiers.find((verifier) => verifier.opaque === true);
  const ofIssuer = new Map<string, TokenVerifier>();
  // If an issuer has two verifiers, its JWTs are verified locally.
  for (const verifier of verifiers.toSorted(
    (a, b) => Number(a.opaque ?? false) - Number(b.opaque ?? false),
  )) {
    for (const issuer of verifier.issuers) if (!ofIssuer.has(issuer)) ofIssuer.set(issuer, verifier);
  }

  function choose(token: string): TokenVerifier | undefined {
    const issuer = readUnverifiedIssuer(token);
    return issuer === null ? opaque : ofIssuer.get(issuer);
  }

  const withLiveness = new Map(
    issuers.map((issuer) => [
      issuer,
      verifiers.filter((verifier) => verifier.isLive !== undefined && verifier.issuers.includes(issuer)),
    ]),
  );

  return {
    issuers,
    ...(opaque !== undefined && { opaque: true }),
    verify(token, expectation) {
      const verifier = choose(token);
      if (verifier !== undefined) return verifier.verify(token, expectation);
      throw tokenRejected('no verifier accepts such a token');
    },
    ...(verifiers.some((verifier) => verifier.isLive !== undefined) && {
      isLive(claims: VerifiedClaims, keyId?: string) {
        const found = withLiveness.get(claims.iss) ?? [];
        // Most issuers have one verifier, whose promise is passed on.
        if (found.length === 1 && found[0]?.isLive !== undefined) return found[0].isLive(claims, keyId);
        return areAllLive(found, claims, keyId);
      },
    }),
  };
}

async function areAllLive(
  verifiers: readonly TokenVerifier[],
  claims: VerifiedClaims,
  keyId: string | undefined,
): Promise<boolean> {
  for (const verifier of verifiers) if ((await verifier.isLive?.(claims, keyId)) !== true) return false;
  return true;
}

function validateVerifiers(verifiers: readonly TokenVerifier[]): readonly string[] {
  const issues: string[] = [];
  if (verifiers.length === 0) issues.push('verifiers must name at least one');
  if (verifiers.filter((verifier) => verifier.opaque === true).length > 1) {
    issues.push('verifiers: only one may accept opaque tokens, which do not name their issuer');
  }
  for (const isOpaque of [true, false]) {
    const alike = verifiers.filter((verifier) => (verifier.opaque ?? false) === isOpaque);
    const named = alike.flatMap((verifier) => verifier.issuers);
    const twice = named.find((issuer, index) => named.indexOf(issuer) !== index);
    if (twice !== undefined) issues.push(`verifiers: duplicate issuer ${twice}`);
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
  return Object.freeze([...new Set(verifiers.flatMap((verifier) => verifier.issuers))]);
}

/**
 * Combines two verifiers for the same issuers, such as `jwtVerifier` and `introspectionVerifier`. The claims are
 * those of the first; the result stays fresh as long as both do. Junk never reaches the issuer, and revocation takes
 * effect soon.
 * @throws ConfigurationError if they do not trust the same issuers
 */
export function confirmVerifier(verifier: TokenVerifier, confirming: TokenVerifier): TokenVerifier {
  const [one, other] = [verifier, confirming].map(({ issuers }) => issuers.toSorted().join(' '));
  if (one !== other) throw new ConfigurationError(['both verifiers must trust the same issuers']);
  const { isLive } = verifier;
  return {
    issuers: verifier.issuers,
    ...(isLive !== undefined && { isLive: (claims, keyId) => isLive(claims, keyId) }),
    async verify(token, expectation) {
      const found = await verifier.verify(token, expectation);
      const confirmed = await confirming.verify(token, expectation);
      return { ...found, freshUntil: Math.min(found.freshUntil, confirmed.freshUntil) };
    },
  };
}
