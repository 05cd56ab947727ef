/** Which times of the audit log a search reads: all but those of counted hours that have no such value. */
import type { EventHourStore } from '@portcullis/authorization-server/store';
import { HOUR, hourOf } from './event-time.ts';
import {
  HOUR_PARTS,
  hashesOf,
  type KeyCriteria,
  keyOfPart,
  keysOfCriteria,
  mayContain,
} from './key-filter.ts';

/** A time that may have a match: from one moment on and before another. Epoch milliseconds. */
interface SearchedTime {
  readonly from: number;
  readonly end: number;
}

/** Hours of which the filters are loaded at once: a week, and twice as many each time. */
const FIRST_LOAD = 7 * 24;
const PART = HOUR / HOUR_PARTS;

/**
 * @param first epoch milliseconds that the search ends at
 * @returns the latest time before another that may have a match; `null`: there is none. Times only go back.
 */
export function createHourSkipper(
  store: EventHourStore,
  criteria: KeyCriteria,
  first: number,
): (end: number) => Promise<SearchedTime | null> {
  const keys = keysOfCriteria(criteria);
  if (keys.length === 0) return async (end) => ({ from: first, end });
  const hashes = keys.map(hashesOf);
  const ofParts = Array.from({ length: HOUR_PARTS }, (_, part) =>
    keys.map((key) => hashesOf(keyOfPart(key, part))),
  );
  const begin = hourOf(first);
  /** The begins of parts. */
  const skipped = new Set<number>();
  let loaded = Number.POSITIVE_INFINITY;
  let next = FIRST_LOAD;

  async function load(hour: number): Promise<void> {
    const from = Math.max(begin, hour - (next - 1) * HOUR);
    for (const { at, keys: filter } of await store.listEventHourKeys(from / 1000, (hour + HOUR) / 1000)) {
      const isPossible = mayContain(filter, hashes);
      for (const [part, own] of ofParts.entries())
        if (!isPossible || !mayContain(filter, own)) skipped.add(at * 1000 + part * PART);
    }
    loaded = from;
    next *= 2;
  }

  return async (end) => {
    let part = Math.floor((end - 1) / PART) * PART;
    for (; part >= begin; part -= PART) {
      if (part < loaded) await load(hourOf(part));
      if (!skipped.has(part)) break;
    }
    if (part < begin) return null;
    const latest = Math.min(end, part + PART);
    while (part - PART >= loaded && !skipped.has(part - PART)) part -= PART;
    return { from: Math.max(first, part), end: latest };
  };
}
