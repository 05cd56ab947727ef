/**
 * Counts each hour of the audit log once, after it is over, and saves what it had. Several processes may do so: they save the same. It
 * reads a page of events at a time and pauses for longer than that took, so requests are hardly delayed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  AuditEventRecord,
  AuditStore,
  EventHourStore,
  LiveCounts,
} from '@portcullis/authorization-server/store';
import { type Counts, countEvents, NO_COUNTS } from './counts.ts';
import { HOUR, hourOf, idPrefixOf, LATE, timeOfId } from './event-time.ts';
import { createKeyFilter, HOUR_PARTS, keyOfPart, keysOfEvent } from './key-filter.ts';

export type CountingStore = EventHourStore & Pick<AuditStore, 'listEvents'>;

/** As a saved hour has it. `live`: how much there was at its end; `null`: the hour was counted later. */
export interface CountedHour extends Counts {
  readonly live: LiveCounts | null;
}

/** Events of one query. */
const PAGE = 1_000;
/** Times that a page took, as a pause after it. */
const PAUSE = 3;
/** Hours after which what is live now is not what was live then. */
const RECENT = 2 * HOUR;
/** Milliseconds between looks for an hour that is over. */
const INTERVAL = 60_000;

/** Counts until the signal aborts: the latest hours first. @param clock epoch milliseconds */
export async function countHours(
  store: CountingStore,
  clock: () => number,
  signal: AbortSignal,
): Promise<void> {
  let from: number | null = null;
  while (!signal.aborted) {
    // The store reports an outage by itself, and the next look counts the rest.
    from = await countMissing(store, clock, from, signal).catch(() => from);
    // Other processes look at another time, and find the hour counted.
    await sleep(INTERVAL * (1 + Math.random()), undefined, { signal, ref: false }).catch(() => {});
  }
}

/** @param from the begin of the first hour that may be missing; `null`: the oldest of all @returns the same for the next time */
export async function countMissing(
  store: CountingStore,
  clock: () => number,
  from: number | null,
  signal?: AbortSignal,
): Promise<number | null> {
  const [oldest] = await store.listEvents('', 1);
  const end = hourOf(clock() - LATE);
  if (oldest === undefined || end <= (from ?? 0)) return from;
  const first = Math.max(from ?? 0, hourOf(oldest.at));
  const counted = new Set((await store.listEventHours(first / 1000, end / 1000)).map(({ at }) => at * 1000));
  for (let hour = end - HOUR; hour >= first; hour -= HOUR) {
    if (signal?.aborted) return from;
    if (counted.has(hour) || (await isCounted(store, hour))) continue;
    const delayed = await countHour(store, clock, hour, signal);
    // Events that were written after their hours had been counted.
    for (const other of delayed)
      if (other >= hourOf(oldest.at) && other < hour) await countHour(store, clock, other, signal);
  }
  return end;
}

async function isCounted(store: CountingStore, hour: number): Promise<boolean> {
  return (await store.listEventHours(hour / 1000, hour / 1000 + 1)).length > 0;
}

/** @returns other hours whose events were stored late, by the events of this one */
async function countHour(
  store: CountingStore,
  clock: () => number,
  hour: number,
  signal: AbortSignal | undefined,
): Promise<readonly number[]> {
  let counts = NO_COUNTS;
  const keys = new Set<string>();
  const delayed = new Set<number>();
  for await (const events of pagesOf(store, hour, signal)) {
    counts = countEvents(counts, events);
    for (const event of events) {
      const part = Math.floor(((timeOfId(event.id) - hour) / HOUR) * HOUR_PARTS);
      for (const key of keysOfEvent(event)) keys.add(key).add(keyOfPart(key, part));
      if (event.type === 'audit.delayed') for (const late of hoursOf(event.details)) delayed.add(late);
    }
  }
  if (signal?.aborted) return [];
  const isRecent = clock() - hour - HOUR < RECENT;
  const live = isRecent ? await store.countLive(Math.floor(clock() / 1000)) : null;
  const counted: CountedHour = { ...counts, live };
  await store.saveEventHour({ at: hour / 1000, counts: { ...counted }, keys: createKeyFilter(keys) });
  return [...delayed];
}

async function* pagesOf(
  store: CountingStore,
  hour: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly AuditEventRecord[]> {
  const end = idPrefixOf(hour + HOUR);
  for (let after = idPrefixOf(hour); signal?.aborted !== true; ) {
    const began = performance.now();
    const page = await store.listEvents(after, PAGE);
    const events = page.filter(({ id }) => id < end);
    yield events;
    if (events.length < PAGE) return;
    after = events.at(-1)?.id ?? end;
    await sleep((performance.now() - began) * PAUSE);
  }
}

/** The hours that late events are in. */
function hoursOf({ first, last }: AuditEventRecord['details']): readonly number[] {
  const [from, to] = [timeOfId(String(first)), timeOfId(String(last))].map(hourOf);
  if (from === undefined || to === undefined || !(from <= to)) return [];
  // At most a day: an outage that is longer lost its events.
  return Array.from({ length: Math.min(24, (to - from) / HOUR + 1) }, (_, index) => to - index * HOUR);
}
