/** A client that holds a key: tokens are bound to it, and it proves for each request that it has it. */
import { createHash } from 'node:crypto';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { NOW, RESOURCE } from './issuer.ts';

export interface Holder {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
  readonly thumbprint: string;
  /** A good proof for a POST with a token, unless claims or header say otherwise; `undefined` takes a member away. */
  prove(token: string, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

export async function createHolder(algorithm = 'ES256'): Promise<Holder> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return {
    privateKey,
    jwk,
    thumbprint: await calculateJwkThumbprint(jwk),
    prove(token, claims = {}, header = {}) {
      const ath = createHash('sha256').update(token).digest('base64url');
      const all = { jti: crypto.randomUUID(), htm: 'POST', htu: RESOURCE, iat: NOW, ath, ...claims };
      const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      return new SignJWT(present)
        .setProtectedHeader({ alg: algorithm, typ: 'dpop+jwt', jwk, ...header })
        .sign(privateKey);
    },
  };
}
