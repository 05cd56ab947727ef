/** A budget for what is fetched on the word of strangers: so much a minute of one origin, so much for one site, so much of all. */
import { sitePrefixOf } from '@portcullis/protocol';
import { createLruCache, type LruCache } from '../../lru-cache.ts';

export interface FetchBudget {
  /**
   * Takes one from the budget of an origin.
   * @param network whose word it is; `null` when nobody knows. All networks of one site have one share
   * @returns 0, or the seconds after which to try again
   */
  take(origin: string, network: string | null): number;
}

/** Fetches that may come at once, and in each minute after. */
interface BudgetLimits {
  readonly ofOrigin: number;
  readonly ofAll: number;
}

/** Nobody needs more than a few clients of one host a minute; what all strangers together can make this server send is small. */
const defaultBudget: BudgetLimits = { ofOrigin: 20, ofAll: 120 };

/** Origins and sites that are remembered, of each: those taken from last. */
const REMEMBERED = 10_000;

/**
 * A site may have taken this part of what is left for everybody. So it is never the one that takes the last, and the more
 * networks ask for much, the less each gets: those that have asked for nothing yet still find something.
 * @see Choudhury and Hahne, Dynamic Queue Length Thresholds, 1998
 */
const SHARE = 1 / 4;

/** What is left, and when that was counted. */
interface Bucket {
  left: number;
  at: number;
}

/** Budgets of this process. @param clock epoch seconds */
export function createFetchBudget(clock: () => number, limits: BudgetLimits = defaultBudget): FetchBudget {
  const ofSite = limits.ofAll * SHARE;
  const origins = createLruCache<Bucket>(REMEMBERED);
  const sites = createLruCache<Bucket>(REMEMBERED);
  const all: Bucket = { left: limits.ofAll, at: clock() };

  const find = (buckets: LruCache<Bucket>, key: string, most: number): Bucket =>
    buckets.get(key) ?? { left: most, at: clock() };

  /** Only what was taken from is remembered, so that refusals, which cost nothing, push nothing out. */
  const take = (buckets: LruCache<Bucket>, key: string, bucket: Bucket): void => {
    bucket.left -= 1;
    buckets.set(key, bucket);
  };

  /** Seconds until what a site has taken is its part of what is left. Both get better with time. */
  const overdrawn = (site: Bucket): number => {
    const taken = ofSite - site.left;
    const excess = taken < 1 ? 0 : taken + 1 - all.left * SHARE;
    return excess <= 0 ? 0 : Math.ceil((excess * 60) / (2 * ofSite));
  };

  return {
    take(origin, network) {
      const now = clock();
      const ofOrigin = find(origins, origin, limits.ofOrigin);
      const site = network === null ? null : sitePrefixOf(network);
      const own = site === null ? null : find(sites, site, ofSite);
      const wait = Math.max(
        refill(all, limits.ofAll, now),
        refill(ofOrigin, limits.ofOrigin, now),
        own === null ? 0 : refill(own, ofSite, now),
        own === null ? 0 : overdrawn(own),
      );
      if (wait > 0) return wait;
      all.left -= 1;
      take(origins, origin, ofOrigin);
      if (site !== null && own !== null) take(sites, site, own);
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
