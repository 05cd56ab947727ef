/** The budget of outbound fetches that clients cause: by target, in total, and a fair share of both for each requesting site. */
import { createTokenBuckets } from '../../rate-limit/limiter.ts';
import { MAX_SHARE_OF_REST, type RateLimit } from '../../rate-limit/policies.ts';

/** The key of the total budget. */
const ALL = '';

/** @param limits `target`: of each target; `total`: of all targets together */
export function createFetchBudget(
  clock: () => number,
  limits: Readonly<Record<'target' | 'total', RateLimit>>,
) {
  const targets = createSharedBuckets(limits.target, clock);
  const total = createSharedBuckets(limits.total, clock);
  return {
    /**
     * Charges one fetch.
     * @param target what is limited by itself: an origin or a URL
     * @param site that names the URL; `null` when it is unknown
     * @returns 0, or the seconds to wait
     */
    take(target: string, site: string | null): number {
      const wait = Math.max(total.waitOf(ALL, site), targets.waitOf(target, site));
      // A refusal costs nothing and evicts nothing.
      if (wait > 0) return wait;
      total.take(ALL, site);
      targets.take(target, site);
      return 0;
    },
  };
}

/** Token buckets of which each site may consume a share of what is left. A `null` site is not limited by itself. */
function createSharedBuckets(limit: RateLimit, clock: () => number) {
  const siteLimit = {
    burst: limit.burst * MAX_SHARE_OF_REST,
    perMinute: limit.perMinute * MAX_SHARE_OF_REST,
  };
  const all = createTokenBuckets(limit, clock);
  const sites = createTokenBuckets(siteLimit, clock);

  /** Seconds until a site's consumption is its share of what is left. Both recover with time. */
  const shareWait = (key: string, siteKey: string): number => {
    const taken = siteLimit.burst - sites.available(siteKey);
    const excess = taken < 1 ? 0 : taken + 1 - all.available(key) * MAX_SHARE_OF_REST;
    return excess <= 0 ? 0 : Math.ceil((excess * 60) / (2 * siteLimit.perMinute));
  };

  return {
    waitOf(key: string, site: string | null): number {
      if (site === null) return all.waitOf(key);
      const siteKey = `${site} ${key}`;
      return Math.max(all.waitOf(key), sites.waitOf(siteKey), shareWait(key, siteKey));
    },
    take(key: string, site: string | null): void {
      all.take(key);
      if (site !== null) sites.take(`${site} ${key}`);
    },
  };
}
