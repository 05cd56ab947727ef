/** User codes of device authorization: short, without vowels, digits and letters that look alike. */
import { randomInt } from 'node:crypto';

/** "a character set of ... base 20" @see RFC 8628 §6.1 */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
/** 34 bits: with a few guesses a minute, none hits within the lifetime of a code. @see RFC 8628 §5.1 */
const LENGTH = 8;

/** A new code as it is stored. */
export function newUserCode(): string {
  return Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}

/** `WDJB-MJHT`, as users see it. */
export function showUserCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
}

/** The code that a user typed, in any case and with any separators; `null`: it cannot be one. */
export function readUserCode(text: string): string | null {
  if (text.length > 50) return null;
  const code = text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
  return code.length === LENGTH && [...code].every((letter) => LETTERS.includes(letter)) ? code : null;
}
