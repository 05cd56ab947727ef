/** The JSON edge: documents and OAuth errors as responses. */
import { errorDocument, type OAuthError } from '@portcullis/protocol';
import { completeResponse, isComplete } from './complete.ts';
import { CROSS_ORIGIN_FIELDS } from './cross-origin.ts';

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
export interface EndpointOptions extends Omit<JsonOptions, 'maxAge'> {
  /** Whether the public address is https. */
  readonly isHttps: boolean;
}

/** Answers with a JSON document. */
export function respondJson(document: unknown, options: JsonOptions = {}): Response {
  const caching =
    options.maxAge === undefined ? NO_STORE : { 'cache-control': `public, max-age=${options.maxAge}` };
  const init = {
    status: options.status ?? 200,
    headers: {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      ...caching,
      ...options.headers,
    },
  };
  return new Response(JSON.stringify(document), init);
}

/** Answers with a JSON document that scripts of any origin may read, hardened already: for the endpoints that are asked most. */
export function respondToClient(document: unknown, { isHttps, status, headers }: EndpointOptions): Response {
  const fields = isHttps ? CLIENT_FIELDS_OF_HTTPS : CLIENT_FIELDS;
  return completeResponse(JSON.stringify(document), {
    status: status ?? 200,
    headers: headers === undefined ? fields : { ...fields, ...headers },
  });
}

/**
 * Sends a browser on, hardened already: for the redirect that is asked for most. It can be kept nowhere. MUST NOT be 307: the
 * browser would post the person's password again, to the client.
 * @param isHttps whether the public address is https
 * @see OAuth 2.1 draft 13 §7.5.4
 */
export function respondSeeOther(location: string, { isHttps }: Pick<EndpointOptions, 'isHttps'>): Response {
  const fields = isHttps ? REDIRECT_FIELDS_OF_HTTPS : REDIRECT_FIELDS;
  return completeResponse(null, { status: 303, headers: { location, ...fields } });
}

/** Half a year, in seconds. */
const HSTS = `max-age=${15_768_000}`;

const CLIENT_FIELDS = {
  'content-type': 'application/json',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  ...NO_STORE,
  ...CROSS_ORIGIN_FIELDS,
} as const;
const CLIENT_FIELDS_OF_HTTPS = { ...CLIENT_FIELDS, 'strict-transport-security': HSTS } as const;

const REDIRECT_FIELDS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const;
const REDIRECT_FIELDS_OF_HTTPS = { ...REDIRECT_FIELDS, 'strict-transport-security': HSTS } as const;

/**
 * What every answer says to browsers: to take the type as it is told, to tell nobody where they were, to come by https only.
 * What an answer says itself stands.
 * @param isHttps whether the public address is https
 * @see RFC 6797 §7.1
 */
export function harden(response: Response, isHttps: boolean): Response {
  if (isComplete(response)) return response;
  const { headers } = response;
  if (!headers.has('x-content-type-options')) headers.set('x-content-type-options', 'nosniff');
  if (!headers.has('referrer-policy')) headers.set('referrer-policy', 'no-referrer');
  if (isHttps && !headers.has('strict-transport-security')) {
    headers.set('strict-transport-security', HSTS);
  }
  return response;
}

/**
 * Answers with an OAuth error. When the client authenticated (or tried to) by the `Authorization` header, a 401
 * MUST carry `WWW-Authenticate` with the scheme that it used. A client that used the form gets none: client libraries
 * take a challenge for another kind of failure, and no longer look at the error in the body. A request that lacks a bearer
 * token, or has one that is not valid, is always challenged for it.
 * @param request the request that failed; its scheme is answered
 * @see OAuth 2.1 draft 13 §3.2.4 and §5.3
 */
export function respondError(error: OAuthError, request?: Request): Response {
  const headers: Record<string, string> = {};
  if (error.retryAfter !== undefined) headers['retry-after'] = String(error.retryAfter);
  if (error.code === 'invalid_token') headers['www-authenticate'] = bearerChallenge(request);
  else if (error.status === 401 && isBasic(request))
    headers['www-authenticate'] = 'Basic realm="token", charset="UTF-8"';
  return respondJson(errorDocument(error), { status: error.status, headers });
}

function isBasic(request: Request | undefined): boolean {
  return /^basic(?:\s|$)/i.test(request?.headers.get('authorization') ?? '');
}

/** A request that carried no credentials SHOULD NOT be told an error code in the challenge. @see RFC 6750 §3.1 */
function bearerChallenge(request: Request | undefined): string {
  return request?.headers.has('authorization') === true ? 'Bearer error="invalid_token"' : 'Bearer';
}
