/** Strict JSON: text of bounded depth in which no object names a member twice. */

/** How deep objects and arrays may nest. */
const DEEPEST = 16;

/** Strings (so that what looks like structure inside them is skipped) and everything that makes structure. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:]/g;

/**
 * Parses JSON.
 * @throws SyntaxError when it is malformed, nests more than 16 levels deep, or repeats a member of an object: readers
 *   disagree on which of two members counts, so neither does.
 * @see RFC 8259 §4
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  checkStructure(text);
  return value;
}

/** Walks over the tokens of well-formed JSON, in linear time. */
function checkStructure(text: string): void {
  const open: Set<string>[] = [];
  let last = '';
  for (const token of text.match(TOKENS) ?? []) {
    if (token === '{' || token === '[') {
      if (open.push(new Set()) > DEEPEST)
        throw new SyntaxError(`JSON nests more than ${DEEPEST} levels deep`);
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':') noteMember(open.at(-1), last);
    last = token;
  }
}

function noteMember(members: Set<string> | undefined, token: string): void {
  const name = token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1);
  if (members?.has(name) === true) throw new SyntaxError('JSON repeats a member of an object');
  members?.add(name);
}
