/** The status lists of this server: what has ended, as bits, deflated and signed. */
import { deflateSync } from 'node:zlib';
import { STATUS_LIST_TYPE } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { EndedAccess } from '../ports/index.ts';
import {
  createUris,
  ENTRIES_OF_A_LIST,
  ENTRIES_OF_A_PLACE,
  entriesOf,
  numberIn,
  SLOW_CLOCKS,
} from './names.ts';

/** Seconds for which a guard should believe a list before it asks again. @see draft-ietf-oauth-status-list §13.7 */
const TIME_TO_LIVE = 5;
/** Seconds after which nobody may believe it, whatever has become of this server. */
const EXPIRES_AFTER = 600;
/** Seconds for which ended grants are told of, beside the lifetime of access tokens: it may have been longer before. */
const TOLD_FOR = 3600;

export interface StatusLists {
  /** A signed list as of this second; `null` when there is none of that number. */
  read(list: number): Promise<string | null>;
  /** Where they all are. */
  names(): Promise<readonly string[]>;
  /** Whether the token of an entry is known to have been revoked alone. */
  isSpent(entry: number): boolean;
  /** Notes that an access token was revoked alone. */
  noteRevoked(tokenId: string): void;
}

/** What had ended in a second. */
interface Picture {
  readonly at: number;
  readonly lists: number;
  /** Entries to be set, by the number of their list, as places in it. */
  readonly ended: ReadonlyMap<number, readonly number[]>;
}

/** A list as deflated, and as signed last. */
interface Made {
  readonly ended: string;
  readonly lst: string;
  readonly at: number;
  readonly signed: string;
}

/**
 * One look at the store serves everybody in its second, so nobody can make this server work by asking. A list is deflated when
 * it has changed, and signed anew in each second in which it is asked for.
 */
export function createStatusLists(configuration: Configuration, keys: KeyRing): StatusLists {
  const { store, clock, issuer, lifetimes, clients } = configuration;
  const uriOf = createUris(issuer);
  const made = new Map<number, Made>();
  let spent: ReadonlySet<number> = new Set();
  let picture: Picture | null = null;
  let looking: Promise<Picture> | null = null;

  async function look(): Promise<Picture> {
    const at = clock();
    const ended = await store.listEnded(at - lifetimes.accessToken - TOLD_FOR, at - SLOW_CLOCKS);
    const tokens = ended.tokens.flatMap((id) => numberIn('token', id) ?? []);
    spent = new Set(tokens);
    picture = {
      at,
      lists: Math.ceil((ended.places * ENTRIES_OF_A_PLACE) / ENTRIES_OF_A_LIST),
      ended: byList([...placesOf(ended).flatMap(entriesOf), ...tokens]),
    };
    return picture;
  }

  /** A client of the configuration is in no store, and stands. */
  function placesOf({ grants, lent }: EndedAccess): readonly number[] {
    const gone = lent.filter(({ kind, id }) => kind === 'grant' || !clients.has(id));
    return [...grants.flatMap((id) => numberIn('grant', id) ?? []), ...gone.map(({ place }) => place)];
  }

  async function lookNow(): Promise<Picture> {
    if (picture?.at === clock()) return picture;
    looking ??= look().finally(() => {
      looking = null;
    });
    return looking;
  }

  function make(list: number, { at, ended }: Picture): Made {
    const places = ended.get(list) ?? [];
    const text = places.join(' ');
    const before = made.get(list);
    if (before?.at === at) return before;
    const lst = before?.ended === text ? before.lst : deflate(places);
    const now = { ended: text, lst, at, signed: sign(list, lst, at) };
    made.set(list, now);
    return now;
  }

  /** @see draft-ietf-oauth-status-list §5.1 */
  function sign(list: number, lst: string, at: number): string {
    const { signing } = keys.now();
    const input = [
      { alg: signing.algorithm, typ: STATUS_LIST_TYPE, kid: signing.id },
      {
        iss: issuer,
        sub: uriOf(list),
        iat: at,
        exp: at + EXPIRES_AFTER,
        ttl: TIME_TO_LIVE,
        status_list: { bits: 1, lst },
      },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${input}.${signing.sign(input).toString('base64url')}`;
  }

  return {
    async read(list) {
      const now = await lookNow();
      return list < now.lists ? make(list, now).signed : null;
    },
    async names() {
      const { lists } = await lookNow();
      return Array.from({ length: lists }, (_, list) => uriOf(list));
    },
    isSpent: (entry) => spent.has(entry),
    noteRevoked(tokenId) {
      const entry = numberIn('token', tokenId);
      if (entry !== null) spent = new Set([...spent, entry]);
    },
  };
}

/** Entries, each once and in order, by the lists that they stand in. */
function byList(entries: readonly number[]): ReadonlyMap<number, readonly number[]> {
  const lists = Map.groupBy([...new Set(entries)].toSorted(ascending), (entry) =>
    Math.floor(entry / ENTRIES_OF_A_LIST),
  );
  return new Map([...lists].map(([list, own]) => [list, own.map((entry) => entry % ENTRIES_OF_A_LIST)]));
}

function ascending(one: number, other: number): number {
  return one - other;
}

/** One bit for each entry, the lowest of a byte first; zlib, base64url. @see draft-ietf-oauth-status-list §4 */
function deflate(ended: readonly number[]): string {
  const bits = Buffer.alloc(ENTRIES_OF_A_LIST / 8);
  for (const entry of ended) bits[entry >> 3] = (bits[entry >> 3] ?? 0) | (1 << (entry & 7));
  return deflateSync(bits).toString('base64url');
}
