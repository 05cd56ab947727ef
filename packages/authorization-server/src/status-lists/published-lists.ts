/** The status lists of this server: what has ended, as bits, deflated and signed. */
import { deflateSync } from 'node:zlib';
import { STATUS_LIST_TYPE } from '@portcullis/protocol';
import type { Configuration } from '../configuration.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { RevokedAccess } from '../store/index.ts';
import { type Bits, NOTHING_ENDED, withEnded } from './bits.ts';
import { createUris, ENTRIES_OF_A_LIST, ENTRIES_OF_A_PLACE, numberIn, SLOW_CLOCKS } from './indexes.ts';

/** Seconds for which a guard should believe a list before it asks again. @see draft-ietf-oauth-status-list §13.7 */
const TIME_TO_LIVE = 5;
/** Seconds after which nobody may believe it, whatever has become of this server. */
const EXPIRES_AFTER = 600;
/** Seconds for which ended grants are told of, beside the lifetime of access tokens: it may have been longer before. */
const TOLD_FOR = 3600;
/** Seconds after which a look asks for all of them again. In between it asks for those that are new. */
const WHOLE_EVERY = 60;
/** Seconds that a look goes back behind the one before: by so much may the clocks of processes differ, and facts be slow. */
const SEEN_AGAIN = 120;
/** Seconds for which a guard may go on by a list in which an entry is still set, through an outage as well. */
const STILL_BELIEVED = 120;

export interface PublishedStatusLists {
  /** A signed list as of this second; `null` when there is none of that number. */
  read(list: number): Promise<string | null>;
  /** Where they all are. */
  names(): Promise<readonly string[]>;
  /** Whether the token of an entry is known to have been revoked alone, so that a list which is still believed may say so. */
  isSpent(entry: number): boolean;
  /** Sees to it that this is known of other processes too: waiting for the first look only, then behind whoever asks. */
  keepUp(): Promise<unknown> | null;
  /** Notes that an access token was revoked alone. */
  noteRevoked(tokenId: string): void;
}

/** What had ended in a second. */
interface Picture {
  readonly at: number;
  readonly lists: number;
  readonly ended: Bits;
  /** The part of it that does not come back: grants. */
  readonly gone: Bits;
}

/** A list as deflated, and as signed last. */
interface Made {
  readonly bits: Buffer;
  readonly lst: string;
  readonly at: number;
  readonly signed: string;
}

/**
 * One look at the store serves everybody in its second, so nobody can make this server work by asking. A list is deflated when
 * it has changed, and signed anew in each second in which it is asked for.
 */
export function createPublishedStatusLists(
  configuration: Configuration,
  keys: KeyRing,
): PublishedStatusLists {
  const { store, clock, issuer, lifetimes, clients } = configuration;
  const uriOf = createUris(issuer);
  const made = new Map<number, Made>();
  /** Entries of tokens that were revoked alone, and when that was last known. */
  const spent = new Map<number, number>();
  let picture: Picture | null = null;
  let wholeAt = 0;
  let looking: Promise<Picture> | null = null;

  async function look(): Promise<Picture> {
    const at = clock();
    const before = picture !== null && at >= picture.at && at < wholeAt + WHOLE_EVERY ? picture : null;
    const since = before === null ? at - lifetimes.accessToken - TOLD_FOR : before.at - SEEN_AGAIN;
    const ended = await store.listRevokedAccess(since, at - SLOW_CLOCKS);
    const tokens = ended.tokens.flatMap((id) => numberIn('token', id) ?? []);
    for (const entry of tokens) spent.set(entry, at);
    for (const [entry, knownAt] of spent) if (knownAt < at - STILL_BELIEVED) spent.delete(entry);
    if (before === null) wholeAt = at;
    const gone = withEnded(before?.gone ?? new Map(), grantsIn(ended), []);
    // With the list that the next place stands in: it may be handed out within this second.
    const lists = 1 + Math.floor((ended.allocatedCount * ENTRIES_OF_A_PLACE) / ENTRIES_OF_A_LIST);
    picture = { at, lists, gone, ended: withEnded(gone, clientsIn(ended), tokens) };
    return picture;
  }

  /** A client of the configuration is in no store, and stands. */
  function clientsIn({ allocations: lent }: RevokedAccess): readonly number[] {
    return lent
      .filter(({ kind, id }) => kind === 'client' && !clients.has(id))
      .map(({ index: place }) => place);
  }

  /** No look that was begun more than a second ago: a slow store makes people wait, and no list older. */
  async function lookNow(): Promise<Picture> {
    const now = clock();
    if (picture?.at === now) return picture;
    const underWay = await looking;
    if (underWay !== null && underWay.at >= now - 1) return underWay;
    looking ??= look().finally(() => {
      looking = null;
    });
    return looking;
  }

  function make(list: number, { at, ended }: Picture): Made {
    const before = made.get(list);
    if (before?.at === at) return before;
    const bits = ended.get(list) ?? NOTHING_ENDED;
    const lst = before?.bits.equals(bits) === true ? before.lst : deflateSync(bits).toString('base64url');
    const now = { bits, lst, at, signed: sign(list, lst, at) };
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
    keepUp() {
      if (picture?.at === clock()) return null;
      const behind = picture !== null;
      const looked = lookNow();
      if (!behind) return looked;
      // Whoever asks for a list hears of a failure.
      looked.catch(() => {});
      return null;
    },
    noteRevoked(tokenId) {
      const entry = numberIn('token', tokenId);
      if (entry !== null) spent.set(entry, clock());
    },
  };
}

function grantsIn({ grants, allocations: lent }: RevokedAccess): readonly number[] {
  const places = lent.filter(({ kind }) => kind === 'grant').map(({ index: place }) => place);
  return [...grants.flatMap((id) => numberIn('grant', id) ?? []), ...places];
}
