/** Caches token exchanges by the exchanged token, single-flight, so that no other token ever gets the result. */

import { createLruCache, type OAuthError } from '@portcullis/protocol';
import type { VerifiedToken } from '../guard/verified-token.ts';
import type { TokenExchange } from './token-exchange.ts';
import type { UpstreamAccessToken, UpstreamTokenRequest } from './upstream-token.ts';

/** Seconds before its expiry from which a token is not used any more. */
const EXPIRY_MARGIN = 30;
/** Limits of the cache. */
const CACHE_LIMITS = { entries: 10_000, characters: 10_000_000 };
/** Seconds for which a rejection is cached: neither retries nor new requests with the same token ask again. */
const REJECTION_SECONDS = 60;

interface CachedExchange {
  readonly result: Promise<UpstreamAccessToken>;
  /** Epoch seconds; infinite while the exchange is in flight. */
  until: number;
}

/**
 * Caches by the whole exchanged token, so that users, clients and grants never share a result.
 * @param freshness seconds
 */
export function createExchangeCache(exchange: TokenExchange, freshness: number, clock: () => number) {
  const cache = createLruCache<Map<string, CachedExchange>>(CACHE_LIMITS);

  function start(verifiedToken: VerifiedToken, want: UpstreamTokenRequest): CachedExchange {
    const entry: CachedExchange = {
      result: exchange(verifiedToken.accessToken, want),
      until: Number.POSITIVE_INFINITY,
    };
    entry.result.then(
      (token) => {
        const end = token.expiresAt === null ? Number.POSITIVE_INFINITY : token.expiresAt - EXPIRY_MARGIN;
        entry.until = Math.min(clock() + freshness, end, verifiedToken.claims.exp);
      },
      (error: OAuthError) => {
        entry.until = clock() + errorCacheSeconds(error);
      },
    );
    return entry;
  }

  return {
    tokenFor(verifiedToken: VerifiedToken, want: UpstreamTokenRequest): Promise<UpstreamAccessToken> {
      const found = cache.get(verifiedToken.accessToken);
      const own = found ?? new Map<string, CachedExchange>();
      if (found === undefined) cache.set(verifiedToken.accessToken, own);
      const key = keyOf(want);
      const known = own.get(key);
      if (known !== undefined && clock() < known.until) return known.result;
      const entry = start(verifiedToken, want);
      own.set(key, entry);
      return entry.result;
    },
    forget: ({ accessToken }: VerifiedToken): void => cache.set(accessToken, new Map()),
  };
}

/** An outage lasts as long as it says, a rejection stays, and a wrong configuration may be fixed. */
function errorCacheSeconds({ code, retryAfter = 1 }: OAuthError): number {
  if (code === 'temporarily_unavailable') return retryAfter;
  return code === 'server_error' ? 5 : REJECTION_SECONDS;
}

function keyOf({ identityProvider = '', scopes = [] }: UpstreamTokenRequest): string {
  return JSON.stringify([identityProvider, ...[...new Set(scopes)].toSorted()]);
}
