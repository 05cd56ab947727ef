/** Streamable HTTP, both of its wires: with sessions (up to 2025-11-25) and stateless (from 2026-07-28), as messages in and messages out. */
import type { Fetch } from '@portcullis/client';
import { parseJson } from '../json.ts';
import { emptyStream, readMessages, typeOf } from './answers.ts';
import { readEvents } from './event-stream.ts';
import { createHttpSession } from './http-session.ts';
import {
  failureResponse,
  type Id,
  isRequest,
  isResponse,
  type Message,
  parameter,
  type RequestMessage,
  readMessage,
  statelessVersion,
} from './json-rpc.ts';

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

/** Milliseconds before a stream that broke is opened again; each time longer. */
const FIRST_DELAY = 1000;
const LAST_DELAY = 30_000;

/** Most tries to get the rest of an answer whose stream broke. */
const MOST_RESUMPTIONS = 5;

export function createHttpWire(options: HttpWireOptions): HttpWire {
  const { url, fetch, receive, complain = () => undefined } = options;
  const sleep =
    options.sleep ?? ((milliseconds) => new Promise((done) => setTimeout(done, milliseconds).unref()));
  const closing = new AbortController();
  const session = createHttpSession(url, fetch, () => void listen());
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
      return readAnswers(response, message.id, signal, understand);
    const messages = await readMessages(response);
    for (const read of messages) understand(read);
    return messages.some((read) => answers(read, message.id));
  }

  /** A stream that breaks is taken up where it broke, if the server said how. */
  async function readAnswers(
    response: Response,
    id: Id,
    signal: AbortSignal,
    understand: (message: Message) => void,
  ): Promise<boolean> {
    let stream = response;
    let lastId: string | null = null;
    let delay = FIRST_DELAY;
    for (let resumptions = 0; ; resumptions += 1) {
      try {
        for await (const event of readEvents(stream.body ?? emptyStream())) {
          lastId = event.id ?? lastId;
          delay = event.retry ?? delay;
          const message = readMessage(parseJson(event.text));
          if (message === null) continue;
          understand(message);
          if (answers(message, id)) return true;
        }
      } catch (error) {
        if (signal.aborted) throw error;
      }
      if (signal.aborted || lastId === null || resumptions === MOST_RESUMPTIONS) return false;
      await sleep(delay);
      const resumed = await session.openStream(lastId, signal);
      if (resumed === null) return false;
      stream = resumed;
    }
  }

  /** What the server has to say by itself. A server that has nothing says so, and is not asked again. */
  async function listen(): Promise<void> {
    const { signal } = closing;
    let lastId: string | null = null;
    let delay = FIRST_DELAY;
    while (!signal.aborted) {
      const mine = session.id();
      try {
        const stream = await session.openStream(lastId, signal);
        if (stream === null) return;
        delay = FIRST_DELAY;
        for await (const event of readEvents(stream.body ?? emptyStream())) {
          lastId = event.id ?? lastId;
          delay = event.retry ?? delay;
          const message = readMessage(parseJson(event.text));
          if (message !== null) receive(message);
        }
      } catch (error) {
        if (signal.aborted) return;
        complain(error);
      }
      await sleep(delay);
      delay = Math.min(delay * 1.5, LAST_DELAY);
      // A session that began meanwhile listens by itself.
      if (session.id() !== mine) return;
    }
  }
}

function answers(message: Message, id: Id): boolean {
  return isResponse(message) && message.id === id;
}
