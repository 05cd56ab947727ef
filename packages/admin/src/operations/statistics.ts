/** Counts events over time. What an hour had does not change once it is over, so it is counted once in each process. */
import type { AuditStore, EventCount } from '@portcullis/authorization-server/store';
import { idPrefixOf } from './search-events.ts';

/** Milliseconds. */
export const HOUR = 3_600_000;
/** Milliseconds after an hour in which events of it may still be written. */
const LATE = 600_000;
/** Hours that stay in memory: three months. */
const MAX_HOURS = 2_200;
/** Milliseconds that one request may count. */
const PATIENCE = 2_000;

/** One step of a time series. */
interface Bucket {
  /** Epoch milliseconds of its begin. */
  readonly at: number;
  readonly counts: readonly EventCount[];
}

/** A time series of counts. */
interface Series {
  readonly buckets: readonly Bucket[];
  /** Whether everything was counted; otherwise the same request goes on where this one ended. */
  readonly isComplete: boolean;
}

/** Counts events in whole hours. */
export interface Statistics {
  /** @param from epoch milliseconds of the first hour @param hours how many @param step hours of a bucket */
  count(from: number, hours: number, step: number): Promise<Series>;
}

export function createStatistics(store: Pick<AuditStore, 'countEvents'>): Statistics {
  const known = new Map<number, readonly EventCount[]>();

  async function countHour(at: number): Promise<readonly EventCount[]> {
    const cached = known.get(at);
    if (cached !== undefined) return cached;
    const counts = await store.countEvents(idPrefixOf(at), idPrefixOf(at + HOUR));
    if (at + HOUR + LATE < Date.now()) remember(at, counts);
    return counts;
  }

  function remember(at: number, counts: readonly EventCount[]): void {
    const [oldest] = known.keys();
    if (known.size >= MAX_HOURS && oldest !== undefined) known.delete(oldest);
    known.set(at, counts);
  }

  return {
    async count(from, hours, step) {
      const until = performance.now() + PATIENCE;
      const buckets: Bucket[] = [];
      for (let offset = 0; offset < hours; offset += step) {
        const counted: EventCount[] = [];
        for (let hour = offset; hour < Math.min(offset + step, hours); hour += 1) {
          if (performance.now() > until) return { buckets, isComplete: false };
          counted.push(...(await countHour(from + hour * HOUR)));
        }
        buckets.push({ at: from + offset * HOUR, counts: sum(counted) });
      }
      return { buckets, isComplete: true };
    },
  };
}

function sum(counts: readonly EventCount[]): readonly EventCount[] {
  const totals = new Map<string, EventCount>();
  for (const { type, count, allowed } of counts) {
    const before = totals.get(type) ?? { type, count: 0, allowed: 0 };
    totals.set(type, { type, count: before.count + count, allowed: before.allowed + allowed });
  }
  return [...totals.values()];
}
