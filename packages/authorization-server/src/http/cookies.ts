/** The cookies of the pages: values that no script reads, no other site sends, and no other host can plant. */
import type { HttpRequest } from '@portcullis/http';

/** One cookie of this server. */
export interface Cookie {
  /** The value that the browser sent; `null` when it sent none of the right form. */
  read(request: HttpRequest): string | null;
  /** A `Set-Cookie` value. @param maxAge seconds */
  write(value: string, maxAge: number): string;
  /** A `Set-Cookie` value that removes the cookie. */
  clear(): string;
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/**
 * Defines a cookie: `browser` binds a transaction to the browser that began it, `session` says who is signed in,
 * `departure-…` belongs to a federated login in this browser, `known-browser` is the device cookie of earlier logins.
 *
 * Over https its name begins with `__Host-`, so that no neighbouring host and no plain connection can set it. Over plain
 * http, which only loopback issuers use, browsers disagree whether they keep a Secure cookie, so it is neither Secure nor
 * prefixed; the port stands in its name because cookies of all ports are one jar.
 * @param form of its values: secrets of 43 characters, when left out
 * @see RFC 6265bis §4.1.3
 */
export function defineCookie(
  issuer: string,
  purpose: 'browser' | 'session' | 'known-browser' | `federated-login-${string}`,
  form: RegExp = SECRET,
): Cookie {
  const { protocol, port } = new URL(issuer);
  const isSecure = protocol === 'https:';
  const name = isSecure ? `__Host-portcullis-${purpose}` : `portcullis-${port || '80'}-${purpose}`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  return {
    read: (request) => readCookie(request.headers.get('cookie') ?? '', name, form),
    write: (value, maxAge) => `${name}=${value}; Max-Age=${maxAge}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}

function readCookie(header: string, name: string, form: RegExp): string | null {
  for (const pair of header.split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name && value !== undefined && form.test(value)) return value;
  }
  return null;
}
