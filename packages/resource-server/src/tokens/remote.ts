/** Asking an authorization server for a JSON document: within bounds of time and size, and never by redirect. */
import { isSecureUrl, readWebUrl } from '@portcullis/protocol/web-url';

/** What `fetch` must be able to do here. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface RemoteLimits {
  readonly fetch: Fetch;
  /** Milliseconds for the whole exchange. */
  readonly timeout: number;
}

const MOST_BYTES = 256 * 1024;

export const defaultRemoteLimits: RemoteLimits = {
  fetch: (url, init) => globalThis.fetch(url, init),
  timeout: 5000,
};

/** Whether keys or answers from there can be believed: https, or http on this computer. */
export function isTrustworthy(url: string): boolean {
  const parsed = readWebUrl(url);
  return parsed !== null && isSecureUrl(parsed);
}

/**
 * The JSON of a 200 answer.
 * @throws Error for any other status, a redirect, a body that is too long or no JSON, or when it takes too long.
 */
export async function askJson(url: string, limits: RemoteLimits, init: RequestInit = {}): Promise<unknown> {
  const response = await limits.fetch(url, {
    ...init,
    redirect: 'error',
    signal: AbortSignal.timeout(limits.timeout),
    headers: { accept: 'application/json', ...init.headers },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  return JSON.parse(await readText(response));
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`the answer is longer than ${MOST_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
