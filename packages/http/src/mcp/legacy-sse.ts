/** HTTP+SSE, the transport of revision 2024-11-05: a stream from the server, with an `endpoint` event that names the URL for messages to it. */
import { hasLongHost } from '@portcullis/protocol';
import { readEvents } from './event-stream.ts';
import { isRequest, type Message, parseMessage } from './json-rpc.ts';
import { type HttpTransportOptions, IncompleteResponse, type McpTransport, mediaType } from './transport.ts';

/** The transport options of HTTP+SSE. */
export interface LegacySseOptions extends HttpTransportOptions {
  /** Timeout for the `endpoint` event, in milliseconds. */
  readonly timeout: number;
  /** Reads the URL of an `endpoint` event. Messages and the credential go there. @throws if it is not on the server's origin */
  readonly readEndpoint: (text: string) => URL;
}

/** The URL of an `endpoint` event; `null` unless it is on the origin of the server. */
export function resolveEndpoint(text: string, server: URL): URL | null {
  const url = hasLongHost(text) ? null : URL.parse(text, server.href);
  return url?.origin === server.origin && url.username === '' && url.password === '' ? url : null;
}

/**
 * Opens the stream and waits for the endpoint.
 * @throws errors of `readError`, `readEndpoint` and `fetch`; IncompleteResponse for a stream without an endpoint; AbortError at the timeout
 */
export async function connectLegacySse(options: LegacySseOptions): Promise<McpTransport> {
  const { url, fetch, receiver, readError, timeout, readEndpoint } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const named = Promise.withResolvers<URL>();
  const timer = setTimeout(() => closing.abort(), timeout);
  try {
    const response = await fetch(url, { method: 'GET', headers: { accept: 'text/event-stream' }, signal });
    if (!response.ok || response.body === null || mediaType(response) !== 'text/event-stream')
      throw await readError(response, null);
    void follow(response, response.body);
    const endpoint = await named.promise;
    return {
      send: (message, own) => post(endpoint, message, AbortSignal.any([own, signal])),
      close: async () => closing.abort(),
    };
  } catch (error) {
    closing.abort();
    throw error;
  } finally {
    clearTimeout(timer);
  }

  async function follow(response: Response, body: ReadableStream<Uint8Array>): Promise<void> {
    let cause: unknown;
    try {
      for await (const { type, text } of readEvents(body, options.limit)) {
        if (type === 'endpoint') named.resolve(readEndpoint(text));
        const message = type === 'message' ? parseMessage(text) : null;
        if (message !== null) receiver.accept(message, null);
      }
    } catch (error) {
      named.reject(error);
      cause = error;
    }
    const failure = new IncompleteResponse(response, 'its event stream ended', { cause });
    named.reject(failure);
    closing.abort();
    receiver.fail(failure);
  }

  async function post(endpoint: URL, message: Message, own: AbortSignal): Promise<void> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const body = JSON.stringify(message);
    const response = await fetch(endpoint, { method: 'POST', headers, body, signal: own });
    if (response.ok) return response.body?.cancel();
    const outcome = await readError(response, isRequest(message) ? message : null);
    if (outcome instanceof Error) throw outcome;
    receiver.accept(outcome, null);
  }
}
