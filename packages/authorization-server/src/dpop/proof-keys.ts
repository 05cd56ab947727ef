/** Public keys of DPoP proofs: verifies their signatures with `node:crypto`. */
import { constants, createPublicKey, type JsonWebKey, type KeyObject, sign, verify } from 'node:crypto';
import { createEs256, type JwsAlgorithm, type ProofPlatform } from '@portcullis/protocol';

type Verify = (data: Buffer, signature: Buffer, key: KeyObject) => boolean;

const es256 = createEs256<KeyObject>({ sign, verify });

const eddsa: Verify = (data, signature, key) => verify(null, data, key, signature);

/** The accepted algorithms, as listed in the metadata: asymmetric ones only. @see RFC 9449 §5.1 */
const algorithms: Partial<Readonly<Record<JwsAlgorithm, Verify>>> = {
  ES256: (data, signature, key) => es256.verify(data, signature, key),
  EdDSA: eddsa,
  Ed25519: eddsa,
  RS256: (data, signature, key) => verify('sha256', data, key, signature),
  PS256: (data, signature, key) =>
    verify('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, signature),
};

export const proofAlgorithms: readonly JwsAlgorithm[] = Object.keys(algorithms) as JwsAlgorithm[];

/** Base64url characters of 4096 bits with a zero byte in front, and of an exponent of 32 bits. */
const LONGEST_MODULUS = 684;
const LONGEST_EXPONENT = 6;

/**
 * Reads a key of a proof; `null` if its members form none. Anyone can send a proof, so keys whose verification takes long are
 * refused (denial of service).
 */
export const readProofKey: ProofPlatform['readKey'] = (jwk, algorithm) => {
  const { kty, crv, x, y, n, e } = jwk as Readonly<Record<string, string | undefined>>;
  const verifyWith = algorithms[algorithm];
  if (verifyWith === undefined) return null;
  if ((n?.length ?? 0) > LONGEST_MODULUS || (e?.length ?? 0) > LONGEST_EXPONENT) return null;
  const key = importKey({ kty, crv, x, y, n, e });
  if (key === null) return null;
  return {
    verify: (_proof, signingInput, signature) =>
      verifyWith(Buffer.from(signingInput), Buffer.from(signature, 'base64url'), key),
  };
};

function importKey(members: Readonly<Record<string, string | undefined>>): KeyObject | null {
  const key = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  try {
    return createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
  } catch {
    return null;
  }
}
