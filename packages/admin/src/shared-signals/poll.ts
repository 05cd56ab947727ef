/** Polling: a stream's tokens in the order of their events, until they are acknowledged. @see RFC 8936 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventStreamRecord, EventStreamStore } from '@portcullis/authorization-server/store';
import * as z from 'zod';
import type { StreamEvent } from '../operations/component-events.ts';
import { type ReadEvents, resumeCursor } from '../webhooks/event-reader.ts';
import { StreamError } from './stream-error.ts';
import type { FindStreamTokens, StreamToken } from './stream-tokens.ts';

interface PollDependencies {
  readonly store: EventStreamStore;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly readEvents: ReadEvents;
  readonly findTokens: FindStreamTokens;
  readonly events: (event: StreamEvent) => void;
}

/** @see RFC 8936 §2.4 */
interface PollResponse {
  readonly sets: Readonly<Record<string, string>>;
  readonly moreAvailable: boolean;
}

/** Responds to a poll. @throws StreamError */
export type Poll = (stream: EventStreamRecord, body: object, signal: AbortSignal) => Promise<PollResponse>;

/** Tokens of one response. */
const MAX_TOKENS = 100;
/** Batches of the audit log that one look reads: a stream that was not polled for long catches up in several polls. */
const MAX_BATCHES = 50;
/** Milliseconds for which a poll waits for a token, and between two looks. */
const LONGEST_WAIT = 25_000;
const INTERVAL = 1_000;

const pollSchema = z.object({
  maxEvents: z.int().min(0).optional(),
  returnImmediately: z.boolean().default(false),
  ack: z.array(z.string().max(100)).max(10_000).default([]),
  setErrs: z
    .record(z.string().max(100), z.object({ err: z.string(), description: z.string().optional() }))
    .default({}),
});

type SetErrors = z.infer<typeof pollSchema>['setErrs'];

/** A token in its place in the audit log. */
interface PlacedToken extends StreamToken {
  /** Of the event that the cursor passes with it. */
  readonly position: string;
}

/** What follows a stream's cursor. */
interface Unacknowledged {
  readonly stream: EventStreamRecord;
  readonly tokens: readonly PlacedToken[];
  /** The identifiers of all events up to the end of the batch. */
  readonly positions: readonly string[];
  /** Whether the look ended before the end of the log, without a token. */
  readonly isUnfinished: boolean;
}

/**
 * A poll that waits ends at its next look once the same stream is polled again in this process: at once, two instances of a receiver
 * would end each other's polls without a pause.
 */
export function createPoll({ store, clock, readEvents, findTokens, events }: PollDependencies): Poll {
  /** The latest poll of each stream. */
  const latest = new Map<string, symbol>();

  /** Passes batches without a token of the stream, as many as a look may read. */
  async function readUnacknowledged(given: EventStreamRecord): Promise<Unacknowledged> {
    for (let stream = given, batches = 1; ; batches += 1) {
      const { settled, items, isFull } = await readEvents(stream.cursor);
      const positions = settled.map(({ id }) => id);
      const tokens: PlacedToken[] = [];
      for (const { event, position } of items)
        for (const token of await findTokens(stream, event)) tokens.push({ ...token, position });
      const after = tokens.findIndex(({ id }) => id === stream.acknowledged) + 1;
      const isUnfinished = isFull && tokens.length === after;
      if (!isUnfinished || batches === MAX_BATCHES)
        return { stream, tokens: tokens.slice(after), positions, isUnfinished };
      stream = await advance(stream, positions.at(-1) ?? stream.cursor, null);
    }
  }

  async function advance(
    stream: EventStreamRecord,
    cursor: string,
    acknowledged: string | null,
  ): Promise<EventStreamRecord> {
    const moved = { ...stream, cursor, acknowledged, version: stream.version + 1 };
    if (await store.saveEventStream(moved)) return moved;
    // Changed at the same time: what is not passed yet is sent again.
    return (await store.findEventStream(stream.id)) ?? stream;
  }

  async function resume(stream: EventStreamRecord): Promise<EventStreamRecord> {
    const cursor = resumeCursor(stream.cursor, clock());
    return cursor === stream.cursor ? stream : advance(stream, cursor, null);
  }

  /** Tokens are passed in their order: one after another that is not acknowledged is sent again with it. */
  async function acknowledge(
    given: EventStreamRecord,
    ids: ReadonlySet<string>,
    errors: SetErrors,
  ): Promise<EventStreamRecord> {
    let stream = given;
    for (let isMore = ids.size > 0; isMore; ) {
      const found = await readUnacknowledged(stream);
      const next = found.tokens.findIndex(({ id }) => !ids.has(id));
      const passed = next < 0 ? found.tokens : found.tokens.slice(0, next);
      const last = passed.at(-1);
      if (last === undefined) return found.stream;
      const position = next < 0 ? null : found.tokens[next]?.position;
      const end = position == null ? found.positions.length : found.positions.indexOf(position);
      const isWithin = last.position === position;
      const cursor = found.positions[end - 1] ?? found.stream.cursor;
      stream = await advance(found.stream, cursor, isWithin ? last.id : null);
      for (const rejected of rejectedEvents(stream, passed, errors)) events(rejected);
      isMore = next < 0;
    }
    return stream;
  }

  return async (given, body, signal) => {
    const result = pollSchema.safeParse(body);
    if (!result.success) throw new StreamError(400, 'The body is no poll: see RFC 8936, section 2.2.');
    const { maxEvents = MAX_TOKENS, returnImmediately, ack, setErrs } = result.data;
    const ids = new Set([...ack, ...Object.keys(setErrs)]);
    const acknowledged = await acknowledge(await resume(given), ids, setErrs);
    if (maxEvents === 0 || acknowledged.status !== 'enabled') return { sets: {}, moreAvailable: false };
    const own = Symbol();
    latest.set(given.id, own);
    const isSuperseded = () => latest.get(given.id) !== own;
    try {
      const ended = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_WAIT)]);
      const limit = Math.min(maxEvents, MAX_TOKENS);
      return await wait(acknowledged, limit, returnImmediately ? null : ended, isSuperseded);
    } finally {
      if (!isSuperseded()) latest.delete(given.id);
    }
  };

  async function wait(
    given: EventStreamRecord,
    limit: number,
    ended: AbortSignal | null,
    isSuperseded: () => boolean,
  ): Promise<PollResponse> {
    for (let stream = given, isOver = false; ; ) {
      const found = await readUnacknowledged(stream);
      const { tokens, isUnfinished } = found;
      if (tokens.length > 0 || ended === null || isOver) {
        const sets: Record<string, string> = {};
        for (const token of tokens.slice(0, limit)) sets[token.id] = await token.sign();
        return { sets, moreAvailable: tokens.length > limit || isUnfinished };
      }
      if (!isUnfinished) await sleep(INTERVAL, undefined, { signal: ended, ref: false }).catch(() => {});
      isOver = ended.aborted || (!isUnfinished && isSuperseded());
      // Paused, changed or removed meanwhile.
      const current = await store.findEventStream(stream.id);
      if (current === null || current.status !== 'enabled') return { sets: {}, moreAvailable: false };
      stream = current;
    }
  }
}

/** Of tokens that are passed only: a receiver cannot fill the audit log with those that it makes up. */
function rejectedEvents(
  { id, clientId }: EventStreamRecord,
  passed: readonly StreamToken[],
  errors: SetErrors,
): readonly StreamEvent[] {
  return passed.flatMap(({ id: token }) => {
    if (!Object.hasOwn(errors, token)) return [];
    const { err = '', description = '' } = errors[token] ?? {};
    const reason = `${err} ${description}`.trim().slice(0, 300);
    return [{ type: 'event_stream.event_rejected', clientId, streamId: id, token, reason }];
  });
}
