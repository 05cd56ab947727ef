/** A client's session as far as this process knows it: the session at the backend, open requests, streams. */

import type { Message, MessageId } from '@portcullis/http';
import type { BackendSession, InitializeParams } from '../backend.ts';
import { createEventLog, type EventLog } from './events.ts';
import type { Reply } from './reply.ts';

/** What a session is, wherever it is served. */
interface SessionIdentity {
  readonly id: string;
  /** As `userKey` returns it. */
  readonly user: string;
  /** Whose credentials it uses. */
  readonly grantId: string | null;
  readonly initialize: InitializeParams;
}

export interface LiveSession extends SessionIdentity {
  readonly events: EventLog;
  /** Open requests of the client, by its ids. */
  readonly requests: Map<MessageId, AbortController>;
  /** `performance.now()` of its last request. */
  usedAt: number;
  /** The session at the backend, opened once; again after it has ended. @throws BackendError */
  connect(): Promise<BackendSession>;
  /** Sends what belongs to no request from now on to a stream; the one before ends. */
  attach(reply: Reply): () => void;
  nextStream(): number;
  /** Streams of responses that are not complete. */
  readonly responding: Set<number>;
  /** Where the response to a request goes when its stream was resumed on another connection. */
  readonly resumed: Map<number, Reply>;
  isBusy(): boolean;
  close(): Promise<void>;
}

/** Messages that wait for a stream of the client. */
const MAX_WAITING = 100;

export function createLiveSession(
  identity: SessionIdentity,
  open: () => Promise<BackendSession>,
): LiveSession {
  const requests = new Map<MessageId, AbortController>();
  const resumed = new Map<number, Reply>();
  let waiting: Message[] = [];
  let stream: Reply | null = null;
  let connection: Promise<BackendSession> | null = null;
  let lastStream = 0;

  return {
    ...identity,
    events: createEventLog(),
    requests,
    responding: new Set(),
    resumed,
    usedAt: performance.now(),
    connect() {
      connection ??= connectNow();
      return connection;
    },
    attach(reply) {
      stream?.end(null);
      stream = reply;
      for (const message of waiting.splice(0)) reply.send(message);
      return () => {
        if (stream === reply) stream = null;
      };
    },
    nextStream: () => (lastStream += 1),
    isBusy: () => requests.size > 0 || stream !== null,
    async close() {
      for (const controller of requests.values()) controller.abort();
      stream?.end(null);
      for (const reply of resumed.values()) reply.end(null);
      waiting = [];
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
    if (stream !== null) stream.send(message);
    else if (waiting.length < MAX_WAITING) waiting.push(message);
  }
}
