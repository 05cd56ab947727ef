/** The state of a client's session in this process: the session at the backend, open requests, streams. */

import type { Message, MessageId } from '@portcullis/http';
import { MAX_UNDELIVERED } from '../../limits.ts';
import { BackendError, type BackendSession, type InitializeParams } from '../backend.ts';
import { type ClientStream, createEventLog, type EventMemory } from './events.ts';
import type { Reply } from './reply.ts';

/** The data of a session, in any process. */
interface SessionIdentity {
  readonly id: string;
  /** As `userKey` returns it. */
  readonly user: string;
  /** The principal whose credentials it uses. */
  readonly grantId: string | null;
  readonly initialize: InitializeParams;
}

export type LiveSession = ReturnType<typeof createLiveSession>;

/** Whether it was the stream of requests that have ended. */
export function isOver({ responding }: Pick<LiveSession, 'responding'>, stream: ClientStream): boolean {
  return !stream.isStandalone && !responding.has(stream);
}

/** The replies of a stream on its first connection, and on that on which it was resumed last. */
interface OpenResponse {
  readonly first: Reply;
  current: Reply;
}

/** Destination of messages without a request: the client's stream, or the next one. */
type ServerMessages =
  | { readonly kind: 'streamed'; readonly reply: Reply }
  | { readonly kind: 'buffered'; readonly messages: Message[] };

export function createLiveSession(
  identity: SessionIdentity,
  open: () => Promise<BackendSession>,
  memory: EventMemory,
) {
  // Over 60 lines: the state of one session, in its closures.
  const events = createEventLog(identity.user, memory);
  /** Open requests of the client, by its ids. */
  const requests = new Map<MessageId, AbortController>();
  /** Streams of responses that are not complete. */
  const responding = new Map<ClientStream, OpenResponse>();
  let serverMessages: ServerMessages = { kind: 'buffered', messages: [] };
  let connection: Promise<BackendSession> | null = null;

  return {
    ...identity,
    events,
    requests,
    responding,
    usedAt: performance.now(),
    /** The session at the backend, opened once; again after it has ended. @throws BackendError */
    connect(): Promise<BackendSession> {
      connection ??= connectNow();
      return connection;
    },
    /**
     * Continues a stream on another connection: that of a response, or otherwise that of messages without a request. It ends on the
     * previous one, whose client may have gone without notice. @returns call it when the connection is closed
     */
    attach(stream: ClientStream, reply: Reply): () => void {
      const response = responding.get(stream);
      if (response !== undefined) {
        response.current.end(null);
        response.current = reply;
        return () => {
          if (response.current === reply) response.current = response.first;
        };
      }
      const before = serverMessages;
      const attached: ServerMessages = { kind: 'streamed', reply };
      serverMessages = attached;
      if (before.kind === 'streamed') before.reply.end(null);
      else for (const message of before.messages) reply.send(message);
      return () => {
        if (serverMessages === attached) serverMessages = { kind: 'buffered', messages: [] };
      };
    },
    isBusy: (): boolean => requests.size > 0 || serverMessages.kind === 'streamed',
    async close(): Promise<void> {
      const text = 'The session has ended before the request was answered.';
      // The reason distinguishes this from a cancellation by the client, so that each open request gets an error response.
      for (const controller of requests.values()) controller.abort(new BackendError('unavailable', text));
      if (serverMessages.kind === 'streamed') serverMessages.reply.end(null);
      events.close();
      await connection?.then(
        (session) => session.close(),
        () => undefined,
      );
    },
  };

  async function connectNow(): Promise<BackendSession> {
    try {
      const session = await open();
      session.listen(receive);
      void session.ended.then(() => {
        connection = null;
      });
      return session;
    } catch (error) {
      connection = null;
      throw error;
    }
  }

  function receive(message: Message): void {
    if (serverMessages.kind === 'streamed') serverMessages.reply.send(message);
    else if (serverMessages.messages.length < MAX_UNDELIVERED) serverMessages.messages.push(message);
  }
}
