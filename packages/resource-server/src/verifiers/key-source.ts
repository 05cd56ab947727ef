/**
 * Caches the keys of an issuer (JWKS): single-flight refresh, a cool-down, and stale keys for a limited time during
 * outages.
 */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol/protected-resource';
import { withDeadline } from './fetch-json.ts';
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

/**
 * Returns the key that a token names, synchronously if it is cached.
 * @throws OAuthError `invalid_token` if the issuer has no such key, `temporarily_unavailable` if that is unknown
 */
interface WantedKey {
  readonly algorithm: string;
  readonly keyId: string | undefined;
  /** The latest time of issue in epoch seconds: `iat`, plus the clock tolerance. */
  readonly issuedUntil: number;
}

export interface KeySource {
  /**
   * The key that a token names, at once where it is at hand.
   * @throws OAuthError `invalid_token` when the issuer has no such key, `temporarily_unavailable` when that is not known.
   */
  find(wanted: WantedKey, now: number): PublicKey | Promise<PublicKey>;
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
  failure: unknown;
  /** The load in flight, if any. */
  inFlight: Promise<void> | null;
}

/**
 * Loads keys when they are needed: single-flight, and never within the cool-down. A set that is due is refreshed in
 * the background while it still serves requests, so a slow key server delays none.
 * @param timeout milliseconds to wait for a load before it counts as lost
 */
export function createKeySource(
  load: () => Promise<PublicKeys>,
  limits: KeyLimits,
  timeout: number,
): KeySource {
  const never = Number.NEGATIVE_INFINITY;
  const state: State = { keys: null, fetchedAt: never, triedAt: never, failure: null, inFlight: null };
  const abandonedAfter = Math.ceil(timeout / 1000) + 1;

  function refresh(now: number): Promise<void> {
    if (isInFlight(now) && state.inFlight !== null) return state.inFlight;
    state.triedAt = now;
    const begun: Promise<void> = load().then(
      (keys) => settle(begun, { keys, fetchedAt: now, failure: null, inFlight: null }),
      (failure: unknown) => settle(begun, { failure, inFlight: null }),
    );
    state.inFlight = begun;
    return begun;
  }

  /** A load that counted as lost, and ends after another has started, is ignored. */
  function settle(begun: Promise<void>, outcome: Partial<State>): void {
    if (state.inFlight === begun) Object.assign(state, outcome);
  }

  async function waitFor(begun: Promise<void>): Promise<void> {
    try {
      await withDeadline(begun, timeout);
    } catch (failure) {
      settle(begun, { failure });
    }
  }

  function isInFlight(now: number): boolean {
    return state.inFlight !== null && now <= state.triedAt + abandonedAfter;
  }

  function mayRefresh(now: number): boolean {
    return (
      isInFlight(now) || now >= state.triedAt + (state.failure === null ? limits.cooldown : limits.retryAfter)
    );
  }

  /** Beyond the limit for outages, keys are not used. */
  function known({ algorithm, keyId }: WantedKey, now: number): PublicKey | undefined {
    if (state.keys === null || now >= state.fetchedAt + limits.maxAge + limits.staleIfError) return undefined;
    return state.keys.find(algorithm, keyId);
  }

  async function findAfterRefresh(wanted: WantedKey, now: number): Promise<PublicKey> {
    const isAllowed = mayRefresh(now);
    const isFirst = isAllowed && !isInFlight(now);
    if (isAllowed) await waitFor(refresh(now));
    // A set requested just now is younger than the token, whatever the clocks say.
    const isYounger = (isFirst && state.fetchedAt === now) || state.fetchedAt > wanted.issuedUntil;
    return known(wanted, now) ?? throwKeyNotFound(isYounger, now);
  }

  /** Only a key set younger than the token can prove that its key does not exist. */
  function throwKeyNotFound(isYounger: boolean, now: number): never {
    if (isYounger && state.failure === null) throwUnknownKey();
    const next = state.triedAt + (state.failure === null ? limits.cooldown : limits.retryAfter);
    throw temporarilyUnavailable(
      'the keys of the issuer are unavailable',
      Math.max(1, Math.ceil(next - now)),
      state.failure,
    );
  }

  return {
    find(wanted, now) {
      const key = known(wanted, now);
      if (key === undefined) return findAfterRefresh(wanted, now);
      if (now >= state.fetchedAt + limits.maxAge && mayRefresh(now)) void refresh(now);
      return key;
    },
  };
}

function throwUnknownKey(): never {
  throw new OAuthError('invalid_token', 'The access token is not valid here.', {
    reason: 'the issuer has no such key',
  });
}
