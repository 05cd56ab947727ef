/** The signature algorithms of this server, as a table: key generation, signing and verification. */
import { createPublicKey, generateKeyPair, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { createEs256 } from '@portcullis/protocol';

/** An algorithm by its name in a JWS header. @see RFC 7518 §3.1, RFC 8037 §3.1 */
export type SigningAlgorithm = 'ES256' | 'EdDSA' | 'RS256';

/** A published public key. @see RFC 7517 §4 */
export interface PublicJwk {
  readonly kty: string;
  readonly kid: string;
  readonly alg: string;
  readonly use: string;
  readonly crv?: string;
  readonly x?: string;
  readonly y?: string;
  readonly n?: string;
  readonly e?: string;
}

interface Algorithm {
  /** A new private key. */
  generate(): Promise<KeyObject>;
  sign(input: string, privateKey: KeyObject): Buffer;
  verify(input: string, signature: Buffer, publicKey: KeyObject): boolean;
  /** The published members of a public key, listed so that no private member can be published. */
  readonly members: readonly ('kty' | 'crv' | 'x' | 'y' | 'n' | 'e')[];
}

const generate = promisify(generateKeyPair);
const es256 = createEs256<KeyObject>({ sign, verify });

const algorithms: Readonly<Record<SigningAlgorithm, Algorithm>> = {
  ES256: {
    generate: async () => (await generate('ec', { namedCurve: 'P-256' })).privateKey,
    sign: (input, privateKey) => Buffer.from(es256.sign(Buffer.from(input), privateKey)),
    verify: (input, signature, publicKey) => es256.verify(Buffer.from(input), signature, publicKey),
    members: ['kty', 'crv', 'x', 'y'],
  },
  EdDSA: {
    generate: async () => (await generate('ed25519')).privateKey,
    sign: (input, privateKey) => sign(null, Buffer.from(input), privateKey),
    verify: (input, signature, publicKey) => verify(null, Buffer.from(input), publicKey, signature),
    members: ['kty', 'crv', 'x'],
  },
  // A key of size 2048 bits or larger MUST be used. RFC 7518 §3.3
  RS256: {
    generate: async () => (await generate('rsa', { modulusLength: 2048 })).privateKey,
    sign: (input, privateKey) => sign('sha256', Buffer.from(input), privateKey),
    verify: (input, signature, publicKey) => verify('sha256', Buffer.from(input), publicKey, signature),
    members: ['kty', 'n', 'e'],
  },
};

export const signingAlgorithms: readonly SigningAlgorithm[] = Object.keys(algorithms) as SigningAlgorithm[];

/** The algorithm of that name; `undefined` if it is not supported. */
export function findSigningAlgorithm(name: string): Algorithm | undefined {
  return signingAlgorithms.includes(name as SigningAlgorithm)
    ? algorithms[name as SigningAlgorithm]
    : undefined;
}

/** The public JWK of a private key. */
export function toPublicJwk(privateKey: KeyObject, algorithm: SigningAlgorithm, kid: string): PublicJwk {
  const jwk = createPublicKey(privateKey).export({ format: 'jwk' });
  const members = algorithms[algorithm].members.map((name) => [name, String(jwk[name])]);
  return { ...Object.fromEntries(members), kid, alg: algorithm, use: 'sig' };
}
