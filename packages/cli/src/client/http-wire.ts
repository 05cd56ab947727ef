/** Streamable HTTP, both of its wires: with sessions (up to 2025-11-25) and stateless (from 2026-07-28), as messages in and messages out. */
import type { Fetch } from '@portcullis/client';
import { readMessages, typeOf } from './answers.ts';
import { createHttpSession } from './http-session.ts';
import {
  failureResponse,
  type Id,
  isAnswerTo,
  isRequest,
  type Message,
  parameter,
  type RequestMessage,
  statelessVersion,
} from './json-rpc.ts';
import { followAnswer, followServer } from './streams.ts';

export interface HttpWireOptions {
  readonly url: string;
  /** Carries every request, with a token. */
  readonly fetch: Fetch;
  /** Every message that the server sends, in the order in which it came. */
  readonly receive: (message: Message) => void;
  /** Hears what went wrong where no message can say it. */
  readonly complain?: (error: unknown) => void;
  /** Waits; milliseconds. */
  readonly sleep?: (milliseconds: number) => Promise<void>;
}

export interface HttpWire {
  /**
   * Sends a message. Resolves when the server has taken it, and for a request when its answer has been received.
   * A request is answered in any case: by an error of ours when the server did not.
   */
  send(message: Message): Promise<void>;
  /** Ends the session at the server, and everything that is under way. */
  close(): Promise<void>;
}

export function createHttpWire(options: HttpWireOptions): HttpWire {
  const { url, fetch, receive, complain = () => undefined } = options;
  const sleep =
    options.sleep ?? ((milliseconds) => new Promise((done) => setTimeout(done, milliseconds).unref()));
  const closing = new AbortController();
  const session = createHttpSession(url, fetch, () => void listen());
  const listen = (): Promise<void> => followServer({ session, receive, sleep, complain }, closing.signal);
  /** Requests under way, so that a cancellation can end their streams. */
  const underWay = new Map<Id, { readonly stateless: boolean; readonly controller: AbortController }>();

  return {
    async send(message) {
      if (isRequest(message)) return request(message);
      if (cancelStream(message)) return;
      await session.post(message, closing.signal);
      if (message.method === 'notifications/initialized') void listen();
    },
    async close() {
      closing.abort();
      await session.end();
    },
  };

  /** On the stateless wire a request is cancelled by ending its stream; there is nothing to post. */
  function cancelStream(message: Message): boolean {
    if (message.method !== 'notifications/cancelled') return false;
    const id = parameter(message, 'requestId');
    const request = typeof id === 'string' || typeof id === 'number' ? underWay.get(id) : undefined;
    if (request === undefined || !request.stateless) return false;
    request.controller.abort();
    return true;
  }

  async function request(message: RequestMessage): Promise<void> {
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, closing.signal]);
    underWay.set(message.id, { stateless: statelessVersion(message) !== null, controller });
    try {
      if (!(await exchange(message, signal)) && !signal.aborted)
        receive(failureResponse(message.id, 'The connection ended before the answer was complete.'));
    } catch (error) {
      if (signal.aborted) return;
      complain(error);
      receive(
        failureResponse(
          message.id,
          error instanceof Error ? error.message : 'The server could not be asked.',
        ),
      );
    } finally {
      underWay.delete(message.id);
    }
  }

  /** Tells whether the answer came. */
  async function exchange(message: RequestMessage, signal: AbortSignal): Promise<boolean> {
    const response = await session.post(message, signal);
    const understand = (answer: Message): void => {
      session.learn(message, answer);
      receive(answer);
    };
    if (typeOf(response) === 'text/event-stream')
      return followAnswer({ session, receive: understand, sleep }, response, message.id, signal);
    const messages = await readMessages(response);
    for (const read of messages) understand(read);
    return messages.some((read) => isAnswerTo(read, message.id));
  }
}
