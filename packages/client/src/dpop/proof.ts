/** Proof of possession: a fresh signed statement for each request that a key's owner makes. */
import { base64url } from '@portcullis/protocol';
import type { PrivateEcJwk } from '../jwk.ts';
import { type ClientSigningKey, readSigningKey, signClientJwt } from '../signing-key.ts';

/** The algorithm of every key made here. */
export const DPOP_ALGORITHM = 'ES256';

/** What one proof is for. */
export interface DpopProofInput {
  readonly method: string;
  /** Query and fragment are left out of the proof. */
  readonly url: string;
  /** The access token that it accompanies; `null` at the token endpoint. */
  readonly accessToken: string | null;
  /** The newest nonce of that server; `null` when it never gave one. */
  readonly nonce: string | null;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Never used before. */
  readonly identifier: string;
}

/** Makes a private key, as JWK, so that it can be kept beside its token. */
export async function createDpopKey(): Promise<PrivateEcJwk> {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ]);
  const { x = '', y = '', d = '' } = await crypto.subtle.exportKey('jwk', pair.privateKey);
  return { kty: 'EC', crv: 'P-256', x, y, d };
}

const imported = new WeakMap<PrivateEcJwk, Promise<ClientSigningKey>>();

function signingKeyOf(key: PrivateEcJwk): Promise<ClientSigningKey> {
  const known = imported.get(key);
  if (known !== undefined) return known;
  const reading = readSigningKey({ ...key }, DPOP_ALGORITHM);
  imported.set(key, reading);
  return reading;
}

/** Makes the value of one `DPoP` header. @see RFC 9449 §4.2 */
export async function createDpopProof(key: PrivateEcJwk, subject: DpopProofInput): Promise<string> {
  const url = new URL(subject.url);
  const { kty, crv, x, y } = key;
  const claims = {
    jti: subject.identifier,
    htm: subject.method,
    htu: `${url.origin}${url.pathname}`,
    iat: Math.floor(subject.now / 1000),
    ...(subject.accessToken !== null && { ath: await hashToken(subject.accessToken) }),
    ...(subject.nonce !== null && { nonce: subject.nonce }),
  };
  return signClientJwt(await signingKeyOf(key), { typ: 'dpop+jwt', jwk: { kty, crv, x, y } }, claims);
}

async function hashToken(token: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))));
}
