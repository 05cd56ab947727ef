/** Requests of the host that can be sent more than once: a body that can be read only once is read before. */

/** Whether a request may be sent again as it stands. */
export function isRepeatable(input: string | URL | Request, init: RequestInit | undefined): boolean {
  return !(input instanceof Request) && !(init?.body instanceof ReadableStream);
}

/** Reads what can be read only once. */
export async function makeRepeatable(
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<RequestInit> {
  if (!(input instanceof Request))
    return { ...init, body: await new Response(init.body ?? null).arrayBuffer() };
  const request = new Request(input, init);
  const body = request.body === null ? null : await request.arrayBuffer();
  const { method, headers, signal, redirect } = request;
  return { ...init, method, headers, signal, redirect, body };
}
