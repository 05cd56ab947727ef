/** Rates in the memory of one process: so many at once, and so many a minute after. */
import { createLruCache } from '../lru-cache.ts';

export interface RateLimit {
  /** How many may come at once. */
  readonly burst: number;
  readonly perMinute: number;
}

export interface TokenBuckets {
  /** Takes one from what a key has. @returns 0, or the seconds after which there is one to take */
  take(key: string): number;
  /** The seconds after which there is one to take. Takes none. */
  waitOf(key: string): number;
  /** Gives back one that was taken. */
  refund(key: string): void;
}

/** Keys of which the last ones are remembered. */
const REMEMBERED = 50_000;

/**
 * Each key has one number: the instant at which everything taken is paid back. Nothing has to be filled up and no timer runs.
 * @see the generic cell rate algorithm, ITU-T I.371
 */
export function createTokenBuckets({ burst, perMinute }: RateLimit, clock: () => number): TokenBuckets {
  const interval = 60 / perMinute;
  const tolerance = interval * (burst - 1);
  const dueOf = createLruCache<number>(REMEMBERED);
  const wait = (due: number, now: number) => Math.max(0, Math.ceil(due - now - tolerance));
  return {
    take(key) {
      const now = clock();
      const due = Math.max(dueOf.get(key) ?? 0, now);
      const seconds = wait(due, now);
      if (seconds > 0) return seconds;
      dueOf.set(key, due + interval);
      return 0;
    },
    waitOf: (key) => wait(dueOf.get(key) ?? 0, clock()),
    refund(key) {
      const due = dueOf.get(key);
      if (due !== undefined) dueOf.set(key, due - interval);
    },
  };
}
