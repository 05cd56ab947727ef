/** Lets the guard of this process accept tokens for a bounded time while the store cannot say whether they have ended. */
import type { AuthorizationServer } from '@portcullis/authorization-server';
import { createLruCache, type DefinitionPinStore, OAuthError } from '@portcullis/protocol';

type IsLive = AuthorizationServer['isLive'];

/** Types of events after which a token may have ended. */
const ENDING = /revoked|ended|disabled|removed|reuse|changed|deleted/;

/** The last result of the store for a token: live at a request at `at`, or found to have ended by then. */
interface KnownResult {
  readonly isLive: boolean;
  readonly at: number;
}

/** Results overtake each other: a request that began before a token was found to have ended does not revive it. */
function mergeResult(
  known: KnownResult | undefined,
  isLive: boolean,
  requestedAt: number,
  resultAt: number,
): KnownResult {
  if (!isLive) return { isLive, at: resultAt };
  return known !== undefined && known.at >= requestedAt ? known : { isLive, at: requestedAt };
}

/** @param freshness seconds; milliseconds for the rest */
function isAcceptedInOutage(known: KnownResult | undefined, requestedAt: number, freshness: number): boolean {
  return known?.isLive === true && requestedAt - known.at <= freshness * 1000;
}

/** @param freshness seconds since the last answer of the store; 0: none is accepted without one */
export function createOutageTolerance(freshness: number, now: () => number = () => performance.now()) {
  let results = createLruCache<KnownResult>();
  return {
    /** Asks every time, and accepts during an outage what was live a moment before. */
    wrap(isLive: IsLive): IsLive {
      if (freshness === 0) return isLive;
      return async (claims, keyId) => {
        const requestedAt = now();
        const known = results;
        try {
          const isStillLive = await isLive(claims, keyId);
          known.set(claims.jti, mergeResult(known.get(claims.jti), isStillLive, requestedAt, now()));
          return isStillLive;
        } catch (error) {
          if (!isOutage(error) || !isAcceptedInOutage(results.get(claims.jti), requestedAt, freshness))
            throw error;
          return true;
        }
      };
    },
    /** Uses the pins that were read a moment before. */
    wrapPins(store: DefinitionPinStore): DefinitionPinStore {
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
          if (known === undefined || !isOutage(error) || at - known.at > freshness * 1000) throw error;
          return known.pins;
        }
      };
      return Object.assign(Object.create(store) as DefinitionPinStore, { findPins });
    },
    /** Forgets all that was live when this process ends any access. */
    note({ type }: { readonly type: string }): void {
      if (freshness > 0 && ENDING.test(type)) results = createLruCache<KnownResult>();
    },
  };
}

function isOutage(error: unknown): boolean {
  return error instanceof OAuthError && error.code === 'temporarily_unavailable';
}
