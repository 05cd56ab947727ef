/** What a store must do for limits that processes share. */

/** So many at once, and one more after each interval. */
export interface StoredRateLimit {
  readonly burst: number;
  /** Whole seconds. */
  readonly interval: number;
}

/** A turn that somebody takes. */
export interface RateLimitCharge {
  /** Says nothing about whom it is of. */
  readonly key: string;
  readonly limit: StoredRateLimit;
  /** Epoch seconds. */
  readonly now: number;
}

export interface RateLimitStore {
  /**
   * Takes a turn of those that a key has. One fact: of racing calls no more than the limit allows get one.
   * @param key says nothing about whom it is of
   * @param now epoch seconds
   * @returns 0 when the turn is taken, otherwise the seconds after which there is one
   */
  chargeRateLimit(key: string, limit: StoredRateLimit, now: number): Promise<number>;
}
