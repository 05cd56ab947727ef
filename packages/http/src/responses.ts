/** Responses of endpoints: JSON documents, OAuth errors and redirects. */
import { errorDocument, formatBearerChallenge, type OAuthError } from '@portcullis/protocol';
import { CORS_HEADERS } from './cors.ts';
import type { HttpRequest } from './http-request.ts';
import { type HttpResponse, respond } from './http-response.ts';
import { HTTPS_SECURITY_HEADERS, SECURITY_HEADERS } from './security-headers.ts';

const JSON_HEADERS = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' } as const;
const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' } as const;

/** Options of a JSON response. */
export interface JsonOptions {
  /** 200 by default. */
  readonly status?: number;
  /** Seconds for which any cache may store the response; by default none may. */
  readonly maxAge?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Options of responses that include all security headers, for the busiest endpoints. */
export interface EndpointResponseOptions extends Omit<JsonOptions, 'maxAge'> {
  /** Whether the public URL is https. */
  readonly isHttps: boolean;
}

/** Responds with a JSON document. */
export function respondJson(document: unknown, options: JsonOptions = {}): HttpResponse {
  const { status = 200, maxAge, headers } = options;
  const caching = maxAge === undefined ? NO_STORE : { 'cache-control': `public, max-age=${maxAge}` };
  return respond(status, { ...JSON_HEADERS, ...caching, ...headers }, JSON.stringify(document));
}

/**
 * Responds with a JSON document that scripts of any origin may read, with security headers included, for the busiest
 * endpoints.
 */
export function respondCorsJson(
  document: unknown,
  { isHttps, status = 200, headers }: EndpointResponseOptions,
): HttpResponse {
  const fields = isHttps ? HTTPS_CORS_JSON_HEADERS : CORS_JSON_HEADERS;
  return respond(
    status,
    headers === undefined ? fields : { ...fields, ...headers },
    JSON.stringify(document),
  );
}

/**
 * Redirects a browser, with security headers included; caches must not store the redirect. MUST NOT be 307: the
 * browser would post the user's password again, to the client.
 * @param isHttps whether the public URL is https
 * @see RFC 9700 §4.12, OAuth 2.1 draft 13 §7.5.4
 */
export function respondSeeOther(
  location: string,
  { isHttps }: Pick<EndpointResponseOptions, 'isHttps'>,
): HttpResponse {
  return respond(303, { location, ...(isHttps ? HTTPS_REDIRECT_HEADERS : REDIRECT_HEADERS) });
}

const CORS_JSON_HEADERS = { ...JSON_HEADERS, ...NO_STORE, ...CORS_HEADERS, ...SECURITY_HEADERS };
const HTTPS_CORS_JSON_HEADERS = { ...CORS_JSON_HEADERS, ...HTTPS_SECURITY_HEADERS };

const REDIRECT_HEADERS = { 'cache-control': 'no-store', ...SECURITY_HEADERS };
const HTTPS_REDIRECT_HEADERS = { ...REDIRECT_HEADERS, ...HTTPS_SECURITY_HEADERS };

/**
 * Responds with an OAuth error. If the client authenticated (or tried to) with the `Authorization` header, a 401 MUST
 * carry `WWW-Authenticate`; Basic is the only scheme by which clients authenticate. Clients that used the form get no
 * challenge: client libraries treat a challenge as another kind of failure and ignore the error in the body. A missing
 * or invalid bearer token is always challenged: it is one of registration.
 * @param request the failed request
 * @see RFC 6749 §5.2, OAuth 2.1 draft 13 §3.2.4 and §5.3
 */
export function respondError(error: OAuthError, request?: Pick<HttpRequest, 'headers'>): HttpResponse {
  const headers: Record<string, string> = {};
  if (error.retryAfter !== undefined) headers['retry-after'] = String(error.retryAfter);
  if (error.dpopNonce !== undefined) headers['dpop-nonce'] = error.dpopNonce;
  if (error.code === 'invalid_token') headers['www-authenticate'] = bearerChallenge('registration', request);
  else if (error.status === 401 && request?.headers.has('authorization') === true)
    headers['www-authenticate'] = 'Basic realm="token", charset="UTF-8"';
  return respondJson(errorDocument(error), { status: error.status, headers });
}

/**
 * Formats the challenge to a request without a valid bearer token. The scheme MUST be followed by a parameter, and a
 * request without a token, or with another scheme, SHOULD NOT get an error code.
 * @see RFC 6750 §3 and §3.1
 */
export function bearerChallenge(realm: string, request: Pick<HttpRequest, 'headers'> | undefined): string {
  const isBearer = /^bearer(?:\s|$)/i.test(request?.headers.get('authorization') ?? '');
  return formatBearerChallenge({ realm, error: isBearer ? 'invalid_token' : undefined });
}
