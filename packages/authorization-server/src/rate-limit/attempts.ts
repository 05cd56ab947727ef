/** Slows the guessing of passwords and codes down in one process: failures per account, per network, per both, and per known browser. */
import { networkPrefixOf } from '@portcullis/protocol';
import { createLruCache } from '../lru-cache.ts';
import { createTokenBuckets, type RateLimit } from './limiter.ts';

/** After `free` failures a pause of `first` seconds, then twice as long each time, never longer than `longest`. */
interface Limit {
  readonly free: number;
  readonly first: number;
  readonly longest: number;
}

/**
 * Whoever mistypes is not stopped; whoever guesses is. A pair that signed in before, and a browser that did, are only held to
 * limits of their own, so strangers who guess at an account, or from the same network, do not lock its owner out.
 */
const LIMITS = {
  pair: { free: 5, first: 15, longest: 900 },
  account: { free: 30, first: 15, longest: 900 },
} as const satisfies Record<string, Limit>;

/**
 * Failures of one network. No pauses: behind one address may be a whole university, where somebody mistypes all the time, and
 * each pause would be everybody's.
 */
const OF_NETWORK: RateLimit = { burst: 100, perMinute: 30 };

/**
 * Failures of one known browser at its account. After five it is like any other, until its owner has signed in, or for a day
 * each: whoever stole its cookie has five guesses more than others, and a clumsy owner is no worse off than without one.
 */
export const OF_BROWSER: RateLimit = { burst: 5, perMinute: 60 / 86_400 };

/** Seconds after which failures are forgotten. */
const FORGOTTEN_AFTER = 3600;
/** Counters kept: those touched last. */
const REMEMBERED = 20_000;

/** Seconds to wait after so many failures in a row. */
export function pauseAfter(failures: number, limit: Limit): number {
  if (failures < limit.free) return 0;
  return Math.min(limit.first * 2 ** Math.min(failures - limit.free, 30), limit.longest);
}

/** What became of the question whether somebody may try. */
type Attempt =
  | { readonly kind: 'wait'; readonly seconds: number }
  /** It counts as failed until one of these is called. */
  | {
      readonly kind: 'go';
      /** By what it is known that this account succeeded before: its browser, or the same network. */
      readonly knownBy: 'browser' | 'network' | null;
      succeeded(): void;
      withdrawn(): void;
    };

export interface Attempts {
  /**
   * @param address the peer's, if the host of this server knows it
   * @param browser the name of a browser that is known of this account
   */
  begin(account: string, address: string | undefined, browser?: string | null): Attempt;
}

interface Counter {
  readonly key: string;
  failures: number;
  lastFailure: number;
  /** Whether this pair signed in before. */
  known: boolean;
}

/**
 * Counters of this process. Each attempt is counted before its password is looked at, so a hundred at once are no more
 * than a hundred in a row.
 */
export function createAttempts(clock: () => number): Attempts {
  const counters = createLruCache<Counter>(REMEMBERED);
  const networks = createTokenBuckets(OF_NETWORK, clock);
  const browsers = createTokenBuckets(OF_BROWSER, clock);

  const touch = (key: string): Counter => {
    const found = counters.get(key);
    if (found === undefined) return { key, failures: 0, lastFailure: 0, known: false };
    if (clock() - found.lastFailure > FORGOTTEN_AFTER) found.failures = 0;
    // Guessed at again, it is not the one to go next.
    counters.set(key, found);
    return found;
  };
  const count = (counter: Counter, now: number): void => {
    counter.failures++;
    counter.lastFailure = now;
    counters.set(counter.key, counter);
  };
  const succeed = (pair: Counter): void => {
    pair.failures = 0;
    pair.known = true;
  };
  /** The pair does not hold it back, but counts too: a browser that is like any other again has no more tries than those. */
  const goBy = (browser: string, pair: Counter): Attempt => {
    count(pair, clock());
    const withdrawn = () => {
      pair.failures = Math.max(0, pair.failures - 1);
      browsers.refund(browser);
    };
    const succeeded = () => {
      withdrawn();
      succeed(pair);
    };
    return { kind: 'go', knownBy: 'browser', succeeded, withdrawn };
  };

  return {
    begin(account, address, browser = null) {
      const network = address === undefined ? '' : (networkPrefixOf(address) ?? address);
      const pair = touch(`pair ${network} ${account}`);
      if (browser !== null && browsers.take(browser) === 0) return goBy(browser, pair);
      const isKnown = pair.known;
      const counted: [Counter, Limit][] = [[pair, LIMITS.pair]];
      if (!isKnown) counted.push([touch(`account ${account}`), LIMITS.account]);
      const isOfNetwork = !isKnown && network !== '';
      const now = clock();
      const seconds = Math.max(
        isOfNetwork ? networks.waitOf(network) : 0,
        ...counted.map(([counter, limit]) => counter.lastFailure + pauseAfter(counter.failures, limit) - now),
      );
      // Nothing new is kept of who has to wait: it costs them nothing, and would drive out what others have earned.
      if (seconds > 0) return { kind: 'wait', seconds };
      for (const [counter] of counted) count(counter, now);
      if (isOfNetwork) networks.take(network);
      const withdrawn = () => {
        for (const [counter] of counted) counter.failures = Math.max(0, counter.failures - 1);
        if (isOfNetwork) networks.refund(network);
      };
      const succeeded = () => {
        withdrawn();
        succeed(pair);
      };
      return { kind: 'go', knownBy: isKnown ? 'network' : null, succeeded, withdrawn };
    },
  };
}
