/** Public keys of clients: registered (`jwks`), or fetched from their `jwks_uri` on demand and cached. */
import { type ClientKeySet, type ClientMetadata, createLruCache, OAuthError } from '@portcullis/protocol';
import { createSingleFlight } from '../single-flight.ts';
import type { FetchJson } from './metadata-document/fetch-json.ts';
import { FetchJsonError } from './metadata-document/fetch-json-error.ts';
import { type FreshnessPolicy, freshnessLifetime } from './metadata-document/http-cache-freshness.ts';
import { type CopyTimes, isFresh, mayUseLastGoodCopy } from './metadata-document/last-good-copy.ts';

/** Bytes. */
const LARGEST = 65_536;
const MOST_KEYS = 50;

/** At most an hour: a withdrawn key must not work for long. */
const FRESHNESS: FreshnessPolicy = { maxAge: 3600, defaultAge: 300 };

/** Seconds for which cached keys are used while their host is down. */
const LAST_GOOD_FOR = 3600;

/** Seconds before an unknown key causes another fetch. */
export const KEY_FETCH_PAUSE = 30;

/** Key sets in the cache. */
const REMEMBERED = 1000;

export interface FoundKeys extends ClientKeySet {
  /** Epoch seconds; registered keys were not fetched. */
  readonly fetchedAt?: number;
}

export type ClientKeys = ReturnType<typeof createClientKeys>;

const UNAVAILABLE =
  'This server found no key set at the jwks_uri: it must respond within seconds, with status 200, as application/json.';

interface Copy extends CopyTimes {
  readonly keys: ClientKeySet;
}

const NONE: ClientKeySet = { keys: [] };

/**
 * Cached by this process: every process fetches for itself.
 * @param timeout milliseconds of one fetch
 */
export function createClientKeys(fetchJson: FetchJson, clock: () => number, timeout: number) {
  const copies = createLruCache<Copy>({ entries: REMEMBERED });
  const singleFlight = createSingleFlight<Copy>(timeout);

  return {
    /**
     * The keys of a client.
     * @param wanted `newest`: the cached keys did not verify, so they are fetched again unless they were just fetched
     * @param site that causes the fetch, for its budget
     * @throws OAuthError `temporarily_unavailable` when they cannot be fetched
     */
    async find(
      { jwks, jwks_uri: url }: Pick<ClientMetadata, 'jwks' | 'jwks_uri'>,
      wanted: 'any' | 'newest',
      site: string | null,
    ): Promise<FoundKeys> {
      if (url === undefined) return { keys: (jwks ?? NONE).keys.filter(hasAcceptableRsaCost) };
      const copy = copies.get(url);
      const now = clock();
      const isEnough =
        copy !== undefined &&
        isFresh(wanted === 'any' ? copy : { ...copy, freshUntil: copy.fetchedAt + KEY_FETCH_PAUSE }, now);
      const { keys, fetchedAt } = isEnough ? copy : await singleFlight.run(url, () => renew(url, copy, site));
      return { ...keys, fetchedAt };
    },
  };

  async function renew(url: string, copy: Copy | undefined, site: string | null): Promise<Copy> {
    try {
      const result = await fetchJson({ url, limit: LARGEST, site, isRenewal: copy !== undefined });
      const now = clock();
      const keys = readKeys(result.kind === 'found' ? result.json : null);
      return keep(url, {
        keys,
        fetchedAt: now,
        askedAt: now,
        freshUntil: now + freshnessLifetime(result.headers, FRESHNESS, now),
      });
    } catch (error) {
      if (!(error instanceof FetchJsonError)) throw error;
      if (copy !== undefined && mayUseLastGoodCopy(copy, error.issue, LAST_GOOD_FOR, clock())) {
        return error.issue === 'budget' ? copy : keep(url, { ...copy, askedAt: clock() });
      }
      // One error for every cause, or this server could be used to scan ports (SSRF). It is no failed authentication: nothing is
      // known about the proof.
      throw new OAuthError('temporarily_unavailable', UNAVAILABLE, {
        reason: `client keys: ${error.reason}`,
        retryAfter: error.retryAfter,
      });
    }
  }

  function keep(url: string, copy: Copy): Copy {
    copies.set(url, copy);
    return copy;
  }
}

/** Skips keys that cannot be used: they may have another purpose. */
function readKeys(json: unknown): ClientKeySet {
  const keys = (json as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length > MOST_KEYS) {
    throw new FetchJsonError('unusable', `it is no key set of at most ${MOST_KEYS} keys`);
  }
  return {
    keys: keys
      .filter((key) => typeof key === 'object' && key !== null && typeof key.kty === 'string')
      .filter(hasAcceptableRsaCost),
  };
}

/** Base64url characters of 2048 and 4096 bits, the latter with a zero byte in front, and of an exponent of 32 bits. */
const MODULUS = { shortest: 342, longest: 684 } as const;
const LONGEST_EXPONENT = 6;

/**
 * Whether verification with a key has the usual cost. Clients choose their keys, and verification with a long RSA exponent costs a
 * hundred times as much (denial of service).
 */
function hasAcceptableRsaCost({ kty, n, e }: ClientKeySet['keys'][number]): boolean {
  if (kty !== 'RSA') return true;
  if (typeof n !== 'string' || typeof e !== 'string') return false;
  return n.length >= MODULUS.shortest && n.length <= MODULUS.longest && e.length <= LONGEST_EXPONENT;
}
