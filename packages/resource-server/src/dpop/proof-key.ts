/** Reads the public key from the header of a DPoP proof and compares it with the key that the token is bound to. */
import { OAuthError } from '@portcullis/protocol/protected-resource';
import { createBoundedLruCache } from '../lru-cache.ts';
import { parseJsonSegment } from '../verifiers/compact-jws.ts';
import { digest } from '../verifiers/node-crypto.ts';
import { type JwsAlgorithm, type PublicKey, readPublicKey } from '../verifiers/public-keys.ts';

interface CachedKey {
  readonly key: PublicKey;
  readonly thumbprint: string;
}

/** Recently used keys, by the proof header that contains them. */
const KEY_CACHE_LIMITS = { entries: 1000, characters: 1000 * 512 };

/**
 * Creates a function that reads a proof header in base64url and returns its key if it has the given thumbprint. It
 * throws OAuthError `invalid_dpop_proof` for another key, another type, or an algorithm that is not allowed.
 * @see RFC 9449 §4.2
 */
export function createKeyResolver(
  algorithms: readonly JwsAlgorithm[],
): (header: string, thumbprint: string) => Promise<PublicKey> {
  const known = createBoundedLruCache<CachedKey>(KEY_CACHE_LIMITS);
  return async (header, thumbprint) => {
    const found = known.get(header);
    if (found?.thumbprint === thumbprint) return found.key;
    const { alg, jwk } = readHeader(header, algorithms);
    if ((await thumbprintOf(jwk)) !== thumbprint)
      throw invalidProof('the key is not the one that the token is bound to');
    const key = readPublicKey(jwk, alg);
    if (key === null) throw invalidProof('the key is none for the algorithm');
    known.set(header, { key, thumbprint });
    return key;
  };
}

function readHeader(
  segment: string,
  algorithms: readonly JwsAlgorithm[],
): { readonly alg: JwsAlgorithm; readonly jwk: Readonly<Record<string, unknown>> } {
  const { typ, alg, jwk, crit, b64 } = parseProofSegment(segment);
  if (typeof typ !== 'string' || !/^(?:application\/)?dpop\+jwt$/i.test(typ))
    throw invalidProof('typ is not dpop+jwt');
  const algorithm = algorithms.find((name) => name === alg);
  if (algorithm === undefined) throw invalidProof('alg is not one of those allowed');
  if (crit !== undefined || b64 !== undefined) throw invalidProof('the header asks for an extension');
  if (typeof jwk !== 'object' || jwk === null) throw invalidProof('the proof has no key');
  // The jwk MUST NOT hold a private key. RFC 9449 §4.3 (7)
  if ('d' in jwk || 'k' in jwk || 'p' in jwk) throw invalidProof('the proof tells a private key');
  return { alg: algorithm, jwk: { ...jwk } };
}

/** The members of a JWK thumbprint in lexicographic order. @see RFC 7638 §3.2 */
const THUMBPRINT_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
};

function thumbprintOf(jwk: Readonly<Record<string, unknown>>): string | Promise<string> {
  const { kty } = jwk;
  const names =
    typeof kty === 'string' && Object.hasOwn(THUMBPRINT_MEMBERS, kty) ? (THUMBPRINT_MEMBERS[kty] ?? []) : [];
  const members = names.map((name) => {
    const value = jwk[name];
    if (typeof value !== 'string') throw invalidProof('the key is incomplete');
    return [name, value] as const;
  });
  if (members.length === 0) throw invalidProof('the key is of no kind that is taken');
  return digest(JSON.stringify(Object.fromEntries(members)));
}

/** The client learns what a proof must be like, and only the operator what was wrong with this one. */
export function invalidProof(reason: string, cause?: unknown): OAuthError {
  const description = 'The DPoP proof is missing, malformed, used before, or not made for this request.';
  return new OAuthError('invalid_dpop_proof', description, { status: 401, reason, cause });
}

/** Parses a base64url segment to a JSON object. @throws OAuthError `invalid_dpop_proof` */
export function parseProofSegment(segment: string): Readonly<Record<string, unknown>> {
  try {
    return parseJsonSegment(segment);
  } catch (cause) {
    throw invalidProof('the proof is malformed', cause);
  }
}
