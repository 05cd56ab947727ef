/** The audit log: writes events to the store in batches, without delaying the requests that emit them. */
import { randomBytes } from 'node:crypto';
import { OAuthError } from '@portcullis/protocol';
import { createTokenBuckets } from '../rate-limit/limiter.ts';
import { fixedRateLimits } from '../rate-limit/policies.ts';
import { randomText, sortableTime } from '../secrets.ts';
import type { AuditEventRecord, AuditStore, CoreStore } from '../store/index.ts';
import type { AuditLevel, AuthorizationEvent, ComponentEvent, ComponentEvents, EventSink } from './events.ts';

/** An audit log that writes events to the store in batches. */
export type AuditLog = ReturnType<typeof createAuditLog>;

/** At most so many milliseconds until a batch is written, which a crash may lose. Usually it is written with the next commit. */
const DELAY = 200;
/** Milliseconds to the next try while the store is unavailable. */
const RETRY = 2_000;
/** Milliseconds between an event and the end of its write from which on `audit.delayed` reports it, for readers of the log. */
const LATE = 2_000;
/** Milliseconds between comparisons with the clock of the database. */
const COMPARE_EVERY = 10_000;
/** Milliseconds by which the clock may differ from that of the database: readers of the log allow for it. */
const TOLERATED_SKEW = 5_000;
/** Events per batch, which the store writes in a few milliseconds. */
const BATCH = 500;
/** Events in the queue. While the store is unavailable, the oldest are dropped first. */
const MAX_QUEUED = 10_000;

/**
 * Events that unauthenticated requests can cause as often as they like: recorded at a limited rate per type, so that noise of one
 * type does not hide another, and with shortened texts. All of them are streamed and counted.
 */
const RATE_LIMITED: ReadonlySet<AuthorizationEvent['type']> = new Set([
  'request.rejected',
  'login.failed',
  'account.link_refused',
  'client_metadata_document.rejected',
  'federated_login.failed',
  'identity_provider.failed',
]);
const MAX_TEXT_LENGTH = 300;

/** Events that change nothing: streamed and counted, but not stored. */
const NOT_STORED: readonly AuthorizationEvent['type'][] = ['metadata.read'];

/** An ordinary refresh: the first that belongs to an authorization transaction completes it, and is always stored. */
function isRoutine(event: AuthorizationEvent): boolean {
  return event.type === 'refresh_token.rotated' && event.transactionId === undefined;
}

/**
 * Creates an audit log that writes to a store; events expire after the retention.
 * @param retention seconds
 * @param clock epoch seconds
 * @param report receives `audit.dropped`, once that is stored, and the first of consecutive failures that are no outage
 */
export function createAuditLog(
  store: AuditStore & Pick<CoreStore, 'readClock'>,
  retention: number,
  clock: () => number,
  level: AuditLevel = 'summary',
  report: EventSink = () => {},
) {
  const untrusted = createTokenBuckets(fixedRateLimits.untrustedEvents, clock);
  let queue: AuditEventRecord[] = [];
  let bulk: AuditEventRecord[] = [];
  /** Milliseconds to add to the time of events. */
  let skew = 0;
  let comparedAt = Number.NEGATIVE_INFINITY;
  let dropped = 0;
  let isRefused = false;
  let isScheduled = false;
  let pending: Promise<boolean> | null = null;
  let isClosed = false;

  function recordEvent(event: AuthorizationEvent): void {
    if (isClosed || NOT_STORED.includes(event.type) || (level === 'summary' && isRoutine(event))) return;
    const isUntrusted = RATE_LIMITED.has(event.type);
    if (isUntrusted && untrusted.take(event.type) > 0) dropped += 1;
    else enqueue(queue, isUntrusted ? shorten(event) : event);
  }

  function recordOf<Event extends ComponentEvent>(
    events: Omit<ComponentEvents<Event>, 'listener'>,
    event: Event,
  ): void {
    if (isClosed || (level === 'summary' && events.isRoutine(event))) return;
    enqueue(events.isBulk(event) ? bulk : queue, event);
  }

  function enqueue(waiting: AuditEventRecord[], event: ComponentEvent): void {
    waiting.push(describe(event, clock(), retention, skew));
    if (waiting.length > MAX_QUEUED) {
      waiting.shift();
      dropped += 1;
    }
    writeSoon();
  }

  /** Events are written with the next commit of the store, so that they need no disk flush of their own. */
  function writeSoon(after: 'commit' | 'failure' = 'commit'): void {
    if (isScheduled || pending !== null) return;
    isScheduled = true;
    if (after === 'commit') store.beforeCommit(writeNow, DELAY);
    else setTimeout(writeNow, RETRY).unref();
  }

  function writeNow(): void {
    isScheduled = false;
    if (!isClosed) void write();
  }

  /** Writes one batch. @returns whether that succeeded */
  function write(): Promise<boolean> {
    pending ??= writeBatch().then((isWritten) => {
      pending = null;
      if (!isWritten) writeSoon('failure');
      else if (queue.length + bulk.length >= BATCH) writeNow();
      else if (queue.length + bulk.length > 0) writeSoon();
      return isWritten;
    });
    return pending;
  }

  async function writeBatch(): Promise<boolean> {
    const batch = queue.slice(0, BATCH);
    batch.push(...bulk.slice(0, BATCH - batch.length));
    if (dropped > 0)
      batch.push(describe({ type: 'audit.dropped', count: dropped }, clock(), retention, skew));
    const reported = dropped;
    try {
      if (performance.now() - comparedAt > COMPARE_EVERY) {
        skew = await findSkew(store);
        comparedAt = performance.now();
      }
      await store.appendEvents(batch);
      isRefused = false;
      dropped -= reported;
      if (reported > 0) report({ type: 'audit.dropped', count: reported });
      const delayed = delayOf(batch, millisecondsOf(clock(), skew));
      if (delayed !== null) enqueue(queue, delayed);
      const written = new Set(batch);
      queue = queue.filter((event) => !written.has(event));
      bulk = bulk.filter((event) => !written.has(event));
      return true;
    } catch (error) {
      reportRefusal(error);
      return false;
    }
  }

  /** What the store refuses for another reason than an outage, it refuses in each try. */
  function reportRefusal(error: unknown): void {
    if (isRefused || error instanceof OAuthError) return;
    isRefused = true;
    report({ type: 'request.failed', endpoint: 'audit-log', reason: String(error) });
  }

  return {
    /** Records an event. It never throws and never blocks. */
    record: recordEvent,
    /** The same for an event of another component. */
    recordOf,
    /** Writes what was recorded so far, unless the store is unavailable. */
    async flush(): Promise<void> {
      const last = queue.at(-1);
      await pending;
      while (last !== undefined && queue.includes(last) && (await write()));
    },
    /** Writes the remaining events; gives up if the store is unavailable. */
    async close(): Promise<void> {
      isClosed = true;
      await pending;
      while (queue.length + bulk.length > 0 && (await write()));
    },
  };
}

/**
 * Finds by how many milliseconds the clock of the database, which all processes share, is ahead of this one, as far as readers of the
 * log do not allow for it: they would have passed the events of a process whose clock is behind.
 */
async function findSkew(store: Pick<CoreStore, 'readClock'>): Promise<number> {
  const before = Date.now();
  const shared = await store.readClock();
  const after = Date.now();
  const ahead = shared === null ? 0 : shared * 1000 - (before + after) / 2;
  return Math.abs(ahead) - (after - before) / 2 > TOLERATED_SKEW ? Math.round(ahead) : 0;
}

/** Readers that follow the log have passed the identifiers of late events. @param now milliseconds */
function delayOf(written: readonly AuditEventRecord[], now: number): AuthorizationEvent | null {
  const late = written.flatMap(({ id, at }) => (now - at > LATE ? [id] : [])).toSorted();
  const [first, last] = [late[0], late.at(-1)];
  return first === undefined || last === undefined
    ? null
    : { type: 'audit.delayed', first, last, count: late.length };
}

let counter = randomBytes(4).readUInt32BE();

function describe<Event extends ComponentEvent>(
  event: Event,
  now: number,
  retention: number,
  skew: number,
): AuditEventRecord {
  const { type, clientId, accountId, grantId, resource, transactionId, ...details } = event;
  const at = millisecondsOf(now, skew);
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
    expiresAt: now + retention,
  };
}

/** Epoch milliseconds, by the clock of the database where the clock is that of this computer. @param now epoch seconds */
function millisecondsOf(now: number, skew: number): number {
  const actual = Date.now();
  return Math.floor(now) === Math.floor(actual / 1000) ? actual + skew : now * 1000;
}

/** The event with its texts cut to a readable length. */
function shorten<T extends object>(event: T): T {
  const cut = (value: unknown): unknown =>
    typeof value === 'string' && value.length > MAX_TEXT_LENGTH
      ? `${value.slice(0, MAX_TEXT_LENGTH)}…`
      : Array.isArray(value)
        ? value.map(cut)
        : value;
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [name, cut(value)])) as T;
}

/** Distinguishes processes: 24 random bits, beside a counter with a random start. */
const PROCESS = randomText(3);

/** Time, then a counter, then the process: ids sort by time, and those of one process in the order of their events. */
function newId(at: number): string {
  counter = (counter + 1) >>> 0;
  return `${sortableTime(at)}-${counter.toString(36).padStart(7, '0')}-${PROCESS}`;
}
