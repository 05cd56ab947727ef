/** The status lists of an issuer: polled while they are needed, kept through an outage for a bounded time, never taken back. */
import { OAuthError, unavailable } from '@portcullis/protocol/errors';
import { readStatusReference, STATUS_LIST_MEDIA_TYPE, STATUS_VALID } from '@portcullis/protocol/status-list';
import type { VerifiedClaims } from '../principal.ts';
import { withDeadline } from './deadline.ts';
import type { KeySource } from './key-source.ts';
import { ask, isTrustworthy, type RemoteLimits, readText } from './remote.ts';
import { readStatusList, type StatusList } from './status-list.ts';

export interface StatusListOptions {
  /**
   * Seconds between revocation and refusal at most, 4 or more; 10 when left out. Two of them belong to the issuer and to caches
   * on the way.
   */
  readonly freshness?: number;
  /** Seconds beyond that for which the last list serves while the issuer cannot be reached; 60 when left out. */
  readonly staleIfError?: number;
  /** What becomes of tokens that name no list: refused when left out; `admit` believes them until they expire. */
  readonly withoutStatus?: 'refuse' | 'admit';
  /** Origins where lists may stand beside that of the issuer. */
  readonly origins?: readonly string[];
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** What lists are judged by, and how they are had. */
export interface ListSurroundings {
  readonly issuer: string;
  readonly keys: KeySource;
  readonly remote: RemoteLimits;
}

export interface StatusLists {
  /** Whether it is known at once that a token stands. */
  isLiveNow(claims: VerifiedClaims): boolean;
  /**
   * Whether a token stands.
   * @throws OAuthError `invalid_token` when it cannot be told of such a token, `temporarily_unavailable` when not now
   */
  isLive(claims: VerifiedClaims): Promise<boolean>;
}

/** Seconds in which a list gets from the issuer's store to here: a second each for the issuer and for caches on the way. */
const ON_THE_WAY = 2;
/** Seconds after a failure before the next try. */
const RETRY_AFTER = 1;
/** Lists that are kept: an issuer has few, of a hundred thousand grants each. */
const MOST_LISTS = 64;

/** A list as it was had last. Times in epoch seconds. */
interface Kept {
  list: StatusList | null;
  /** When the question was put that it answered. */
  askedAt: number;
  triedAt: number;
  failure: unknown;
  /** When the try was begun that failed so. */
  failedAt: number;
  inFlight: Promise<void> | null;
}

/** There is one question at a time for a list, none within a second of a failure, and none for a list that nobody needs. */
export function createStatusLists(options: StatusListOptions, surroundings: ListSurroundings): StatusLists {
  const { freshness = 10, staleIfError = 60, withoutStatus = 'refuse' } = options;
  const { clock = () => Math.floor(Date.now() / 1000) } = options;
  const { issuer, keys, remote } = surroundings;
  const origins: ReadonlySet<string> = new Set([new URL(issuer).origin, ...(options.origins ?? [])]);
  const believed = freshness - ON_THE_WAY;
  const lostAfter = Math.ceil(remote.timeout / 1000) + 1;
  const kept = new Map<string, Kept>();

  async function load(uri: string, before: StatusList | null, now: number): Promise<StatusList> {
    const response = await ask(uri, remote, { headers: { accept: STATUS_LIST_MEDIA_TYPE } });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`${uri} answered ${response.status}`);
    }
    const list = await readStatusList(await readText(response), { uri, issuer, keys, now });
    if (list.issuedAt < (before?.issuedAt ?? 0)) throw new Error('the list is older than the one before');
    const oldest = now - Math.max(freshness, list.timeToLive) - staleIfError;
    if (list.issuedAt < oldest) throw new Error('the list is older than any that would still serve');
    return list;
  }

  function renew(uri: string, one: Kept, now: number): Promise<void> {
    if (isUnderWay(one, now) && one.inFlight !== null) return one.inFlight;
    one.triedAt = now;
    const settle = (outcome: Partial<Kept>): void => {
      if (one.inFlight === begun) Object.assign(one, outcome, { inFlight: null });
    };
    const begun: Promise<void> = load(uri, one.list, now).then(
      (list) => settle({ list, askedAt: now, failure: null }),
      (failure: unknown) => settle({ failure, failedAt: now }),
    );
    one.inFlight = begun;
    return begun;
  }

  /** Some runtimes drop a question together with the request that put it. */
  function isUnderWay({ inFlight, triedAt }: Kept, now: number): boolean {
    return inFlight !== null && now <= triedAt + lostAfter;
  }

  function mayRenew(one: Kept, now: number): boolean {
    return isUnderWay(one, now) || one.failure === null || now >= one.triedAt + RETRY_AFTER;
  }

  /** Then nobody waits for the next try; after a pause it is worth waiting for. */
  function hasJustFailed({ failure, failedAt }: Kept, now: number): boolean {
    return failure !== null && now <= failedAt + lostAfter;
  }

  function isFresh({ askedAt }: Kept, now: number): boolean {
    return now < askedAt + believed && now >= askedAt;
  }

  /** The last list may stand in for a newer one, but not for ever. */
  function serves({ list, askedAt }: Kept, now: number): boolean {
    return list !== null && now < Math.min(askedAt + freshness + staleIfError, list.expiresAt);
  }

  /** The list if nobody has to be waited for. It is renewed behind the requests that it still serves. */
  function findAtOnce(uri: string, now: number): StatusList | null {
    const one = kept.get(uri);
    if (one === undefined || !serves(one, now)) return null;
    const isGood = isFresh(one, now) || hasJustFailed(one, now);
    const isDue = now >= one.askedAt + believed / 2;
    if (isDue && mayRenew(one, now)) void renew(uri, one, now);
    return isGood ? one.list : null;
  }

  async function find(uri: string, now: number): Promise<StatusList> {
    const atOnce = findAtOnce(uri, now);
    if (atOnce !== null) return atOnce;
    const one = kept.get(uri) ?? keep(uri);
    if (mayRenew(one, now)) await waitFor(uri, one, now);
    // What was asked for too long ago, and only came now, knows nothing of what has ended since.
    if (one.failure === null && now >= one.askedAt + believed) await waitFor(uri, one, now);
    if (one.list !== null && serves(one, now)) return one.list;
    throw unavailable('the status list of the issuer cannot be had', RETRY_AFTER, one.failure);
  }

  async function waitFor(uri: string, one: Kept, now: number): Promise<void> {
    await withDeadline(renew(uri, one, now), remote.timeout + 1000).catch((failure: unknown) => {
      Object.assign(one, { failure, failedAt: now });
    });
  }

  function keep(uri: string): Kept {
    const [oldest] = kept.keys();
    if (kept.size >= MOST_LISTS && oldest !== undefined) kept.delete(oldest);
    const never = Number.NEGATIVE_INFINITY;
    const one: Kept = {
      list: null,
      askedAt: never,
      triedAt: never,
      failure: null,
      failedAt: never,
      inFlight: null,
    };
    kept.set(uri, one);
    return one;
  }

  /** Nobody is asked who is not the issuer, whatever a token says. */
  function checkPlace(uri: string): void {
    if (isTrustworthy(uri) && origins.has(new URL(uri).origin)) return;
    throw invalid('its status list stands where the issuer is not');
  }

  return {
    isLiveNow(claims) {
      const reference = readStatusReference(claims);
      if (reference === null) return withoutStatus === 'admit';
      return findAtOnce(reference.uri, clock())?.statusOf(reference.idx) === STATUS_VALID;
    },
    async isLive(claims) {
      const reference = readStatusReference(claims);
      if (reference === null) {
        if (withoutStatus === 'admit') return true;
        throw invalid('the token names no status list');
      }
      checkPlace(reference.uri);
      const status = (await find(reference.uri, clock())).statusOf(reference.idx);
      if (status === undefined) throw invalid('the status list has no such entry');
      return status === STATUS_VALID;
    },
  };
}

/** What is wrong with options. */
export function faultsOfStatusList({
  freshness = 10,
  staleIfError = 0,
  origins = [],
}: StatusListOptions): readonly string[] {
  return [
    ...(freshness >= 2 * ON_THE_WAY ? [] : [`statusList.freshness must be ${2 * ON_THE_WAY} or more`]),
    ...(staleIfError >= 0 ? [] : ['statusList.staleIfError must be 0 or more']),
    ...origins
      .filter((origin) => !isTrustworthy(origin) || new URL(origin).origin !== origin)
      .map((origin) => `statusList.origins: ${origin} is no https origin`),
  ];
}

function invalid(reason: string): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid here.', { reason });
}
