/** How many clients wait for their first use, and how many of them one site may have: its part of what is left. */
import { OAuthError, tooManyRequests } from '@portcullis/protocol';
import type { AuthorizationStore } from '../store/index.ts';

/** Places for clients that were never used. */
export interface UnusedClientQuota {
  /**
   * Takes a place for one more.
   * @param network where it comes from, as the store counts it; `null` when nobody knows
   * @returns what ends the taking, to be called once
   * @throws OAuthError 429 when the network has its part of what is left, 503 when nothing is left
   */
  reserve(network: string | null): Promise<SettleReservation>;
}

/** Says whether the client was stored, or the place is free again. */
export type SettleReservation = (isStored: boolean) => void;

/** Seconds between two counts: so much may a few processes together overshoot. */
const COUNTED_EVERY = 10;
/** Seconds. The first registrations to expire make room. */
const TRY_AGAIN = 600;
/** While less than this part of the places is taken, nobody asks who took it: most servers never come there. */
const CALM = 1 / 2;
/**
 * A network may have this part of what is left, as long as it is more than one place. So none takes the last, and the more
 * networks want much, the less each gets; whose clients are used has none of them here.
 * @see Choudhury and Hahne, Dynamic Queue Length Thresholds, 1998
 */
const SHARE = 1 / 4;

/** What the store counted at a moment, and the places taken since: those that were being taken then as well. */
interface Count {
  readonly at: number;
  readonly stored: Promise<Stored>;
  readonly since: Places;
}

interface Stored {
  readonly all: number;
  /** `null`: so few that nobody asked. */
  readonly ofNetworks: ReadonlyMap<string, number> | null;
}

/** @param maxUnusedClients places in all */
export function createUnusedClientQuota(
  store: Pick<AuthorizationStore, 'countUnusedClients' | 'countUnusedClientsByNetwork'>,
  clock: () => number,
  maxUnusedClients: number,
): UnusedClientQuota {
  const calm = maxUnusedClients * CALM;
  /** Places whose client is on its way to the store: whether a count has seen it, nobody knows. */
  const underWay = createPlaces();
  let newest: Count | null = null;

  async function ask(always: boolean): Promise<Stored> {
    const all = await store.countUnusedClients();
    return { all, ofNetworks: always || all >= calm ? await store.countUnusedClientsByNetwork() : null };
  }

  function count(always: boolean): Count {
    const made: Count = { at: clock(), stored: ask(always), since: underWay.copy() };
    // Whoever fails to count says so; the next one counts again.
    made.stored.catch(() => {
      if (newest === made) newest = null;
    });
    newest = made;
    return made;
  }

  function current(): Count {
    return newest === null || Math.abs(clock() - newest.at) >= COUNTED_EVERY ? count(false) : newest;
  }

  return {
    async reserve(network) {
      let known = current();
      let stored = await known.stored;
      while (stored.ofNetworks === null && stored.all + known.since.all() >= calm) {
        known = newest === known || newest === null ? count(true) : newest;
        stored = await known.stored;
      }
      // From here until the place is taken nothing is waited for: of many at once each sees those before it.
      const all = stored.all + known.since.all();
      if (all >= maxUnusedClients) throw refuseAll(all);
      if (network !== null && stored.ofNetworks !== null) {
        const own = (stored.ofNetworks.get(network) ?? 0) + known.since.of(network);
        if (own > 0 && own + 1 > (maxUnusedClients - all) * SHARE) throw refuseNetwork(own, all);
      }
      const note = (more: 1 | -1) => {
        underWay.add(network, more);
        known.since.add(network, more);
        if (newest !== null && newest !== known) newest.since.add(network, more);
      };
      note(1);
      return (isStored) => (isStored ? underWay.add(network, -1) : note(-1));
    },
  };
}

interface Places {
  all(): number;
  of(network: string): number;
  add(network: string | null, more: 1 | -1): void;
  copy(): Places;
}

function createPlaces(all = 0, ofNetworks: ReadonlyMap<string, number> = new Map()): Places {
  const count = { all };
  const counts = new Map(ofNetworks);
  return {
    all: () => count.all,
    of: (network) => counts.get(network) ?? 0,
    add(network, more) {
      count.all += more;
      if (network === null) return;
      const own = (counts.get(network) ?? 0) + more;
      if (own === 0) counts.delete(network);
      else counts.set(network, own);
    },
    copy: () => createPlaces(count.all, counts),
  };
}

function refuseAll(all: number): OAuthError {
  return new OAuthError(
    'temporarily_unavailable',
    'Too many clients have registered and wait for their first use. Try again later.',
    { reason: `registration: ${all} clients are unused`, retryAfter: TRY_AGAIN },
  );
}

function refuseNetwork(own: number, all: number): OAuthError {
  return tooManyRequests(
    `registration: ${own} of ${all} clients that are unused are of one network`,
    TRY_AGAIN,
  );
}
