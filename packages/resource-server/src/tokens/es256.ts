/** ES256 by the shortest way that Node has: a bare key object, and the signature turned from JOSE into DER here. */
import { decodeBase64url } from './base64url.ts';
import { nodeCrypto } from './node-crypto.ts';

/** R and S of P-256, 32 bytes each. @see RFC 7518 §3.4 */
const HALF = 32;
const SIGNATURE_CHARACTERS = 86;

/** 64 bytes fill 85 characters and two bits: the last character can only be one of these. */
const LAST_CHARACTER = /[AQgw]$/;

/** In characters, which are bytes: header and payload are base64url. No token is longer; status lists may be. */
const LONGEST_USUAL = 16_384;

/** Verifies what a key signed; `null` when this runtime has no `node:crypto`, and another way must be taken. */
export type VerifySignature = (signingInput: string, signature: string) => boolean;

/**
 * Makes the verifier of a P-256 public key; `null` when this runtime has no `node:crypto`.
 * @throws when the key is not on the curve.
 */
export function createEs256(jwk: { readonly x: string; readonly y: string }): VerifySignature | null {
  if (nodeCrypto === undefined) return null;
  const { createPublicKey, verify } = nodeCrypto;
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: jwk.x, y: jwk.y }, format: 'jwk' });
  // Verification is done before anything else can run, so all of them share the bytes that they work on.
  const signed = Buffer.allocUnsafeSlow(LONGEST_USUAL);
  const bytesOf = (input: string): Uint8Array =>
    input.length > LONGEST_USUAL
      ? Buffer.from(input, 'latin1')
      : signed.subarray(0, signed.write(input, 'latin1'));
  return (signingInput, signature) => {
    if (signature.length !== SIGNATURE_CHARACTERS || !LAST_CHARACTER.test(signature)) return false;
    const der = derSignature(decodeBase64url(signature));
    if (der === null) return false;
    // The object form of the key and the encoding `ieee-p1363` would each cost a quarter of the verification itself.
    return verify('sha256', bytesOf(signingInput), key, der);
  };
}

/**
 * An ECDSA signature of P-256 from its 64 bytes in JOSE (R and S, big-endian, of fixed length) to DER (two INTEGERs, as
 * short as they can be, with a zero in front of a high bit). `null` when the length is wrong, or R or S is zero.
 * @see RFC 7518 §3.4, RFC 3279 §2.2.3
 */
export function derSignature(jose: Uint8Array): Uint8Array | null {
  if (jose.length !== 2 * HALF) return null;
  const r = firstByte(jose, 0);
  const s = firstByte(jose, HALF);
  if (r === HALF || s === 2 * HALF) return null;
  const rPad = highBit(jose, r);
  const sPad = highBit(jose, s);
  const rLength = HALF - r + rPad;
  const sLength = 2 * HALF - s + sPad;
  const der = Buffer.allocUnsafe(6 + rLength + sLength);
  der[0] = 0x30;
  der[1] = 4 + rLength + sLength;
  der[2] = 0x02;
  der[3] = rLength;
  writeNumber(jose, r, HALF, der, 4);
  der[4 + rLength] = 0x02;
  der[5 + rLength] = sLength;
  writeNumber(jose, s, 2 * HALF, der, 6 + rLength);
  return der;
}

/** Writes the bytes from a place to an end, with a zero in front where the number would be negative without. */
function writeNumber(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  const shift = at - start + highBit(from, start);
  to[at] = 0;
  for (let place = start; place < end; place += 1) to[place + shift] = from[place] ?? 0;
}

/** Where the half that starts at a place has its first byte that is not zero; the end of the half when it has none. */
function firstByte(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < start + HALF && bytes[at] === 0) at += 1;
  return at;
}

function highBit(bytes: Uint8Array, at: number): 0 | 1 {
  return (bytes[at] ?? 0) >= 0x80 ? 1 : 0;
}
