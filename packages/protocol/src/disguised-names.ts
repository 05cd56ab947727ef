/** Names of JSON members that are written in another way than anybody writes them, and so are read in more than one. */

/** An escape that stands for a letter, a digit or an underscore: none of them needs one. */
const DISGUISE = /\\u00(?:3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;

/**
 * Whether well-formed JSON names a member with an escape in the place of a letter, a digit or an underscore: `"n\u0061me"`. No
 * encoder writes so. V8 may take such a name for one that an earlier document made it expect: then the member is not there under
 * its name, for this reader and at this moment alone. In linear time.
 */
export function hasDisguisedName(text: string): boolean {
  if (!DISGUISE.test(text)) return false;
  for (let begin = text.indexOf('"'); begin !== -1; ) {
    const end = endOfString(text, begin);
    if (isName(text, end) && DISGUISE.test(text.slice(begin, end))) return true;
    begin = text.indexOf('"', end + 1);
  }
  return false;
}

/** Where the quote is that ends the string which begins at `begin`. */
export function endOfString(text: string, begin: number): number {
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

/** Whether the string that ends at `end` names a member. */
function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (/[ \t\r\n]/.test(text.charAt(at))) at += 1;
  return text[at] === ':';
}
