/** The quota of registered clients that were never used: in all, and a fair share of it for each site. */
import { OAuthError, tooManyRequests } from '@portcullis/protocol';
import type { AuthorizationStore } from '../store/index.ts';
import { MAX_SHARE_OF_REST } from './policies.ts';

export interface UnusedClientQuota {
  /**
   * Reserves a slot for one more client.
   * @param site as the store counts it; `null` when it is unknown
   * @returns has to be called once, with whether the client was stored
   * @throws OAuthError 429 when the site has its share of what is left, 503 when nothing is left
   */
  reserve(site: string | null): Promise<SettleReservation>;
}

export type SettleReservation = (isStored: boolean) => void;

/** Seconds between two counts: a few processes together may overshoot by what each lets in meanwhile. */
const COUNT_EVERY = 10;
/** Seconds. When the first registrations expire, there is space again. */
const RETRY_AFTER = 600;
/** While less than this part is taken, sites are not counted: most servers never get there. */
const CALM = 1 / 2;

interface Reservation {
  readonly site: string | null;
}

/** What the store counted, and the reservations that the count may not have seen. */
interface Count {
  readonly at: number;
  readonly stored: Promise<{ readonly all: number; readonly bySite: ReadonlyMap<string, number> | null }>;
  readonly since: Set<Reservation>;
}

export function createUnusedClientQuota(
  store: Pick<AuthorizationStore, 'countUnusedClients' | 'countUnusedClientsByNetwork'>,
  clock: () => number,
  maxUnusedClients: number,
): UnusedClientQuota {
  const calm = maxUnusedClients * CALM;
  /** Reservations whose clients are being stored: no count is certain to have seen them. */
  const pending = new Set<Reservation>();
  let newest: Count | null = null;

  async function query(withSites: boolean) {
    const all = await store.countUnusedClients();
    return { all, bySite: withSites || all >= calm ? await store.countUnusedClientsByNetwork() : null };
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
    async reserve(site) {
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
      if (all >= maxUnusedClients) throw quotaExhausted(all);
      if (site !== null && stored.bySite !== null) {
        const reserved = [...since].filter((other) => other.site === site).length;
        const own = (stored.bySite.get(site) ?? 0) + reserved;
        if (own > 0 && own + 1 > (maxUnusedClients - all) * MAX_SHARE_OF_REST) throw shareExhausted(own, all);
      }
      const reservation: Reservation = { site };
      pending.add(reservation);
      since.add(reservation);
      return (isStored) => {
        pending.delete(reservation);
        if (isStored) return;
        since.delete(reservation);
        newest?.since.delete(reservation);
      };
    },
  };
}

function quotaExhausted(all: number): OAuthError {
  return new OAuthError(
    'temporarily_unavailable',
    'Too many clients have registered and wait for their first use. Try again later.',
    { reason: `registration: ${all} clients are unused`, retryAfter: RETRY_AFTER },
  );
}

function shareExhausted(own: number, all: number): OAuthError {
  return tooManyRequests(`registration: ${own} of ${all} unused clients belong to one network`, RETRY_AFTER);
}
