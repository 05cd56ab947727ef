/** Names of JSON members that some readers read as others do not: written twice in one object, or in disguise. */

/**
 * Checks well-formed JSON, in linear time.
 * @param value what parsing made of it
 * @param deepest levels to which objects and arrays may nest
 * @throws SyntaxError when it nests deeper, names a member of an object twice, or spells a name with an escape in the place of a
 *   letter, a digit or an underscore. Of two members readers disagree which one counts. A name in disguise V8 may take for one that
 *   an earlier document made it expect: then the member is not there under its name, for this reader and at this moment alone.
 * @see RFC 8259 §4
 */
export function checkJsonMembers(text: string, value: unknown, deepest: number): void {
  if (hasDisguisedName(text))
    throw new SyntaxError('JSON names a member with an escape that it does not need');
  // Of members with one name, parsing keeps one.
  if (countNames(text, deepest) !== countMembers(value))
    throw new SyntaxError('JSON repeats a member of an object');
}

/** An escape that stands for a letter, a digit or an underscore: no encoder writes one. */
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

/** Whether the string that ends at `end` names a member. */
function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (/[ \t\r\n]/.test(text.charAt(at))) at += 1;
  return text[at] === ':';
}

/** The members that are named: each has a colon. Throws when it nests too deep. */
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

/** Where the quote is that ends the string which begins at `begin`. */
function endOfString(text: string, begin: number): number {
  let end = text.indexOf('"', begin + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Whether an odd number of backslashes stands before a character. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

/** The members of all objects in a value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const within = Object.values(value).reduce<number>((sum, one) => sum + countMembers(one), 0);
  return Array.isArray(value) ? within : within + Object.keys(value).length;
}
