/** One request of the client to an OAuth party, bounded: secure addresses only, no redirects, a time limit and a size limit. */
import { isSecureUrl, readWebUrl } from '@portcullis/protocol';
import { ClientError, sanitizeText } from './errors.ts';

/** The `fetch` that every leg goes through: put a proxy or a private certificate authority into it. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What carries a request, and how far it may go. */
export interface Transport {
  readonly fetch: Fetch;
  /** Milliseconds for a whole exchange, body included. */
  readonly timeout: number;
  /** Most bytes of a body. */
  readonly maxBytes: number;
  /** Understands what `fetch` throws; `null`: nobody could be reached. */
  readonly mapError: (error: unknown, origin: string) => ClientError | null;
}

/** An answer, read to its end. */
export interface OAuthResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** A request as data: whoever has a transport sends it as it stands, and follows no redirect. */
export interface OAuthRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Content types of what is posted. */
const TYPES = { form: 'application/x-www-form-urlencoded', json: 'application/json' } as const;

/**
 * Writes a request for a document.
 * @throws ClientError `insecure_url`
 */
export function getRequest(url: string, headers: Readonly<Record<string, string>> = {}): OAuthRequest {
  return checkAsk({ url, method: 'GET', headers: { accept: 'application/json', ...headers }, body: null });
}

/**
 * Writes a request that posts something.
 * @throws ClientError `insecure_url`
 */
export function postRequest(
  url: string,
  kind: keyof typeof TYPES,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): OAuthRequest {
  const own = { accept: 'application/json', 'content-type': TYPES[kind], ...headers };
  return checkAsk({ url, method: 'POST', headers: own, body });
}

/** All authorization endpoints MUST be served over HTTPS. @see seed 5.3(6) */
function checkAsk(ask: OAuthRequest): OAuthRequest {
  const url = readWebUrl(ask.url);
  if (url !== null && isSecureUrl(url)) return ask;
  throw new ClientError(
    'insecure_url',
    `Refused to contact ${sanitizeText(ask.url)}: it must be an https address.`,
  );
}

/**
 * Sends a request, and reads the answer to its end.
 * @throws ClientError `redirected`, `response_too_large`, or `unreachable` when nothing came in time.
 */
export async function sendRequest(transport: Transport, ask: OAuthRequest): Promise<OAuthResponse> {
  const signal = AbortSignal.timeout(transport.timeout);
  const { origin } = new URL(ask.url);
  try {
    const response = await transport.fetch(ask.url, {
      method: ask.method,
      headers: ask.headers,
      ...(ask.body !== null && { body: ask.body }),
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      signal,
    });
    if (response.type === 'opaqueredirect') {
      await discard(response);
      throw redirected(origin, response.status);
    }
    return {
      status: response.status,
      headers: response.headers,
      body: await readText(response, transport.maxBytes),
    };
  } catch (error) {
    if (error instanceof ClientError) throw error;
    throw transport.mapError(error, origin) ?? unreachable(origin, error, signal.aborted);
  }
}

/**
 * An OAuth party that redirects is not followed: what was sent there belongs nowhere else.
 * @throws ClientError `redirected`
 */
export function checkNotRedirected({ url }: Pick<OAuthRequest, 'url'>, { status }: OAuthResponse): void {
  if (status >= 300 && status < 400) throw redirected(new URL(url).origin, status);
}

function redirected(origin: string, status: number): ClientError {
  return new ClientError('redirected', `${origin} answered with a redirect, which is not followed here.`, {
    status,
  });
}

function unreachable(origin: string, cause: unknown, late: boolean): ClientError {
  const what = late ? `${origin} did not answer in time.` : `${origin} could not be reached.`;
  return new ClientError('unreachable', what, { cause });
}

async function readText(response: Response, limit: number): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel().catch(() => undefined);
      throw new ClientError('response_too_large', `The answer is longer than ${limit} bytes.`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Ends an answer that nobody will read. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}

/** JSON, or `undefined` when it is none. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Seconds of a `Retry-After` field, at most an hour; `undefined` when there is none. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 0), 3600) : undefined;
}
