/** Cross-origin resource sharing: for scripts of any origin, never with cookies. */

/** What a script may read of an answer besides its body. */
const EXPOSED = 'WWW-Authenticate, Retry-After, Location';

/** The fields that let scripts of any origin read an answer; a `Vary` for them is not needed: they are the same for all. */
const FIELDS = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED } as const;

/** Responses that were made with these fields. */
const shared = new WeakSet<Response>();

/** Lets scripts of any origin read a response. */
export function shareAcrossOrigins(response: Response): Response {
  if (shared.has(response)) return response;
  for (const [name, value] of Object.entries(FIELDS)) response.headers.set(name, value);
  return response;
}

/**
 * Makes a response that scripts of any origin may read. Fields that are there from the beginning cost a microsecond; to add them
 * afterwards costs twenty, because the response then has to become a whole one.
 */
export function sharedResponse(
  body: string,
  { headers, ...init }: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
): Response {
  const response = new Response(body, { ...init, headers: { ...headers, ...FIELDS } });
  shared.add(response);
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
