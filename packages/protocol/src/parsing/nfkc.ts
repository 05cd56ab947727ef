/** Unicode compatibility normalization (NFKC) in linear time. */

/** Marks, and the two letters that NFKC turns into marks. */
const MARKS = /[\p{M}\uFF9E\uFF9F]{1,30}/gu;

/**
 * NFKC. `normalize` sorts consecutive marks in quadratic time; text has at most 30 of them (stream-safe format), and more are normalized
 * in pieces of 30.
 * @see UAX #15 §13
 */
export function toNfkc(text: string): string {
  let normalized = '';
  let start = 0;
  let end = -1;
  for (const { index, 0: marks } of text.matchAll(MARKS)) {
    if (index === end) {
      normalized += text.slice(start, index).normalize('NFKC');
      start = index;
    }
    end = index + marks.length;
  }
  return normalized + text.slice(start).normalize('NFKC');
}
