/** Text of strangers, fit for a terminal: nothing in it can move a cursor, change a title, hide a word or write a clipboard. */
import { stripVTControlCharacters } from 'node:util';

const KEPT: ReadonlySet<string> = new Set(['\n', '\t']);

/** Lines and tabs stay; control sequences, other control characters and bidirectional overrides are gone. */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/[\p{Cc}\p{Cf}]/gu, (character) => (KEPT.has(character) ? character : ''));
}

/** The same on one line. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim();
}

/** JSON in which every character that a terminal could act on is written as an escape. */
export function cleanJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[\x7f-\x9f\p{Cf}\u2028\u2029]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
