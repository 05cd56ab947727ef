/** Streamable HTTP for the stdio bridge, with sessions (up to 2025-11-25) and stateless (from 2026-07-28); HTTP+SSE for older servers. */

import {
  failureResponse,
  isRequest,
  isResponseTo,
  type Message,
  type MessageId,
  parameter,
  type RequestMessage,
  statelessVersion,
} from '@portcullis/http';
import { createHttpSession } from './http-session.ts';
import { connectSse, maySpeakSse } from './legacy-sse.ts';
import { followResponse, followServerMessages } from './message-streams.ts';
import type { MessageTransport, MessageTransportOptions } from './message-transport.ts';
import { contentType, HttpResponseError, readMessages } from './responses.ts';

export function createStreamableHttp(options: MessageTransportOptions): MessageTransport {
  const { url, fetch, receive, complain = () => undefined } = options;
  const sleep =
    options.sleep ?? ((milliseconds) => new Promise((done) => setTimeout(done, milliseconds).unref()));
  const closing = new AbortController();
  const session = createHttpSession(url, fetch, () => void listen());
  const listen = (): Promise<void> =>
    followServerMessages({ session, receive, sleep, complain }, closing.signal);
  /** Pending requests, so that a cancellation can end their streams. */
  const pending = new Map<MessageId, { readonly stateless: boolean; readonly controller: AbortController }>();
  /** Replaces everything else for a server that speaks HTTP+SSE only. */
  let legacy: MessageTransport | null = null;

  return {
    async send(message) {
      if (legacy !== null) return legacy.send(message);
      if (isRequest(message)) return request(message);
      if (cancelStream(message)) return;
      await session.post(message, closing.signal);
      if (message.method === 'notifications/initialized') void listen();
    },
    async close() {
      closing.abort();
      await legacy?.close();
      await session.end();
    },
  };

  /** Without a session, a request is cancelled by ending its stream; nothing is posted. */
  function cancelStream(message: Message): boolean {
    if (message.method !== 'notifications/cancelled') return false;
    const id = parameter(message, 'requestId');
    const request = typeof id === 'string' || typeof id === 'number' ? pending.get(id) : undefined;
    if (request === undefined || !request.stateless) return false;
    request.controller.abort();
    return true;
  }

  async function request(message: RequestMessage): Promise<void> {
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, closing.signal]);
    pending.set(message.id, { stateless: statelessVersion(message) !== null, controller });
    try {
      if (!(await exchangeOrFallBack(message, signal)) && !signal.aborted)
        receive(failureResponse(message.id, 'The connection ended before the response was complete.'));
    } catch (error) {
      if (signal.aborted) return;
      complain(error);
      receive(
        failureResponse(
          message.id,
          error instanceof Error ? error.message : 'The request to the server failed.',
        ),
      );
    } finally {
      pending.delete(message.id);
    }
  }

  /** A server that refuses `initialize` may be one of revision 2024-11-05. @see MCP transports, backwards compatibility */
  async function exchangeOrFallBack(message: RequestMessage, signal: AbortSignal): Promise<boolean> {
    try {
      return await exchange(message, signal);
    } catch (error) {
      if (message.method !== 'initialize' || !(error instanceof HttpResponseError)) throw error;
      if (!maySpeakSse(error.status)) throw error;
      legacy = await connectSse(options);
      if (legacy === null) throw error;
      await legacy.send(message);
      return true;
    }
  }

  /** Returns whether the response was received. */
  async function exchange(message: RequestMessage, signal: AbortSignal): Promise<boolean> {
    const response = await session.post(message, signal);
    const learnAndReceive = (received: Message): void => {
      session.learn(message, received);
      receive(received);
    };
    if (contentType(response) === 'text/event-stream')
      return followResponse({ session, receive: learnAndReceive, sleep }, response, message.id, signal);
    const messages = await readMessages(response);
    for (const read of messages) learnAndReceive(read);
    return messages.some((read) => isResponseTo(read, message.id));
  }
}
