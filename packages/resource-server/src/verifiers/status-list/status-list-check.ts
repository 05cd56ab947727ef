/** The status lists of an issuer: polled while they are needed, kept through an outage for a bounded time, never taken back. */
import {
  OAuthError,
  readStatusReference,
  STATUS_LIST_MEDIA_TYPE,
  STATUS_VALID,
} from '@portcullis/protocol/protected-resource';
import { numberIssues } from '../../number-issues.ts';
import type { VerifiedClaims } from '../../principal.ts';
import { type FetchLimits, fetchWithoutRedirect, isSecureEndpoint, readTextBody } from '../fetch-json.ts';
import type { KeySource } from '../key-source.ts';
import { readStatusList, type StatusList } from './status-list.ts';
import { createStatusListCache, DELIVERY_DELAY } from './status-list-cache.ts';

export interface StatusListOptions {
  /**
   * Seconds between revocation and refusal at most, 4 or more; 10 when left out. Two of them belong to the issuer and to caches
   * on the way.
   */
  readonly freshness?: number;
  /** Seconds beyond that for which the last list serves while the issuer cannot be reached; 60 when left out. */
  readonly staleIfError?: number;
  /** What becomes of tokens that name no list: refused when left out; `accept` believes them until they expire. */
  readonly withoutStatus?: 'reject' | 'accept';
  /** Origins where lists may stand beside that of the issuer. */
  readonly origins?: readonly string[];
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** What lists are judged by, and how they are had. */
export interface StatusListContext {
  readonly issuer: string;
  readonly keys: KeySource;
  readonly remote: FetchLimits;
}

export interface StatusListCheck {
  /** Whether it is known at once that a token stands. */
  isLiveNow(claims: VerifiedClaims): boolean;
  /**
   * Whether a token stands.
   * @throws OAuthError `invalid_token` when it cannot be told of such a token, `temporarily_unavailable` when not now
   */
  isLive(claims: VerifiedClaims): Promise<boolean>;
}

/** What holds where nothing is said. */
function complete(options: StatusListOptions): Required<StatusListOptions> {
  const { freshness = 10, staleIfError = 60, withoutStatus = 'reject', origins = [] } = options;
  const { clock = () => Math.floor(Date.now() / 1000) } = options;
  return { freshness, staleIfError, withoutStatus, origins, clock };
}

/** Creates what polls the lists of an issuer. */
export function createStatusListCheck(
  options: StatusListOptions,
  context: StatusListContext,
): StatusListCheck {
  const { freshness, staleIfError, withoutStatus, origins, clock } = complete(options);
  const { issuer, remote } = context;
  const allowedOrigins: ReadonlySet<string> = new Set([new URL(issuer).origin, ...origins]);
  const limits = { freshness, staleIfError, timeout: remote.timeout };
  const lists = createStatusListCache((uri, now) => load(uri, now, context), limits);

  /** Nobody is asked who is not the issuer, whatever a token says. */
  function checkListUri(uri: string): void {
    if (isSecureEndpoint(uri) && allowedOrigins.has(new URL(uri).origin)) return;
    throw invalid('its status list stands where the issuer is not');
  }

  return {
    isLiveNow(claims) {
      const reference = readStatusReference(claims);
      if (reference === null) return withoutStatus === 'accept';
      return lists.findCached(reference.uri, clock())?.statusOf(reference.idx) === STATUS_VALID;
    },
    async isLive(claims) {
      const reference = readStatusReference(claims);
      if (reference === null) {
        if (withoutStatus === 'accept') return true;
        throw invalid('the token names no status list');
      }
      checkListUri(reference.uri);
      const status = (await lists.find(reference.uri, clock())).statusOf(reference.idx);
      if (status === undefined) throw invalid('the status list has no such entry');
      return status === STATUS_VALID;
    },
  };
}

async function load(
  uri: string,
  now: number,
  { issuer, keys, remote }: StatusListContext,
): Promise<StatusList> {
  const response = await fetchWithoutRedirect(uri, remote, { headers: { accept: STATUS_LIST_MEDIA_TYPE } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${uri} answered ${response.status}`);
  }
  return readStatusList(await readTextBody(response), { uri, issuer, keys, now });
}

/** What is wrong with options. */
export function statusListIssues(options: StatusListOptions): readonly string[] {
  const { freshness, staleIfError, origins } = complete(options);
  return [
    ...numberIssues({ 'statusList.freshness': freshness }, 2 * DELIVERY_DELAY),
    ...numberIssues({ 'statusList.staleIfError': staleIfError }),
    ...origins
      .filter((origin) => !isSecureEndpoint(origin) || new URL(origin).origin !== origin)
      .map((origin) => `statusList.origins: ${origin} is no https origin`),
  ];
}

function invalid(reason: string): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid here.', { reason });
}
