/** Where status lists come from: asked for while they are needed, kept through an outage for a bounded time, never taken back. */
import { temporarilyUnavailable } from '@portcullis/protocol/protected-resource';
import { withDeadline } from '../deadline.ts';
import type { StatusList } from './status-list.ts';

/** Gets the list of a place. @throws Error when it cannot be had or believed */
export type LoadStatusList = (uri: string, now: number) => Promise<StatusList>;

/** How long lists are believed. Seconds, but for `timeout`. */
export interface StatusListCacheLimits {
  /** Between revocation and refusal. */
  readonly freshness: number;
  /** Beyond that, while the issuer cannot be reached. */
  readonly staleIfError: number;
  /** Milliseconds after which a question is taken for lost. */
  readonly timeout: number;
}

export interface StatusListCache {
  /** The list if nobody has to be waited for. It is renewed behind the requests that it still serves. */
  findCached(uri: string, now: number): StatusList | null;
  /** @throws OAuthError `temporarily_unavailable` when it cannot be had now. */
  find(uri: string, now: number): Promise<StatusList>;
}

/** Seconds in which a list gets from the issuer's store to here: a second each for the issuer and for caches on the way. */
export const DELIVERY_DELAY = 2;
/** Seconds after a failure before the next try. */
const RETRY_AFTER = 1;
/** Lists that are kept: an issuer has few, of a hundred thousand grants each. */
const MAX_LISTS = 64;
const NEVER: number = Number.NEGATIVE_INFINITY;

/** A list as it was had last. Times in epoch seconds. */
interface CachedList {
  list: StatusList | null;
  /** When a token named it last. */
  usedAt: number;
  /** When the question was put that it answered. */
  askedAt: number;
  triedAt: number;
  failure: unknown;
  /** When the try was begun that failed so. */
  failedAt: number;
  inFlight: Promise<void> | null;
}

/** There is one question at a time for a list, none within a second of a failure, and none for a list that nobody needs. */
export function createStatusListCache(load: LoadStatusList, limits: StatusListCacheLimits): StatusListCache {
  const { freshness, staleIfError, timeout } = limits;
  const believed = freshness - DELIVERY_DELAY;
  const abandonedAfter = Math.ceil(timeout / 1000) + 1;
  const cached = new Map<string, CachedList>();

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

  /** Some runtimes drop a question together with the request that put it. */
  function isInFlight({ inFlight, triedAt }: CachedList, now: number): boolean {
    return inFlight !== null && now <= triedAt + abandonedAfter;
  }

  function mayRefresh(one: CachedList, now: number): boolean {
    return isInFlight(one, now) || one.failure === null || now >= one.triedAt + RETRY_AFTER;
  }

  /** Then nobody waits for the next try; after a pause it is worth waiting for. */
  function hasJustFailed({ failure, failedAt }: CachedList, now: number): boolean {
    return failure !== null && now <= failedAt + abandonedAfter;
  }

  function isFresh({ askedAt }: CachedList, now: number): boolean {
    return now < askedAt + believed && now >= askedAt;
  }

  /** The last list may stand in for a newer one, but not for ever. */
  function serves({ list, askedAt }: CachedList, now: number): boolean {
    return list !== null && now < Math.min(askedAt + freshness + staleIfError, list.expiresAt);
  }

  function findCached(uri: string, now: number): StatusList | null {
    const one = cached.get(uri);
    if (one === undefined) return null;
    one.usedAt = now;
    if (!serves(one, now)) return null;
    const isGood = isFresh(one, now) || hasJustFailed(one, now);
    const isDue = now >= one.askedAt + believed / 2;
    if (isDue && mayRefresh(one, now)) void refresh(uri, one, now);
    return isGood ? one.list : null;
  }

  async function find(uri: string, now: number): Promise<StatusList> {
    const atOnce = findCached(uri, now);
    if (atOnce !== null) return atOnce;
    const one = cached.get(uri) ?? addList(cached, uri, now);
    if (mayRefresh(one, now)) await waitFor(uri, one, now);
    // What was asked for too long ago, and only came now, knows nothing of what has ended since.
    if (one.failure === null && now >= one.askedAt + believed) await waitFor(uri, one, now);
    if (one.list !== null && serves(one, now)) return one.list;
    throw temporarilyUnavailable('the status list of the issuer cannot be had', RETRY_AFTER, one.failure);
  }

  async function waitFor(uri: string, one: CachedList, now: number): Promise<void> {
    await withDeadline(refresh(uri, one, now), timeout + 1000).catch((failure: unknown) => {
      Object.assign(one, { failure, failedAt: now });
    });
  }

  return { findCached, find };
}

/** Makes room for a list, where there is none left in the place of the one that was not needed for longest. */
function addList(kept: Map<string, CachedList>, uri: string, now: number): CachedList {
  if (kept.size >= MAX_LISTS) {
    const [unneeded] = [...kept].toSorted(([, one], [, other]) => one.usedAt - other.usedAt);
    if (unneeded !== undefined) kept.delete(unneeded[0]);
  }
  const one: CachedList = {
    list: null,
    usedAt: now,
    askedAt: NEVER,
    triedAt: NEVER,
    failure: null,
    failedAt: NEVER,
    inFlight: null,
  };
  kept.set(uri, one);
  return one;
}

/** Whoever answers with what was true once would take a revocation back. */
function rejectOlder(list: StatusList, before: StatusList | null, oldest: number): StatusList {
  if (list.issuedAt < (before?.issuedAt ?? 0)) throw new Error('the list is older than the one before');
  if (list.issuedAt < oldest) throw new Error('the list is older than any that would still serve');
  return list;
}
