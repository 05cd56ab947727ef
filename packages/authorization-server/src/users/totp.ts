/** The law of codes from an app: which six digits belong to a moment. */
import { createHmac } from 'node:crypto';

/** Seconds that a code stands for. */
const STEP = 30;
const DIGITS = 6;
/** Clocks of telephones may be one step off. */
const DRIFT = 1;

/** @see RFC 4226 §5.3 */
export function hotp(secret: Uint8Array, counter: number, digits: number = DIGITS): string {
  const moment = Buffer.alloc(8);
  moment.writeBigUInt64BE(BigInt(counter));
  const mac = createHmac('sha1', secret).update(moment).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/** The time step of a code, looked for around now (epoch seconds); `null` when it is none of them. @see RFC 6238 §5.2 */
export function findTotpStep(secret: Uint8Array, code: string, now: number): number | null {
  const present = Math.floor(now / STEP);
  for (let step = present - DRIFT; step <= present + DRIFT; step += 1) {
    if (hotp(secret, step) === code) return step;
  }
  return null;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Without padding, as apps want it. @see RFC 4648 §6 */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => ALPHABET[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
}
