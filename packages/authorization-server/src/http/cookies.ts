/** Cookies: HttpOnly, SameSite=Lax and, over https, Secure with the prefix `__Host-`. */
import type { HttpRequest } from '@portcullis/http';

/** One cookie of this server. */
export interface Cookie {
  /** The value that the browser sent; `null` when it sent none of the right format. */
  read(request: HttpRequest): string | null;
  /** A `Set-Cookie` value. @param maxAge seconds */
  write(value: string, maxAge: number): string;
  /** A `Set-Cookie` value that removes the cookie. */
  clear(): string;
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/**
 * Defines a cookie: `browser` binds an authorization transaction to its browser, `session` is the login,
 * `federated-login-…` binds a federated login to its browser, and `known-browser` is the device cookie,
 * `connect-link` the link of a gateway that its user opens.
 *
 * The prefix `__Host-` prevents neighbouring hosts and plain connections from setting it. Over plain http, which only loopback
 * issuers use, browsers disagree about Secure cookies, so it is neither Secure nor prefixed; its name contains the port,
 * because cookies are shared by all ports of a host.
 * @param format of its values; secrets of 43 characters by default
 * @see RFC 6265bis §4.1.3
 */
export function defineCookie(
  issuer: string,
  purpose: 'browser' | 'session' | 'known-browser' | 'connect-link' | `federated-login-${string}`,
  format: RegExp = SECRET,
): Cookie {
  const { protocol, port } = new URL(issuer);
  const isSecure = protocol === 'https:';
  const name = isSecure ? `__Host-portcullis-${purpose}` : `portcullis-${port || '80'}-${purpose}`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    read: (request) => readCookie(request.headers.get('cookie') ?? '', name, format),
    write: (value, maxAge) => `${name}=${value}; Max-Age=${maxAge}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}

function readCookie(header: string, name: string, format: RegExp): string | null {
  for (const pair of header.split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name && value !== undefined && format.test(value)) return value;
  }
  return null;
}
