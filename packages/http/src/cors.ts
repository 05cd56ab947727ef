/** CORS for endpoints that scripts of any origin may call, always without cookies. */
import type { HttpRequest } from './http-request.ts';
import { type HttpResponse, respond, withHeaders } from './http-response.ts';

/** Headers that scripts may read. */
const EXPOSED_HEADERS = 'WWW-Authenticate, Retry-After, Location, DPoP-Nonce';

/**
 * Headers that let scripts of any origin read a response. They are the same for all origins, so `Vary` is not needed.
 */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED_HEADERS,
};

/** Returns the response with headers that let scripts of any origin read it. */
export function withCorsHeaders(response: HttpResponse): HttpResponse {
  const isShared = response.headers['access-control-expose-headers'] === EXPOSED_HEADERS;
  return isShared ? response : withHeaders(response, CORS_HEADERS);
}

/** Whether the request is a CORS preflight. */
export function isPreflight(request: Pick<HttpRequest, 'method' | 'headers'>): boolean {
  return request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
}

/** Responds to a preflight, allowing the methods and any headers that the script wants to send. */
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
