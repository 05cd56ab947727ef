/** Where the keys of an issuer come from: fetched seldom, kept through an outage for a bounded time, never in a flood. */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol/protected-resource';
import { withDeadline } from './deadline.ts';
import type { PublicKey, PublicKeys } from './public-keys.ts';

/** Seconds. */
export interface KeyLimits {
  /** A key set this old is fetched again: the bound after which a withdrawn key is no longer believed. */
  readonly maxAge: number;
  /** For so long beyond that it still serves while it cannot be fetched. */
  readonly staleIfError: number;
  /** After a fetch, this long passes before an unknown key asks for another. */
  readonly cooldown: number;
  /** After a failure, this long passes before the next try. */
  readonly retryAfter: number;
}

export const defaultKeyLimits: KeyLimits = { maxAge: 600, staleIfError: 3600, cooldown: 30, retryAfter: 5 };

/** What a token says about the key that it wants. */
interface WantedKey {
  readonly algorithm: string;
  readonly keyId: string | undefined;
  /** The latest time at which the token can have been issued, in epoch seconds: what it says, and the skew of clocks. */
  readonly issuedUntil: number;
}

export interface KeySource {
  /**
   * The key that a token names, at once where it is at hand.
   * @throws OAuthError `invalid_token` when the issuer has no such key, `temporarily_unavailable` when that is not known.
   */
  find(wanted: WantedKey, now: number): PublicKey | Promise<PublicKey>;
}

/** A key set that does not change. */
export function createFixedKeys(keys: PublicKeys): KeySource {
  return { find: ({ algorithm, keyId }) => keys.find(algorithm, keyId) ?? throwUnknownKey() };
}

interface State {
  keys: PublicKeys | null;
  fetchedAt: number;
  /** Of the last try, whether it succeeded or not. */
  triedAt: number;
  failure: unknown;
  /** The load that was begun with the last try, until it ends. */
  inFlight: Promise<void> | null;
}

/**
 * Keys that are loaded when they are needed. There is at most one load at a time, and none within the cool-down; a set
 * that is due is renewed behind the requests that it still serves, so a slow key server delays nobody.
 * @param timeout milliseconds for which a load is waited for; what takes longer is taken for lost
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

  /** A load that was taken for lost, and ends after all when another was begun, has no say any more. */
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

  /** Within the bound for outages; beyond it a key is as good as none. */
  function known({ algorithm, keyId }: WantedKey, now: number): PublicKey | undefined {
    if (state.keys === null || now >= state.fetchedAt + limits.maxAge + limits.staleIfError) return undefined;
    return state.keys.find(algorithm, keyId);
  }

  async function findAfterRefresh(wanted: WantedKey, now: number): Promise<PublicKey> {
    const isAllowed = mayRefresh(now);
    const isFirst = isAllowed && !isInFlight(now);
    if (isAllowed) await waitFor(refresh(now));
    // A set that was asked for only now is younger than the token, whatever the clocks say.
    const isYounger = (isFirst && state.fetchedAt === now) || state.fetchedAt > wanted.issuedUntil;
    return known(wanted, now) ?? throwKeyNotFound(isYounger, now);
  }

  /** Only a key set that is younger than the token can say that its key does not exist. */
  function throwKeyNotFound(isYounger: boolean, now: number): never {
    if (isYounger && state.failure === null) throwUnknownKey();
    const next = state.triedAt + (state.failure === null ? limits.cooldown : limits.retryAfter);
    throw temporarilyUnavailable(
      'the keys of the issuer cannot be had',
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
