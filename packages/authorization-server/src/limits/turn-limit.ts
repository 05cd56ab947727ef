/** A rate as turns of a store, which are counted in whole seconds. */
import type { TurnLimit } from '../store/index.ts';
import type { Rate } from './buckets.ts';

export function turnLimitOf({ burst, perMinute }: Rate): TurnLimit {
  return { burst, interval: Math.max(1, Math.round(60 / perMinute)) };
}
