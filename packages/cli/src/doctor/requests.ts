/** The doctor's own requests: each may fail at the server, and is recorded. */
import { ClientError, type Fetch } from '@portcullis/client';
import { toClientError } from '@portcullis/client/node';
import { readBoundedText } from '../client/transport/responses.ts';
import { parseJson } from '../json.ts';
import type { ExaminationContext } from './examination.ts';
import type { Exchange } from './report.ts';

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

/** Explains an error. An error thrown by `fetch` itself means that the server could not be reached. */
export function failureOf(error: unknown): ClientError {
  const unreachable = (message: string) => new ClientError('unreachable', message, { cause: error });
  if (isPlainHttp(error))
    return unreachable('The server does not speak https at this address. It may speak plain http there.');
  if (error instanceof ClientError) return error;
  const explained = toClientError(error, 'The server');
  if (explained !== null) return explained;
  if (error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError'))
    return unreachable('The server could not be reached.');
  throw error;
}

/** The response was not a TLS record: usually the server responded in plain HTTP. */
function isPlainHttp(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : '';
    if (code === 'EPROTO' || /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code))
      return true;
  }
  return false;
}

/** Defaults of every request: no redirects, 15 s timeout. */
export function requestLimits(): Pick<RequestInit, 'redirect' | 'signal'> {
  return { redirect: 'manual', signal: AbortSignal.timeout(15_000) };
}

/** Maximum characters of a document. */
const MAX_DOCUMENT = 262_144;

/** Fetches a document. @returns `null` without a response; `json` is `undefined` if the body is not JSON */
export async function fetchDocument(
  fetch: Fetch,
  url: string,
): Promise<{ readonly status: number; readonly json: unknown } | null> {
  const found = await attempt(async () => {
    const response = await fetch(url, requestLimits());
    return { status: response.status, json: parseJson(await readBoundedText(response, MAX_DOCUMENT)) };
  });
  return 'value' in found ? found.value : null;
}

interface McpRequestOptions {
  /** The server's URL by default. */
  readonly url?: string;
  /** `POST` sends a message; `GET` requests the stream of an HTTP+SSE server. */
  readonly method?: 'POST' | 'GET';
  /** `initialize` by default. */
  readonly message?: McpMessage;
  /** `null`: none. */
  readonly token: string | null;
}

interface McpMessage {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

function initialize(version: string): McpMessage {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'portcullis-doctor', version },
  };
  return { method: 'initialize', params };
}

/** Sends one MCP request; stops the examination when there is no response. */
export async function sendMcpRequest(
  { fetch, report, recorder, server, version }: ExaminationContext,
  { url = server, method = 'POST', message = initialize(version), token }: McpRequestOptions,
): Promise<Exchange> {
  const accept = method === 'POST' ? 'application/json, text/event-stream' : 'text/event-stream';
  const sent = await attempt(() =>
    fetch(url, {
      ...requestLimits(),
      method,
      headers: {
        accept,
        ...(method === 'POST' && { 'content-type': 'application/json' }),
        ...(token !== null && { authorization: `Bearer ${token}` }),
      },
      ...(method === 'POST' && {
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      }),
    }),
  );
  if ('failure' in sent) return report.fail('request', sent.failure);
  await sent.value.body?.cancel();
  const exchange = recorder.exchanges.at(-1);
  if (exchange === undefined) throw new TypeError('Every request is recorded.');
  return exchange;
}
