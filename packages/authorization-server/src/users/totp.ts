/** TOTP (RFC 6238) and HOTP (RFC 4226) codes, and base32 for their secrets. */
import { createHmac } from 'node:crypto';

/** Seconds per time step. */
const STEP = 30;
const DIGITS = 6;
/** Time steps by which a phone's clock may be off. */
const DRIFT = 1;

/** @see RFC 4226 §5.3 */
export function hotp(secret: Uint8Array, counter: number, digits: number = DIGITS): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const mac = createHmac('sha1', secret).update(message).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/** The time step around `now` (epoch seconds) that a code belongs to; `null` if none. @see RFC 6238 §5.2 */
export function findTotpStep(secret: Uint8Array, code: string, now: number): number | null {
  const present = Math.floor(now / STEP);
  for (let step = present - DRIFT; step <= present + DRIFT; step += 1) {
    if (hotp(secret, step) === code) return step;
  }
  return null;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Without padding, as authenticator apps expect it. @see RFC 4648 §6 */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => ALPHABET[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
}
