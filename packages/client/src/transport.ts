/** Requests to OAuth endpoints: secure URLs only, no redirects, a time limit and a size limit. */
import { beforeAbort, jsonMembers, readBytes, readSecureUrl } from '@portcullis/protocol';
import { ClientError, sanitizeText } from './errors.ts';

/** The `fetch` that sends every request: pass one that uses a proxy or a private certificate authority. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What sends a request, and its limits. */
export interface Transport {
  readonly fetch: Fetch;
  /** Milliseconds for the whole exchange, including the body. */
  readonly timeout: number;
  /** Largest response body. */
  readonly maxBytes: number;
  /** Turns an error of `fetch` into a ClientError; `null`: the origin is unreachable. */
  readonly mapError: (error: unknown, origin: string) => ClientError | null;
}

/** A response with its complete body. */
export interface OAuthResponse {
  /** HTTP status. */
  readonly status: number;
  /** Header fields. */
  readonly headers: Headers;
  /** The whole body as text. */
  readonly body: string;
}

/** A request as data: send it unchanged and do not follow redirects. */
export interface OAuthRequest {
  /** Absolute https URL, or http on a loopback address. */
  readonly url: string;
  /** HTTP method. */
  readonly method: 'GET' | 'POST';
  /** Header fields, with lowercase names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body; `null` for GET. */
  readonly body: string | null;
}

const CONTENT_TYPES = { form: 'application/x-www-form-urlencoded', json: 'application/json' } as const;

/**
 * Creates a request for a document.
 * @throws ClientError `insecure_url`
 */
export function getRequest(url: string, headers: Readonly<Record<string, string>> = {}): OAuthRequest {
  const all = { accept: 'application/json', ...headers };
  return requireSecure({ url, method: 'GET', headers: all, body: null });
}

/**
 * Creates a POST request.
 * @throws ClientError `insecure_url`
 */
export function postRequest(
  url: string,
  kind: keyof typeof CONTENT_TYPES,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): OAuthRequest {
  const all = { accept: 'application/json', 'content-type': CONTENT_TYPES[kind], ...headers };
  return requireSecure({ url, method: 'POST', headers: all, body });
}

/** All authorization endpoints MUST be served over HTTPS. @see RFC 6749 §3.1.2.1, seed 5.3(6) */
function requireSecure(request: OAuthRequest): OAuthRequest {
  if (readSecureUrl(request.url) !== null) return request;
  throw new ClientError(
    'insecure_url',
    `Refused to contact ${sanitizeText(request.url)}: it must be an https address.`,
  );
}

/**
 * Sends a request and reads the whole response.
 * @throws ClientError `redirected`, `response_too_large`, or `unreachable` when there was no response in time.
 */
export async function sendRequest(transport: Transport, request: OAuthRequest): Promise<OAuthResponse> {
  const signal = AbortSignal.timeout(transport.timeout);
  const { origin } = new URL(request.url);
  try {
    const sent = transport.fetch(request.url, {
      method: request.method,
      headers: request.headers,
      ...(request.body !== null && { body: request.body }),
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal,
    });
    const response = await beforeAbort(sent, signal);
    if (response.type === 'opaqueredirect') {
      void discardBody(response);
      throw redirected(origin, response.status);
    }
    const limit = transport.maxBytes;
    const bytes = await readBytes(response.body, { limit, tooLong: () => tooLong(limit), signal });
    return { status: response.status, headers: response.headers, body: new TextDecoder().decode(bytes) };
  } catch (error) {
    if (error instanceof ClientError) throw error;
    throw transport.mapError(error, origin) ?? unreachable(origin, error, signal.aborted);
  }
}

/**
 * Redirects of OAuth endpoints are not followed: the request contains secrets for this origin only.
 * @throws ClientError `redirected`
 */
export function requireNoRedirect({ url }: Pick<OAuthRequest, 'url'>, { status }: OAuthResponse): void {
  if (status >= 300 && status < 400) throw redirected(new URL(url).origin, status);
}

function redirected(origin: string, status: number): ClientError {
  const message = `${origin} responded with a redirect, which is not followed here.`;
  return new ClientError('redirected', message, { status });
}

function unreachable(origin: string, cause: unknown, timedOut: boolean): ClientError {
  const message = timedOut ? `${origin} did not respond in time.` : `${origin} could not be reached.`;
  return new ClientError('unreachable', message, { cause });
}

function tooLong(limit: number): ClientError {
  return new ClientError('response_too_large', `The response is longer than ${limit} bytes.`);
}

/** Releases the connection of a response whose body is not needed. */
export async function discardBody(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}

/** The error of a response that means "not now". @param sender what responded, as text for users */
export function temporaryError(
  sender: string,
  { status, headers }: Pick<OAuthResponse, 'status' | 'headers'>,
  now: number = Date.now(),
): ClientError {
  const retryAfter = readRetryAfter(headers, now);
  const message = `${sender} responded with status ${status}.`;
  return new ClientError('temporarily_unavailable', message, { status, retryAfter });
}

/** JSON, or `undefined` when the text is not JSON. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A member of a JSON response that is text, as it may be shown. */
export function textMember({ body }: OAuthResponse, name: string): string | undefined {
  const value = jsonMembers(parseJsonOrUndefined(body))[name];
  return typeof value === 'string' && value !== '' ? sanitizeText(value) : undefined;
}

/** 4xx statuses that mean "not now": request timeout, too early, too many requests. */
const TEMPORARY_CLIENT_ERRORS: ReadonlySet<number> = new Set([408, 425, 429]);

/** Whether the same request may succeed later. */
export function isTemporaryStatus(status: number): boolean {
  return status >= 500 || TEMPORARY_CLIENT_ERRORS.has(status);
}

/** Seconds of a `Retry-After` header, at most an hour; `undefined` when there is none. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 0), 3600) : undefined;
}
