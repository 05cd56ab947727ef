/** HTTP+SSE, the transport of revision 2024-11-05: one stream of messages from the server, and an endpoint for those to it. */
import type { Fetch } from '@portcullis/client';
import {
  failureResponse,
  isRequest,
  isResponse,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
  readEvents,
  readMessage,
} from '@portcullis/http';
import { parseJson } from '../../json.ts';
import { readMessageEndpoint } from './message-endpoint.ts';
import type { MessageTransport, MessageTransportOptions } from './message-transport.ts';
import { acceptResponse, contentType, emptyStream } from './responses.ts';

/** Milliseconds for the server to name its message endpoint. */
const ENDPOINT_TIMEOUT = 10_000;

/** HTTP statuses of a POST that are not about the transport: authorization, and "not now". */
const OTHER_ERRORS: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/** Whether a server that refuses `initialize` with this status may speak HTTP+SSE. */
export function maySpeakSse(status: number): boolean {
  return status >= 400 && status < 500 && !OTHER_ERRORS.has(status);
}

/** An open stream. */
interface SseStream {
  readonly endpoint: URL;
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>;
  close(): void;
}

/**
 * Opens the stream of a server and waits for its `endpoint` event.
 * @returns `null` if the server does not speak HTTP+SSE
 * @throws ClientError `endpoint_refused`, and what `fetch` throws
 */
async function openSseStream(
  url: string,
  fetch: Fetch,
  receive: (message: Message) => void,
): Promise<SseStream | null> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ENDPOINT_TIMEOUT);
  const named = Promise.withResolvers<string | null>();
  const { signal } = controller;
  const close = (): void => controller.abort();
  try {
    const response = await fetch(url, { headers: { accept: 'text/event-stream' }, signal });
    if (!response.ok || contentType(response) !== 'text/event-stream') {
      await response.body?.cancel();
      return null;
    }
    const ended = readStream(response).catch(() => undefined);
    void ended.then(() => named.resolve(null));
    const text = await named.promise;
    return text === null ? null : { endpoint: readMessageEndpoint(text, url), ended, close };
  } catch (error) {
    const isLate = signal.aborted;
    close();
    if (isLate) return null;
    throw error;
  } finally {
    clearTimeout(timer);
  }

  async function readStream({ body }: Response): Promise<void> {
    for await (const { type, text } of readEvents(body ?? emptyStream())) {
      if (type === 'endpoint') named.resolve(text);
      const message = type === 'message' ? readMessage(parseJson(text)) : null;
      if (message !== null) receive(message);
    }
  }
}

/**
 * Connects by HTTP+SSE. A stream that ends takes its session with it: the next message starts another one.
 * @returns `null` if the server does not speak it
 * @throws ClientError `endpoint_refused`, and what `fetch` throws
 */
export async function connectSse(options: MessageTransportOptions): Promise<MessageTransport | null> {
  const { url, fetch, complain = () => undefined, acceptEndpoint = () => undefined } = options;
  const pending = new Map<MessageId, (response: Message | null) => void>();
  let initializeRequest: RequestMessage | null = null;
  let isClosed = false;
  let stream = await open();
  if (stream === null) return null;

  return {
    async send(message) {
      if (message.method !== 'initialize') await ensureSession();
      else if (isRequest(message)) initializeRequest = message;
      if (!isRequest(message)) return notify(message);
      const response = await exchange(message);
      if (response !== null) options.receive(response);
    },
    async close() {
      isClosed = true;
      stream?.close();
      endPending();
    },
  };

  async function open(): Promise<SseStream | null> {
    const opened = await openSseStream(url, fetch, dispatch);
    if (opened === null) return null;
    acceptEndpoint(opened.endpoint);
    void opened.ended.then(() => {
      if (stream !== opened) return;
      stream = null;
      endPending();
    });
    return opened;
  }

  function dispatch(message: Message): void {
    const { id } = message;
    const answered = isResponse(message) && id !== undefined && id !== null ? pending.get(id) : undefined;
    if (answered === undefined) options.receive(message);
    else answered(message);
  }

  async function ensureSession(): Promise<void> {
    if (stream !== null || isClosed || initializeRequest === null) return;
    stream = await open();
    if (stream === null) throw new Error('The server no longer offers its event stream.');
    await exchange({ ...initializeRequest, id: 'again' });
    await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  async function post(message: Message): Promise<void> {
    if (stream === null) throw new Error('The connection to the server has ended.');
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const response = await fetch(stream.endpoint, { method: 'POST', headers, body: JSON.stringify(message) });
    await (await acceptResponse(response, message)).body?.cancel();
  }

  /** A cancelled request gets no response. */
  async function notify(message: Message): Promise<void> {
    await post(message);
    if (message.method !== 'notifications/cancelled') return;
    const id = parameter(message, 'requestId');
    if (typeof id === 'string' || typeof id === 'number') pending.get(id)?.(null);
  }

  /** The response to a request; an error created here if the server sends none, `null` after its cancellation. */
  async function exchange(message: RequestMessage): Promise<Message | null> {
    const { promise, resolve } = Promise.withResolvers<Message | null>();
    pending.set(message.id, resolve);
    try {
      await post(message);
      return await promise;
    } catch (error) {
      complain(error);
      return failureResponse(
        message.id,
        error instanceof Error ? error.message : 'The request to the server failed.',
      );
    } finally {
      pending.delete(message.id);
    }
  }

  function endPending(): void {
    for (const [id, resolve] of pending)
      resolve(failureResponse(id, 'The connection ended before the response was complete.'));
  }
}
