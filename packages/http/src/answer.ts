/** What a room answers, whole: a status, fields and a body that is there at once. */

/** An answer. Nothing changes it: what adds to one makes another. */
export interface Answer {
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
  headers: Answer['headers'],
  body: Answer['body'] = null,
  cookies: readonly string[] = NO_COOKIES,
): Answer {
  return { status, headers, cookies, body };
}

/** The same answer with these fields; they stand instead of those of the same name. */
export function withHeaders(answer: Answer, headers: Answer['headers']): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** The same answer with these cookies besides its own. */
export function withCookies(answer: Answer, cookies: readonly string[]): Answer {
  return cookies.length === 0 ? answer : { ...answer, cookies: [...answer.cookies, ...cookies] };
}

/** The web's `Response` for an answer: for hosts that know nothing else. */
export function toResponse({ status, headers, cookies, body }: Answer): Response {
  const response = new Response(body, { status, headers });
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
