/** Parses untrusted JSON within limits, and without member names that parsers disagree about. */

/** Limits of a document. Reading ends where one is exceeded. */
export interface JsonLimits {
  /** The maximum nesting of objects and arrays. */
  readonly depth: number;
  /** The maximum number of members of all objects together. */
  readonly members: number;
  /** The maximum number of values, elements of arrays included. */
  readonly values: number;
}

/**
 * Parses JSON in linear time.
 * @throws SyntaxError if the text is malformed, exceeds a limit, repeats a member of an object, or escapes a letter, a
 * digit or an underscore in a name. Parsers disagree which of two equal members counts. V8 may take an escaped name for
 * one that an earlier document made it expect: then the member is missing under its name, for that reader only.
 * @see RFC 8259 §4
 */
export function readStrictJson(text: string, limits: JsonLimits): unknown {
  checkNames(text, limits);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message may quote a secret.
    throw malformed();
  }
}

/** The names so far of each open object; `null` for an array. */
type OpenContainers = (Set<string> | null)[];

/** Checks the limits and names of well-formed JSON. What is malformed passes, or fails by a rule that it seems to break. */
function checkNames(text: string, limits: JsonLimits): void {
  const open: OpenContainers = [];
  let members = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (end === -1) throw malformed();
        if (text.charCodeAt(skipSpace(text, end + 1)) === COLON) {
          members += 1;
          addName(open.at(-1), text.slice(at, end + 1));
        } else values += 1;
        at = end;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (open.length >= limits.depth)
          throw new SyntaxError(`JSON nests more than ${limits.depth} levels deep`);
        open.push(text.charCodeAt(at) === OPEN_BRACE ? new Set() : null);
        values += 1;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
        break;
      default:
        if (!isScalar(text.charCodeAt(at))) break;
        while (isScalar(text.charCodeAt(at + 1))) at += 1;
        values += 1;
    }
    if (members > limits.members) throw new SyntaxError('JSON has too many members');
    if (values > limits.values) throw new SyntaxError('JSON has too many values');
  }
}

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Whether a character belongs to a number or literal: `0-9 a-z E + - .` */
function isScalar(code: number): boolean {
  return (
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x61 && code <= 0x7a) ||
    code === 0x45 ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x2e
  );
}

/** @param written with its quotes */
function addName(names: Set<string> | null | undefined, written: string): void {
  if (isDisguised(written)) throw new SyntaxError('JSON names a member with an escape that it does not need');
  if (!(names instanceof Set)) throw malformed();
  const name = written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);
  if (names.has(name)) throw new SyntaxError('JSON repeats a member of an object', { cause: name });
  names.add(name);
}

const DISGUISE = /\\u00(?:3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;

/** Whether a name is written with an escape for a letter, a digit or an underscore: no encoder writes one. */
export function isDisguised(written: string): boolean {
  return written.includes('\\') && DISGUISE.test(written);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** The index of the quotation mark that ends the string beginning at `start`; -1 if there is none. */
export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

/** Whether an odd number of backslashes precedes a character. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === '\\') before -= 1;
  return (at - before) % 2 === 1;
}

/** The members of a parsed object; none of any other value. */
export function jsonMembers(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : {};
}

function malformed(): SyntaxError {
  return new SyntaxError('JSON is malformed');
}
