/** The published status lists: which tokens are revoked, as bits, compressed and signed. */
import { deflateSync } from 'node:zlib';
import { STATUS_LIST_TYPE } from '@portcullis/protocol';
import type { ServerContext } from '../context.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { CheckedKeyOptions } from '../keys/options.ts';
import { signJwt } from '../keys/signing-key.ts';
import type { RevokedAccess } from '../store/index.ts';
import type { TokenOptions } from '../token/options.ts';
import { CLOCK_SKEW, createListUri, ENTRIES_PER_INDEX, ENTRIES_PER_LIST, entryOfTokenId } from './entries.ts';

/** Seconds for which a resource server should use a list before it fetches it again. @see draft-ietf-oauth-status-list §13.7 */
const TIME_TO_LIVE = 5;
/** Seconds after which a list has expired, even if this server is down. */
const LIST_LIFETIME = 600;
/** Seconds for which revoked grants stay listed beyond the lifetime of access tokens: it may have been configured longer before. */
const LISTED_FOR = 3600;
/** Seconds between full reads of the store. In between only what is new is read. */
const FULL_READ_EVERY = 60;
/** Seconds that a read overlaps the one before: clocks of processes may differ by that much, and writes be slow. */
const OVERLAP = 120;
/** Seconds for which a resource server may go on with an old list in which an entry is still set, through an outage too. */
const OLD_LIST_TRUSTED_FOR = 120;

export type PublishedStatusLists = ReturnType<typeof createPublishedStatusLists>;

/** What was revoked as of one second. */
interface Snapshot {
  readonly at: number;
  readonly listCount: number;
  readonly revoked: ListBits;
  /** The permanent part: revoked grants. */
  readonly revokedGrants: ListBits;
}

/** A list as last compressed and signed. */
interface SignedList {
  readonly bits: Buffer;
  readonly lst: string;
  readonly at: number;
  readonly jwt: string;
}

/**
 * Reads the store at most once per second for all requests, so that requests for lists cannot be used to cause load. A list is
 * compressed again if it has changed, and signed again in each second in which it is requested.
 */
export function createPublishedStatusLists(
  context: ServerContext<CheckedKeyOptions & TokenOptions>,
  keys: KeyRing,
) {
  const { store, clock } = context;
  const { issuer, lifetimes, clients } = context.options;
  const uriOf = createListUri(issuer);
  const sign = createListSigner(issuer, keys);
  /** Entries of tokens that were revoked by themselves, with the second in which that was last known. */
  const revokedEntries = new Map<number, number>();
  let snapshot: Snapshot | null = null;
  let lastFullRead = 0;
  let reading: Promise<Snapshot> | null = null;

  async function readStore(): Promise<Snapshot> {
    const at = clock();
    const previous =
      snapshot !== null && at >= snapshot.at && at < lastFullRead + FULL_READ_EVERY ? snapshot : null;
    const since = previous === null ? at - lifetimes.accessToken - LISTED_FOR : previous.at - OVERLAP;
    const revoked = await store.listRevokedAccess(since, at - CLOCK_SKEW);
    const entries = revoked.tokens.flatMap((id) => entryOfTokenId(id) ?? []);
    for (const entry of entries) revokedEntries.set(entry, at);
    for (const [entry, knownAt] of revokedEntries) {
      if (knownAt < at - OLD_LIST_TRUSTED_FOR) revokedEntries.delete(entry);
    }
    if (previous === null) lastFullRead = at;
    const revokedGrants = withRevoked(previous?.revokedGrants ?? new Map(), indexesOf(revoked, 'grant'), []);
    // Counts the list of the next index too: that index may be allocated within this second.
    const listCount = 1 + Math.floor((revoked.allocatedCount * ENTRIES_PER_INDEX) / ENTRIES_PER_LIST);
    const all = withRevoked(revokedGrants, indexesOf(revoked, 'client', isRemovedClient), entries);
    snapshot = { at, listCount, revokedGrants, revoked: all };
    return snapshot;
  }

  /** The store knows nothing of configured clients and lists them as revoked. */
  function isRemovedClient(id: string): boolean {
    return !clients.has(id);
  }

  /** Never uses a read that began more than a second ago: a slow store makes callers wait, but no list older. */
  async function currentSnapshot(): Promise<Snapshot> {
    const now = clock();
    if (snapshot?.at === now) return snapshot;
    const pending = await reading;
    if (pending !== null && pending.at >= now - 1) return pending;
    reading ??= readStore().finally(() => {
      reading = null;
    });
    return reading;
  }

  return {
    /** The signed list of that number as of this second; `null` if there is none. */
    async read(list: number): Promise<string | null> {
      const current = await currentSnapshot();
      return list < current.listCount ? sign(list, current) : null;
    },
    /** The URIs of all lists. */
    async listUris(): Promise<readonly string[]> {
      const { listCount } = await currentSnapshot();
      return Array.from({ length: listCount }, (_, list) => uriOf(list));
    },
    /** Whether a token of this entry was revoked by itself recently enough that a list still in use may say so. */
    isRevoked: (entry: number): boolean => revokedEntries.has(entry),
    /** Reads the revocations of other processes: the caller waits for the first read only, later ones run in the background. */
    refresh(): Promise<unknown> | null {
      if (snapshot?.at === clock()) return null;
      const isFirst = snapshot === null;
      const pending = currentSnapshot();
      if (isFirst) return pending;
      // The error goes to the requests for a list.
      pending.catch(() => {});
      return null;
    },
    /** Records that an access token was revoked by itself. */
    recordRevokedToken(tokenId: string): void {
      const entry = entryOfTokenId(tokenId);
      if (entry !== null) revokedEntries.set(entry, clock());
    },
  };
}

/** Signs each list once per second at most. */
function createListSigner(issuer: string, keys: KeyRing): (list: number, snapshot: Snapshot) => string {
  const uriOf = createListUri(issuer);
  const signedLists = new Map<number, SignedList>();

  /** @see draft-ietf-oauth-status-list §5.1 */
  function sign(list: number, lst: string, at: number): string {
    return signJwt(keys.now().signing, STATUS_LIST_TYPE, {
      iss: issuer,
      sub: uriOf(list),
      iat: at,
      exp: at + LIST_LIFETIME,
      ttl: TIME_TO_LIVE,
      status_list: { bits: 1, lst },
    });
  }

  return (list, { at, revoked }) => {
    const previous = signedLists.get(list);
    if (previous?.at === at) return previous.jwt;
    const bits = revoked.get(list) ?? NOTHING_REVOKED;
    const lst = previous?.bits.equals(bits) === true ? previous.lst : deflateSync(bits).toString('base64url');
    const jwt = sign(list, lst, at);
    signedLists.set(list, { bits, lst, at, jwt });
    return jwt;
  };
}

/** The status indexes of revoked owners of one kind. */
function indexesOf(
  { allocations }: RevokedAccess,
  wanted: 'grant' | 'client',
  isRevoked: (id: string) => boolean = () => true,
): readonly number[] {
  return allocations.filter(({ kind, id }) => kind === wanted && isRevoked(id)).map(({ index }) => index);
}

/** Bits by list number: 1 for a revoked entry. A list in which nothing is revoked is left out. */
type ListBits = ReadonlyMap<number, Buffer>;

const BYTES_PER_LIST = ENTRIES_PER_LIST / 8;
const NOTHING_REVOKED: Buffer = Buffer.alloc(BYTES_PER_LIST);

/**
 * Adds revoked status indexes and single entries to the bits; a list without new ones stays the same object. The lowest bit of a
 * byte comes first, and the entries of a status index are one byte. @see draft-ietf-oauth-status-list §4.1
 */
function withRevoked(bits: ListBits, indexes: readonly number[], entries: readonly number[]): ListBits {
  const lists = new Map(bits);
  const revoke = (index: number, mask: number): void => {
    const list = Math.floor(index / BYTES_PER_LIST);
    const at = index % BYTES_PER_LIST;
    const before = lists.get(list) ?? NOTHING_REVOKED;
    if (((before[at] ?? 0) & mask) === mask) return;
    const bytes = before === (bits.get(list) ?? NOTHING_REVOKED) ? Buffer.from(before) : before;
    lists.set(list, bytes);
    bytes[at] = (bytes[at] ?? 0) | mask;
  };
  for (const index of indexes) revoke(index, 0xff);
  for (const entry of entries)
    revoke(Math.floor(entry / ENTRIES_PER_INDEX), 1 << (entry % ENTRIES_PER_INDEX));
  return lists;
}
