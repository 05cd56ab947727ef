/** What every answer says to browsers, whatever it is. */
import type { HttpResponse } from './http-response.ts';

/** Half a year, in seconds. */
const HSTS = `max-age=${15_768_000}`;

/** What every answer says to browsers: to take the type as it is told, to tell nobody where they were. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
/** And to come by https only. @see RFC 6797 §7.1 */
export const HTTPS_SECURITY_HEADERS: Readonly<Record<string, string>> = {
  ...SECURITY_HEADERS,
  'strict-transport-security': HSTS,
};

/**
 * An answer that says what every answer says to browsers. What it says itself stands.
 * @param isHttps whether the public address is https
 */
export function withSecurityHeaders(answer: HttpResponse, isHttps: boolean): HttpResponse {
  const { headers } = answer;
  const isHardened =
    headers['x-content-type-options'] !== undefined &&
    headers['referrer-policy'] !== undefined &&
    (!isHttps || headers['strict-transport-security'] !== undefined);
  if (isHardened) return answer;
  return { ...answer, headers: { ...(isHttps ? HTTPS_SECURITY_HEADERS : SECURITY_HEADERS), ...headers } };
}

/** The same for the response of an application, which may be one that it got by `fetch` from a server behind it. */
export function addSecurityHeaders(response: Response, isHttps: boolean): Response {
  // What was made here has no URL.
  const own = response.url === '' ? response : passOn(response);
  const hardened = Object.entries(isHttps ? HTTPS_SECURITY_HEADERS : SECURITY_HEADERS);
  const missing = hardened.filter(([name]) => !own.headers.has(name));
  return missing.length === 0 ? own : withFields(own, missing);
}

/** What fetch has undone already, and what concerns the connection to the server behind. @see RFC 9110 §7.6.1 */
const OF_THAT_CONNECTION = [
  'content-encoding',
  'content-length',
  'connection',
  'keep-alive',
  'transfer-encoding',
];

function passOn(response: Response): Response {
  const headers = new Headers(response.headers);
  for (const name of OF_THAT_CONNECTION) headers.delete(name);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

/** Redirects that `Response.redirect` makes, and what fetch answers, can be changed by nobody: those are copied. */
function withFields(response: Response, fields: readonly (readonly [string, string])[]): Response {
  try {
    for (const [name, value] of fields) response.headers.set(name, value);
    return response;
  } catch {
    const { status, statusText } = response;
    const headers = [...response.headers, ...fields] as [string, string][];
    return new Response(response.body, { status, statusText, headers });
  }
}
