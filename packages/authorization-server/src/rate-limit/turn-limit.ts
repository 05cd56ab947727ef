/** A rate as turns of a store, which are counted in whole seconds. */
import type { StoredRateLimit } from '../store/index.ts';
import type { RateLimit } from './limiter.ts';

export function turnLimitOf({ burst, perMinute }: RateLimit): StoredRateLimit {
  return { burst, interval: Math.max(1, Math.round(60 / perMinute)) };
}
