/**
 * Delivers audit events to one webhook: at least once, and those of a grant in their order. The audit log is the queue: an event
 * waits there until it is delivered, or expires by `auditRetention`.
 */
import { randomBytes } from 'node:crypto';
import type { AuditEventRecord, WebhookProgress, WebhookStore } from '@portcullis/authorization-server/store';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import { matchesType } from '../operations/event-types.ts';
import { idPrefixOf } from '../operations/statistics/event-time.ts';
import { createReadEvents, type EventItem, type EventReaderStore, resumeCursor } from './event-reader.ts';
import type { Webhook } from './options.ts';
import { type DeliveryAttempt, LONGEST_RETRY_AFTER, type SendEvent } from './send.ts';

type DeliveryStore = Omit<WebhookStore, 'listWebhooks' | 'setWebhookCursor'> & EventReaderStore;

export interface DeliveryOptions {
  readonly webhook: Pick<Webhook, 'name' | 'types'>;
  readonly store: DeliveryStore;
  readonly send: SendEvent;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Events of the same are delivered one after another: the grant, or the account, by default. */
  readonly laneOf?: (event: AuditEventRecord) => string;
  /** Receives the outcome of each attempt. */
  readonly report: (report: DeliveryReport) => void;
  /** Whether to begin no more requests. */
  readonly isStopped?: () => boolean;
}

/** The outcome of one attempt to deliver an event. */
export interface DeliveryReport {
  /** A `rejected` event is not sent again, a `failed` one is. */
  readonly outcome: 'delivered' | 'failed' | 'rejected';
  readonly event: AuditEventRecord;
  readonly reason: string | null;
  /** Failures in a row before this attempt. */
  readonly failures: number;
}

/** The delivery of one webhook in this process. */
export interface Delivery {
  /** Delivers the next batch. @returns whether another may follow at once */
  deliver(): Promise<boolean>;
  /** Lets another process deliver. */
  release(): Promise<void>;
}

/** Seconds of a lease while there is nothing to send: so long nothing is sent after a crash. */
const IDLE_LEASE = 10;
/** Seconds of a lease while events are sent. It is renewed in a batch that lasts longer: late events may be many. */
const LEASE = 300;
/** Events of different grants that are sent at once. */
const CONCURRENCY = 8;
/** Attempts in a row at an event that the receiver rejects with the same status, as opposed to a receiver that fails. */
const MAX_REJECTIONS = 3;
/** Seconds until the next attempt, by failures in a row. */
const BACKOFF = [5, 15, 60, 300, 600];
const LONGEST_BACKOFF = 600;

interface Sent {
  readonly done: ReadonlySet<EventItem>;
  readonly failure: DeliveryAttempt | null;
}

/** Creates the delivery of one webhook in this process; processes that share the store deliver one at a time. */
export function createDelivery(options: DeliveryOptions): Delivery {
  const { store, send, clock, report, laneOf = ofGrant, isStopped = () => false } = options;
  const { name, types } = options.webhook;
  const holder = randomBytes(9).toString('base64url');
  // Events about webhooks would cause others.
  const isWanted = ({ type }: AuditEventRecord) =>
    !type.startsWith('webhook.') && (types?.some((pattern) => matchesType(type, pattern)) ?? true);

  // A batch's progress is saved at its end, so that a crash repeats one at most.
  const read = createReadEvents(store, clock, isWanted);

  return {
    async deliver() {
      const now = Math.floor(clock() / 1000);
      const progress = await store.leaseWebhook(name, holder, idPrefixOf(clock()), now, now + IDLE_LEASE);
      if (progress === null) return false;
      const cursor = resumeCursor(progress.cursor, clock());
      if (cursor !== progress.cursor) return store.rewindWebhook(name, cursor);
      const pause = progress.nextAttemptAt - now;
      // A longer pause is of a clock that was ahead.
      if (pause > 0 && pause <= LONGEST_RETRY_AFTER + SKEW_TOLERANCE) return false;
      const { settled, items } = await read(progress.cursor);
      if (settled.length === 0) return false;
      const sent = await sendAll(items, progress, createRenewal(progress, holder, { store, clock }));
      if (sent === null) return false;
      const next = advance(progress, settled, items, sent, Math.floor(clock() / 1000));
      return (await store.saveWebhookProgress(next, holder)) && next.attempts === 0;
    },
    release: () => store.releaseWebhook(name, holder),
  };

  /** Sends until an attempt fails: then what others send at that time is sent again, too. @returns `null`: the lease was lost */
  async function sendAll(
    items: readonly EventItem[],
    { attempts: failures, lastError }: WebhookProgress,
    renew: () => Promise<boolean>,
  ): Promise<Sent | null> {
    const lanes = Map.groupBy(items, ({ event }) => laneOf(event)).values();
    const done = new Set<EventItem>();
    let failure: DeliveryAttempt | null = null;
    let isLost = false;
    const sendLanes = async () => {
      for (const lane of lanes) {
        for (const item of lane) {
          isLost ||= !(await renew());
          if (failure !== null || isLost || isStopped()) return;
          const attempt = await send(item.event);
          const isAgain = attempt.kind === 'rejected' && attempt.reason === lastError;
          const isGivenUp = isAgain && item === items[0] && failures + 1 >= MAX_REJECTIONS;
          const isDone = attempt.kind === 'delivered' || isGivenUp;
          const outcome = isGivenUp ? 'rejected' : isDone ? 'delivered' : 'failed';
          // Of those that fail at the same time, the first is the failure.
          const before = outcome === 'failed' && failure !== null ? failures + 1 : failures;
          report({ outcome, event: item.event, reason: attempt.reason, failures: before });
          if (isDone) done.add(item);
          // That of the first event, which is given up by it, whatever others fail by.
          else if (failure === null || item === items[0]) failure = attempt;
        }
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, sendLanes));
    return isLost ? null : { done, failure };
  }
}

function ofGrant({ grantId, accountId, id }: AuditEventRecord): string {
  return grantId ?? accountId ?? id;
}

/**
 * Prolongs the lease before the first event, and renews it when half of it is over.
 * @returns whether this process may go on: no other leased or rewound the webhook
 */
function createRenewal(
  { name, cursor }: WebhookProgress,
  holder: string,
  { store, clock }: Pick<DeliveryOptions, 'store' | 'clock'>,
): () => Promise<boolean> {
  let renewal = Promise.resolve(true);
  let renewedAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = Math.floor(clock() / 1000);
    if (now - renewedAt < LEASE / 2) return renewal;
    renewedAt = now;
    renewal = store
      .leaseWebhook(name, holder, cursor, now, now + LEASE)
      .then((progress) => progress?.cursor === cursor);
    return renewal;
  };
}

/** The cursor stops before the first event that was not delivered. @param now epoch seconds */
function advance(
  progress: WebhookProgress,
  settled: readonly AuditEventRecord[],
  items: readonly EventItem[],
  { done, failure }: Sent,
  now: number,
): WebhookProgress {
  const left = items.find((item) => !done.has(item));
  const index = left === undefined ? settled.length : settled.findIndex(({ id }) => id === left.position);
  const cursor = settled[index - 1]?.id ?? progress.cursor;
  const next = { ...progress, cursor, deliveredAt: done.size > 0 ? now : progress.deliveredAt };
  if (failure === null) return { ...next, attempts: 0, nextAttemptAt: 0, lastError: null };
  // A receiver that was down before has rejected nothing.
  const isFirst = index > 0 || (failure.kind === 'rejected' && failure.reason !== progress.lastError);
  const attempts = isFirst ? 1 : progress.attempts + 1;
  const pause = Math.max(BACKOFF[attempts - 1] ?? LONGEST_BACKOFF, failure.retryAfter);
  return { ...next, attempts, nextAttemptAt: now + pause, lastError: failure.reason };
}
