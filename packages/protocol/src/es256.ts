/** ES256 (ECDSA with P-256 and SHA-256): signs and verifies with bare keys, and converts between the JWS and DER forms of a signature. */

/** Bytes of each of the two integers R and S. */
const INTEGER_LENGTH = 32;

/** Bytes of a signature in JWS form, R || S. */
const SIGNATURE_LENGTH = 64;

/** `sign` and `verify` of `node:crypto`, passed in because this package does not depend on a platform. */
interface SignatureFunctions<Key> {
  sign(algorithm: string, data: Uint8Array, key: Key): Uint8Array;
  verify(algorithm: string, data: Uint8Array, key: Key, signature: Uint8Array): boolean;
}

export interface Es256<Key> {
  /** Signs, and returns R || S. */
  sign(data: Uint8Array, privateKey: Key): Uint8Array;
  /** Whether R || S is the signature of the data. */
  verify(data: Uint8Array, signature: Uint8Array, publicKey: Key): boolean;
}

/**
 * Signs and verifies with key objects as they are. Asking `node:crypto` for the encoding `ieee-p1363` needs the options form of
 * the key, which more than halves the signing rate and costs a quarter of a verification.
 * @see RFC 7518 §3.4
 */
export function createEs256<Key>(crypto: SignatureFunctions<Key>): Es256<Key> {
  return {
    sign: (data, privateKey) => derToJose(crypto.sign('sha256', data, privateKey)),
    verify(data, signature, publicKey) {
      const der = joseToDer(signature);
      return der !== null && crypto.verify('sha256', data, publicKey, der);
    },
  };
}

/**
 * Converts an ECDSA-Sig-Value to R || S. DER drops leading zeros, and puts one before an integer whose high bit is set.
 * @throws RangeError if the bytes are not the DER encoding of two integers of at most 256 bits
 * @see RFC 7518 §3.4, RFC 3279 §2.2.3
 */
export function derToJose(der: Uint8Array): Uint8Array {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) throw new RangeError('not a DER sequence');
  const jose = new Uint8Array(SIGNATURE_LENGTH);
  const endOfR = copyInteger(der, 2, jose, 0);
  if (copyInteger(der, endOfR, jose, INTEGER_LENGTH) !== der.length) {
    throw new RangeError('trailing bytes after the signature');
  }
  return jose;
}

/** Copies the DER integer at `offset` to the 32 bytes at `to`. @returns the offset where it ends */
function copyInteger(der: Uint8Array, offset: number, jose: Uint8Array, to: number): number {
  const length = der[offset + 1];
  if (der[offset] !== 0x02 || length === undefined || length === 0) throw new RangeError('not a DER integer');
  const end = offset + 2 + length;
  let start = offset + 2;
  if (der[start] === 0) start += 1;
  if (end > der.length || end - start > INTEGER_LENGTH) throw new RangeError('not a 256-bit integer');
  const shift = to + INTEGER_LENGTH - end;
  for (let index = start; index < end; index += 1) jose[index + shift] = der[index] ?? 0;
  return end;
}

/**
 * Converts R || S to an ECDSA-Sig-Value: two INTEGERs as short as possible, with a zero before a high bit.
 * @returns `null` if the length is wrong, or R or S is zero
 * @see RFC 7518 §3.4, RFC 3279 §2.2.3
 */
export function joseToDer(jose: Uint8Array): Uint8Array | null {
  if (jose.length !== SIGNATURE_LENGTH) return null;
  const r = firstNonZero(jose, 0);
  const s = firstNonZero(jose, INTEGER_LENGTH);
  if (r === INTEGER_LENGTH || s === SIGNATURE_LENGTH) return null;
  const rLength = INTEGER_LENGTH - r + padding(jose, r);
  const sLength = SIGNATURE_LENGTH - s + padding(jose, s);
  const der = new Uint8Array(6 + rLength + sLength);
  der[0] = 0x30;
  der[1] = 4 + rLength + sLength;
  der[2] = 0x02;
  der[3] = rLength;
  writeInteger(jose, r, INTEGER_LENGTH, der, 4);
  der[4 + rLength] = 0x02;
  der[5 + rLength] = sLength;
  writeInteger(jose, s, SIGNATURE_LENGTH, der, 6 + rLength);
  return der;
}

/** Copies the bytes from `start` to `end`, leaving a zero in front where the integer would be negative without it. */
function writeInteger(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  const shift = at - start + padding(from, start);
  for (let index = start; index < end; index += 1) to[index + shift] = from[index] ?? 0;
}

/** The offset of the first byte of an integer that is not zero; its end if there is none. */
function firstNonZero(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < start + INTEGER_LENGTH && bytes[at] === 0) at += 1;
  return at;
}

function padding(bytes: Uint8Array, at: number): 0 | 1 {
  return (bytes[at] ?? 0) >= 0x80 ? 1 : 0;
}
