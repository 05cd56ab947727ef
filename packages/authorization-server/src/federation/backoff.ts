/** Third parties that could not answer, and for how long they are not troubled again. */
import { createLruCache } from '../lru-cache.ts';

/** A wait that is left. */
interface Wait {
  /** Seconds. */
  readonly retryAfter: number;
  readonly reason: string;
}

export interface Backoff {
  /** Notes that a third party could not answer about a grant. */
  start(grantId: string, wait: Wait): void;
  /** The wait that is left; `null`: it may be asked. */
  remaining(grantId: string): Wait | null;
}

/** @param clock epoch seconds */
export function createBackoff(clock: () => number): Backoff {
  const waits = createLruCache<{ readonly until: number; readonly reason: string }>();
  return {
    start: (grantId, { retryAfter, reason }) =>
      void waits.set(grantId, { until: clock() + retryAfter, reason }),
    remaining(grantId) {
      const waiting = waits.get(grantId);
      const left = waiting === undefined ? 0 : waiting.until - clock();
      return waiting !== undefined && left > 0 ? { retryAfter: left, reason: waiting.reason } : null;
    },
  };
}
