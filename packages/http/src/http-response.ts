/** What a room answers, whole: a status, fields and a body that is there at once. */

/** An answer. Nothing changes it: what adds to one makes another. */
export interface HttpResponse {
  readonly status: number;
  /** Fields by their names in lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  /** Values of `Set-Cookie`, which are never joined. */
  readonly cookies: readonly string[];
  /** Bytes, or a text that is sent in UTF-8. */
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

const NO_COOKIES: readonly string[] = [];

/** Makes an answer. */
export function respond(
  status: number,
  headers: HttpResponse['headers'],
  body: HttpResponse['body'] = null,
  cookies: readonly string[] = NO_COOKIES,
): HttpResponse {
  return { status, headers, cookies, body };
}

/** The same answer with these fields; they stand instead of those of the same name. */
export function withHeaders(response: HttpResponse, headers: HttpResponse['headers']): HttpResponse {
  return { ...response, headers: { ...response.headers, ...headers } };
}

/** The same answer with these cookies besides its own. */
export function withCookies(response: HttpResponse, cookies: readonly string[]): HttpResponse {
  return cookies.length === 0 ? response : { ...response, cookies: [...response.cookies, ...cookies] };
}

/** The web's `Response` for an answer: for hosts that know nothing else. */
export function toResponse({ status, headers, cookies, body }: HttpResponse): Response {
  const response = new Response(body, { status, headers });
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
