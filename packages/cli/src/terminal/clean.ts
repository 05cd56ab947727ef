/** Cleans untrusted text for a terminal (terminal injection): it cannot move the cursor, change the title, hide text or write the clipboard. */
import { stripVTControlCharacters } from 'node:util';

const RETAINED: ReadonlySet<string> = new Set(['\n', '\t']);

/** Keeps line breaks and tabs; removes control sequences, other control characters and bidirectional overrides. */
export function cleanText(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(/[\p{Cc}\p{Cf}]/gu, (character) => (RETAINED.has(character) ? character : ''));
}

/** Cleans text and joins its lines. */
export function cleanLine(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim();
}

/** Formats JSON with escapes for every character that a terminal could interpret. Thousands of levels are not indented. */
export function cleanJson(value: unknown): string {
  return formatJson(value).replace(/[\x7f-\x9f\p{Cf}\u2028\u2029]/gu, escapeUnits);
}

function formatJson(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return formatDeepJson(value);
  }
}

/** A parsed value in a loop: `JSON.stringify` calls itself for each level, as often as the stack allows. */
function formatDeepJson(root: unknown): string {
  let text = '';
  const rest: { readonly before: string; readonly value?: unknown }[] = [{ before: '', value: root }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { before, value } = next;
    text += before;
    if (typeof value !== 'object' || value === null) {
      text += JSON.stringify(value) ?? '';
      continue;
    }
    const isList = Array.isArray(value);
    text += isList ? '[' : '{';
    rest.push({ before: isList ? ']' : '}' });
    const members = Object.entries(value).map(([name, member], index) => ({
      before: `${index === 0 ? '' : ','}${isList ? '' : `${JSON.stringify(name)}:`}`,
      value: member as unknown,
    }));
    for (const member of members.toReversed()) rest.push(member);
  }
  return text;
}

/** Escapes a character as JSON does, each of its UTF-16 units. */
export function escapeUnits(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
