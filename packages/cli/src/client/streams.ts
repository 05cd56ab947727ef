/** Streams of messages, followed beyond a break: the rest of an answer, and what a server has to say by itself. */
import { parseJson } from '../json.ts';
import { emptyStream } from './answers.ts';
import { readEvents } from './event-stream.ts';
import type { HttpSession } from './http-session.ts';
import { type Id, isAnswerTo, type Message, readMessage } from './json-rpc.ts';

/** What a stream is followed with. */
export interface Following {
  readonly session: Pick<HttpSession, 'id' | 'openStream'>;
  /** Hears every message. */
  readonly receive: (message: Message) => void;
  /** Waits; milliseconds. */
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** Milliseconds before a stream that broke is opened again; each time longer. */
const FIRST_DELAY = 1000;
const LAST_DELAY = 30_000;

/** Most tries to get the rest of an answer whose stream broke. */
const MOST_RESUMPTIONS = 5;

/** How far a stream was read. */
interface Mark {
  /** `null`: the server has not said how to take it up. */
  lastId: string | null;
  /** Milliseconds before another try. */
  delay: number;
}

/** A stream that breaks is taken up where it broke, if the server said how. Tells whether the answer came. */
export async function followAnswer(
  { session, receive, sleep }: Following,
  response: Response,
  id: Id,
  signal: AbortSignal,
): Promise<boolean> {
  const mark: Mark = { lastId: null, delay: FIRST_DELAY };
  let stream = response;
  for (let resumptions = 0; ; resumptions += 1) {
    try {
      for await (const message of readStream(stream, mark)) {
        receive(message);
        if (isAnswerTo(message, id)) return true;
      }
    } catch (error) {
      if (signal.aborted) throw error;
    }
    if (signal.aborted || mark.lastId === null || resumptions === MOST_RESUMPTIONS) return false;
    await sleep(mark.delay);
    const resumed = await session.openStream(mark.lastId, signal);
    if (resumed === null) return false;
    stream = resumed;
  }
}

/** Until the session ends, or another follows it. A server that has nothing to say tells so, and is not asked again. */
export async function followServer(
  { session, receive, sleep, complain }: Following & { readonly complain: (error: unknown) => void },
  signal: AbortSignal,
): Promise<void> {
  const mark: Mark = { lastId: null, delay: FIRST_DELAY };
  while (!signal.aborted) {
    const mine = session.id();
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
    // A session that began meanwhile is followed by itself.
    if (session.id() !== mine) return;
  }
}

async function* readStream(stream: Response, mark: Mark): AsyncGenerator<Message> {
  for await (const event of readEvents(stream.body ?? emptyStream())) {
    mark.lastId = event.id ?? mark.lastId;
    mark.delay = event.retry ?? mark.delay;
    const message = readMessage(parseJson(event.text));
    if (message !== null) yield message;
  }
}
