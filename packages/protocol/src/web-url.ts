/** Web addresses that may be used at all: absolute, https (http for loopback only), nothing hidden in them. */

/** The characters of RFC 3986, a percent sign only before two hex digits: what a URI on the wire consists of. */
const URI_TEXT = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/;

/** Hosts that mean this computer, as the URL parser spells them. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a URL's `hostname` means this computer: `localhost`, `127.0.0.1` or `[::1]`. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK_HOSTS.has(hostname);
}

/**
 * Reads an absolute URI of which nothing is trimmed, repaired or hidden: no character outside RFC 3986, no user name or
 * password, and a host that reads as it is written. `null` when it is not one.
 * @see RFC 3986 §3
 */
export function readUrl(text: string): URL | null {
  const url = URI_TEXT.test(text) ? URL.parse(text) : null;
  return url !== null && hasPlainAuthority(text, url) ? url : null;
}

/** Reads an http or https URL with a host; `null` when it is not one. */
export function readWebUrl(text: string): URL | null {
  return /^https?:\/\//i.test(text) ? readUrl(text) : null;
}

/**
 * Whether secrets may travel to this address: https, or http to this computer.
 * All authorization endpoints MUST be served over HTTPS; loopback is the development exception.
 * @see seed 5.3(6)
 */
export function isSecureUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/**
 * Whether the host that the parser found is the one that a person reads. The parser skips slashes (`https:///evil`),
 * decodes percent-encoding and repairs addresses (`127.1`, `0x7f.1`, `2130706433`); user info puts a false host in front.
 */
function hasPlainAuthority(text: string, url: URL): boolean {
  const authority = /^[^:]+:\/\/([^/?#]*)/.exec(text)?.[1] ?? '';
  if (authority.includes('@')) return false;
  const host = authority.replace(/:\d*$/, '').toLowerCase();
  // An IPv6 address has many spellings, and brackets show each for what it is.
  if (host.startsWith('[')) return url.hostname.startsWith('[');
  return HOST_NAME.test(host) && host === url.hostname.toLowerCase();
}

/** RFC 3986 also lets `;`, `,` and quotes stand in a host; no name has them, and they end a value in many a header. */
const HOST_NAME = /^[a-z0-9._-]*$/;
