/** The journal: what happens is written to the store in batches, behind the requests that it happened in. */
import { randomBytes } from 'node:crypto';
import { createTokenBuckets } from '../rate-limit/limiter.ts';
import { fixedRateLimits } from '../rate-limit/policies.ts';
import { newSuffix, sortableTime } from '../secrets.ts';
import type { AuditEventRecord, AuditStore } from '../store/index.ts';
import type { AuthorizationEvent, EventSink } from './events.ts';

export interface AuditLog {
  /** Takes an event. It never throws and never waits. */
  readonly record: EventSink;
  /** Writes what has not been written; without the store it gives up. */
  close(): Promise<void>;
}

/** Milliseconds from the first event of a batch to its writing at most: so much a crash may lose. Mostly it goes with the next facts. */
const DELAY = 200;
/** Milliseconds to the next try while the store is away. */
const RETRY = 2_000;
/** A batch takes a few milliseconds of the store's time. */
const BATCH = 500;
/** Events that wait at most. While the store is away, the oldest are lost first. */
const MOST_WAITING = 10_000;

/**
 * What strangers bring about as often as they like: of each, so many are written, and of their words so much. All are streamed
 * and counted. By type, so that noise of one kind does not hide another.
 */
const OF_STRANGERS: ReadonlySet<AuthorizationEvent['type']> = new Set([
  'request.rejected',
  'login.failed',
  'client_metadata_document.rejected',
  'federated_login.failed',
  'identity_provider.failed',
]);
const LONGEST_WORD = 300;

/** These happen at everybody's wish and change nothing: they are streamed and counted, and not kept. */
const NOT_KEPT: readonly AuthorizationEvent['type'][] = ['metadata.read'];

/**
 * @param keptFor seconds
 * @param clock epoch seconds
 */
export function createAuditLog(store: AuditStore, keptFor: number, clock: () => number): AuditLog {
  const allowed = createTokenBuckets(fixedRateLimits.untrustedEvents, clock);
  let waiting: AuditEventRecord[] = [];
  let lost = 0;
  let isAwaited = false;
  let underWay: Promise<boolean> | null = null;
  let isClosed = false;

  function note(event: AuthorizationEvent): void {
    if (isClosed || !isWorthKeeping(event)) return;
    waiting.push(describe(OF_STRANGERS.has(event.type) ? shorten(event) : event, clock(), keptFor));
    if (waiting.length > MOST_WAITING) {
      waiting.shift();
      lost += 1;
    }
    writeSoon();
  }

  function isWorthKeeping({ type }: AuthorizationEvent): boolean {
    if (NOT_KEPT.includes(type)) return false;
    if (!OF_STRANGERS.has(type)) return true;
    const isKept = allowed.take(type) === 0;
    if (!isKept) lost += 1;
    return isKept;
  }

  /** What waits goes to the disk together with the next facts, so that it needs no flush of its own. */
  function writeSoon(): void {
    if (isAwaited || underWay !== null) return;
    isAwaited = true;
    store.beforeCommit(writeNow, DELAY);
  }

  function writeLater(): void {
    isAwaited = true;
    setTimeout(writeNow, RETRY).unref();
  }

  function writeNow(): void {
    isAwaited = false;
    if (!isClosed) void write();
  }

  /** Writes one batch; whether that succeeded. */
  function write(): Promise<boolean> {
    underWay ??= writeBatch().then((isWritten) => {
      underWay = null;
      if (!isWritten) writeLater();
      else if (waiting.length >= BATCH) writeNow();
      else if (waiting.length > 0) writeSoon();
      return isWritten;
    });
    return underWay;
  }

  async function writeBatch(): Promise<boolean> {
    const batch = waiting.slice(0, BATCH);
    if (lost > 0) batch.push(describe({ type: 'audit.dropped', count: lost }, clock(), keptFor));
    const told = lost;
    try {
      await store.appendEvents(batch);
      lost -= told;
      const written = new Set(batch);
      waiting = waiting.filter((event) => !written.has(event));
      return true;
    } catch {
      return false;
    }
  }

  return {
    record: note,
    async close() {
      isClosed = true;
      await underWay;
      while (waiting.length > 0 && (await write()));
    },
  };
}

let counter = randomBytes(4).readUInt32BE();

function describe(event: AuthorizationEvent, now: number, keptFor: number): AuditEventRecord {
  const { type, clientId, accountId, grantId, resource, transactionId, ...details } = event;
  const at = Math.floor(now) === Math.floor(Date.now() / 1000) ? Date.now() : now * 1000;
  return {
    id: newId(at),
    at,
    type,
    clientId: clientId ?? null,
    accountId: accountId ?? null,
    grantId: grantId ?? null,
    resource: resource ?? null,
    transactionId: transactionId ?? null,
    details,
    expiresAt: now + keptFor,
  };
}

/** The same event, its texts as long as somebody reads them. */
function shorten<T extends object>(event: T): T {
  const cut = (value: unknown) =>
    typeof value === 'string' && value.length > LONGEST_WORD ? `${value.slice(0, LONGEST_WORD)}…` : value;
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [name, cut(value)])) as T;
}

/** Milliseconds first, then a count, then chance: in the order of time, and of one process in the order of its events. */
function newId(at: number): string {
  counter = (counter + 1) >>> 0;
  return `${sortableTime(at)}-${counter.toString(36).padStart(7, '0')}-${newSuffix(3)}`;
}
