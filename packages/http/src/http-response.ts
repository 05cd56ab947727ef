/** The response type that handlers return: status, headers and a complete body. */

/** An immutable HTTP response. */
export interface HttpResponse {
  readonly status: number;
  /** Headers by lowercase name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Values of `Set-Cookie`, which must not be joined. */
  readonly cookies: readonly string[];
  /** Bytes, or text encoded as UTF-8. */
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

const NO_COOKIES: readonly string[] = [];

/** Creates a response. */
export function respond(
  status: number,
  headers: HttpResponse['headers'],
  body: HttpResponse['body'] = null,
  cookies: readonly string[] = NO_COOKIES,
): HttpResponse {
  return { status, headers, cookies, body };
}

/** Returns the response with these headers, replacing those of the same name. */
export function withHeaders(response: HttpResponse, headers: HttpResponse['headers']): HttpResponse {
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** Returns the response with these cookies in addition to its own. */
export function withCookies(response: HttpResponse, cookies: readonly string[]): HttpResponse {
  return cookies.length === 0 ? response : { ...response, cookies: [...response.cookies, ...cookies] };
}

/** Converts to a standard `Response`. */
export function toResponse({ status, headers, cookies, body }: HttpResponse): Response {
  const response = new Response(body, { status, headers });
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
