/** The guard in front of a web-standard handler: Request in, Response out. */
import { OAuthError } from '@portcullis/protocol/errors';
import type { Answer } from './answers.ts';
import type { Facts, Guard } from './guard.ts';
import { bodyTooLong, joinChunks, type ReadBody } from './needed-scopes.ts';
import type { Principal } from './principal.ts';

/** What is protected. The request that it gets holds no token. */
export type ProtectedHandler = (request: Request, principal: Principal) => Response | Promise<Response>;

/**
 * Puts a guard in front of a handler. The result serves the metadata documents and preflights too.
 * An `OAuthError` that the handler throws becomes the guard's answer; any other error is left to whoever calls.
 */
export function protect(guard: Guard, handler: ProtectedHandler): (request: Request) => Promise<Response> {
  return async (request) => {
    const facts = factsOf(request);
    const admission = await guard.admit(facts);
    if (!admission.admitted) {
      request.body?.cancel().catch(() => {});
      return responseOf(admission.answer, request.method);
    }
    try {
      const response = await handler(withoutToken(request), admission.principal);
      return withHeaders(response, admission.headers);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      return responseOf(guard.refuse(error, facts), request.method);
    }
  };
}

/** The facts of a request. */
export function factsOf(request: Request): Facts {
  const { headers, url } = request;
  return {
    method: request.method,
    url,
    authorization: headers.get('authorization'),
    origin: headers.get('origin'),
    host: headers.get('host') ?? new URL(url).host,
    requestedMethod: headers.get('access-control-request-method'),
    dpop: headers.get('dpop'),
    body: request.body === null ? undefined : readerOf(request),
  };
}

/** The response that an answer becomes. */
export function responseOf({ status, headers, body }: Answer, method: string): Response {
  return new Response(method === 'HEAD' ? null : body, { status, headers });
}

/** Reads a copy of the body, so that the application still has its own. */
function readerOf(request: Request): ReadBody {
  return async (limit) => {
    const reader = request.clone().body?.getReader();
    const chunks: Uint8Array[] = [];
    let length = 0;
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      length += part.value.byteLength;
      if (length > limit) {
        // Not waited for: the copy ends only together with the original.
        void reader?.cancel();
        throw bodyTooLong(limit);
      }
      chunks.push(part.value);
    }
    return joinChunks(chunks, length);
  };
}

/** The token was for the guard: whatever the application asks elsewhere, it asks with a token of its own. */
export function withoutToken(request: Request): Request {
  try {
    request.headers.delete('authorization');
    request.headers.delete('dpop');
    return request;
  } catch {
    // Some runtimes hand out requests whose headers cannot be changed.
    const headers = new Headers(request.headers);
    headers.delete('authorization');
    headers.delete('dpop');
    return new Request(request, { headers });
  }
}

/** Adds headers that the application has not set itself. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  const missing = Object.entries(headers).filter(([name]) => !response.headers.has(name));
  if (missing.length === 0) return response;
  const all = new Headers(response.headers);
  for (const [name, value] of missing) all.set(name, value);
  return new Response(response.body, {
    status: response.status,
    statusText: response.statusText,
    headers: all,
  });
}
