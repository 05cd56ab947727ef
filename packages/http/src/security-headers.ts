/** Security headers of every response: nosniff, referrer policy and HSTS. */
import type { HttpResponse } from './http-response.ts';

/** Half a year, in seconds. @see RFC 6797 §6.1.1 */
const HSTS = `max-age=${15_768_000}`;

/** No MIME sniffing, and no referrer for other sites. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
/** With HSTS. @see RFC 6797 §7.1 */
export const HTTPS_SECURITY_HEADERS: Readonly<Record<string, string>> = {
  ...SECURITY_HEADERS,
  'strict-transport-security': HSTS,
};

/**
 * Adds missing security headers to a response.
 * @param isHttps whether the public URL is https
 */
export function withSecurityHeaders(response: HttpResponse, isHttps: boolean): HttpResponse {
  const { headers } = response;
  const isComplete =
    headers['x-content-type-options'] !== undefined &&
    headers['referrer-policy'] !== undefined &&
    (!isHttps || headers['strict-transport-security'] !== undefined);
  if (isComplete) return response;
  return { ...response, headers: { ...(isHttps ? HTTPS_SECURITY_HEADERS : SECURITY_HEADERS), ...headers } };
}

/**
 * Adds missing security headers to a standard `Response`, possibly from a `fetch` to a server behind the
 * application.
 */
export function addSecurityHeaders(response: Response, isHttps: boolean): Response {
  // Only responses of `fetch` have a URL.
  const own = response.url === '' ? response : withoutHopByHopHeaders(response);
  const wanted = Object.entries(isHttps ? HTTPS_SECURITY_HEADERS : SECURITY_HEADERS);
  const missing = wanted.filter(([name]) => !own.headers.has(name));
  return missing.length === 0 ? own : withMissingHeaders(own, missing);
}

/** Headers that `fetch` has already processed, and hop-by-hop headers. @see RFC 9110 §7.6.1 */
const HOP_BY_HOP_HEADERS = [
  'content-encoding',
  'content-length',
  'connection',
  'keep-alive',
  'transfer-encoding',
];

function withoutHopByHopHeaders(response: Response): Response {
  const headers = new Headers(response.headers);
  for (const name of HOP_BY_HOP_HEADERS) headers.delete(name);
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

/** The headers of `Response.redirect` and of `fetch` responses are immutable: copies the response. */
function withMissingHeaders(response: Response, fields: readonly (readonly [string, string])[]): Response {
  try {
    for (const [name, value] of fields) response.headers.set(name, value);
    return response;
  } catch {
    const { status, statusText } = response;
    const headers = [...response.headers, ...fields] as [string, string][];
    return new Response(response.body, { status, statusText, headers });
  }
}
