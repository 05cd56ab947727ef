/** Strict JSON parsing: bounded depth, no duplicate members, no member names in disguise. */
import { checkJsonMembers } from '@portcullis/protocol';

/** How deep objects and arrays may nest. */
const MAX_DEPTH = 16;

/**
 * Parses JSON.
 * @throws SyntaxError if the text is malformed, nests more than 16 levels deep, repeats a member of an object, or
 * escapes a member name needlessly
 * @see RFC 8259 §4
 */
export function parseStrictJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  checkJsonMembers(text, value, MAX_DEPTH);
  return value;
}
