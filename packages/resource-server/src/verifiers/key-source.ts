/**
 * Caches the keys of an issuer (JWKS): single-flight refresh, a cool-down, and stale keys for a limited time during
 * outages.
 */
import {
  beforeAbort,
  createLruCache,
  SKEW_TOLERANCE,
  temporarilyUnavailable,
  tokenRejected,
} from '@portcullis/protocol';
import type { PublicKey, PublicKeys } from './public-keys.ts';

/** Limits of the key cache, in seconds. */
export interface KeyLimits {
  /** The age at which a key set is refreshed: the maximum delay after which a withdrawn key is rejected. */
  readonly maxAge: number;
  /** How much longer a key set is used if it cannot be refreshed. */
  readonly staleIfError: number;
  /** The minimum delay between refreshes that unknown keys cause. */
  readonly cooldown: number;
  /** The delay before a retry after a failure. */
  readonly retryAfter: number;
}

export const defaultKeyLimits: KeyLimits = { maxAge: 600, staleIfError: 3600, cooldown: 30, retryAfter: 5 };

/** Limits of keys that a function in this process returns: a call costs no more than a verification. */
export const inProcessKeyLimits: KeyLimits = { ...defaultKeyLimits, maxAge: 60, cooldown: 0, retryAfter: 1 };

interface WantedKey {
  /** One of the allowed algorithms. */
  readonly algorithm: string;
  readonly keyId: string | undefined;
  /** The latest time of issue in epoch seconds: `iat`, plus the clock tolerance. */
  readonly issuedUntil: number;
  /** The client and grant of the token, as it says, if it names them. */
  readonly holder: string | undefined;
}

export interface KeySource {
  /**
   * The key that a token names, synchronously if it is cached.
   * @throws OAuthError `invalid_token` if the issuer has no such key, `temporarily_unavailable` if that is unknown
   */
  find(wanted: WantedKey, now: number): PublicKey | Promise<PublicKey>;
  /** Records that the signature of a token was right, so that unverified tokens cannot use up this holder's fetches. */
  recordVerified?(holder: string | undefined): void;
}

/** A fixed key set. */
export function createFixedKeys(keys: PublicKeys): KeySource {
  return { find: ({ algorithm, keyId }) => keys.find(algorithm, keyId) ?? throwUnknownKey() };
}

interface State {
  keys: PublicKeys | null;
  fetchedAt: number;
  /** Time of the last attempt, successful or not. */
  triedAt: number;
  /** Time of the last attempt that the cool-down did not allow, for a known holder. */
  reserveUsedAt: number;
  failure: unknown;
  /** The load in flight, if any. */
  inFlight: Promise<void> | null;
}

/** Tokens with unknown keys that were left undecided since an attempt. */
interface Undecided {
  since: number;
  count: number;
}

interface KeySourceOptions {
  readonly load: () => Promise<PublicKeys>;
  readonly limits: KeyLimits;
  /** Milliseconds to wait for a load before it counts as lost. */
  readonly timeout: number;
  /** Whether the issuer runs in this process: then a load in flight is as current as another one. */
  readonly isInProcess: boolean;
}

/** Unknown keys that are left undecided per attempt, of a known holder and of all others: an issuer publishes few keys at a time. */
const MAX_UNDECIDED = 10;

/** Holders of verified tokens. */
const HOLDER_CACHE_LIMITS = { entries: 5000, characters: 1_000_000 };

const NEVER: number = Number.NEGATIVE_INFINITY;
const NEVER_TRIED: State = {
  ...{ keys: null, fetchedAt: NEVER, failure: null, inFlight: null },
  ...{ triedAt: NEVER, reserveUsedAt: NEVER },
};

/**
 * Loads keys when they are needed: single-flight, and within the cool-down only once, for a token whose holder has
 * sent a verified one before. A set is refreshed in the background while it serves requests, from half of its age on, so a slow
 * key server delays none of many requests; one that is older, because none came meanwhile, is refreshed first.
 */
export function createKeySource({ load, limits, timeout, isInProcess }: KeySourceOptions): KeySource {
  const state: State = { ...NEVER_TRIED };
  const abandonedAfter = Math.ceil(timeout / 1000) + 1;
  const holders = createHolders();

  function refresh(now: number): Promise<void> {
    if (isInFlight(now) && state.inFlight !== null) return state.inFlight;
    state.triedAt = now;
    const started: Promise<void> = load().then(
      (keys) => settle(started, { keys, fetchedAt: now, failure: null, inFlight: null }),
      (failure: unknown) => settle(started, { failure, inFlight: null }),
    );
    state.inFlight = started;
    return started;
  }

  /** A load that counted as lost, and ends after another has started, is ignored. */
  function settle(started: Promise<void>, outcome: Partial<State>): void {
    if (state.inFlight === started) Object.assign(state, outcome);
  }

  /** Every caller has its own timer: some runtimes cancel those of a request, and what it started, as soon as it ends. */
  async function waitFor(started: Promise<void>): Promise<void> {
    try {
      await beforeAbort(started, AbortSignal.timeout(timeout));
    } catch (failure) {
      settle(started, { failure });
    }
  }

  function isInFlight(now: number): boolean {
    return state.inFlight !== null && now <= state.triedAt + abandonedAfter;
  }

  function nextRefresh(): number {
    return state.triedAt + (state.failure === null ? limits.cooldown : limits.retryAfter);
  }

  function mayRefresh(now: number): boolean {
    return isInFlight(now) || now >= nextRefresh();
  }

  /** Right after a failure a retry is not awaited. */
  function hasJustFailed(now: number): boolean {
    return state.failure !== null && now <= state.triedAt + abandonedAfter + limits.retryAfter;
  }

  /** Junk cannot use up the refresh for a key with which a known holder's token may be signed. */
  function mayUseReserve(wanted: WantedKey, now: number): boolean {
    const isOpen = state.failure === null && now >= state.reserveUsedAt + limits.cooldown;
    const isYounger = state.fetchedAt > wanted.issuedUntil;
    if (!isOpen || isYounger || wanted.keyId === undefined) return false;
    if (!holders.isKnown(wanted)) return false;
    state.reserveUsedAt = now;
    return true;
  }

  /** Beyond the limit for outages, keys are not used. */
  function usableKeys(now: number): PublicKeys | null {
    return now >= state.fetchedAt + limits.maxAge + limits.staleIfError ? null : state.keys;
  }

  async function findAfterRefresh(wanted: WantedKey, now: number): Promise<PublicKey> {
    const isAllowed = mayRefresh(now) || mayUseReserve(wanted, now);
    const isFirst = isAllowed && !isInFlight(now);
    if (isAllowed) await waitFor(refresh(now));
    const keys = usableKeys(now);
    const key = keys?.find(wanted.algorithm, wanted.keyId);
    if (key !== undefined) return key;
    // A set requested just now is younger than the token, whatever the clocks say.
    const isCurrent = isInProcess ? isAllowed : isFirst && state.fetchedAt === now;
    const isYounger = isCurrent || state.fetchedAt > wanted.issuedUntil;
    if (isYounger && state.failure === null) throwUnknownKey();
    if (keys !== null && (keys.hasId(wanted.keyId) || holders.isJunk(wanted, state))) throwUnknownKey();
    throw temporarilyUnavailable(
      'the keys of the issuer are unavailable',
      Math.max(1, Math.ceil(nextRefresh() - now)),
      state.failure,
    );
  }

  return {
    find(wanted, now) {
      // The clock was ahead, so the age of the keys is unknown.
      if (state.triedAt > now + SKEW_TOLERANCE) Object.assign(state, NEVER_TRIED);
      const keys = usableKeys(now);
      const key = keys?.find(wanted.algorithm, wanted.keyId);
      const isContradicted = key === undefined && keys?.hasId(wanted.keyId) === true;
      if (key === undefined && !isContradicted) return findAfterRefresh(wanted, now);
      const age = now - state.fetchedAt;
      // After a pause the set may contain a key that the issuer has withdrawn meanwhile.
      if (age >= limits.maxAge && !hasJustFailed(now)) return findAfterRefresh(wanted, now);
      if (age >= limits.maxAge / 2 && mayRefresh(now)) void refresh(now);
      return key ?? throwUnknownKey();
    },
    recordVerified: holders.record,
  };
}

/** Holders of verified tokens, with the tokens of each that were left undecided. */
function createHolders() {
  const known = createLruCache<Undecided>(HOLDER_CACHE_LIMITS);
  const unknownHolders: Undecided = { since: 0, count: 0 };

  const find = ({ holder }: WantedKey): Undecided | undefined =>
    holder === undefined ? undefined : known.get(holder);

  const holders = {
    isKnown: (wanted: WantedKey) => find(wanted) !== undefined,
    record(holder: string | undefined): void {
      if (holder !== undefined && known.get(holder) === undefined) known.set(holder, { since: 0, count: 0 });
    },
    /**
     * Whether no key to be published can be the token's, or nothing but the token speaks for it: no token of its holder was
     * verified, and the last load succeeded; or too many tokens have been left undecided since that load, of this holder or of all
     * holders without a verified token.
     * @see seed 5.2(2)
     */
    isJunk(wanted: WantedKey, { triedAt, failure }: Pick<State, 'triedAt' | 'failure'>): boolean {
      if (wanted.keyId === undefined) return true;
      if (failure === null && !holders.isKnown(wanted)) return true;
      const undecided = find(wanted) ?? unknownHolders;
      if (undecided.since !== triedAt) Object.assign(undecided, { since: triedAt, count: 0 });
      undecided.count += 1;
      return undecided.count > MAX_UNDECIDED;
    },
  };
  return holders;
}

function throwUnknownKey(): never {
  throw tokenRejected('the issuer has no such key');
}
