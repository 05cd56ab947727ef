/** A client's DPoP key, and its proofs for the endpoints of the server under test. */
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { ISSUER } from './server-under-test.ts';

/** Changes of a good proof; `undefined` takes a member away. */
interface ProofChanges {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** Signs in place of the own key. */
  readonly privateKey?: CryptoKey;
}

export interface ProofHolder {
  readonly thumbprint: string;
  readonly privateKey: CryptoKey;
  /** The header with a good proof for a POST to `/token`, unless changed. @param now epoch seconds */
  prove(now: number, changes?: ProofChanges): Promise<{ readonly dpop: string }>;
}

export async function createProofHolder(algorithm = 'ES256'): Promise<ProofHolder> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return {
    privateKey,
    thumbprint: await calculateJwkThumbprint(jwk),
    async prove(now, { claims = {}, header = {}, privateKey: signer = privateKey } = {}) {
      const all = { jti: crypto.randomUUID(), htm: 'POST', htu: `${ISSUER}/token`, iat: now, ...claims };
      const present = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
      const proof = new SignJWT(present);
      proof.setProtectedHeader({ alg: algorithm, typ: 'dpop+jwt', jwk, ...header });
      return { dpop: await proof.sign(signer) };
    },
  };
}
