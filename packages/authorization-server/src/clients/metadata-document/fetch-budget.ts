/** The budget of outbound fetches that clients cause: by origin of the URL, in all, and a fair share for each site that asks. */
import { sitePrefixOf } from '@portcullis/protocol';
import { createTokenBuckets } from '../../rate-limit/limiter.ts';
import { MAX_SHARE_OF_REST, outboundFetches } from '../../rate-limit/policies.ts';

export interface FetchBudget {
  /**
   * Charges one fetch.
   * @param network that names the URL; `null` when it is unknown
   * @returns 0, or the seconds to wait
   */
  take(origin: string, network: string | null): number;
}

/** The key of the total budget. */
const ALL = '';

export function createFetchBudget(clock: () => number): FetchBudget {
  const { origin: originLimit, total } = outboundFetches;
  const siteLimit = total.burst * MAX_SHARE_OF_REST;
  const origins = createTokenBuckets(originLimit, clock);
  const sites = createTokenBuckets({ burst: siteLimit, perMinute: siteLimit }, clock);
  const all = createTokenBuckets(total, clock);

  /** Seconds until what a site has taken is its share of what is left. Both recover with time. */
  const shareWait = (site: string): number => {
    const taken = siteLimit - sites.available(site);
    const excess = taken < 1 ? 0 : taken + 1 - all.available(ALL) * MAX_SHARE_OF_REST;
    return excess <= 0 ? 0 : Math.ceil((excess * 60) / (2 * siteLimit));
  };

  return {
    take(origin, network) {
      const site = network === null ? null : sitePrefixOf(network);
      const ownWait = site === null ? 0 : Math.max(sites.waitOf(site), shareWait(site));
      const wait = Math.max(all.waitOf(ALL), origins.waitOf(origin), ownWait);
      // A refusal costs nothing and evicts nothing.
      if (wait > 0) return wait;
      all.take(ALL);
      origins.take(origin);
      if (site !== null) sites.take(site);
      return 0;
    },
  };
}
