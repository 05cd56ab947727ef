/** The public keys of clients: those that they registered, or those that stand at an address, fetched when they are needed. */
import {
  type ClientKeySet,
  type ClientMetadata,
  OAuthError,
  temporarilyUnavailable,
} from '@portcullis/protocol';
import { createLruCache } from '../lru-cache.ts';
import { createSingleFlight } from '../single-flight.ts';
import { type FetchJson, FetchJsonError } from './metadata-document/fetch-json.ts';
import { type FreshnessPolicy, freshnessLifetime } from './metadata-document/http-cache-freshness.ts';

/** Bytes. */
const LARGEST = 65_536;
const MOST_KEYS = 50;

/** An hour at most: a key that was withdrawn must not work for long. */
const FRESHNESS: FreshnessPolicy = { maxAge: 3600, defaultAge: 300 };

/** For so long kept keys stand in for a host that does not answer. Seconds. */
const LAST_GOOD_FOR = 3600;

/** A key that is not among them is not looked for again sooner. Seconds. */
const PAUSE = 30;

/** Addresses whose keys are remembered: those fetched last. */
const REMEMBERED = 1000;

export interface ClientKeys {
  /**
   * The keys of a client.
   * @param wanted `newest`: those that were at hand do not fit, so they are fetched again unless that has just been done
   * @param network on whose word
   * @throws OAuthError `invalid_client`, or `temporarily_unavailable` when their host does not answer
   */
  find(metadata: ClientMetadata, wanted: 'any' | 'newest', network: string | null): Promise<ClientKeySet>;
}

interface Copy {
  readonly keys: ClientKeySet;
  readonly fetchedAt: number;
  readonly freshUntil: number;
}

const NONE: ClientKeySet = { keys: [] };

/** Copies of this process: another one fetches for itself. */
export function createClientKeys(fetchJson: FetchJson, clock: () => number): ClientKeys {
  const copies = createLruCache<Copy>(REMEMBERED);
  const singleFlight = createSingleFlight<Copy>();

  return {
    async find({ jwks, jwks_uri: url }, wanted, network) {
      if (url === undefined) return { keys: (jwks ?? NONE).keys.filter(isBearable) };
      const copy = copies.get(url);
      const now = clock();
      const isEnough =
        copy !== undefined && (wanted === 'any' ? now < copy.freshUntil : now < copy.fetchedAt + PAUSE);
      return (isEnough ? copy : await singleFlight.run(url, () => renew(url, copy, network))).keys;
    },
  };

  async function renew(url: string, copy: Copy | undefined, network: string | null): Promise<Copy> {
    try {
      const answer = await fetchJson({ url, limit: LARGEST, network, validators: null });
      const now = clock();
      const keys = readKeys(answer.kind === 'found' ? answer.json : null);
      return keep(url, {
        keys,
        fetchedAt: now,
        freshUntil: now + freshnessLifetime(answer.headers, FRESHNESS, now),
      });
    } catch (error) {
      if (!(error instanceof FetchJsonError)) throw error;
      if (copy !== undefined && error.issue !== 'gone' && clock() < copy.fetchedAt + LAST_GOOD_FOR)
        return copy;
      if (error.issue === 'outage' || error.issue === 'budget') {
        throw temporarilyUnavailable(`client keys: ${error.reason}`, error.retryAfter, error);
      }
      throw new OAuthError('invalid_client', `The keys at jwks_uri cannot be used: ${error.message}.`, {
        reason: `client keys: ${error.reason}`,
      });
    }
  }

  function keep(url: string, copy: Copy): Copy {
    copies.set(url, copy);
    return copy;
  }
}

/** Keys that cannot be read are passed over: others may be for other uses. */
function readKeys(json: unknown): ClientKeySet {
  const keys = (json as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length > MOST_KEYS) {
    throw new FetchJsonError('unusable', `it is no key set of at most ${MOST_KEYS} keys`);
  }
  return {
    keys: keys
      .filter((key) => typeof key === 'object' && key !== null && typeof key.kty === 'string')
      .filter(isBearable),
  };
}

/** Base64url characters of 2048 and 4096 bits, the latter with a zero byte in front, and of an exponent of 32 bits. */
const MODULUS = { shortest: 342, longest: 684 } as const;
const LONGEST_EXPONENT = 6;

/**
 * Whether a key costs no more to verify with than others do. Clients choose their keys, and an RSA key with a long exponent
 * takes a hundred times as long as an honest one.
 */
function isBearable({ kty, n, e }: ClientKeySet['keys'][number]): boolean {
  if (kty !== 'RSA') return true;
  if (typeof n !== 'string' || typeof e !== 'string') return false;
  return n.length >= MODULUS.shortest && n.length <= MODULUS.longest && e.length <= LONGEST_EXPONENT;
}
