/** States and tokens of JSON, by byte. @see RFC 8259 §2 */

/** States between tokens: what may follow. */
export const VALUE = 0;
export const VALUE_OR_END = 1;
export const NAME = 2;
export const NAME_OR_END = 3;
export const COLON = 4;
export const COMMA_OR_END = 5;
export const DONE = 6;
/** States inside a token. */
export const STRING = 7;
export const ESCAPE = 8;
export const HEX = 9;
export const LITERAL = 10;
/** States of a number are those from here on. */
export const MINUS = 11;
export const ZERO = 12;
export const INTEGER = 13;
const POINT = 14;
export const FRACTION = 15;
const EXPONENT = 16;
const SIGN = 17;
export const POWER = 18;

/** The bytes of each literal, by the first of them. */
export const LITERALS: Readonly<Record<number, readonly number[]>> = {
  116: [...Buffer.from('true')],
  102: [...Buffer.from('false')],
  110: [...Buffer.from('null')],
};

/** The bytes that may follow a backslash. */
export const ESCAPABLE: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrtu'));

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function isHexDigit(byte: number): boolean {
  const letter = byte | 0x20;
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66);
}

/** The state of a number after one more byte; -1 if the byte belongs to no number in that state. */
export function nextOfNumber(state: number, byte: number): number {
  if (isDigit(byte)) return AFTER_DIGIT[state - MINUS]?.[byte === 0x30 ? 0 : 1] ?? -1;
  const isInteger = state === ZERO || state === INTEGER;
  if (byte === 0x2e && isInteger) return POINT;
  if ((byte | 0x20) === 0x65 && (isInteger || state === FRACTION)) return EXPONENT;
  return (byte === 0x2b || byte === 0x2d) && state === EXPONENT ? SIGN : -1;
}

/** From `MINUS` on: the state after 0, and after another digit. */
const AFTER_DIGIT: readonly (readonly [number, number])[] = [
  [ZERO, INTEGER],
  [-1, -1],
  [INTEGER, INTEGER],
  [FRACTION, FRACTION],
  [FRACTION, FRACTION],
  [POWER, POWER],
  [POWER, POWER],
  [POWER, POWER],
];
