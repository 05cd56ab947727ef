/** Fetches JSON documents of an authorization server, with limits on time and size, and without redirects. */
import { jsonMembers, readBytes, readSecureUrl, serverMetadataUrls } from '@portcullis/protocol';

/** The part of `fetch` that is used. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchLimits {
  readonly fetch: FetchFunction;
  /** Milliseconds for the whole exchange. */
  readonly timeout: number;
}

const MAX_BODY_BYTES = 256 * 1024;

/** Adds the defaults: the platform's `fetch`, and five seconds. */
export function fetchLimits(options: {
  readonly fetch?: FetchFunction;
  readonly timeout?: number;
}): FetchLimits {
  const { fetch = (url, init) => globalThis.fetch(url, init), timeout = 5000 } = options;
  return { fetch, timeout };
}

/** Whether a URL is secure enough for keys and secrets: https, or http on loopback. */
export function isSecureEndpoint(url: string): boolean {
  return readSecureUrl(url) !== null;
}

/**
 * Fetches JSON with status 200.
 * @throws Error for any other status, a redirect, a body that is too long or not JSON, or after the timeout
 */
export async function fetchJson(url: string, limits: FetchLimits): Promise<unknown> {
  const response = await fetchWithoutRedirect(url, limits);
  if (response.status === 200) return JSON.parse(await readTextBody(response));
  releaseBody(response);
  throw new Error(`${url} responded ${response.status}`);
}

/** Releases the connection of a response whose body is not needed. */
export function releaseBody({ body }: Response): void {
  void body?.cancel().catch(() => undefined);
}

/** Fetches a response of any status, whose body is still unread. @throws Error for a redirect, or after the timeout */
export async function fetchWithoutRedirect(
  url: string,
  { fetch, timeout }: FetchLimits,
  { headers, ...init }: RequestInit = {},
): Promise<Response> {
  const sent = fetch(url, {
    ...init,
    // Some runtimes do not support `error`. With `manual` they return the redirect, or a response without a status.
    redirect: 'manual',
    signal: AbortSignal.timeout(timeout),
    headers: { accept: 'application/json', ...headers },
  });
  // A `fetch` of the application may ignore the signal.
  const response = await withDeadline(sent, timeout);
  const isRedirect = response.status === 0 || (response.status >= 300 && response.status < 400);
  if (!isRedirect) return response;
  releaseBody(response);
  throw new Error(`${url} responded with a redirect`);
}

/**
 * Finds an endpoint in the issuer's metadata, whose issuer MUST be the expected one.
 * @throws Error if no metadata document names it
 * @see RFC 8414 §3.3
 */
export async function discoverEndpoint(
  issuer: string,
  member: 'jwks_uri' | 'token_endpoint',
  limits: FetchLimits,
): Promise<string> {
  let failure: unknown = null;
  for (const url of serverMetadataUrls(issuer, ['oauth', 'oidc'])) {
    try {
      const metadata = jsonMembers(await fetchJson(url, limits));
      if (metadata['issuer'] !== issuer) throw new Error('the metadata names another issuer');
      const endpoint = metadata[member];
      if (typeof endpoint === 'string' && isSecureEndpoint(endpoint)) return endpoint;
      throw new Error(`the metadata has no https ${member}`);
    } catch (error) {
      failure = error;
    }
  }
  throw new Error('the metadata of the issuer is unavailable', { cause: failure });
}

/** Reads a body. @throws Error if it is too long or not UTF-8 */
export async function readTextBody(response: Response): Promise<string> {
  const tooLong = () => new Error(`the response is longer than ${MAX_BODY_BYTES} bytes`);
  const bytes = await readBytes(response.body, { limit: MAX_BODY_BYTES, tooLong });
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/**
 * Returns the promise, or rejects after the deadline. Every caller has its own timer: some runtimes cancel what a
 * request started as soon as that request ends, including timers.
 */
export function withDeadline<Value>(promise: Promise<Value>, milliseconds: number): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${milliseconds} ms`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
