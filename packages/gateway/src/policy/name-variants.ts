/** The other names that a backend may take a name for: each has to be allowed as well. */

const PLAIN = /^[\x21-\x7e]*$/;

/** A name, and what it is after Unicode normalization and without invisible characters. @see UAX #15 */
export function nameVariants(name: string): readonly string[] {
  if (PLAIN.test(name)) return [name];
  return [...new Set([name, name.normalize('NFKC').replace(/[\p{Cf}\s]/gu, '')])];
}

/** A URI, and what it is with its dot segments resolved and its escapes decoded. @see RFC 3986 §6.2.2 */
export function uriVariants(uri: string): readonly string[] {
  const resolved = URL.parse(uri)?.href ?? uri;
  const decoded = decode(resolved);
  return [...new Set([...nameVariants(uri), resolved, URL.parse(decoded)?.href ?? decoded, decoded])];
}

function decode(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}
