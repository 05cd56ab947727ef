/** Allocates status indexes: each grant, and each client that acts for itself, gets eight entries, and each of its tokens one of them. */
import { randomInt } from 'node:crypto';
import { createLruCache } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import { createSingleFlight } from '../single-flight.ts';
import type { StatusIndexOwner } from '../store/index.ts';
import type { AssignStatus } from '../token/issue.ts';
import { CLOCK_SKEW, createListUri, ENTRIES_PER_INDEX, ENTRIES_PER_LIST, newTokenId } from './entries.ts';
import type { PublishedStatusLists } from './published-lists.ts';

/** Indexes reserved at a time, so that hardly any grant needs a reservation of its own. They are used in random order, which hides when. */
const BLOCK_SIZE = 256;
/** Seconds for which an allocation is used without asking the store again. */
const ALLOCATION_MAX_AGE = 60;
/** Owners whose allocation is cached. */
const CACHED_OWNERS = 10_000;

/** The status index of an owner, and until when (epoch seconds) it may be used without asking the store. */
interface Allocation {
  readonly index: number;
  readonly until: number;
}

/**
 * Creates the function that allocates a token's entry in the lists. A new token never reuses the entry of a revoked one: it would be
 * rejected before its first use.
 */
export function createAssignStatus(
  { store, options: { issuer, lifetimes } }: ServerContext,
  { isRevoked, refresh }: Pick<PublishedStatusLists, 'isRevoked' | 'refresh'>,
): AssignStatus {
  const uriOf = createListUri(issuer);
  const indexes = createIndexPool(store);
  const allocations = createLruCache<Allocation>({ entries: CACHED_OWNERS });
  const allocating = createSingleFlight<Allocation>();
  let turn = randomInt(ENTRIES_PER_INDEX);

  /** A free entry of the owner's index; of a further index if all of that are revoked. */
  async function findEntry(owner: StatusIndexOwner, now: number): Promise<number> {
    const client = owner.kind === 'client' ? await store.findClient(owner.id) : null;
    // The entries from before a client was removed or disabled stay revoked. It may be enabled as of a second that is still to come.
    const since = client?.enabledAt ?? client?.createdAt ?? 0;
    const key = `${owner.kind} ${since} ${owner.id}`;
    for (;;) {
      const cached = allocations.get(key);
      const isCurrent = cached !== undefined && now < cached.until;
      const entry = isCurrent ? nextFreeEntry(cached.index) : null;
      if (entry !== null) return entry;
      allocations.set(key, await allocating.run(key, () => allocate(owner, Math.max(now, since), isCurrent)));
    }
  }

  /** @param needsAnother whether all entries of the index that the owner has are revoked */
  async function allocate(owner: StatusIndexOwner, now: number, needsAnother: boolean): Promise<Allocation> {
    const offered = await indexes.take();
    const neededUntil = now + ALLOCATION_MAX_AGE + lifetimes.accessToken + CLOCK_SKEW;
    const index = await store.allocateStatusIndex(owner, offered, now, neededUntil, needsAnother);
    if (index !== offered) indexes.giveBack(offered);
    return { index, until: now + ALLOCATION_MAX_AGE };
  }

  /** Another entry of the index for each token, as far as they go; `null` if all are revoked. */
  function nextFreeEntry(index: number): number | null {
    for (let tries = 0; tries < ENTRIES_PER_INDEX; tries += 1) {
      turn = (turn + 1) % ENTRIES_PER_INDEX;
      const entry = index * ENTRIES_PER_INDEX + turn;
      if (!isRevoked(entry)) return entry;
    }
    return null;
  }

  return async ({ grantId, clientId }, now) => {
    const refreshing = refresh();
    if (refreshing !== null) await refreshing;
    const owner: StatusIndexOwner =
      grantId === null ? { kind: 'client', id: clientId } : { kind: 'grant', id: grantId };
    const entry = await findEntry(owner, now);
    const uri = uriOf(Math.floor(entry / ENTRIES_PER_LIST));
    return { tokenId: newTokenId(entry), status: { idx: entry % ENTRIES_PER_LIST, uri } };
  };
}

/** Unused status indexes of this process, reserved in the store a block at a time. */
function createIndexPool(store: ServerContext['store']) {
  let free: number[] = [];
  let reserving: Promise<void> | null = null;

  async function reserve(): Promise<void> {
    const first = await store.reserveStatusIndexes(BLOCK_SIZE);
    free = shuffled(Array.from({ length: BLOCK_SIZE }, (_, offset) => first + offset));
  }

  return {
    async take(): Promise<number> {
      for (;;) {
        const index = free.pop();
        if (index !== undefined) return index;
        reserving ??= reserve().finally(() => {
          reserving = null;
        });
        await reserving;
      }
    },
    giveBack: (index: number) => void free.push(index),
  };
}

function shuffled(indexes: number[]): number[] {
  for (let last = indexes.length - 1; last > 0; last -= 1) {
    const other = randomInt(last + 1);
    const [one, two] = [indexes[last] ?? 0, indexes[other] ?? 0];
    indexes[last] = two;
    indexes[other] = one;
  }
  return indexes;
}
