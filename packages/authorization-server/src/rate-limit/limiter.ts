/** The rate limiter: a token bucket per key, in memory and, where processes share a limit, settled in the store. */
import { createLruCache, tooManyRequests } from '@portcullis/protocol';
import { hashSecret } from '../secrets.ts';
import type { AuthorizationStore, StoredRateLimit } from '../store/index.ts';
import { secondsUntil } from '../wrong-clock.ts';
import type { LimitRegistry } from './limit-registry.ts';
import { fixedRateLimits, type Lockout, type RateLimit, type RateLimitPolicies } from './policies.ts';

/** What limits need of the server. */
export interface LimitContext {
  readonly options: { readonly rateLimits: RateLimitPolicies | null };
  readonly store: AuthorizationStore;
  /** Returns epoch seconds. */
  readonly clock: () => number;
  /** What is counted in this process. */
  readonly limits: LimitRegistry;
}

type StoreAndClock = Pick<LimitContext, 'store' | 'clock'>;

/** Keys that each limiter remembers: the most recently used ones. A bucket is one number, and no timer runs. */
const MAX_KEYS = 50_000;
const MAX_FAILING_KEYS = 20_000;

/** What a limit counts in this process. */
export interface Counter {
  /** Seconds to wait; 0 when the key is within its limit. Charges nothing. */
  waitOf(key: string): number;
  /** Charges one. @returns 0, or the seconds to wait if the limit is exceeded: then nothing is charged */
  take(key: string): number;
  refund(key: string): void;
  reset(key: string): void;
}

export interface TokenBuckets extends Counter {
  /** Tokens left in the bucket of a key, with the fraction gained since the last one. */
  available(key: string): number;
}

/**
 * Token buckets of this process. A bucket is stored as the time at which it will be full again.
 * @see the generic cell rate algorithm, ITU-T I.371
 */
export function createTokenBuckets({ burst, perMinute }: RateLimit, clock: () => number): TokenBuckets {
  const interval = 60 / perMinute;
  const tolerance = interval * (burst - 1);
  const fullAt = createLruCache<number>({ entries: MAX_KEYS });
  const secondsToFull = (key: string, now: number) =>
    secondsUntil(fullAt.get(key) ?? 0, now, tolerance + interval);
  const wait = (full: number) => Math.max(0, Math.ceil(full - tolerance));
  return {
    waitOf: (key) => wait(secondsToFull(key, clock())),
    available: (key) => burst - secondsToFull(key, clock()) / interval,
    take(key) {
      const now = clock();
      const full = secondsToFull(key, now);
      const seconds = wait(full);
      if (seconds === 0) fullAt.set(key, now + full + interval);
      return seconds;
    },
    refund(key) {
      const full = fullAt.get(key);
      if (full !== undefined) fullAt.set(key, full - interval);
    },
    reset: (key) => fullAt.delete(key),
  };
}

/** Counts consecutive failures in this process; beyond the free ones, each doubles the pause before the next try. */
export function createLockout(
  { free, firstPause, maxPause, forgetAfter }: Lockout,
  clock: () => number,
): Counter {
  const counters = createLruCache<{ failures: number; last: number }>({ entries: MAX_FAILING_KEYS });
  const find = (key: string) => {
    const counter = counters.get(key);
    if (counter === undefined) return { failures: 0, last: 0 };
    if (clock() - counter.last > forgetAfter) counter.failures = 0;
    // A key that is still being tried is not the next one to be evicted.
    counters.set(key, counter);
    return counter;
  };
  return {
    waitOf(key) {
      const { failures, last } = find(key);
      if (failures < free) return 0;
      const pause = Math.min(firstPause * 2 ** Math.min(failures - free, 30), maxPause);
      return secondsUntil(last + pause, clock(), pause);
    },
    take(key) {
      counters.set(key, { failures: find(key).failures + 1, last: clock() });
      return 0;
    },
    refund(key) {
      const counter = counters.get(key);
      if (counter !== undefined) counter.failures = Math.max(0, counter.failures - 1);
    },
    reset: (key) => counters.delete(key),
  };
}

/** A rate in whole seconds, as stores count it. */
export function toStoredRateLimit({ burst, perMinute }: RateLimit): StoredRateLimit {
  return { burst, interval: Math.max(1, Math.round(60 / perMinute)) };
}

/** Charges the bucket that all processes share. While the store is unavailable, each process limits by itself. */
function createStoredBuckets({ store, clock }: StoreAndClock, name: string, limit: StoredRateLimit) {
  return (key: string): Promise<number> =>
    store.chargeRateLimit(hashSecret(`${name} ${key}`), limit, clock()).catch(() => 0);
}

export interface RateLimiter {
  /** Charges one. @returns 0, or the seconds to wait if the limit is exceeded */
  take(key: string): number | Promise<number>;
}

/** Set by the store: how long to wait. */
interface Block {
  readonly until: number;
  readonly seconds: number;
}

function secondsBlocked(block: Block | null | undefined, now: number): number {
  return block == null ? 0 : secondsUntil(block.until, now, block.seconds);
}

/** Batches per burst: a key that stays below a tenth of its burst costs the store nothing. */
const BATCHES = 10;

/**
 * A limit across processes without a store operation per request: each process settles what it allowed in batches. One
 * process allows exactly the rate; each further one may add the batch that it has not settled yet.
 * @param name separates the keys of different limits in the store
 */
export function createRateLimiter(context: StoreAndClock, name: string, limit: RateLimit): RateLimiter {
  const { clock } = context;
  const { burst, perMinute } = limit;
  const buckets = createTokenBuckets(limit, clock);
  // The store counts whole seconds, so a batch is worth at least one.
  const batch = Math.max(Math.ceil(burst / BATCHES), Math.ceil(perMinute / 60));
  const batches = { burst: Math.max(1, Math.floor(burst / batch)), perMinute: perMinute / batch };
  const settleBatch = createStoredBuckets(context, name, toStoredRateLimit(batches));
  const states = createLruCache<{ unsettled: number; block: Block | null }>({ entries: MAX_KEYS });

  async function settle(key: string): Promise<number> {
    const wait = await settleBatch(key);
    // The batch stays unsettled: the next request tries again.
    if (wait > 0) states.set(key, { unsettled: batch - 1, block: { until: clock() + wait, seconds: wait } });
    return wait;
  }

  return {
    take(key) {
      const state = states.get(key);
      const blocked = secondsBlocked(state?.block, clock());
      if (blocked > 0) return blocked;
      const wait = buckets.take(key);
      if (wait > 0) return wait;
      const unsettled = (state?.unsettled ?? 0) + 1;
      if (unsettled >= batch) {
        states.delete(key);
        return settle(key);
      }
      if (state === undefined) states.set(key, { unsettled, block: null });
      else state.unsettled = unsettled;
      return 0;
    },
  };
}

/** Limits failures only: success costs the store nothing. The counter is that of this process. */
export interface FailureLimiter extends Counter {
  /** Before a try: a key that failed here and has not succeeded since pays in advance. @returns 0, or the seconds to wait */
  prepay(key: string): number | Promise<number>;
  /** After a failed try: charges the shared bucket, unless the try was paid in advance. */
  failed(key: string): Promise<void>;
  succeeded(key: string): void;
}

/**
 * A limit of failures that processes share. A key pays for its first failure afterwards and for every further try in
 * advance, so that many processes together allow no more guesses than the shared rate.
 * @param shared `null`: only this process counts
 */
export function createFailureLimiter(
  context: StoreAndClock,
  name: string,
  counter: Counter,
  shared: RateLimit | null,
): FailureLimiter {
  const { clock } = context;
  const chargeStore = shared && createStoredBuckets(context, name, toStoredRateLimit(shared));
  const failing = createLruCache<{ block: Block | null; prepaid: number }>({ entries: MAX_FAILING_KEYS });

  async function charge(key: string, state: { block: Block | null }): Promise<number> {
    const wait = chargeStore === null ? 0 : await chargeStore(key);
    if (wait > 0) state.block = { until: clock() + wait, seconds: wait };
    return wait;
  }

  return {
    ...counter,
    waitOf: (key) => Math.max(counter.waitOf(key), secondsBlocked(failing.get(key)?.block, clock())),
    prepay(key) {
      const state = failing.get(key);
      if (state === undefined) return 0;
      return charge(key, state).then((wait) => {
        if (wait === 0) state.prepaid += 1;
        return wait;
      });
    },
    async failed(key) {
      const state = failing.get(key) ?? { block: null, prepaid: 0 };
      failing.set(key, state);
      if (state.prepaid > 0) state.prepaid -= 1;
      else await charge(key, state);
    },
    succeeded: (key) => failing.delete(key),
  };
}

type CheckedLimit = Exclude<
  keyof RateLimitPolicies,
  'clientFailures' | 'networkFailures' | 'registrations' | 'signIns'
>;

/**
 * Charges one request to a key; `null` is not limited. Usually there is nothing to wait for, and no promise.
 * Throws `OAuthError` 429 when the limit is exceeded.
 */
export type RateLimitCheck = (key: string | null) => Promise<void> | undefined;

export function createRateLimitCheck(
  context: LimitContext,
  name: CheckedLimit | Exclude<keyof typeof fixedRateLimits, 'untrustedEvents'>,
): RateLimitCheck {
  const { rateLimits } = context.options;
  if (rateLimits === null) return () => undefined;
  const limiter = context.limits.keep(name, () =>
    createRateLimiter(context, name, { ...fixedRateLimits, ...rateLimits }[name]),
  );
  const reject = (key: string | null, seconds: number): undefined => {
    if (seconds > 0) throw tooManyRequests(`rate limit ${name} exceeded: ${key}`, seconds);
  };
  return (key) => {
    const wait = key === null ? 0 : limiter.take(key);
    return typeof wait === 'number' ? reject(key, wait) : wait.then((seconds) => reject(key, seconds));
  };
}
