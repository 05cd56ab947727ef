/** The client's private keys for client assertions and DPoP proofs, with WebCrypto alone. */
import { encodeBase64url } from '@portcullis/protocol';
import { ClientError } from './errors.ts';

/** A private P-256 key as a JWK, stored beside the token that is bound to it. */
export interface PrivateEcJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  /** The private part. */
  readonly d: string;
}

/** WebCrypto parameters for importing and signing, by JOSE algorithm name. */
const ALGORITHMS = {
  ES256: [
    { name: 'ECDSA', namedCurve: 'P-256' },
    { name: 'ECDSA', hash: 'SHA-256' },
  ],
  ES384: [
    { name: 'ECDSA', namedCurve: 'P-384' },
    { name: 'ECDSA', hash: 'SHA-384' },
  ],
  RS256: [{ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, { name: 'RSASSA-PKCS1-v1_5' }],
  PS256: [
    { name: 'RSA-PSS', hash: 'SHA-256' },
    { name: 'RSA-PSS', saltLength: 32 },
  ],
  EdDSA: [{ name: 'Ed25519' }, { name: 'Ed25519' }],
} as const;

/** JOSE algorithm name. @see RFC 7518 §3.1, RFC 8037 §3.1 */
type ClientSigningAlgorithm = keyof typeof ALGORITHMS;

/** A private key of WebCrypto. */
type PrivateKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** A private key, its algorithm, and the `kid` that its public half is published under. */
export interface ClientSigningKey {
  readonly algorithm: ClientSigningAlgorithm;
  readonly key: PrivateKey;
  readonly keyId?: string;
}

/**
 * Reads a private key from PKCS #8 PEM or from a JWK.
 * @throws ClientError `configuration_invalid` when it is neither, or does not match the algorithm.
 */
export async function readSigningKey(
  source: string | Readonly<Record<string, unknown>>,
  algorithm: string,
  keyId?: string,
): Promise<ClientSigningKey> {
  if (!isAlgorithm(algorithm)) {
    throw new ClientError(
      'configuration_invalid',
      `Signing keys must be one of ${Object.keys(ALGORITHMS).join(', ')}.`,
    );
  }
  const [parameters] = ALGORITHMS[algorithm];
  try {
    const key =
      typeof source === 'string'
        ? await crypto.subtle.importKey('pkcs8', decodePem(source), parameters, false, ['sign'])
        : await crypto.subtle.importKey('jwk', source, parameters, false, ['sign']);
    return { algorithm, key, ...(keyId !== undefined && { keyId }) };
  } catch (cause) {
    throw new ClientError(
      'configuration_invalid',
      `The signing key is not a private ${algorithm} key in PKCS #8 PEM or JWK form.`,
      { cause },
    );
  }
}

/** Signs a JWT in compact form. */
export async function signClientJwt(
  key: ClientSigningKey,
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
): Promise<string> {
  const [, parameters] = ALGORITHMS[key.algorithm];
  const signed = `${encodeJson({ alg: key.algorithm, ...header })}.${encodeJson(claims)}`;
  const signature = await crypto.subtle.sign(parameters, key.key, new TextEncoder().encode(signed));
  return `${signed}.${encodeBase64url(new Uint8Array(signature))}`;
}

function isAlgorithm(text: string): text is ClientSigningAlgorithm {
  return Object.hasOwn(ALGORITHMS, text);
}

function encodeJson(value: unknown): string {
  return encodeBase64url(new TextEncoder().encode(JSON.stringify(value)));
}

function decodePem(pem: string): Uint8Array<ArrayBuffer> {
  const base64 = pem.replace(/-----(?:BEGIN|END) PRIVATE KEY-----/g, '').replace(/\s+/g, '');
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
