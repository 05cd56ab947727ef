/**
 * Caches status lists: single-flight refresh while they are needed, stale lists for a limited time during outages, no
 * rollback.
 */
import { createLruCache, SKEW_TOLERANCE, temporarilyUnavailable } from '@portcullis/protocol';
import { withDeadline } from '../fetch-json.ts';
import type { StatusList } from './status-list.ts';

/** Fetches a list. @throws Error if it is unavailable or invalid */
export type LoadStatusList = (uri: string, now: number) => Promise<StatusList>;

/** Limits of the cache, in seconds except for `timeout`. */
export interface StatusListCacheLimits {
  /** The maximum delay between revocation and rejection. */
  readonly freshness: number;
  /** The additional time during outages. */
  readonly staleIfError: number;
  /** Milliseconds after which a request counts as lost. */
  readonly timeout: number;
}

/** Seconds until a change reaches the guard: one each for the issuer and for caches in between. */
export const DELIVERY_DELAY = 2;
/** Seconds before a retry after a failure. */
const RETRY_AFTER = 1;
/** Lists in use that stay cached, at most twice as many: an issuer has few, of a hundred thousand grants each. */
const MIN_LISTS = 32;
const NEVER: number = Number.NEGATIVE_INFINITY;

/** A cached list. Times in epoch seconds. */
interface CachedList {
  list: StatusList | null;
  /** When the request for it was sent. */
  askedAt: number;
  triedAt: number;
  failure: unknown;
  /** When the failed request was sent. */
  failedAt: number;
  inFlight: Promise<void> | null;
}

const NEVER_TRIED: CachedList = {
  ...{ list: null, askedAt: NEVER, triedAt: NEVER },
  ...{ failure: null, failedAt: NEVER, inFlight: null },
};

/** Refreshes each list single-flight, not within a second of a failure, and only while it is needed. */
export function createStatusListCache(load: LoadStatusList, limits: StatusListCacheLimits) {
  const { freshness, staleIfError, timeout } = limits;
  /** Seconds after its request for which a list is fresh. */
  const freshFor = freshness - DELIVERY_DELAY;
  const abandonedAfter = Math.ceil(timeout / 1000) + 1;
  const cached = createLruCache<CachedList>({ entries: MIN_LISTS });

  function refresh(uri: string, one: CachedList, now: number): Promise<void> {
    if (isInFlight(one, now) && one.inFlight !== null) return one.inFlight;
    one.triedAt = now;
    const settle = (outcome: Partial<CachedList>): void => {
      if (one.inFlight === begun) Object.assign(one, outcome, { inFlight: null });
    };
    const begun: Promise<void> = load(uri, now)
      .then((list) => rejectOlder(list, one.list, now - Math.max(freshness, list.timeToLive) - staleIfError))
      .then(
        (list) => settle({ list, askedAt: now, failure: null }),
        (failure: unknown) => settle({ failure, failedAt: now }),
      );
    one.inFlight = begun;
    return begun;
  }

  /** Some runtimes abort a fetch together with the request that started it. */
  function isInFlight({ inFlight, triedAt }: CachedList, now: number): boolean {
    return inFlight !== null && now <= triedAt + abandonedAfter;
  }

  function mayRefresh(one: CachedList, now: number): boolean {
    return isInFlight(one, now) || one.failure === null || now >= one.triedAt + RETRY_AFTER;
  }

  /** Right after a failure a retry is not awaited; after a pause it is. */
  function hasJustFailed({ failure, failedAt }: CachedList, now: number): boolean {
    return failure !== null && now <= failedAt + abandonedAfter;
  }

  function isFresh({ askedAt }: CachedList, now: number): boolean {
    return now < askedAt + freshFor && now >= askedAt;
  }

  /** A stale list may be used for a limited time. */
  function serves({ list, askedAt }: CachedList, now: number): boolean {
    return list !== null && now < Math.min(askedAt + freshness + staleIfError, list.expiresAt);
  }

  /** Returns the cached list, if it is usable now. It is refreshed in the background while it serves requests. */
  function findCached(uri: string, now: number): StatusList | null {
    const one = cached.get(uri);
    if (one === undefined) return null;
    // The clock was ahead, so the age of the list is unknown.
    if (one.triedAt > now + SKEW_TOLERANCE) Object.assign(one, NEVER_TRIED);
    if (!serves(one, now)) return null;
    const isGood = isFresh(one, now) || hasJustFailed(one, now);
    const isDue = now >= one.askedAt + freshFor / 2;
    if (isDue && mayRefresh(one, now)) void refresh(uri, one, now);
    return isGood ? one.list : null;
  }

  /** Returns the list. @throws OAuthError `temporarily_unavailable` if it is unavailable */
  async function find(uri: string, now: number): Promise<StatusList> {
    const atOnce = findCached(uri, now);
    if (atOnce !== null) return atOnce;
    const one = cached.get(uri) ?? addList(uri);
    if (mayRefresh(one, now)) await waitFor(uri, one, now);
    // A response that arrived too late does not include recent revocations.
    if (one.failure === null && now >= one.askedAt + freshFor) await waitFor(uri, one, now);
    if (one.list !== null && serves(one, now)) return one.list;
    throw temporarilyUnavailable('the status list of the issuer is unavailable', RETRY_AFTER, one.failure);
  }

  async function waitFor(uri: string, one: CachedList, now: number): Promise<void> {
    await withDeadline(refresh(uri, one, now), timeout + 1000).catch((failure: unknown) => {
      Object.assign(one, { failure, failedAt: now });
    });
  }

  function addList(uri: string): CachedList {
    const one: CachedList = { ...NEVER_TRIED };
    cached.set(uri, one);
    return one;
  }

  return { findCached, find };
}

/** Rejects a list that is older than the last one, which would undo a revocation. */
function rejectOlder(list: StatusList, before: StatusList | null, oldest: number): StatusList {
  if (list.issuedAt < (before?.issuedAt ?? 0)) throw new Error('the list is older than the one before');
  if (list.issuedAt < oldest) throw new Error('the list is older than any that would still serve');
  return list;
}
