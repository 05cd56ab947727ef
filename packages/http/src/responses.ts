/** What endpoints answer: documents, OAuth errors, and the redirect that is asked for most. */
import { errorDocument, type OAuthError } from '@portcullis/protocol';
import { CORS_HEADERS } from './cors.ts';
import type { HttpRequest } from './http-request.ts';
import { type HttpResponse, respond } from './http-response.ts';
import { HTTPS_SECURITY_HEADERS, SECURITY_HEADERS } from './security-headers.ts';

const JSON_FIELDS = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' } as const;
const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' } as const;

/** How a document is answered. */
export interface JsonOptions {
  /** 200 when left out. */
  readonly status?: number;
  /** Seconds for which anybody may keep the answer; nobody may when left out. */
  readonly maxAge?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What an endpoint says that knows where it stands: then nothing has to be added to its answers. */
export interface EndpointResponseOptions extends Omit<JsonOptions, 'maxAge'> {
  /** Whether the public address is https. */
  readonly isHttps: boolean;
}

/** Answers with a JSON document. */
export function respondJson(document: unknown, options: JsonOptions = {}): HttpResponse {
  const { status = 200, maxAge, headers } = options;
  const caching = maxAge === undefined ? NO_STORE : { 'cache-control': `public, max-age=${maxAge}` };
  return respond(status, { ...JSON_FIELDS, ...caching, ...headers }, JSON.stringify(document));
}

/** Answers with a JSON document that scripts of any origin may read, hardened already: for the endpoints that are asked most. */
export function respondCorsJson(
  document: unknown,
  { isHttps, status = 200, headers }: EndpointResponseOptions,
): HttpResponse {
  const fields = isHttps ? CLIENT_FIELDS_OF_HTTPS : CLIENT_FIELDS;
  return respond(
    status,
    headers === undefined ? fields : { ...fields, ...headers },
    JSON.stringify(document),
  );
}

/**
 * Sends a browser on, hardened already: for the redirect that is asked for most. It can be kept nowhere. MUST NOT be 307: the
 * browser would post the person's password again, to the client.
 * @param isHttps whether the public address is https
 * @see OAuth 2.1 draft 13 §7.5.4
 */
export function respondSeeOther(
  location: string,
  { isHttps }: Pick<EndpointResponseOptions, 'isHttps'>,
): HttpResponse {
  return respond(303, { location, ...(isHttps ? REDIRECT_FIELDS_OF_HTTPS : REDIRECT_FIELDS) });
}

const CLIENT_FIELDS = { ...JSON_FIELDS, ...NO_STORE, ...CORS_HEADERS, ...SECURITY_HEADERS };
const CLIENT_FIELDS_OF_HTTPS = { ...CLIENT_FIELDS, ...HTTPS_SECURITY_HEADERS };

const REDIRECT_FIELDS = { 'cache-control': 'no-store', ...SECURITY_HEADERS };
const REDIRECT_FIELDS_OF_HTTPS = { ...REDIRECT_FIELDS, ...HTTPS_SECURITY_HEADERS };

/**
 * Answers with an OAuth error. When the client authenticated (or tried to) by the `Authorization` header, a 401
 * MUST carry `WWW-Authenticate` with the scheme that it used. A client that used the form gets none: client libraries
 * take a challenge for another kind of failure, and no longer look at the error in the body. A request that lacks a bearer
 * token, or has one that is not valid, is always challenged for it.
 * @param asked the request that failed; its scheme is answered
 * @see OAuth 2.1 draft 13 §3.2.4 and §5.3
 */
export function respondError(error: OAuthError, asked?: Pick<HttpRequest, 'headers'>): HttpResponse {
  const headers: Record<string, string> = {};
  if (error.retryAfter !== undefined) headers['retry-after'] = String(error.retryAfter);
  if (error.code === 'invalid_token') headers['www-authenticate'] = bearerChallenge(asked);
  else if (error.status === 401 && isBasic(asked))
    headers['www-authenticate'] = 'Basic realm="token", charset="UTF-8"';
  return respondJson(errorDocument(error), { status: error.status, headers });
}

function isBasic(asked: Pick<HttpRequest, 'headers'> | undefined): boolean {
  return /^basic(?:\s|$)/i.test(asked?.headers.get('authorization') ?? '');
}

/** A request that carried no credentials SHOULD NOT be told an error code in the challenge. @see RFC 6750 §3.1 */
function bearerChallenge(asked: Pick<HttpRequest, 'headers'> | undefined): string {
  return asked?.headers.has('authorization') === true ? 'Bearer error="invalid_token"' : 'Bearer';
}
