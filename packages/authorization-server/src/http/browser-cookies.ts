/**
 * The cookies that bind authorization transactions to the browser that opened them. Requests that a browser without one sends at the
 * same time, such as those of a host that connects several servers, each set a cookie of their own: none displaces another.
 */
import type { HttpRequest } from '@portcullis/http';
import { hashSecret } from '../secrets.ts';
import { defineCookie, defineCookieReader } from './cookies.ts';

export type BrowserCookies = ReturnType<typeof createBrowserCookies>;

/** Cookies of one browser: more would make each of its requests larger. */
const MAX_COOKIES = 8;

export function createBrowserCookies(issuer: string) {
  const cookieOf = (secret: string) => defineCookie(issuer, `browser-${hashSecret(secret).slice(0, 8)}`);
  /** The secrets that the browser sent, the oldest first. */
  const read = defineCookieReader(issuer, 'browser');
  return {
    read,
    /** `Set-Cookie` values that store a secret and remove the oldest of too many others. @param maxAge seconds */
    write(request: HttpRequest, secret: string, maxAge: number): readonly string[] {
      const others = read(request).filter((one) => one !== secret);
      const surplus = others.slice(0, Math.max(0, others.length + 1 - MAX_COOKIES));
      return [cookieOf(secret).write(secret, maxAge), ...surplus.map((one) => cookieOf(one).clear())];
    },
  };
}
