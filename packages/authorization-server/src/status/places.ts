/** Places in the status lists, given out: a grant gets one with its name, a client that acts for itself is lent one. */
import { randomInt } from 'node:crypto';
import type { StatusReference } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { PlaceHolder } from '../ports/index.ts';
import {
  createUris,
  ENTRIES_OF_A_LIST,
  ENTRIES_OF_A_PLACE,
  nameWith,
  numberIn,
  SLOW_CLOCKS,
} from './names.ts';

/** Set aside at once, so that hardly any grant costs a write. They are given out in random order: it tells nothing of when. */
const BLOCK = 256;
/** Seconds after which the store is asked again what a holder was lent. */
const LENT_FOR = 60;
/** Holders whose place is remembered. */
const MOST_REMEMBERED = 10_000;

/** What a token is called, and where its status stands. */
export interface NamedToken {
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

/**
 * @param isSpent whether a token of that entry was revoked a moment ago: no other is given the same
 */
export function createPlaces(
  { store, issuer, lifetimes }: Configuration,
  isSpent: (entry: number) => boolean,
): Places {
  const uriOf = createUris(issuer);
  const lent = new Map<string, { readonly place: number; readonly until: number }>();
  let free: number[] = [];
  let reserving: Promise<void> | null = null;
  let turn = randomInt(ENTRIES_OF_A_PLACE);

  async function reserve(): Promise<void> {
    const first = await store.reservePlaces(BLOCK);
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

  async function lend(holder: PlaceHolder, now: number): Promise<number> {
    const key = `${holder.kind} ${holder.id}`;
    const known = lent.get(key);
    if (known !== undefined && now < known.until) return known.place;
    const offered = await takePlace();
    const needed = now + LENT_FOR + lifetimes.accessToken + SLOW_CLOCKS;
    const place = await store.lendPlace(holder, offered, now, needed);
    if (place !== offered) free.push(offered);
    if (lent.size >= MOST_REMEMBERED) lent.clear();
    lent.set(key, { place, until: now + LENT_FOR });
    return place;
  }

  /** One of the entries of a place: another for each token, as far as they go. */
  function chooseEntry(place: number): number {
    for (let tries = 0; tries < ENTRIES_OF_A_PLACE; tries += 1) {
      turn = (turn + 1) % ENTRIES_OF_A_PLACE;
      const entry = place * ENTRIES_OF_A_PLACE + turn;
      if (!isSpent(entry)) return entry;
    }
    return place * ENTRIES_OF_A_PLACE + turn;
  }

  return {
    nameGrant: async () => nameWith('grant', await takePlace()),
    async nameToken({ grantId, clientId }, now) {
      const carried = grantId === null ? null : numberIn('grant', grantId);
      const holder: PlaceHolder =
        grantId === null ? { kind: 'client', id: clientId } : { kind: 'grant', id: grantId };
      const entry = chooseEntry(carried ?? (await lend(holder, now)));
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
