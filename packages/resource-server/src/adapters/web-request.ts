/** A `Request` as web-standard handlers have it: its facts, its body, its token taken away; and what is answered to it. */

import { bodyTooLarge, checkPlainEncoding, concatChunks, type ReadBody } from '../guard/required-scopes.ts';
import { NO_HEADERS } from '../guard/verified-token.ts';
import type { GuardResponse } from '../guard-response.ts';
import type { RequestInfo } from '../request-info.ts';

/** A request as the application may have it, and what the guard has to know of the original. */
export function takeWebRequest(original: Request): {
  readonly requestInfo: RequestInfo;
  readonly request: Request;
} {
  const requestInfo = webRequestInfo(original);
  // Before anything makes a copy, which would keep the token.
  const request = requestInfo.authorization === null ? original : withoutToken(original);
  return { request, requestInfo: { ...requestInfo, body: webBodyReader(request) } };
}

/** The facts of a request, but for its body. */
function webRequestInfo(request: Request): RequestInfo {
  const { headers, method, url } = request;
  const authorization = headers.get('authorization');
  return {
    method,
    url,
    authorization,
    origin: headers.get('origin'),
    host: headers.get('host') ?? hostOf(url),
    requestedMethod: method === 'OPTIONS' ? headers.get('access-control-request-method') : null,
    dpop: authorization === null ? null : headers.get('dpop'),
    clientCertificate: authorization === null ? null : headers.get('client-cert'),
  };
}

/** Of an absolute URL as requests have it: normalized, without user name and password. */
function hostOf(url: string): string {
  const start = url.indexOf('://') + 3;
  return url.slice(start, url.indexOf('/', start));
}

/** The response that an answer becomes. */
export function toWebResponse({ status, headers, body }: GuardResponse, method: string): Response {
  return new Response(method === 'HEAD' ? null : body, { status, headers });
}

/** Reads a copy of the body, so that the application still has its own. */
export function webBodyReader(request: Request): ReadBody {
  return async (limit) => {
    if (request.method === 'GET' || request.method === 'HEAD') return '';
    const reader = request.clone().body?.getReader();
    const chunks: Uint8Array[] = [];
    let length = 0;
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      length += part.value.byteLength;
      if (length > limit) {
        // Not waited for: the copy ends only together with the original.
        void reader?.cancel();
        throw bodyTooLarge(limit);
      }
      chunks.push(part.value);
    }
    if (length > 0)
      checkPlainEncoding(request.headers.get('content-type'), request.headers.get('content-encoding'));
    return concatChunks(chunks, length);
  };
}

/** The token was for the guard: whatever the application asks elsewhere, it asks with a token of its own. */
function withoutToken(request: Request): Request {
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
export function withMissingHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  if (headers === NO_HEADERS) return response;
  // A page cannot read the answer that opens a socket, and nobody can copy it.
  if (response.status === 101) return response;
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
