/** Checks that bytes are UTF-8, chunk by chunk. */
import { isUtf8 } from 'node:buffer';

/** Accepts the next chunk, or its end as `null`; `false` when the bytes so far are not the beginning of UTF-8. */
export type Utf8Check = (chunk: Uint8Array | null) => boolean;

export function createUtf8Check(): Utf8Check {
  /** Bytes of a character whose rest is in the next chunk. */
  let begun: Uint8Array = NONE;

  return (chunk) => {
    if (chunk === null) return begun.length === 0;
    let rest = chunk;
    if (begun.length > 0) {
      const missing = lengthOfCharacter(begun[0] ?? 0) - begun.length;
      const character = Buffer.concat([begun, chunk.subarray(0, missing)]);
      rest = chunk.subarray(missing);
      if (chunk.length < missing) {
        begun = character;
        return true;
      }
      if (!isUtf8(character)) return false;
    }
    const whole = rest.length - unfinishedLength(rest);
    begun = whole === rest.length ? NONE : Uint8Array.from(rest.subarray(whole));
    return isUtf8(whole === rest.length ? rest : rest.subarray(0, whole));
  };
}

const NONE = new Uint8Array(0);

/** Bytes at the end that begin a character and do not complete it. */
function unfinishedLength(bytes: Uint8Array): number {
  for (let length = 1; length <= Math.min(3, bytes.length); length += 1) {
    const byte = bytes[bytes.length - length] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return lengthOfCharacter(byte) > length ? length : 0;
  }
  return 0;
}

/** By its first byte. @see RFC 3629 §3 */
function lengthOfCharacter(first: number): number {
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : 2;
}
