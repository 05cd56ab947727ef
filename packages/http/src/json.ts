/** Strict JSON: text of bounded depth in which no object names a member twice. */
import { endOfString, hasDisguisedName } from '@portcullis/protocol/disguised-names';

/** How deep objects and arrays may nest. */
const DEEPEST = 16;

/**
 * Parses JSON.
 * @throws SyntaxError when it is malformed, nests more than 16 levels deep, or repeats a member of an object: readers
 *   disagree on which of two members counts, so neither does. Or when it spells a name with escapes for plain letters.
 * @see RFC 8259 §4
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (hasDisguisedName(text))
    throw new SyntaxError('JSON names a member with an escape that it does not need');
  // Of members with one name, parsing keeps one.
  if (countNames(text) !== countMembers(value)) throw new SyntaxError('JSON repeats a member of an object');
  return value;
}

/** The members that well-formed JSON names, in linear time: each has a colon. Throws when it nests too deep. */
function countNames(text: string): number {
  let names = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === ':') names += 1;
    else if (character === '}' || character === ']') depth -= 1;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > DEEPEST) throw new SyntaxError(`JSON nests more than ${DEEPEST} levels deep`);
    }
  }
  return names;
}

/** The members of all objects in a value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const within = Object.values(value).reduce<number>((sum, one) => sum + countMembers(one), 0);
  return Array.isArray(value) ? within : within + Object.keys(value).length;
}
