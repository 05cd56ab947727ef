/** Limits the bytes of large bodies that are parsed for one user (token bucket), so that none stalls all others. */
import { createLruCache, tooManyRequests } from '@portcullis/protocol';
import type { Principal } from '../principal.ts';

/**
 * Charges the body of a request to its user.
 * @param now epoch seconds
 * @throws OAuthError 429 with `Retry-After` if the user has no bytes left
 */
export type ChargeBody = (
  principal: Pick<Principal, 'issuer' | 'subject'>,
  bytes: number,
  now: number,
) => void;

/** Smaller bodies are free: parsing them costs less than the rest of the request. */
const FREE_BYTES = 16_384;

/** Seconds of the rate that a user can spend at once. */
const BURST_SECONDS = 4;

/** Users with large bodies. */
const CACHE_LIMITS = { entries: 5000, characters: 1_000_000 };

/**
 * Creates the budget of a guard.
 * @param rate bytes per second
 * @param largest the largest body that is read, which a user can always send once
 */
export function createBodyBudget(rate: number, largest: number): ChargeBody {
  const capacity = Math.max(rate * BURST_SECONDS, largest);
  const buckets = createLruCache<{ readonly spent: number; readonly at: number }>(CACHE_LIMITS);
  return ({ issuer, subject }, bytes, now) => {
    if (bytes <= FREE_BYTES) return;
    const user = `${issuer} ${subject}`;
    const { spent, at } = buckets.get(user) ?? { spent: 0, at: now };
    const total = Math.max(0, spent - Math.max(0, now - at) * rate) + bytes;
    if (total > capacity)
      throw tooManyRequests('the user sends too many large bodies', Math.ceil((total - capacity) / rate));
    buckets.set(user, { spent: total, at: now });
  };
}
