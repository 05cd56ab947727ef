/** Cross-origin resource sharing: for scripts of any origin, never with cookies. */

import type { HttpRequest } from './http-request.ts';
import { type HttpResponse, respond, withHeaders } from './http-response.ts';

/** What a script may read of an answer besides its body. */
const EXPOSED = 'WWW-Authenticate, Retry-After, Location';

/** The fields that let scripts of any origin read an answer; a `Vary` for them is not needed: they are the same for all. */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED,
};

/** Lets scripts of any origin read an answer. */
export function withCorsHeaders(answer: HttpResponse): HttpResponse {
  const isShared = answer.headers['access-control-expose-headers'] === EXPOSED;
  return isShared ? answer : withHeaders(answer, CORS_HEADERS);
}

/** Whether a request is a browser's question before the real one. */
export function isPreflight(asked: Pick<HttpRequest, 'method' | 'headers'>): boolean {
  return asked.method === 'OPTIONS' && asked.headers.has('access-control-request-method');
}

/** Answers a preflight: the methods, and whichever headers the script wants to send. */
export function respondPreflight(
  { headers }: Pick<HttpRequest, 'headers'>,
  methods: readonly string[],
): HttpResponse {
  const wanted = headers.get('access-control-request-headers');
  return respond(204, {
    'access-control-allow-methods': methods.join(', '),
    'access-control-max-age': '86400',
    vary: 'Access-Control-Request-Headers',
    ...(wanted !== null && { 'access-control-allow-headers': wanted }),
    ...CORS_HEADERS,
  });
}
