/** Signature algorithms (JWA), and which keys may verify them. */

/** Supported signature algorithms, all asymmetric. @see RFC 8725 §3.1 */
export const JWS_ALGORITHMS = {
  ES256: { kty: 'EC', crv: ['P-256'] },
  ES384: { kty: 'EC', crv: ['P-384'] },
  ES512: { kty: 'EC', crv: ['P-521'] },
  EdDSA: { kty: 'OKP', crv: ['Ed25519'] },
  Ed25519: { kty: 'OKP', crv: ['Ed25519'] },
  RS256: { kty: 'RSA', crv: null },
  RS384: { kty: 'RSA', crv: null },
  RS512: { kty: 'RSA', crv: null },
  PS256: { kty: 'RSA', crv: null },
  PS384: { kty: 'RSA', crv: null },
  PS512: { kty: 'RSA', crv: null },
} as const;

/** A JWS algorithm by its name in headers. @see RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2 */
export type JwsAlgorithm = keyof typeof JWS_ALGORITHMS;

/** `EdDSA` was the name of what is now `Ed25519`, the only curve of it here. @see RFC 9864 §3.1.1 */
export function isSameAlgorithm(one: unknown, other: string): boolean {
  return one === other || [one, other].every((name) => name === 'EdDSA' || name === 'Ed25519');
}

/** Each of them is enough to compute the key. @see RFC 7518 §6.2.2, §6.3.2 and §6.4.1 */
const PRIVATE_MEMBERS: readonly string[] = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'priv'];

/** Whether a member makes a JWK private or symmetric. */
export function hasPrivateMember(jwk: object): boolean {
  return PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name));
}

const SMALLEST_MODULUS_BITS = 2048;
/** Characters, for 64 bits: larger exponents make verification slow. */
const LONGEST_EXPONENT = 11;

/** The key determines its algorithms; a token can only choose among them. @see RFC 8725 §3.1 */
export function isKeyOfAlgorithm(jwk: unknown, algorithm: JwsAlgorithm): boolean {
  if (typeof jwk !== 'object' || jwk === null) return false;
  const { kty, crv, alg, use, key_ops: operations, d, k, n, e } = jwk as Readonly<Record<string, unknown>>;
  const kind = JWS_ALGORITHMS[algorithm];
  if (kty !== kind.kty || d !== undefined || k !== undefined) return false;
  if (kind.crv !== null && !(kind.crv as readonly unknown[]).includes(crv)) return false;
  if (kty === 'RSA' && !isStrongRsaKey(n, e)) return false;
  if (alg !== undefined && !isSameAlgorithm(alg, algorithm)) return false;
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

/** Whether an RSA key is large enough, with an exponent of reasonable size. */
function isStrongRsaKey(modulus: unknown, exponent: unknown): boolean {
  if (typeof modulus !== 'string' || typeof exponent !== 'string') return false;
  return modulus.length * 6 >= SMALLEST_MODULUS_BITS && exponent.length <= LONGEST_EXPONENT;
}
