/** Web addresses that may be used at all: absolute, https (http for loopback only), nothing hidden in them. */

/** Printable ASCII without space, quotes, angle brackets and backslash: what a URL on the wire consists of. */
const URL_TEXT = /^[\x21\x23-\x3b\x3d\x3f-\x5b\x5d-\x7e]+$/;

/** Hosts that mean this computer, as the URL parser spells them. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a URL's `hostname` means this computer: `localhost`, `127.0.0.1` or `[::1]`. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK_HOSTS.has(hostname);
}

/**
 * Reads an absolute URL of which nothing is trimmed, repaired or hidden: no spaces or control characters, no
 * backslash, no user name or password. `null` when it is not one.
 */
export function readUrl(text: string): URL | null {
  if (!URL_TEXT.test(text)) return null;
  const url = URL.parse(text);
  if (url === null || hasUserInfo(text, url)) return null;
  return url;
}

/** Reads an http or https URL with a host; `null` when it is not one. */
export function readWebUrl(text: string): URL | null {
  if (!/^https?:\/\//i.test(text)) return null;
  return readUrl(text);
}

/**
 * Whether secrets may travel to this address: https, or http to this computer.
 * All authorization endpoints MUST be served over HTTPS; loopback is the development exception.
 * @see seed 5.3(6)
 */
export function isSecureUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/** An `@` in the authority is user info even where the parser finds it empty (`https://@host/`). */
function hasUserInfo(text: string, url: URL): boolean {
  if (url.username !== '' || url.password !== '') return true;
  const authority = /^[^:]+:\/\/([^/?#]*)/.exec(text)?.[1] ?? '';
  return authority.includes('@');
}
