/** The ES256 fast path: verifies base64url signatures with `node:crypto` where the runtime has it. */
import type { KeyObject } from 'node:crypto';
import { createEs256, decodeBase64url } from '@portcullis/protocol';
import { LONGEST_TOKEN } from './compact-jws.ts';
import { nodeCrypto } from './node-crypto.ts';

const SIGNATURE_CHARACTERS = 86;

/** 64 bytes fill 85 characters and two bits, so only these can be the last character. */
const LAST_CHARACTER = /[AQgw]$/;

/** Verifies a base64url signature over the ASCII text of header and payload, which is no longer than a token. */
export type VerifySignature = (signingInput: string, signature: string) => boolean;

/**
 * Creates the verifier of a P-256 public key.
 * @returns `null` if this runtime has no `node:crypto`
 * @throws Error if the point is not on the curve
 */
export function createEs256Verifier(jwk: { readonly x: string; readonly y: string }): VerifySignature | null {
  if (nodeCrypto === undefined) return null;
  const es256 = createEs256<KeyObject>(nodeCrypto);
  const key = nodeCrypto.createPublicKey({
    key: { kty: 'EC', crv: 'P-256', x: jwk.x, y: jwk.y },
    format: 'jwk',
  });
  // A verification completes before anything else can run, so all of them share one buffer.
  const buffer = Buffer.allocUnsafeSlow(LONGEST_TOKEN);
  const bytesOf = (input: string): Uint8Array => buffer.subarray(0, buffer.write(input, 'latin1'));
  return (signingInput, signature) =>
    signature.length === SIGNATURE_CHARACTERS &&
    LAST_CHARACTER.test(signature) &&
    es256.verify(bytesOf(signingInput), decodeBase64url(signature), key);
}
