/** Rates that processes share without asking the store each time: what a process has let through is settled in parts. */
import type { ServerContext } from '../context.ts';
import { createLruCache } from '../lru-cache.ts';
import { hashSecret } from '../secrets.ts';
import type { StoredRateLimit } from '../store/index.ts';
import { createTokenBuckets, type RateLimit } from './limiter.ts';

export interface RateLimiter {
  /** Takes one from what a key has. @returns 0, or the seconds after which there is one to take */
  take(key: string): number | Promise<number>;
}

/** A process settles whenever it has let through a tenth of the burst: who stays below that costs the store nothing. */
const PARTS = 10;

/** Keys of which something is unsettled: the last ones are remembered. */
const REMEMBERED = 50_000;

/**
 * A process alone allows exactly the rate; each further one that the same key meets may add what it has not settled, a tenth
 * of the burst. While the store is away each process keeps to the rate by itself.
 * @param purpose says in the store what is counted, so that keys of different kinds do not meet
 */
export function createRateLimiter(
  { store, clock }: Pick<ServerContext, 'store' | 'clock'>,
  purpose: string,
  rate: RateLimit,
): RateLimiter {
  const own = createTokenBuckets(rate, clock);
  const { size, limit } = partsOf(rate);
  const unsettled = createLruCache<number>(REMEMBERED);
  const until = createLruCache<number>(REMEMBERED);

  async function settle(key: string): Promise<number> {
    const turn = store.chargeRateLimit(hashSecret(`${purpose} ${key}`), limit, clock());
    const wait = await turn.catch(() => 0);
    if (wait === 0) return 0;
    // What was let through stays to be settled: the next one tries again.
    unsettled.set(key, size - 1);
    until.set(key, clock() + wait);
    return wait;
  }

  return {
    take(key) {
      const pause = (until.get(key) ?? 0) - clock();
      if (pause > 0) return pause;
      const wait = own.take(key);
      if (wait > 0) return wait;
      const count = (unsettled.get(key) ?? 0) + 1;
      if (count < size) {
        unsettled.set(key, count);
        return 0;
      }
      unsettled.delete(key);
      return settle(key);
    },
  };
}

/** Turns count in whole seconds, so a part has to be worth at least one. */
function partsOf({ burst, perMinute }: RateLimit): {
  readonly size: number;
  readonly limit: StoredRateLimit;
} {
  const size = Math.max(Math.ceil(burst / PARTS), Math.ceil(perMinute / 60));
  const interval = Math.max(1, Math.round((size * 60) / perMinute));
  return { size, limit: { burst: Math.max(1, Math.floor(burst / size)), interval } };
}
