/** Names that strangers chose, made fit to stand on a page. */

const LONGEST_NAME = 50;
/** UTF-16 units that are looked at: what comes behind them would be cut off, and costs the square of its length. */
const LONGEST_TEXT = 1000;

/**
 * A name on one line, of bounded length, without characters that are invisible, that turn the direction of text round, or
 * that pile up over others.
 */
export function displayName(name: string): string {
  const plain = name
    .slice(0, LONGEST_TEXT)
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\p{C}\u115f\u1160\u3164\uffa0\u2800]/gu, '')
    .replace(/(\p{M}{2})\p{M}+/gu, '$1')
    .trim();
  const letters = [...plain];
  return letters.length <= LONGEST_NAME
    ? plain
    : `${letters
        .slice(0, LONGEST_NAME - 1)
        .join('')
        .trimEnd()}…`;
}
