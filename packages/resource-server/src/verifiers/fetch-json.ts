/** Asking an authorization server for a JSON document: within bounds of time and size, and never by redirect. */
import { isSecureUrl, readWebUrl, serverMetadataUrls } from '@portcullis/protocol/protected-resource';

/** What `fetch` must be able to do here. */
export type FetchFunction = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchLimits {
  readonly fetch: FetchFunction;
  /** Milliseconds for the whole exchange. */
  readonly timeout: number;
}

const MAX_BODY_BYTES = 256 * 1024;

export const defaultFetchLimits: FetchLimits = {
  fetch: (url, init) => globalThis.fetch(url, init),
  timeout: 5000,
};

/** Whether keys or answers from there can be believed: https, or http on this computer. */
export function isSecureEndpoint(url: string): boolean {
  const parsed = readWebUrl(url);
  return parsed !== null && isSecureUrl(parsed);
}

/**
 * The JSON of a 200 answer.
 * @throws Error for any other status, a redirect, a body that is too long or no JSON, or when it takes too long.
 */
export async function fetchJson(url: string, limits: FetchLimits, init: RequestInit = {}): Promise<unknown> {
  const response = await fetchWithoutRedirect(url, limits, init);
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  return JSON.parse(await readTextBody(response));
}

/** An answer of any status, whose body is still to be read. @throws Error for a redirect, or when it takes too long. */
export async function fetchWithoutRedirect(
  url: string,
  { fetch, timeout }: FetchLimits,
  { headers, ...init }: RequestInit,
): Promise<Response> {
  const response = await fetch(url, {
    ...init,
    // Some runtimes do not know `error`. With `manual` they hand over the redirect, or an answer without a status.
    redirect: 'manual',
    signal: AbortSignal.timeout(timeout),
    headers: { accept: 'application/json', ...headers },
  });
  const isRedirect = response.status === 0 || (response.status >= 300 && response.status < 400);
  if (!isRedirect) return response;
  await response.body?.cancel();
  throw new Error(`${url} answered with a redirect`);
}

/**
 * The URL of an endpoint from the issuer's metadata, whose issuer MUST be the one that was asked.
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
      const metadata = ((await fetchJson(url, limits)) ?? {}) as Readonly<Record<string, unknown>>;
      if (metadata['issuer'] !== issuer) throw new Error('the metadata names another issuer');
      const endpoint = metadata[member];
      if (typeof endpoint === 'string' && isSecureEndpoint(endpoint)) return endpoint;
      throw new Error(`the metadata has no https ${member}`);
    } catch (error) {
      failure = error;
    }
  }
  throw new Error('the metadata of the issuer cannot be had', { cause: failure });
}

/** @throws Error when the body is too long or no UTF-8. */
export async function readTextBody(response: Response): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY_BYTES) throw new Error(`the answer is longer than ${MAX_BODY_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
