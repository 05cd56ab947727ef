/** Reads the audit log as a queue: events that are settled, after a cursor, with those that were stored late. */
import type { AuditEventRecord, AuthorizationStore } from '@portcullis/authorization-server/store';
import { SKEW_TOLERANCE } from '@portcullis/protocol';
import { idPrefixOf, LATE, timeOfId } from '../operations/statistics/event-time.ts';

/** What a reader reads. */
export type EventReaderStore = Pick<AuthorizationStore, 'listEvents' | 'readClock'>;

/** An event, and the event of the log that the cursor passes with it. */
export interface EventItem {
  readonly event: AuditEventRecord;
  readonly position: string;
}

/** A batch of the log. */
interface EventBatch {
  /** Events in their order, wanted or not; empty: none is settled. */
  readonly settled: readonly AuditEventRecord[];
  readonly items: readonly EventItem[];
  /** Whether more may follow at once. */
  readonly isFull: boolean;
}

/** Reads the batch after a cursor. */
export type ReadEvents = (cursor: string) => Promise<EventBatch>;

/** Events of one batch. */
const BATCH = 100;
/** Milliseconds after which only events that `audit.delayed` reports are still stored. */
const SETTLED_AFTER = 3_000;
/** The same where several computers store events: their clocks may differ. */
const SHARED_SETTLED_AFTER = 8_000;

/**
 * The cursor to go on from: after one of a clock that was ahead, no event would follow until that time. Then the events of the last
 * minutes are read again.
 * @param now epoch milliseconds
 */
export function resumeCursor(cursor: string, now: number): string {
  return timeOfId(cursor) > now + SKEW_TOLERANCE * 1000 ? idPrefixOf(now - LATE) : cursor;
}

/** @param clock epoch milliseconds */
export function createReadEvents(
  store: EventReaderStore,
  clock: () => number,
  isWanted: (event: AuditEventRecord) => boolean,
): ReadEvents {
  return async (cursor) => {
    const shared = await store.readClock();
    // If the clock of this process is ahead, events of others are still stored.
    const settledAt =
      shared === null ? clock() - SETTLED_AFTER : Math.min(clock(), shared * 1000) - SHARED_SETTLED_AFTER;
    const end = idPrefixOf(settledAt);
    const settled = (await store.listEvents(cursor, BATCH)).filter(({ id }) => id < end);
    return { settled, items: await findItems(settled), isFull: settled.length === BATCH };
  };

  /** Late events precede the one that reports them. Events of the same time are among them, and are sent again. */
  async function findItems(settled: readonly AuditEventRecord[]): Promise<readonly EventItem[]> {
    const items: EventItem[] = [];
    for (const event of settled) {
      const events = event.type === 'audit.delayed' ? [...(await findRange(event.details)), event] : [event];
      items.push(...events.filter(isWanted).map((one) => ({ event: one, position: event.id })));
    }
    return items;
  }

  async function findRange(details: AuditEventRecord['details']): Promise<readonly AuditEventRecord[]> {
    const [first, last] = [String(details['first']), String(details['last'])];
    const found: AuditEventRecord[] = [];
    // A list begins after an identifier, and a prefix sorts before the whole.
    let page = await store.listEvents(first.slice(0, -1), BATCH);
    while (page.length > 0) {
      found.push(...page.filter(({ id }) => id >= first && id <= last));
      const end = page.at(-1)?.id ?? last;
      page = end < last ? await store.listEvents(end, BATCH) : [];
    }
    return found;
  }
}
