/** Where the keys of an issuer come from: fetched seldom, kept through an outage for a bounded time, never in a flood. */
import { OAuthError, unavailable } from '@portcullis/protocol/errors';
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
  return { find: ({ algorithm, keyId }) => keys.find(algorithm, keyId) ?? refuseUnknown() };
}

interface State {
  keys: PublicKeys | null;
  fetchedAt: number;
  /** Of the last try, whether it succeeded or not. */
  triedAt: number;
  failure: unknown;
  inFlight: Promise<void> | null;
}

/**
 * Keys that are loaded when they are needed. There is at most one load at a time, and none within the cool-down; a set
 * that is due is renewed behind the requests that it still serves, so a slow key server delays nobody.
 */
export function createKeySource(load: () => Promise<PublicKeys>, limits: KeyLimits): KeySource {
  const never = Number.NEGATIVE_INFINITY;
  const state: State = { keys: null, fetchedAt: never, triedAt: never, failure: null, inFlight: null };

  function renew(now: number): Promise<void> {
    state.inFlight ??= (async () => {
      try {
        state.triedAt = now;
        state.keys = await load();
        state.fetchedAt = now;
        state.failure = null;
      } catch (error) {
        state.failure = error;
      } finally {
        state.inFlight = null;
      }
    })();
    return state.inFlight;
  }

  function mayRenew(now: number): boolean {
    if (state.inFlight !== null) return true;
    return now >= state.triedAt + (state.failure === null ? limits.cooldown : limits.retryAfter);
  }

  /** Within the bound for outages; beyond it a key is as good as none. */
  function known({ algorithm, keyId }: WantedKey, now: number): PublicKey | undefined {
    if (state.keys === null || now >= state.fetchedAt + limits.maxAge + limits.staleIfError) return undefined;
    return state.keys.find(algorithm, keyId);
  }

  async function findAnew(wanted: WantedKey, now: number): Promise<PublicKey> {
    // A set that is asked for only now is younger than the token, whatever the clocks say.
    const isYounger = state.inFlight === null && mayRenew(now);
    if (mayRenew(now)) await renew(now);
    return known(wanted, now) ?? refuse(isYounger || state.fetchedAt > wanted.issuedUntil, now);
  }

  /** Only a key set that is younger than the token can say that its key does not exist. */
  function refuse(isYounger: boolean, now: number): never {
    if (isYounger && state.failure === null) refuseUnknown();
    const next = state.triedAt + (state.failure === null ? limits.cooldown : limits.retryAfter);
    throw unavailable(
      'the keys of the issuer cannot be had',
      Math.max(1, Math.ceil(next - now)),
      state.failure,
    );
  }

  return {
    find(wanted, now) {
      const key = known(wanted, now);
      if (key === undefined) return findAnew(wanted, now);
      if (now >= state.fetchedAt + limits.maxAge && mayRenew(now)) void renew(now);
      return key;
    },
  };
}

function refuseUnknown(): never {
  throw new OAuthError('invalid_token', 'The access token is not valid here.', {
    reason: 'the issuer has no such key',
  });
}
