/** A budget for what is fetched on the word of strangers: so much a minute of one origin, and so much of all. */

export interface Budget {
  /** Takes one from the budget of an origin. @returns 0, or the seconds after which to try again */
  take(origin: string): number;
}

/** Fetches that may come at once, and in each minute after. */
interface BudgetLimits {
  readonly ofOrigin: number;
  readonly ofAll: number;
}

/** Nobody needs more than a few clients of one host a minute; what all strangers together can make this server send is small. */
const defaultBudget: BudgetLimits = { ofOrigin: 20, ofAll: 120 };

/** Origins that are remembered; the one not asked for longest goes first. */
const MOST_ORIGINS = 10_000;

/** What is left, and when that was counted. */
interface Bucket {
  left: number;
  at: number;
}

/** Budgets of this process. @param clock epoch seconds */
export function createBudget(clock: () => number, limits: BudgetLimits = defaultBudget): Budget {
  const origins = new Map<string, Bucket>();
  const all: Bucket = { left: limits.ofAll, at: clock() };

  const find = (origin: string): Bucket => {
    const bucket = origins.get(origin) ?? { left: limits.ofOrigin, at: clock() };
    origins.delete(origin);
    origins.set(origin, bucket);
    const [oldest] = origins.keys();
    if (origins.size > MOST_ORIGINS && oldest !== undefined) origins.delete(oldest);
    return bucket;
  };

  return {
    take(origin) {
      const bucket = find(origin);
      const now = clock();
      const wait = Math.max(refill(bucket, limits.ofOrigin, now), refill(all, limits.ofAll, now));
      if (wait > 0) return wait;
      bucket.left -= 1;
      all.left -= 1;
      return 0;
    },
  };
}

/** Adds what the time since has brought. @returns seconds until there is one to take */
function refill(bucket: Bucket, most: number, now: number): number {
  const gained = (Math.max(0, now - bucket.at) * most) / 60;
  bucket.left = Math.min(most, bucket.left + gained);
  bucket.at = now;
  return bucket.left >= 1 ? 0 : Math.ceil(((1 - bucket.left) * 60) / most);
}
