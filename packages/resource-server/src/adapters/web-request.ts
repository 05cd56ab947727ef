/** Reads standard requests, removes their tokens, and converts the guard's responses. */
import { readBytes } from '@portcullis/protocol';
import { bodyTooLarge, checkAnnouncedLength, checkPlainEncoding } from '../guard/request-body.ts';
import { NO_HEADERS } from '../guard/verified-token.ts';
import type { GuardResponse } from '../guard-response.ts';
import type { ReadBody, RequestInfo } from '../request-info.ts';

/** Reads a request, and returns it without its token for the application. */
export function takeWebRequest(original: Request): {
  readonly requestInfo: RequestInfo;
  readonly request: Request;
} {
  const requestInfo = webRequestInfo(original);
  // Before anything copies the request, which would keep the token.
  const request = requestInfo.authorization === null ? original : withoutToken(original);
  return { request, requestInfo: { ...requestInfo, body: webBodyReader(request) } };
}

/** Reads a request, except for its body, without removing its token. */
export function webRequestInfo(request: Request): RequestInfo {
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

/** The host of a request URL, which is normalized and contains no user information. */
function hostOf(url: string): string {
  const start = url.indexOf('://') + 3;
  return url.slice(start, url.indexOf('/', start));
}

/** Converts a response of the guard to a standard `Response`. */
export function toWebResponse({ status, headers, body }: GuardResponse, method: string): Response {
  return new Response(method === 'HEAD' ? null : body, { status, headers });
}

/** Reads a copy of the body, which stays available to the application. */
export function webBodyReader(request: Request): ReadBody {
  return async (limit) => {
    if (request.method === 'GET' || request.method === 'HEAD') return '';
    checkAnnouncedLength(request.headers.get('content-length'), limit);
    const bytes = await readBytes(request.clone().body, { limit, tooLong: () => bodyTooLarge(limit) });
    const { headers } = request;
    if (bytes.length > 0) checkPlainEncoding(headers.get('content-type'), headers.get('content-encoding'));
    return bytes;
  };
}

/** Removes the token: it is meant for the guard, and must not be forwarded by the application. */
function withoutToken(request: Request): Request {
  try {
    request.headers.delete('authorization');
    request.headers.delete('dpop');
    return request;
  } catch {
    // In some runtimes the headers of requests are immutable.
    const headers = new Headers(request.headers);
    headers.delete('authorization');
    headers.delete('dpop');
    return new Request(request, { headers });
  }
}

/** Adds headers that the application has not set. */
export function withMissingHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  if (headers === NO_HEADERS) return response;
  // Pages cannot read a 101 response, and it cannot be copied.
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
