/** Fetches JSON documents of an authorization server, with limits on time and size, and without redirects. */
import { beforeAbort, jsonMembers, readBytes, readSecureUrl, serverMetadataUrls } from '@portcullis/protocol';

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

/** A response with its whole body. */
export interface RemoteResponse extends Pick<Response, 'status' | 'headers'> {
  readonly body: Uint8Array;
}

/**
 * Fetches JSON with status 200.
 * @throws Error for any other status, a redirect, a body that is too long or not JSON, or after the timeout
 */
export async function fetchJson(url: string, limits: FetchLimits): Promise<unknown> {
  const response = await fetchWithoutRedirect(url, limits);
  if (response.status === 200) return parseJsonBody(response);
  throw new Error(`${url} responded ${response.status}`);
}

/** Parses a body. @throws Error if it is not JSON in UTF-8 */
export function parseJsonBody({ body }: RemoteResponse): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
}

/**
 * Fetches a response of any status.
 * @param readsErrors whether bodies of other statuses than 200 are read; otherwise they are empty, and cannot hide the status
 * @throws Error for a redirect, a body that is too long, or after the timeout
 */
export async function fetchWithoutRedirect(
  url: string,
  { fetch, timeout }: FetchLimits,
  { headers, ...init }: RequestInit = {},
  readsErrors = false,
): Promise<RemoteResponse> {
  const signal = AbortSignal.timeout(timeout);
  const sent = fetch(url, {
    ...init,
    // Some runtimes do not support `error`. With `manual` they return the redirect, or a response without a status.
    redirect: 'manual',
    signal,
    headers: { accept: 'application/json', ...headers },
  });
  // A `fetch` of the application may ignore the signal.
  const response = await beforeAbort(sent, signal);
  const { status } = response;
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  if (isRedirect || (status !== 200 && !readsErrors)) {
    void response.body?.cancel().catch(() => undefined);
    if (isRedirect) throw new Error(`${url} responded with a redirect`);
    return { status, headers: response.headers, body: new Uint8Array() };
  }
  const tooLong = () => new Error(`the response is longer than ${MAX_BODY_BYTES} bytes`);
  const body = await readBytes(response.body, { limit: MAX_BODY_BYTES, tooLong, signal });
  return { status, headers: response.headers, body };
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
