/** Streamable HTTP with sessions (revisions up to 2025-11-25) as a wire: a POST for each message, a stream for the rest. */

import { isMembers, isRequest, isResponse, type Message, type MessageId } from '@portcullis/http';
import type { BackendError } from '../backend.ts';
import { toFailure } from '../backend-errors.ts';
import type { Wire, WireReceiver } from '../wire.ts';
import type { BackendFetch } from './backend-fetch.ts';
import { failureOfResponse, mediaType, readBodyMessages, type StreamPosition } from './responses.ts';

export interface HttpWireOptions {
  readonly name: string;
  readonly url: URL;
  readonly fetch: BackendFetch;
  /** Bytes of one message. */
  readonly frame: number;
  readonly receiver: WireReceiver;
}

const MAX_RESUMPTIONS = 5;
const FIRST_DELAY = 1000;
const LAST_DELAY = 30_000;
/** Milliseconds for the backend to end a session. */
const END_TIMEOUT = 2000;

export function createSessionWire({ name, url, fetch, frame, receiver }: HttpWireOptions): Wire {
  const closing = new AbortController();
  let session: string | null = null;
  let version: string | null = null;

  return {
    async send(message, signal) {
      const both = AbortSignal.any([signal, closing.signal]);
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          ...headers(),
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify(message),
        signal: both,
      });
      if (!response.ok) return reject(response);
      if (message.method === 'initialize') session = response.headers.get('mcp-session-id');
      if (isRequest(message)) return follow(response, message.id, both);
      await response.body?.cancel();
      if (message.method === 'notifications/initialized') void listen();
    },
    async close() {
      closing.abort();
      const ending = session;
      session = null;
      if (ending === null) return;
      const own = { ...headers(), 'mcp-session-id': ending };
      const response = await fetch(url, {
        method: 'DELETE',
        headers: own,
        signal: AbortSignal.timeout(END_TIMEOUT),
      }).catch(() => null);
      await response?.body?.cancel();
    },
  };

  function headers(): Record<string, string> {
    return {
      ...(session !== null && { 'mcp-session-id': session }),
      ...(version !== null && { 'mcp-protocol-version': version }),
    };
  }

  /** A session that the backend has lost ends here: the client's next request opens another one. */
  async function reject(response: Response): Promise<never> {
    await response.body?.cancel();
    const error: BackendError = failureOfResponse(name, response);
    if (response.status === 404 && session !== null) receiver.fail(error);
    throw error;
  }

  async function follow(first: Response, id: MessageId, signal: AbortSignal): Promise<void> {
    const position: StreamPosition = { lastId: null, retry: null };
    let response: Response | null = first;
    for (let resumptions = 0; response !== null; resumptions += 1) {
      if (await readResponse(response, id, position, signal)) return;
      response = null;
      if (position.lastId === null || resumptions === MAX_RESUMPTIONS) break;
      await sleep(position.retry ?? FIRST_DELAY, signal);
      response = await openStream(position.lastId, signal);
    }
    throw toFailure(new Error('the response ended before it was complete'), name);
  }

  /** Whether the response to the request was among them. A stream that breaks may be resumed. */
  async function readResponse(
    response: Response,
    id: MessageId,
    position: StreamPosition,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      for await (const message of readBodyMessages(response, frame, position)) {
        if (isResponse(message) && message.id === id) learn(message);
        receiver.accept(message, id);
        if (isResponse(message) && message.id === id) return true;
      }
    } catch (error) {
      if (signal.aborted || position.lastId === null) throw toFailure(error, name);
    }
    return false;
  }

  function learn({ result }: Message): void {
    if (version === null && isMembers(result) && typeof result['protocolVersion'] === 'string')
      version = result['protocolVersion'];
  }

  async function openStream(lastId: string | null, signal: AbortSignal): Promise<Response | null> {
    const resumption = lastId !== null && { 'last-event-id': lastId };
    const own = { ...headers(), accept: 'text/event-stream', ...resumption };
    const response = await fetch(url, { method: 'GET', headers: own, signal });
    if (response.ok && mediaType(response) === 'text/event-stream') return response;
    await response.body?.cancel();
    if (response.status >= 500 || response.status === 429) throw failureOfResponse(name, response);
    return null;
  }

  /** Follows what belongs to no request, until the session ends. */
  async function listen(): Promise<void> {
    const { signal } = closing;
    const position: StreamPosition = { lastId: null, retry: null };
    for (let delay = FIRST_DELAY; !signal.aborted; delay = Math.min(delay * 2, LAST_DELAY)) {
      try {
        const response = await openStream(position.lastId, signal);
        if (response === null) return;
        delay = FIRST_DELAY;
        for await (const message of readBodyMessages(response, frame, position))
          receiver.accept(message, null);
      } catch {
        // Opened again below.
      }
      await sleep(position.retry ?? delay, signal).catch(() => undefined);
    }
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds).unref();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
