/** Reads the public key from the header of a DPoP proof, with its thumbprint. */
import { OAuthError } from '../errors.ts';
import { parseJsonSegment } from '../jose/json-segment.ts';
import { hasPrivateMember, isKeyOfAlgorithm, type JwsAlgorithm } from '../jose/jws-algorithms.ts';

/** A public key and the one algorithm that it is used for. */
interface ProofVerificationKey {
  verify(proof: string, signingInput: string, signature: string): boolean | Promise<boolean>;
}

/** The key of a proof. */
export interface ProofKey {
  readonly key: ProofVerificationKey;
  /** The JWK thumbprint. @see RFC 7638 */
  readonly thumbprint: string;
}

/** What a platform provides for proofs. */
export interface ProofPlatform {
  /** The base64url SHA-256 of a text in UTF-8. */
  hash(text: string): string | Promise<string>;
  /** Reads a JWK that `isKeyOfAlgorithm` accepts; `null` if its members form no key. */
  readKey(jwk: unknown, algorithm: JwsAlgorithm): ProofVerificationKey | null;
  /** Recently used keys, by the header that contains them: a client sends the same one each time. */
  readonly keys: { get(header: string): ProofKey | undefined; set(header: string, key: ProofKey): void };
}

/**
 * Creates a function that reads a proof header in base64url.
 * @param thumbprint the only key that is wanted; `null`: any
 * @throws OAuthError `invalid_dpop_proof` for another key, another type, or an algorithm that is not allowed
 * @see RFC 9449 §4.2
 */
export function createKeyResolver(
  algorithms: readonly JwsAlgorithm[],
  { hash, readKey, keys }: ProofPlatform,
): (header: string, thumbprint: string | null) => Promise<ProofKey> {
  return async (header, wanted) => {
    const found = keys.get(header);
    if (found !== undefined) return checkThumbprint(found, wanted);
    const { alg, jwk } = readHeader(header, algorithms);
    const thumbprint = await hash(canonicalKey(jwk));
    checkThumbprint({ thumbprint }, wanted);
    const key = isKeyOfAlgorithm(jwk, alg) ? readKey(jwk, alg) : null;
    if (key === null) throw invalidProof('the key is none for the algorithm');
    keys.set(header, { key, thumbprint });
    return { key, thumbprint };
  };
}

function checkThumbprint<Key extends Pick<ProofKey, 'thumbprint'>>(key: Key, wanted: string | null): Key {
  if (wanted === null || key.thumbprint === wanted) return key;
  throw invalidProof('the key is not the one that the token is bound to');
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
  if (hasPrivateMember(jwk)) throw invalidProof('the proof tells a private key');
  return { alg: algorithm, jwk: { ...jwk } };
}

/** The members of a JWK thumbprint in lexicographic order. @see RFC 7638 §3.2 */
const THUMBPRINT_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
};

/** The text whose hash is the thumbprint. */
function canonicalKey(jwk: Readonly<Record<string, unknown>>): string {
  const { kty } = jwk;
  const names =
    typeof kty === 'string' && Object.hasOwn(THUMBPRINT_MEMBERS, kty) ? (THUMBPRINT_MEMBERS[kty] ?? []) : [];
  const members = names.map((name) => {
    const value = jwk[name];
    if (typeof value !== 'string') throw invalidProof('the key is incomplete');
    return [name, value] as const;
  });
  if (members.length === 0) throw invalidProof('the key is of no kind that is taken');
  return JSON.stringify(Object.fromEntries(members));
}

/** The client learns what a proof must be like, and only the operator what was wrong with this one. */
export function invalidProof(reason: string, cause?: unknown): OAuthError {
  const description = 'The DPoP proof is missing, malformed, used before, or not made for this request.';
  return new OAuthError('invalid_dpop_proof', description, { reason, cause });
}

/** Parses a base64url segment to a JSON object. @throws OAuthError `invalid_dpop_proof` */
export function parseProofSegment(segment: string): Readonly<Record<string, unknown>> {
  try {
    return parseJsonSegment(segment);
  } catch (cause) {
    throw invalidProof('the proof is malformed', cause);
  }
}
