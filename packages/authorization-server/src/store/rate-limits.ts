/** Rate limits that all processes share, in the core store: a token bucket per key. */

/** A token bucket: `burst` at once, and one more per interval. */
export interface StoredRateLimit {
  /** Capacity of the bucket, in tokens. */
  readonly burst: number;
  /** Whole seconds. */
  readonly interval: number;
}

/** One token to consume from a bucket. */
export interface RateLimitCharge {
  /** A keyed hash: it does not reveal whom it limits. */
  readonly key: string;
  /** The limit of the bucket. */
  readonly limit: StoredRateLimit;
  /** Epoch seconds. */
  readonly now: number;
}

/** Token buckets that all processes share. */
export interface RateLimitStore {
  /**
   * Consumes a token from the bucket of a key. Atomic: concurrent calls never consume more than the limit allows.
   * @returns 0 when a token was taken, otherwise the seconds until there is one
   */
  chargeRateLimit(key: string, limit: StoredRateLimit, now: number): Promise<number>;
}
