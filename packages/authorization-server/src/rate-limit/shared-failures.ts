/** Failures that processes count together: who succeeds costs the store nothing, who fails is counted there. */
import type { ServerContext } from '../context.ts';
import { createLruCache } from '../lru-cache.ts';
import { hashSecret } from '../secrets.ts';
import { createTokenBuckets, type RateLimit } from './limiter.ts';
import { turnLimitOf } from './turn-limit.ts';

export interface FailureLimiter {
  /** 0, or the seconds to wait, as far as this process knows. */
  waitOf(key: string): number;
  /** Before a try: 0, or the seconds to wait. Then it has to be told how the try ended. */
  begin(key: string): number | Promise<number>;
  failed(key: string): Promise<void>;
  /** As `failed`, of which only this process shall know: the store gets no row. */
  failedHere(key: string): void;
  succeeded(key: string): void;
}

/** What a process knows of a key that failed here and has not succeeded since. */
interface Trouble {
  /** Epoch seconds before which nothing is tried. */
  until: number;
  /** Tries under way whose failure is counted already. */
  paid: number;
}

/** Keys in trouble: the last ones are remembered. */
const REMEMBERED = 20_000;

/**
 * A key without trouble is tried at once, and counted when that fails. One in trouble takes its turn before it is tried, so
 * that of many processes no more try than the rate allows. While the store is away, each process counts by itself.
 */
export function createFailureLimiter(
  { store, clock }: Pick<ServerContext, 'store' | 'clock'>,
  purpose: string,
  rate: RateLimit,
): FailureLimiter {
  const own = createTokenBuckets(rate, clock);
  const limit = turnLimitOf(rate);
  const troubles = createLruCache<Trouble>(REMEMBERED);

  async function takeTurn(key: string, trouble: Trouble): Promise<number> {
    const turn = store.chargeRateLimit(hashSecret(`${purpose} ${key}`), limit, clock());
    const wait = await turn.catch(() => 0);
    if (wait > 0) trouble.until = clock() + wait;
    return wait;
  }

  function enter(key: string): Trouble {
    const trouble = troubles.get(key) ?? { until: 0, paid: 0 };
    troubles.set(key, trouble);
    return trouble;
  }

  async function beginInTrouble(key: string, trouble: Trouble): Promise<number> {
    const wait = await takeTurn(key, trouble);
    if (wait === 0) trouble.paid += 1;
    return wait;
  }

  const waitOf = (key: string) => Math.max(own.waitOf(key), (troubles.get(key)?.until ?? 0) - clock());

  return {
    waitOf,
    begin(key) {
      const trouble = troubles.get(key);
      const wait = waitOf(key);
      return trouble === undefined || wait > 0 ? Math.max(0, wait) : beginInTrouble(key, trouble);
    },
    async failed(key) {
      // First here, so that a hundred at once are no more than a hundred in a row.
      own.take(key);
      const trouble = enter(key);
      if (trouble.paid > 0) trouble.paid -= 1;
      else await takeTurn(key, trouble);
    },
    failedHere(key) {
      own.take(key);
    },
    succeeded(key) {
      troubles.delete(key);
    },
  };
}
