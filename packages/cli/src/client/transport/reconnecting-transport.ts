/** The transport of the stdio bridge: Streamable HTTP, with sessions (up to 2025-11-25) and stateless (from 2026-07-28), or HTTP+SSE. */
import {
  errorCodes,
  errorResponse,
  IncompleteResponse,
  isRequest,
  isResponse,
  type Message,
  type MessageId,
  mediaType,
  parameter,
  type RequestMessage,
  statelessVersion,
  toDouble,
} from '@portcullis/http';
import { createRenewedSessions, type SessionOptions } from './renewed-sessions.ts';
import { HttpResponseError, MESSAGE_TYPES, NOT_A_MESSAGE } from './responses.ts';

export interface MessageTransport {
  /**
   * Sends a message. Resolves when the server has accepted it; for a request, when its response has been received.
   * Every request gets a response: an error created here if the server sends none.
   */
  send(message: Message): Promise<void>;
  /** Ends the session at the server, and all pending requests. */
  close(): Promise<void>;
}

interface PendingRequest {
  readonly controller: AbortController;
  readonly isStateless: boolean;
  /** Settles when the response was received, the request was cancelled, or the stream of HTTP+SSE has ended. */
  readonly done: PromiseWithResolvers<void>;
}

/** HTTP statuses of a POST unrelated to the transport: authorization and temporary errors. */
const OTHER_ERRORS: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/** Whether a server that rejects `initialize` with this status may support HTTP+SSE. */
export function maySpeakSse(status: number): boolean {
  return status >= 400 && status < 500 && !OTHER_ERRORS.has(status);
}

/** Falls back to HTTP+SSE if a server rejects `initialize`. @see MCP transports, backwards compatibility */
export function createReconnectingTransport(options: SessionOptions): MessageTransport {
  return createTransport(options).transport;
}

/** HTTP+SSE only. @returns `null` if the server does not support it @throws ClientError `endpoint_refused`, and errors of `fetch` */
export async function connectSse(options: SessionOptions): Promise<MessageTransport | null> {
  const { transport, sessions } = createTransport(options);
  return (await sessions.switchToSse()) ? transport : null;
}

function createTransport(options: SessionOptions) {
  const { receive, complain = () => undefined } = options;
  const closing = new AbortController();
  const pending = new Map<MessageId, PendingRequest>();
  const sessions = createRenewedSessions({ ...options, receive: accept }, (error) => {
    for (const { done } of pending.values()) done.reject(error);
  });
  const transport: MessageTransport = {
    async send(message) {
      if (isRequest(message)) return request(message);
      const id =
        message.method === 'notifications/cancelled' ? toDouble(parameter(message, 'requestId')) : null;
      const cancelled = typeof id === 'string' || typeof id === 'number' ? pending.get(id) : undefined;
      // A stateless request is cancelled by ending its stream.
      if (cancelled?.isStateless === true && !sessions.isSse()) return cancelled.controller.abort();
      await sessions.send(message, closing.signal);
      if (sessions.isSse()) cancelled?.done.resolve();
    },
    async close() {
      closing.abort();
      await sessions.close();
    },
  };
  return { transport, sessions };

  function accept(message: Message): void {
    const { id } = message;
    if (isResponse(message) && id !== undefined && id !== null) pending.get(id)?.done.resolve();
    receive(message);
  }

  async function request(message: RequestMessage): Promise<void> {
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, closing.signal]);
    const done = Promise.withResolvers<void>();
    done.promise.catch(() => undefined);
    pending.set(message.id, { controller, isStateless: statelessVersion(message) !== null, done });
    try {
      await sendOrSwitch(message, signal);
      if (sessions.isSse()) await done.promise;
    } catch (error) {
      if (!signal.aborted) receive(errorResponse(message.id, errorCodes.unavailable, explain(error)));
    } finally {
      pending.delete(message.id);
    }
  }

  async function sendOrSwitch(message: RequestMessage, signal: AbortSignal): Promise<void> {
    try {
      await sessions.send(message, signal);
    } catch (error) {
      const mayBeOlder = error instanceof HttpResponseError && maySpeakSse(error.status);
      if (message.method !== 'initialize' || sessions.isSse() || !mayBeOlder) throw error;
      if (!(await sessions.switchToSse())) throw error;
      await sessions.send(message, signal);
    }
  }

  function explain(error: unknown): string {
    const isStream = error instanceof IncompleteResponse && MESSAGE_TYPES.includes(mediaType(error.response));
    if (isStream) return 'The connection ended before the response was complete.';
    const reported =
      error instanceof IncompleteResponse
        ? new HttpResponseError(error.response.status, NOT_A_MESSAGE)
        : error;
    complain(reported);
    return reported instanceof Error ? reported.message : 'The request to the server failed.';
  }
}
