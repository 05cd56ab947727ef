/** Limits the calls of one user of a server by tool: a token bucket for each. */
import { MAX_CALL_BUCKETS } from './bounds.ts';

export interface CallRate {
  /** Counts a call. @returns 0, or the seconds until the next one is allowed */
  take(key: string, now: number): number;
}

interface Bucket {
  tokens: number;
  /** Milliseconds. */
  at: number;
}

/** @param perMinute also the number of calls at once */
export function createCallRate(perMinute: number): CallRate {
  const buckets = new Map<string, Bucket>();
  const perMillisecond = perMinute / 60_000;

  function forgetFull(now: number): void {
    for (const [key, { tokens, at }] of buckets) {
      if (tokens + (now - at) * perMillisecond >= perMinute) buckets.delete(key);
    }
    // Under attack by more keys than that, the oldest go first.
    for (const key of buckets.keys()) {
      if (buckets.size < MAX_CALL_BUCKETS) return;
      buckets.delete(key);
    }
  }

  return {
    take(key, now) {
      const bucket = buckets.get(key);
      if (bucket === undefined) {
        if (buckets.size >= MAX_CALL_BUCKETS) forgetFull(now);
        buckets.set(key, { tokens: perMinute - 1, at: now });
        return 0;
      }
      bucket.tokens = Math.min(perMinute, bucket.tokens + (now - bucket.at) * perMillisecond);
      bucket.at = now;
      if (bucket.tokens < 1) return (1 - bucket.tokens) / perMillisecond / 1000;
      bucket.tokens -= 1;
      return 0;
    },
  };
}
