/** Detects JSON member names that parsers disagree about: duplicates, and names disguised by escapes. */

/**
 * Checks well-formed JSON in linear time.
 * @param value the parsed text
 * @param deepest the maximum nesting of objects and arrays
 * @throws SyntaxError if it nests deeper, repeats a member of an object, or escapes a letter, a digit or an
 * underscore in a name. Parsers disagree which of two equal members counts. V8 may take an escaped name for one that
 * an earlier document made it expect: then the member is missing under its name, for this reader and at this moment
 * only.
 * @see RFC 8259 §4
 */
export function checkJsonMembers(text: string, value: unknown, deepest: number): void {
  if (hasDisguisedName(text))
    throw new SyntaxError('JSON names a member with an escape that it does not need');
  // Of members with the same name, parsing keeps one.
  if (countNames(text, deepest) !== countMembers(value))
    throw new SyntaxError('JSON repeats a member of an object');
}

/** An escaped letter, digit or underscore: no encoder writes one. */
const DISGUISE = /\\u00(?:3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;

function hasDisguisedName(text: string): boolean {
  if (!DISGUISE.test(text)) return false;
  for (let begin = text.indexOf('"'); begin !== -1; ) {
    const end = endOfString(text, begin);
    if (isName(text, end) && DISGUISE.test(text.slice(begin, end))) return true;
    begin = text.indexOf('"', end + 1);
  }
  return false;
}

/** Whether the string that ends at `end` is a member name. */
function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (/[ \t\r\n]/.test(text.charAt(at))) at += 1;
  return text[at] === ':';
}

/** Counts the member names, each of which has a colon. @throws SyntaxError if the text nests too deep */
function countNames(text: string, deepest: number): number {
  let names = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === ':') names += 1;
    else if (character === '}' || character === ']') depth -= 1;
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth > deepest) throw new SyntaxError(`JSON nests more than ${deepest} levels deep`);
    }
  }
  return names;
}

/** The index of the quote that ends the string beginning at `begin`. */
function endOfString(text: string, begin: number): number {
  let end = text.indexOf('"', begin + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Whether an odd number of backslashes precedes a character. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

/** Counts the members of all objects in a value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const within = Object.values(value).reduce<number>((sum, one) => sum + countMembers(one), 0);
  return Array.isArray(value) ? within : within + Object.keys(value).length;
}
