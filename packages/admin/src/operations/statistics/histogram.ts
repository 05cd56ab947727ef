/** A histogram of durations that can be added to another one: each bucket is a fifth longer than the one before. */

/** Counts by bucket; empty buckets are absent. */
export type Histogram = Readonly<Record<string, number>>;

const FACTOR = 1.2;
/** Milliseconds, below which all are in bucket 0. */
const LEAST = 0.1;
/** Half an hour. */
const LAST = 92;

/** The bucket of a duration. @param duration milliseconds */
export function bucketOf(duration: number): number {
  if (!(duration > LEAST)) return 0;
  return Math.min(LAST, Math.ceil(Math.log(duration / LEAST) / Math.log(FACTOR)));
}

/** The sum of two. */
export function addHistograms(one: Histogram, other: Histogram): Histogram {
  const sum: Record<string, number> = { ...one };
  for (const [bucket, count] of Object.entries(other)) sum[bucket] = (sum[bucket] ?? 0) + count;
  return sum;
}

/**
 * A duration that so large a part does not exceed, in milliseconds; at most a fifth too long.
 * @param part of 1 @returns `null`: there is none
 */
export function quantileOf(histogram: Histogram, part: number): number | null {
  // In ascending order, as members named by whole numbers are.
  const buckets = Object.entries(histogram);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [bucket, count] of buckets) {
    below += count;
    if (below >= total * part) return upperBoundOf(Number(bucket));
  }
  return upperBoundOf(LAST);
}

/** Three digits: the bound is no more exact. */
function upperBoundOf(bucket: number): number {
  return Number((LEAST * FACTOR ** bucket).toPrecision(3));
}
