/** Cross-origin resource sharing: for scripts of any origin, never with cookies. */

import { isComplete } from './complete.ts';

/** What a script may read of an answer besides its body. */
const EXPOSED = 'WWW-Authenticate, Retry-After, Location';

/** The fields that let scripts of any origin read an answer; a `Vary` for them is not needed: they are the same for all. */
export const CROSS_ORIGIN_FIELDS: Readonly<Record<string, string>> = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED,
};

/** Lets scripts of any origin read a response. */
export function shareAcrossOrigins(response: Response): Response {
  if (isComplete(response)) return response;
  for (const [name, value] of Object.entries(CROSS_ORIGIN_FIELDS)) response.headers.set(name, value);
  return response;
}

/** Whether a request is a browser's question before the real one. */
export function isPreflight(request: Request): boolean {
  return request.method === 'OPTIONS' && request.headers.has('access-control-request-method');
}

/** Answers a preflight: the methods, and whichever headers the script wants to send. */
export function respondPreflight(request: Request, methods: readonly string[]): Response {
  const asked = request.headers.get('access-control-request-headers');
  const headers = new Headers({
    'access-control-allow-methods': methods.join(', '),
    'access-control-max-age': '86400',
    vary: 'Access-Control-Request-Headers',
  });
  if (asked !== null) headers.set('access-control-allow-headers', asked);
  return shareAcrossOrigins(new Response(null, { status: 204, headers }));
}
