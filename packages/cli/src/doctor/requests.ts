/** The doctor's own requests: each may fail at the server, and is recorded. */
import { ClientError, type Fetch } from '@portcullis/client';
import { toClientError } from '@portcullis/client/node';
import { readBoundedText } from '../client/transport/responses.ts';
import { isObject, type Json, parseJson } from '../json.ts';
import type { ExaminationContext } from './examination.ts';
import type { Exchange } from './recorder.ts';

export type Attempt<T> = { readonly value: T } | { readonly failure: ClientError };

/**
 * Runs a request that may fail at a server, and returns its value or the ClientError that explains the failure.
 * @throws any error not caused by the server or the network
 */
export async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** Explains an error of `fetch`, or of reading a response. */
export function failureOf(error: unknown): ClientError {
  const known = error instanceof ClientError ? error : toClientError(error, 'The server');
  if (known !== null) return known;
  const isNetwork =
    error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError');
  if (!isNetwork) throw error;
  return new ClientError('unreachable', 'The server could not be reached.', { cause: error });
}

/** Defaults of every request: no redirects, 15 s timeout. */
export function requestLimits(): Pick<RequestInit, 'redirect' | 'signal'> {
  return { redirect: 'manual', signal: AbortSignal.timeout(15_000) };
}

/** Fetches a document of at most 256 KiB. @returns `null` without one */
export async function fetchDocument(fetch: Fetch, url: string, statuses = [200]): Promise<Json | null> {
  const found = await attempt(async () => {
    const response = await fetch(url, requestLimits());
    const json = parseJson(await readBoundedText(response, 262_144));
    return isObject(json) && statuses.includes(response.status) ? json : null;
  });
  return 'value' in found ? found.value : null;
}

interface McpRequestOptions {
  /** The server's URL by default. */
  readonly url?: string;
  /** `initialize` by default; `null` requests the stream of an HTTP+SSE server. */
  readonly message?: { readonly method: string; readonly params: object } | null;
  readonly token?: string;
}

/** Sends one MCP request; stops the examination when there is no response. */
export async function sendMcpRequest(
  { fetch, report, recorder, server, version }: ExaminationContext,
  { url = server, message = initialize(version), token }: McpRequestOptions = {},
): Promise<Exchange> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const accept = message === null ? 'text/event-stream' : 'application/json, text/event-stream';
  const post = message !== null && {
    method: 'POST',
    headers: { accept, ...authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  };
  const sent = await attempt(() =>
    fetch(url, { ...requestLimits(), headers: { accept, ...authorization }, ...post }),
  );
  if ('failure' in sent) return report.fail(sent.failure);
  void sent.value.body?.cancel().catch(() => undefined);
  const exchange = recorder.exchanges.at(-1);
  if (exchange === undefined) throw new TypeError('Every request is recorded.');
  return exchange;
}

function initialize(version: string) {
  const clientInfo = { name: 'portcullis-doctor', version };
  return { method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } };
}
