/**
 * URLs that may be used at all: absolute, https (http for loopback only), without user information or disguised
 * hosts.
 */

import { hasLongHost } from './long-host.ts';

/** The characters of a URI, with a percent sign only before two hex digits. @see RFC 3986 §2 */
const URI_TEXT = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/;

/** Loopback hosts, as the URL parser spells them. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a URL's `hostname` is loopback: `localhost`, `127.0.0.1` or `[::1]`. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK_HOSTS.has(hostname);
}

/**
 * Parses an absolute URI strictly: no character outside RFC 3986, no user name or password, nothing trimmed or
 * repaired, and a host that reads as it is written. `null` otherwise.
 * @see RFC 3986 §3
 */
export function readUrl(text: string): URL | null {
  const url = URI_TEXT.test(text) && !hasLongHost(text) ? URL.parse(text) : null;
  return url !== null && hasPlainAuthority(text, url) ? url : null;
}

/** Parses an http or https URL with a host, as strictly as `readUrl`; `null` otherwise. */
export function readWebUrl(text: string): URL | null {
  return /^https?:\/\//i.test(text) ? readUrl(text) : null;
}

/**
 * Whether secrets may be sent to this URL: https, or http on a loopback host. All authorization endpoints MUST be
 * served over HTTPS; loopback is an exception for development.
 * @see RFC 6749 §3.1, RFC 8252 §8.3, seed 5.3(6)
 */
export function isSecureUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname));
}

/** Parses a URL that secrets may be sent to; `null` for any other text. */
export function readSecureUrl(text: string): URL | null {
  const url = readWebUrl(text);
  return url !== null && isSecureUrl(url) ? url : null;
}

/**
 * Whether the parsed host is the one that a reader sees. The parser skips slashes (`https:///evil`), decodes
 * percent-encoding and repairs addresses (`127.1`, `0x7f.1`, `2130706433`); user information puts a false host in
 * front. A dot at the end is a second spelling of the same host, which rules for that host would miss.
 */
function hasPlainAuthority(text: string, url: URL): boolean {
  const authority = /^[^:]+:\/\/([^/?#]*)/.exec(text)?.[1] ?? '';
  if (authority.includes('@')) return false;
  const host = authority.replace(/:\d*$/, '').toLowerCase();
  // Brackets make any spelling of an IPv6 address recognizable.
  if (host.startsWith('[')) return url.hostname.startsWith('[');
  return HOST_NAME.test(host) && !host.endsWith('.') && host === url.hostname.toLowerCase();
}

/** RFC 3986 also allows `;`, `,` and quotes in a host; no name contains them, and they end a value in many headers. */
const HOST_NAME = /^[a-z0-9._-]*$/;
