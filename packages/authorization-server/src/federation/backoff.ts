/** Backoff: after a failure at an identity provider, a grant's tokens are not checked or refreshed again for a while. */
import { createLruCache } from '../lru-cache.ts';

interface RemainingBackoff {
  /** Seconds. */
  readonly retryAfter: number;
  readonly reason: string;
}

export interface Backoff {
  /** Starts the backoff of a grant after a failure. */
  start(grantId: string, failure: RemainingBackoff): void;
  /** The backoff that remains; `null`: the provider may be contacted. */
  remaining(grantId: string): RemainingBackoff | null;
}

/** @param clock epoch seconds */
export function createBackoff(clock: () => number): Backoff {
  const failures = createLruCache<{ readonly until: number; readonly reason: string }>();
  return {
    start: (grantId, { retryAfter, reason }) =>
      void failures.set(grantId, { until: clock() + retryAfter, reason }),
    remaining(grantId) {
      const failure = failures.get(grantId);
      const retryAfter = failure === undefined ? 0 : failure.until - clock();
      return failure !== undefined && retryAfter > 0 ? { retryAfter, reason: failure.reason } : null;
    },
  };
}
