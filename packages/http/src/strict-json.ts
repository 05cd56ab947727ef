/** Strict JSON: text of bounded depth whose names all readers read alike. */
import { checkJsonMembers } from '@portcullis/protocol';

/** How deep objects and arrays may nest. */
const DEEPEST = 16;

/**
 * Parses JSON.
 * @throws SyntaxError when it is malformed, nests more than 16 levels deep, repeats a member of an object or names one in
 *   disguise.
 * @see RFC 8259 §4
 */
export function parseStrictJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  checkJsonMembers(text, value, DEEPEST);
  return value;
}
