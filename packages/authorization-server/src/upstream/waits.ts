/** Third parties that could not answer, and for how long they are not troubled again. */
import { createMemory } from '../memory.ts';

/** A wait that is left. */
interface Wait {
  /** Seconds. */
  readonly retryAfter: number;
  readonly reason: string;
}

export interface Waits {
  /** Notes that a third party could not answer about a grant. */
  begin(grantId: string, wait: Wait): void;
  /** The wait that is left; `null`: it may be asked. */
  left(grantId: string): Wait | null;
}

/** @param clock epoch seconds */
export function createWaits(clock: () => number): Waits {
  const waits = createMemory<{ readonly until: number; readonly reason: string }>();
  return {
    begin: (grantId, { retryAfter, reason }) =>
      void waits.set(grantId, { until: clock() + retryAfter, reason }),
    left(grantId) {
      const waiting = waits.get(grantId);
      const left = waiting === undefined ? 0 : waiting.until - clock();
      return waiting !== undefined && left > 0 ? { retryAfter: left, reason: waiting.reason } : null;
    },
  };
}
