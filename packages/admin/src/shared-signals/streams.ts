/** Management of the event streams of receivers: each client sees its own only. @see Shared Signals Framework 1.0 §8.1 */
import { randomBytes } from 'node:crypto';
import type { AccountAdministration, SecurityEventKeys } from '@portcullis/authorization-server';
import type {
  AuthorizationStore,
  EventStreamRecord,
  EventStreamStore,
  WebhookStore,
} from '@portcullis/authorization-server/store';
import * as z from 'zod';
import type { StreamEvent } from '../operations/component-events.ts';
import { idPrefixOf } from '../operations/statistics/event-time.ts';
import {
  checkTransmitterSupplied,
  documentOf,
  readBody,
  receiverText,
  type SuppliedConfiguration,
  suppliedMembersOf,
  suppliedSchema,
  VERIFICATION_INTERVAL,
} from './stream-configuration.ts';
import { StreamError } from './stream-error.ts';

export type TransmitterStore = AuthorizationStore & EventStreamStore & WebhookStore;

export interface StreamContext {
  readonly issuer: string;
  readonly store: TransmitterStore;
  readonly accounts: Pick<AccountAdministration, 'find' | 'claims'>;
  readonly keys: SecurityEventKeys;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly events: (event: StreamEvent) => void;
  /** Whether receivers may be on loopback, as this server itself is. */
  readonly allowLoopback: boolean;
}

type Document = Readonly<Record<string, unknown>>;

/** Streams of one receiver. */
const MAX_STREAMS = 5;
/** Accounts that a receiver may remove from a stream. */
const MAX_REMOVED = 10_000;
/** Changes of a stream at the same time are tried again. */
const ATTEMPTS = 5;
const MAX_TEXT = 1000;

const changeSchema = suppliedSchema.required({ stream_id: true });
const statusSchema = z.object({
  stream_id: z.string(),
  status: z.enum(['enabled', 'paused', 'disabled']),
  reason: receiverText.max(MAX_TEXT).optional(),
});
const subjectSchema = z.object({ stream_id: z.string(), subject: z.record(z.string(), z.unknown()) });
const verificationSchema = z.object({ stream_id: z.string(), state: receiverText.max(MAX_TEXT).optional() });

/** The operations of one receiver. Each throws StreamError. */
export function createStreams(context: StreamContext, clientId: string) {
  const { issuer, store, keys, clock, events, allowLoopback } = context;
  const now = () => Math.floor(clock() / 1000);
  const record = (type: StreamEvent['type'], streamId: string, more: object = {}) =>
    events({ type, clientId, streamId, ...more } as StreamEvent);

  async function find(id: string): Promise<EventStreamRecord> {
    const stream = await store.findEventStream(id);
    // A stream of another receiver is unknown here.
    if (stream?.clientId !== clientId) throw new StreamError(404, 'There is no such stream.');
    return stream;
  }

  async function save(
    id: string,
    change: (stream: EventStreamRecord) => EventStreamRecord | Promise<EventStreamRecord>,
  ): Promise<EventStreamRecord> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const before = await find(id);
      const after = { ...(await change(before)), version: before.version + 1 };
      if (await store.saveEventStream(after)) return after;
    }
    throw new StreamError(409, 'The stream was changed at the same time: try again.');
  }

  return {
    async create(body: object): Promise<Document> {
      const id = `stream_${randomBytes(12).toString('base64url')}`;
      const stream: EventStreamRecord = {
        ...{ id, clientId, ...suppliedMembersOf(id, readBody(suppliedSchema, body), keys, allowLoopback) },
        ...{ status: 'enabled', reason: null, removedAccounts: [] },
        ...{ cursor: idPrefixOf(clock()), acknowledged: null, verificationRequestedAt: 0 },
        ...{ createdAt: now(), version: 1 },
      };
      if (!(await store.createEventStream(stream, MAX_STREAMS)))
        throw new StreamError(403, `A receiver has at most ${MAX_STREAMS} streams: remove one.`);
      await startAt(store, id, stream.cursor, now());
      record('event_stream.created', id);
      return documentOf(stream, issuer);
    },
    async list(): Promise<readonly Document[]> {
      const streams = await store.listEventStreams();
      return streams.filter((one) => one.clientId === clientId).map((one) => documentOf(one, issuer));
    },
    show: async (id: string): Promise<Document> => documentOf(await find(id), issuer),
    /** @param isWhole whether members that are missing are removed */
    async change(body: object, isWhole: boolean): Promise<Document> {
      const supplied = readBody(changeSchema, body);
      const { stream_id: id } = supplied;
      const after = await save(id, async (stream) => {
        checkTransmitterSupplied(body, documentOf(stream, issuer));
        const changed = {
          ...stream,
          ...suppliedMembersOf(id, isWhole ? supplied : completed(supplied, stream), keys, allowLoopback),
          // Its authorization is not in the document, so that it stays unless the delivery is given.
          ...(supplied.delivery === undefined && !isWhole && pickDelivery(stream)),
        };
        if ((changed.endpoint === null) === (stream.endpoint === null)) return changed;
        const cursor = await cursorOf(stream, store);
        await store.setWebhookCursor(id, cursor);
        return { ...changed, cursor, acknowledged: null };
      });
      record('event_stream.changed', id);
      return documentOf(after, issuer);
    },
    async remove(id: string): Promise<void> {
      await find(id);
      if (await store.removeEventStream(id)) record('event_stream.removed', id);
    },
    status: async (id: string): Promise<Document> => statusOf(await find(id)),
    async changeStatus(body: object): Promise<Document> {
      const { stream_id: id, status, reason = null } = readBody(statusSchema, body);
      const after = await save(id, async (stream) => {
        // Events that happened while it was disabled are not delivered later.
        const isAgain = stream.status === 'disabled' && status !== 'disabled';
        const cursor = isAgain ? idPrefixOf(clock()) : stream.cursor;
        if (isAgain) await store.setWebhookCursor(id, cursor);
        return { ...stream, status, reason, cursor, ...(isAgain && { acknowledged: null }) };
      });
      record('event_stream.changed', id, { status });
      return statusOf(after);
    },
    async changeSubject(body: object, change: 'add' | 'remove'): Promise<void> {
      const { stream_id: id, subject } = readBody(subjectSchema, body);
      await find(id);
      const accountId = await findSubjectAccount(context, subject);
      // An unknown subject is saved as a change of nothing: neither the response nor its time tells whether the account exists.
      await save(id, (stream) => withSubject(stream, accountId, change));
    },
    async requestVerification(body: object): Promise<void> {
      const { stream_id: id, state } = readBody(verificationSchema, body);
      await save(id, (stream) => {
        if (now() < stream.verificationRequestedAt + VERIFICATION_INTERVAL)
          throw new StreamError(429, `Request verification every ${VERIFICATION_INTERVAL} s at most.`);
        return { ...stream, verificationRequestedAt: now() };
      });
      record('event_stream.verification_requested', id, state === undefined ? {} : { state });
    },
  };
}

/** Where delivery continues when its method changes. */
async function cursorOf(
  { id, cursor, endpoint }: EventStreamRecord,
  store: StreamContext['store'],
): Promise<string> {
  if (endpoint === null) return cursor;
  return (await store.listWebhooks()).find(({ name }) => name === id)?.cursor ?? cursor;
}

function withSubject(
  stream: EventStreamRecord,
  accountId: string | null,
  change: 'add' | 'remove',
): EventStreamRecord {
  const others = stream.removedAccounts.filter((one) => one !== accountId);
  if (change === 'remove' && others.length >= MAX_REMOVED)
    throw new StreamError(403, `A stream can do without at most ${MAX_REMOVED} subjects.`);
  const isRemoved = change === 'remove' && accountId !== null;
  return { ...stream, removedAccounts: isRemoved ? [...others, accountId] : others };
}

/** What a receiver does with its streams. */
export type ReceiverStreams = ReturnType<typeof createStreams>;

/** The progress of a stream that may be pushed begins with it, and not with the first look of a process. */
async function startAt(store: WebhookStore, id: string, cursor: string, now: number): Promise<void> {
  await store.leaseWebhook(id, id, cursor, now, now + 1);
  await store.releaseWebhook(id, id);
}

function pickDelivery({ endpoint, encryptedAuthorization }: EventStreamRecord) {
  return { endpoint, encryptedAuthorization };
}

/** "Any properties missing in the request MUST NOT be changed." @see §8.1.1.3 */
function completed(
  { events_requested, description, delivery }: SuppliedConfiguration,
  stream: EventStreamRecord,
): SuppliedConfiguration {
  return {
    events_requested: events_requested ?? [...stream.eventsRequested],
    description: description ?? stream.description ?? undefined,
    delivery,
  };
}

function statusOf({ id, status, reason }: EventStreamRecord): Document {
  return { stream_id: id, status, ...(reason !== null && { reason }) };
}

/** @returns the account that a subject names; `null`: none @see RFC 9493 §3.2 */
async function findSubjectAccount(
  context: Pick<StreamContext, 'issuer' | 'accounts'>,
  subject: Readonly<Record<string, unknown>>,
): Promise<string | null> {
  const { issuer, accounts } = context;
  const { format, iss, sub, email, user } = subject;
  if (format === 'complex' && typeof user === 'object' && user !== null)
    return findSubjectAccount(context, user as typeof subject);
  const isOurs = format === 'iss_sub' && iss === issuer && typeof sub === 'string';
  const named = isOurs ? sub : format === 'email' && typeof email === 'string' ? email : null;
  // Several accounts with one address are as unknown as none.
  const account = named === null || named.length > 300 ? null : await accounts.find(named).catch(() => null);
  return account?.id ?? null;
}
