/** Places in the status lists, given out: a grant gets one with its name, a client that acts for itself is lent one. */
import { randomInt } from 'node:crypto';
import type { StatusReference } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import { createMemory } from '../memory.ts';
import type { StatusIndexOwner } from '../store/index.ts';
import {
  createUris,
  ENTRIES_OF_A_LIST,
  ENTRIES_OF_A_PLACE,
  nameWith,
  numberIn,
  SLOW_CLOCKS,
} from './indexes.ts';
import type { PublishedStatusLists } from './published-lists.ts';

/** Set aside at once, so that hardly any grant costs a write. They are given out in random order: it tells nothing of when. */
const BLOCK = 256;
/** Seconds after which the store is asked again what a holder was lent. */
const LENT_FOR = 60;
/** Holders whose place is remembered: those that were lent one last. */
const REMEMBERED = 10_000;

/** What a token is called, and where its status stands. */
interface NamedToken {
  readonly tokenId: string;
  readonly status: StatusReference;
}

export interface Places {
  /** The identifier of a new grant, with its place. */
  nameGrant(): Promise<string>;
  /** @param holder what the token rests on: its grant, or without one its client */
  nameToken(
    holder: { readonly grantId: string | null; readonly clientId: string },
    now: number,
  ): Promise<NamedToken>;
}

/** A place that a holder was lent, and until when that is believed. */
interface Lent {
  readonly place: number;
  readonly until: number;
}

/** No token is given the entry of one that was revoked: it would be refused before it was ever used. */
export function createPlaces(
  { store, issuer, lifetimes }: Configuration,
  { isSpent, keepUp }: Pick<PublishedStatusLists, 'isSpent' | 'keepUp'>,
): Places {
  const uriOf = createUris(issuer);
  const lent = createMemory<Lent>(REMEMBERED);
  const lending = new Map<string, Promise<Lent>>();
  let free: number[] = [];
  let reserving: Promise<void> | null = null;
  let turn = randomInt(ENTRIES_OF_A_PLACE);

  async function reserve(): Promise<void> {
    const first = await store.reserveStatusIndexes(BLOCK);
    free = shuffled(Array.from({ length: BLOCK }, (_, at) => first + at));
  }

  async function takePlace(): Promise<number> {
    for (;;) {
      const place = free.pop();
      if (place !== undefined) return place;
      reserving ??= reserve().finally(() => {
        reserving = null;
      });
      await reserving;
    }
  }

  /** An entry of a place that the holder was lent; of another one when all of that are spent. */
  async function findLentEntry(holder: StatusIndexOwner, now: number): Promise<number> {
    const key = `${holder.kind} ${holder.id}`;
    for (;;) {
      const known = lent.get(key);
      const isKnown = known !== undefined && now < known.until;
      const entry = isKnown ? findEntry(known.place) : null;
      if (entry !== null) return entry;
      const asked = lending.get(key) ?? lend(holder, now, isKnown).finally(() => lending.delete(key));
      lending.set(key, asked);
      const { place, until } = await asked;
      lent.set(key, { place, until });
    }
  }

  async function lend(holder: StatusIndexOwner, now: number, isAnother: boolean): Promise<Lent> {
    const offered = await takePlace();
    const needed = now + LENT_FOR + lifetimes.accessToken + SLOW_CLOCKS;
    const place = await store.allocateStatusIndex(holder, offered, now, needed, isAnother);
    if (place !== offered) free.push(offered);
    return { place, until: now + LENT_FOR };
  }

  /** One of the entries of a place, another for each token as far as they go; `null` when all are spent. */
  function findEntry(place: number): number | null {
    for (let tries = 0; tries < ENTRIES_OF_A_PLACE; tries += 1) {
      turn = (turn + 1) % ENTRIES_OF_A_PLACE;
      const entry = place * ENTRIES_OF_A_PLACE + turn;
      if (!isSpent(entry)) return entry;
    }
    return null;
  }

  return {
    nameGrant: async () => nameWith('grant', await takePlace()),
    async nameToken({ grantId, clientId }, now) {
      const first = keepUp();
      if (first !== null) await first;
      const carried = grantId === null ? null : numberIn('grant', grantId);
      const holder: StatusIndexOwner =
        grantId === null ? { kind: 'client', id: clientId } : { kind: 'grant', id: grantId };
      const entry = (carried === null ? null : findEntry(carried)) ?? (await findLentEntry(holder, now));
      const uri = uriOf(Math.floor(entry / ENTRIES_OF_A_LIST));
      return { tokenId: nameWith('token', entry), status: { idx: entry % ENTRIES_OF_A_LIST, uri } };
    },
  };
}

function shuffled(places: number[]): number[] {
  for (let last = places.length - 1; last > 0; last -= 1) {
    const other = randomInt(last + 1);
    const [one, two] = [places[last] ?? 0, places[other] ?? 0];
    places[last] = two;
    places[other] = one;
  }
  return places;
}
