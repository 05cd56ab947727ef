/** Lets the guard of this process accept tokens for a bounded time while the store cannot say whether they have ended. */
import type { AuthorizationServer } from '@portcullis/authorization-server';
import { createLruCache, type DefinitionPinStore, OAuthError } from '@portcullis/protocol';

type IsLive = AuthorizationServer['isLive'];

export interface OutageTolerance {
  /** Asks every time, and accepts during an outage what was live a moment before. */
  wrap(isLive: IsLive): IsLive;
  /** Uses the pins that were read a moment before. */
  wrapPins(store: DefinitionPinStore): DefinitionPinStore;
  /** Forgets all that was live when this process ends any access. */
  note(event: { readonly type: string }): void;
}

/** Types of events after which a token may have ended. */
const ENDING = /revoked|ended|disabled|removed|reuse|changed|deleted/;

/** @param freshness seconds since the last answer of the store; 0: none is accepted without one */
export function createOutageTolerance(
  freshness: number,
  now: () => number = () => performance.now(),
): OutageTolerance {
  let live = createLruCache<number>();
  const isFresh = (last: number | undefined, at: number) =>
    last !== undefined && at - last <= freshness * 1000;
  return {
    wrap(isLive) {
      if (freshness === 0) return isLive;
      return async (claims) => {
        const requestedAt = now();
        const known = live;
        try {
          const isStillLive = await isLive(claims);
          known.set(claims.jti, isStillLive ? requestedAt : Number.NEGATIVE_INFINITY);
          return isStillLive;
        } catch (error) {
          if (!isOutage(error) || !isFresh(live.get(claims.jti), requestedAt)) throw error;
          return true;
        }
      };
    },
    wrapPins(store) {
      if (freshness === 0) return store;
      const read = createLruCache<{
        readonly pins: Awaited<ReturnType<typeof store.findPins>>;
        readonly at: number;
      }>();
      const findPins: DefinitionPinStore['findPins'] = async (list) => {
        const [key, at] = [JSON.stringify(list), now()];
        try {
          const pins = await store.findPins(list);
          read.set(key, { pins, at });
          return pins;
        } catch (error) {
          const known = read.get(key);
          if (known === undefined || !isOutage(error) || !isFresh(known.at, at)) throw error;
          return known.pins;
        }
      };
      return Object.assign(Object.create(store) as DefinitionPinStore, { findPins });
    },
    note({ type }) {
      if (freshness > 0 && ENDING.test(type)) live = createLruCache<number>();
    },
  };
}

function isOutage(error: unknown): boolean {
  return error instanceof OAuthError && error.code === 'temporarily_unavailable';
}
