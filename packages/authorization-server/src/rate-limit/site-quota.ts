/** Quotas of stored rows that unauthenticated requests cause: so many in all, and a fair share of them for each site. */
import { createHmac } from 'node:crypto';
import type { ConnectionInfo } from '@portcullis/http';
import { createLruCache, OAuthError, tooManyRequests } from '@portcullis/protocol';
import { deriveKey } from '../encryption/encryptor.ts';
import type { EncryptionOptions } from '../encryption/options.ts';
import type { LimitContext } from './limiter.ts';
import { MAX_SHARE_OF_REST, siteOf } from './policies.ts';

/** The rows of a quota, and how it is enforced. */
export interface QuotaRules {
  /** Rows at a time. */
  readonly max: number;
  /** Sites are counted by a keyed hash, which differs by purpose. */
  readonly purpose: string;
  /** The number of rows in the store. */
  count(): Promise<number>;
  /** The same for each site that has any. Called only when there are many. */
  countBySite(): Promise<ReadonlyMap<string, number>>;
  /** For the audit log: `registration: unused clients`. */
  readonly rows: string;
  /** The error when nothing is left: a sentence. */
  readonly exhausted: string;
  /** Seconds after which there may be space again. */
  readonly retryAfter: number;
}

export interface SiteQuota {
  /**
   * Stores a row within the quota.
   * @param save stores the row of a site, as the store counts it (`null` when it is unknown); if it rejects, the row is not counted
   * @throws OAuthError 429 when the site has its share of what is left, 503 when nothing is left; and as `save`
   */
  run<T>(connection: ConnectionInfo, save: (site: string | null) => Promise<T>): Promise<T>;
}

/** A row that is stored, or about to be. */
interface Reservation {
  readonly site: string | null;
}

/** Seconds between two counts: a few processes together may overshoot by what each allows meanwhile. */
const COUNT_EVERY = 10;
/** Below this share of the quota, sites are not counted: most servers never reach it. */
const CALM = 1 / 2;

/** What the store counted, and the reservations that the count may not have seen. */
interface Count {
  readonly at: number;
  readonly stored: Promise<{ readonly all: number; readonly bySite: ReadonlyMap<string, number> | null }>;
  readonly since: Set<Reservation>;
}

export function createSiteQuota(
  { clock, options: { masterKey } }: Pick<LimitContext, 'clock'> & { readonly options: EncryptionOptions },
  { max, purpose, rows, exhausted, retryAfter, ...store }: QuotaRules,
): SiteQuota {
  const calm = max * CALM;
  const nameSite = createNameSite(masterKey, purpose);
  /** Reservations whose rows are being stored: no count is certain to have seen them. */
  const pending = new Set<Reservation>();
  let newest: Count | null = null;

  async function query(withSites: boolean) {
    const all = await store.count();
    return { all, bySite: withSites || all >= calm ? await store.countBySite() : null };
  }

  function count(withSites: boolean): Count {
    const count: Count = { at: clock(), stored: query(withSites), since: new Set(pending) };
    // A failed count fails the requests that wait for it; the next request counts again.
    count.stored.catch(() => {
      if (newest === count) newest = null;
    });
    newest = count;
    return count;
  }

  return {
    async run(connection, save) {
      const site = nameSite(connection);
      let current = newest === null || Math.abs(clock() - newest.at) >= COUNT_EVERY ? count(false) : newest;
      let stored = await current.stored;
      // Meanwhile another request may have counted again, or have filled the quota so far that sites matter.
      while (current !== newest || (stored.bySite === null && stored.all + current.since.size >= calm)) {
        current = newest === null || newest === current ? count(true) : newest;
        stored = await current.stored;
      }
      // Nothing is awaited from here on, so that of many requests at once each sees those before it.
      const { since } = current;
      const all = stored.all + since.size;
      if (all >= max) {
        throw new OAuthError('temporarily_unavailable', exhausted, {
          reason: `${rows}: ${all} of ${max}`,
          retryAfter,
        });
      }
      if (site !== null && stored.bySite !== null) {
        const reserved = [...since].filter((other) => other.site === site).length;
        const own = (stored.bySite.get(site) ?? 0) + reserved;
        if (own > 0 && own + 1 > (max - all) * MAX_SHARE_OF_REST) {
          throw tooManyRequests(`${rows}: ${own} of ${all} belong to one site`, retryAfter);
        }
      }
      const reservation = { site };
      pending.add(reservation);
      since.add(reservation);
      try {
        return await save(site);
      } catch (error) {
        since.delete(reservation);
        newest?.since.delete(reservation);
        throw error;
      } finally {
        pending.delete(reservation);
      }
    },
  };
}

/** Base64url characters: 66 bits under a key, so that no two sites collide. */
const NAME_LENGTH = 11;

/** Names a site by a keyed hash: the same in all processes, and meaningless to a reader of the store. */
function createNameSite(
  masterKey: Uint8Array,
  purpose: string,
): (connection: ConnectionInfo) => string | null {
  const key = deriveKey(masterKey, purpose);
  const names = createLruCache<string>({ entries: 1000 });
  return (connection) => {
    const site = siteOf(connection);
    if (site === null) return null;
    const known = names.get(site);
    if (known !== undefined) return known;
    const name = createHmac('sha256', key).update(site).digest('base64url').slice(0, NAME_LENGTH);
    names.set(site, name);
    return name;
  };
}
