/** Hosts that are too long for the URL parser: it converts those outside ASCII in quadratic time. */

/** No name in DNS is longer, and none in its ASCII form is shorter than what it stands for. @see RFC 1035 §2.3.4 */
const MAX_HOST = 255;

/**
 * The authority of URLs whose host the parser converts, however it is written; also of a reference to one. That of a file begins behind
 * two slashes, and is empty before a third.
 * @see WHATWG URL, special scheme, file state
 */
const AUTHORITY = /^(?:(?:https?|wss?|ftp):[\\/]*|file:[\\/]{2}|[\\/]{2,})([^\\/?#]*)/i;

/** What the parser does not convert. */
const PLAIN = /^[!-$&-~]*$/;

/**
 * Whether the URL parser would convert a host of more than 255 characters: such a text has to be refused, since it may still be read as a
 * shorter host.
 * @see UTS #46
 */
export function hasLongHost(text: string): boolean {
  if (text.length <= MAX_HOST) return false;
  // As the parser ignores them.
  const authority = AUTHORITY.exec(text.replace(/^[\0- ]+|[\t\n\r]/g, ''))?.[1] ?? '';
  return authority.length > MAX_HOST && !PLAIN.test(authority);
}
