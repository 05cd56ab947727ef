/** Checks revocation by token status lists of the issuer. Optional. */
import {
  numberIssues,
  readStatusReference,
  STATUS_LIST_MEDIA_TYPE,
  STATUS_VALID,
  tokenRejected,
} from '@portcullis/protocol';
import type { VerifiedClaims } from '../../principal.ts';
import { type FetchLimits, fetchText, isSecureEndpoint } from '../fetch-json.ts';
import type { KeySource } from '../key-source.ts';
import { readStatusList, type StatusList } from './status-list.ts';
import { createStatusListCache, DELIVERY_DELAY } from './status-list-cache.ts';

/** How often status lists are polled, and what applies during an outage; times in seconds. */
export interface StatusListOptions {
  /**
   * Maximum seconds between revocation and rejection, 4 or more; 10 by default. Two of them are for the issuer and
   * for caches in between.
   */
  readonly freshness?: number;
  /** Additional seconds for which the last list is used during outages; 60 by default. */
  readonly staleIfError?: number;
  /** What happens to tokens without a status list: rejected by default; `accept` accepts them until they expire. */
  readonly withoutStatus?: 'reject' | 'accept';
  /** Further origins of lists, besides that of the issuer. */
  readonly origins?: readonly string[];
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** Adds the defaults. */
function complete(options: StatusListOptions): Required<StatusListOptions> {
  const { freshness = 10, staleIfError = 60, withoutStatus = 'reject', origins = [] } = options;
  const { clock = () => Math.floor(Date.now() / 1000) } = options;
  return { freshness, staleIfError, withoutStatus, origins, clock };
}

/** What fetches and verifies the lists of an issuer. */
interface StatusCheckContext {
  readonly issuer: string;
  readonly keys: KeySource;
  readonly remote: FetchLimits;
}

/** Creates the check for the lists of an issuer. */
export function createStatusListCheck(options: StatusListOptions, context: StatusCheckContext) {
  const { freshness, staleIfError, withoutStatus, origins, clock } = complete(options);
  const { issuer, remote } = context;
  const allowedOrigins: ReadonlySet<string> = new Set([new URL(issuer).origin, ...origins]);
  const limits = { freshness, staleIfError, timeout: remote.timeout };
  const lists = createStatusListCache((uri, now) => load(uri, now, context), limits);

  /** Never fetches from another host than the issuer's, whatever a token says (SSRF). */
  function checkListUri(uri: string): void {
    if (isSecureEndpoint(uri) && allowedOrigins.has(new URL(uri).origin)) return;
    throw tokenRejected('its status list is not on an origin of the issuer');
  }

  return {
    /** Whether the token is known to be valid, without waiting. */
    isLiveNow(claims: VerifiedClaims): boolean {
      const reference = readStatusReference(claims);
      if (reference === null) return withoutStatus === 'accept';
      return lists.findCached(reference.uri, clock())?.statusOf(reference.idx) === STATUS_VALID;
    },
    /**
     * Whether a token is valid.
     * @throws OAuthError `invalid_token` if its status cannot be determined, `temporarily_unavailable` during outages
     */
    async isLive(claims: VerifiedClaims): Promise<boolean> {
      const reference = readStatusReference(claims);
      if (reference === null) {
        if (withoutStatus === 'accept') return true;
        throw tokenRejected('the token names no status list');
      }
      checkListUri(reference.uri);
      const status = (await lists.find(reference.uri, clock())).statusOf(reference.idx);
      if (status === undefined) throw tokenRejected('the status list has no such entry');
      return status === STATUS_VALID;
    },
  };
}

async function load(
  uri: string,
  now: number,
  { issuer, keys, remote }: StatusCheckContext,
): Promise<StatusList> {
  const text = await fetchText(uri, remote, { headers: { accept: STATUS_LIST_MEDIA_TYPE } });
  return readStatusList(text, { uri, issuer, keys, now });
}

/** Returns the issues of the options. */
export function statusListIssues(options: StatusListOptions): readonly string[] {
  const { freshness, staleIfError, origins } = complete(options);
  return [
    ...numberIssues({ 'statusList.freshness': freshness }, 2 * DELIVERY_DELAY),
    ...numberIssues({ 'statusList.staleIfError': staleIfError }),
    ...origins
      .filter((origin) => !isSecureEndpoint(origin) || new URL(origin).origin !== origin)
      .map((origin) => `statusList.origins: ${origin} is not an https origin`),
  ];
}
