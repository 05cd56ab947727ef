/** The key that a DPoP proof brings along: taken only when it is the one that the token is bound to. */
import { createMemory } from '../memory.ts';
import { digest } from '../tokens/digest.ts';
import { type Algorithm, type PublicKey, readPublicKey } from '../tokens/public-keys.ts';
import { invalid, readSegment } from './malformed.ts';

interface HeldKey {
  readonly key: PublicKey;
  readonly thumbprint: string;
}

/** Keys of clients that proved themselves lately, by the header that names them. */
const REMEMBERED_KEYS = { entries: 1000, characters: 1000 * 512 };

/**
 * Creates what reads the header of proofs, as base64url, and finds the key of a thumbprint in it.
 * It throws OAuthError `invalid_dpop_proof` for another key, another type, or an algorithm that is not allowed.
 * @see RFC 9449 §4.2
 */
export function createKeyResolver(
  algorithms: readonly Algorithm[],
): (header: string, thumbprint: string) => Promise<PublicKey> {
  const known = createMemory<HeldKey>(REMEMBERED_KEYS);
  return async (header, thumbprint) => {
    const found = known.find(header);
    if (found?.thumbprint === thumbprint) return found.key;
    const { alg, jwk } = readHeader(header, algorithms);
    if ((await thumbprintOf(jwk)) !== thumbprint)
      throw invalid('the key is not the one that the token is bound to');
    const key = readPublicKey(jwk, alg);
    if (key === null) throw invalid('the key is none for the algorithm');
    known.keep(header, { key, thumbprint });
    return key;
  };
}

function readHeader(
  segment: string,
  algorithms: readonly Algorithm[],
): { readonly alg: Algorithm; readonly jwk: Readonly<Record<string, unknown>> } {
  const { typ, alg, jwk, crit, b64 } = readSegment(segment);
  if (typeof typ !== 'string' || !/^(?:application\/)?dpop\+jwt$/i.test(typ))
    throw invalid('typ is not dpop+jwt');
  const algorithm = algorithms.find((name) => name === alg);
  if (algorithm === undefined) throw invalid('alg is not one of those allowed');
  if (crit !== undefined || b64 !== undefined) throw invalid('the header asks for an extension');
  if (typeof jwk !== 'object' || jwk === null) throw invalid('the proof has no key');
  // The jwk MUST NOT hold a private key. RFC 9449 §4.3 (7)
  if ('d' in jwk || 'k' in jwk || 'p' in jwk) throw invalid('the proof tells a private key');
  return { alg: algorithm, jwk: { ...jwk } };
}

/** The members that make a key what it is, in the order of their names. @see RFC 7638 §3.2 */
const ESSENTIAL: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
};

function thumbprintOf(jwk: Readonly<Record<string, unknown>>): string | Promise<string> {
  const { kty } = jwk;
  const names = typeof kty === 'string' && Object.hasOwn(ESSENTIAL, kty) ? (ESSENTIAL[kty] ?? []) : [];
  const members = names.map((name) => {
    const value = jwk[name];
    if (typeof value !== 'string') throw invalid('the key is incomplete');
    return [name, value] as const;
  });
  if (members.length === 0) throw invalid('the key is of no kind that is taken');
  return digest(JSON.stringify(Object.fromEntries(members)));
}
