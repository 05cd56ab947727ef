/** Durations in the buckets of a histogram. */

export interface Durations {
  /** Per bucket; the last counts durations above all bounds. */
  readonly counts: readonly number[];
  /** Seconds. */
  readonly sum: number;
  record(seconds: number): void;
}

/** @param bounds upper bounds of the buckets, in seconds */
export function createDurations(bounds: readonly number[]): Durations {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  let sum = 0;
  return {
    counts,
    get sum() {
      return sum;
    },
    record(seconds) {
      const index = bounds.findIndex((bound) => seconds <= bound);
      const slot = index === -1 ? bounds.length : index;
      counts[slot] = (counts[slot] ?? 0) + 1;
      sum += seconds;
    },
  };
}
