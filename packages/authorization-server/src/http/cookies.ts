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
 * Defines a cookie: `browser-…` binds authorization transactions to their browser, `session` is the login,
 * `federated-login-…` binds a federated login to its browser, and `known-browser` is the device cookie,
 * `connect-link` and `approval` the link of a gateway that its user opens, `console-path` the page of the console that an operator opened.
 *
 * The prefix `__Host-` prevents neighbouring hosts and plain connections from setting it. Over plain http, which only loopback
 * issuers use, browsers disagree about Secure cookies, so it is neither Secure nor prefixed; its name contains the port,
 * because cookies are shared by all ports of a host.
 * @param format of its values; secrets of 43 characters by default
 * @see RFC 6265bis §4.1.3
 */
export function defineCookie(
  issuer: string,
  purpose:
    | 'session'
    | 'known-browser'
    | 'connect-link'
    | 'approval'
    | 'console-path'
    | `browser-${string}`
    | `federated-login-${string}`,
  format: RegExp = SECRET,
): Cookie {
  const name = nameOf(issuer, purpose);
  const isSecure = name.startsWith('__Host-');
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    read: ({ headers }) =>
      cookieValues(headers.get('cookie') ?? '', (key) => key === name, format)[0] ?? null,
    write: (value, maxAge) => `${name}=${value}; Max-Age=${maxAge}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}

function nameOf(issuer: string, purpose: string): string {
  const { protocol, port } = new URL(issuer);
  return protocol === 'https:' ? `__Host-portcullis-${purpose}` : `portcullis-${port || '80'}-${purpose}`;
}

/** Reads the secrets in all cookies whose purpose begins so, in the order in which the browser sent them: the oldest first. @see RFC 6265 §5.4 */
export function defineCookieReader(
  issuer: string,
  purpose: string,
): (request: HttpRequest) => readonly string[] {
  const beginning = nameOf(issuer, purpose);
  return ({ headers }) =>
    cookieValues(headers.get('cookie') ?? '', (key) => key.startsWith(beginning), SECRET);
}

/** The values of this format in a `Cookie` header, in its order. */
export function cookieValues(
  header: string,
  isWanted: (name: string) => boolean,
  format: RegExp,
): readonly string[] {
  const values: string[] = [];
  for (const part of header.split(';')) {
    const pair = part.trim();
    const equals = pair.indexOf('=');
    const value = pair.slice(equals + 1);
    if (equals !== -1 && isWanted(pair.slice(0, equals)) && format.test(value)) values.push(value);
  }
  return values;
}
