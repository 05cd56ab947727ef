/** Follows event streams of messages and resumes broken ones: the response to a request, and messages from the server. */

import { isResponseTo, type Message, type MessageId, readEvents, readMessage } from '@portcullis/http';
import { parseJson } from '../../json.ts';
import type { HttpSession } from './http-session.ts';
import { emptyStream } from './responses.ts';

/** What following a stream requires. */
export interface FollowOptions {
  readonly session: Pick<HttpSession, 'id' | 'openStream'>;
  /** Receives every message. */
  readonly receive: (message: Message) => void;
  /** Waits for a number of milliseconds. */
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** Milliseconds before a broken stream is opened again; increases with each attempt. */
const FIRST_DELAY = 1000;
const LAST_DELAY = 30_000;

/** Maximum attempts to resume a response. */
const MAX_RESUMPTIONS = 5;

/** Position up to which a stream was read. */
interface StreamPosition {
  /** `null` if the server has sent no event ID to resume from. */
  lastId: string | null;
  /** Milliseconds before the next attempt. */
  delay: number;
}

/** Reads the response to a request, resuming its stream if the server sent event IDs. Returns whether the response was received. */
export async function followResponse(
  { session, receive, sleep }: FollowOptions,
  response: Response,
  id: MessageId,
  signal: AbortSignal,
): Promise<boolean> {
  const mark: StreamPosition = { lastId: null, delay: FIRST_DELAY };
  let stream = response;
  for (let resumptions = 0; ; resumptions += 1) {
    try {
      for await (const message of readStream(stream, mark)) {
        receive(message);
        if (isResponseTo(message, id)) return true;
      }
    } catch (error) {
      if (signal.aborted) throw error;
    }
    if (signal.aborted || mark.lastId === null || resumptions === MAX_RESUMPTIONS) return false;
    await sleep(mark.delay);
    const resumed = await session.openStream(mark.lastId, signal);
    if (resumed === null) return false;
    stream = resumed;
  }
}

/** Reads messages from the server until the session ends or is replaced. Stops at once if the server offers no such stream. */
export async function followServerMessages(
  { session, receive, sleep, complain }: FollowOptions & { readonly complain: (error: unknown) => void },
  signal: AbortSignal,
): Promise<void> {
  const mark: StreamPosition = { lastId: null, delay: FIRST_DELAY };
  while (!signal.aborted) {
    const ownId = session.id();
    try {
      const stream = await session.openStream(mark.lastId, signal);
      if (stream === null) return;
      mark.delay = FIRST_DELAY;
      for await (const message of readStream(stream, mark)) receive(message);
    } catch (error) {
      if (signal.aborted) return;
      complain(error);
    }
    await sleep(mark.delay);
    mark.delay = Math.min(mark.delay * 1.5, LAST_DELAY);
    // A new session has its own stream.
    if (session.id() !== ownId) return;
  }
}

async function* readStream(stream: Response, mark: StreamPosition): AsyncGenerator<Message> {
  for await (const event of readEvents(stream.body ?? emptyStream())) {
    mark.lastId = event.id ?? mark.lastId;
    mark.delay = event.retry ?? mark.delay;
    const message = readMessage(parseJson(event.text));
    if (message !== null) yield message;
  }
}
