/** Which hours of the audit log a search reads: all but those that are counted and have no such value. */
import type { EventHourStore } from '@portcullis/authorization-server/store';
import { HOUR, hourOf } from './event-time.ts';
import { hashesOf, type KeyCriteria, keysOfCriteria, mayContain } from './key-filter.ts';

/** Hours in a row that may have a match: from one time on and before another. Epoch milliseconds. */
interface HourRun {
  readonly from: number;
  readonly end: number;
}

/** Hours of which the filters are loaded at once: a week, and twice as many each time. */
const FIRST_LOAD = 7 * 24;

/**
 * @param first epoch milliseconds that the search ends at
 * @returns the latest run before a time; `null`: there is none. Times only go back.
 */
export function createHourSkipper(
  store: EventHourStore,
  criteria: KeyCriteria,
  first: number,
): (end: number) => Promise<HourRun | null> {
  const hashes = keysOfCriteria(criteria).map(hashesOf);
  if (hashes.length === 0) return async (end) => ({ from: first, end });
  const begin = hourOf(first);
  const skipped = new Set<number>();
  let loaded = Number.POSITIVE_INFINITY;
  let next = FIRST_LOAD;

  async function isSkipped(hour: number): Promise<boolean> {
    if (hour < loaded) {
      const from = Math.max(begin, hour - (next - 1) * HOUR);
      for (const { at, keys } of await store.listEventHourKeys(from / 1000, (hour + HOUR) / 1000))
        if (!mayContain(keys, hashes)) skipped.add(at * 1000);
      loaded = from;
      next *= 2;
    }
    return skipped.has(hour);
  }

  return async (end) => {
    let hour = hourOf(end - 1);
    while (hour >= begin && (await isSkipped(hour))) hour -= HOUR;
    if (hour < begin) return null;
    const latest = Math.min(end, hour + HOUR);
    while (hour - HOUR >= loaded && !skipped.has(hour - HOUR)) hour -= HOUR;
    return { from: Math.max(first, hour), end: latest };
  };
}
