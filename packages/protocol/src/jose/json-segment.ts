/** Reads a segment of a JOSE object: base64url of a JSON object in UTF-8, without duplicate members. */
import { endOfString } from '../parsing/strict-json.ts';
import { decodeBase64url, isBase64url } from './base64url.ts';

const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a base64url segment: a JSON object in UTF-8 without duplicate members.
 * @throws SyntaxError saying what is wrong
 * @see RFC 7519 §4
 */
export function parseJsonSegment(segment: string): Readonly<Record<string, unknown>> {
  if (!isBase64url(segment)) throw new SyntaxError('a segment is not base64url');
  let json: string;
  let value: unknown;
  try {
    json = text.decode(decodeBase64url(segment));
    value = JSON.parse(json);
  } catch {
    throw new SyntaxError('a segment is not JSON in UTF-8');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SyntaxError('a segment is not an object');
  if (countMembers(json) !== Object.keys(value).length) throw new SyntaxError('a member is repeated');
  return value as Readonly<Record<string, unknown>>;
}

const QUOTE = 0x22;
const COLON = 0x3a;

/** Counts the members of the outermost object of well-formed JSON, by its colons outside strings at the first depth. */
function countMembers(json: string): number {
  let members = 0;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === COLON) members += depth === 1 ? 1 : 0;
    // The codes of { and [ differ by 0x20, as do those of } and ].
    else if ((code | 0x20) === 0x7b) depth += 1;
    else if ((code | 0x20) === 0x7d) depth -= 1;
  }
  return members;
}
