/** Searches the audit log: filters, and the events that match them, the latest first. */
import type {
  AuditEventRecord,
  AuditEventSearch,
  AuthorizationStore,
  EventHourStore,
} from '@portcullis/authorization-server/store';
import * as z from 'zod';
import { createAccountReading } from './accounts.ts';
import { OperationError } from './errors.ts';
import { checkEventType, matchesType } from './event-types.ts';
import { HOUR, idPrefixOf, timeOfId } from './statistics/event-time.ts';
import { SEARCHED_DETAILS } from './statistics/key-filter.ts';
import { createHourSkipper } from './statistics/skip-hours.ts';

const text = (about: string) => z.string().max(2000).optional().describe(about);

/** Which events; all that are given must match. */
export const criteria = {
  type: text('an event, or all below a name: `call.finished`, `token.*`'),
  user: text('identifier or email address of an account'),
  client: text('a `client_id`'),
  grant: text('identifier of a connection'),
  server: text('path of a server behind the gateway'),
  tool: text('name of a tool'),
  decision: text('what was decided about a call'),
  outcome: text('how a call ended'),
  error: text('of a rejected request: its OAuth error'),
  reference: text('code of an error page, such as 7Q4M-2KXH'),
};

/** Which events are wanted; all given criteria must match. */
export interface EventCriteria extends Readonly<z.infer<z.ZodObject<typeof criteria>>> {
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
}

/** A filter: criteria for the store's search, and details that are matched here. */
export interface EventFilter {
  readonly search: EventSearch;
  readonly matches: (event: AuditEventRecord) => boolean;
}

interface EventSearch extends Omit<AuditEventSearch, 'from' | 'before' | 'detail'> {
  /** Details that every match has, which `matches` compares: they tell which hours need not be read. */
  readonly details?: Readonly<Record<string, string>>;
}

/** A store with what is known of the hours of its log. */
export type SearchedStore = AuthorizationStore & EventHourStore;

/**
 * `null` without filters. An account that does not exist matches by its identifier: it may have been deleted.
 * @throws Error for an address of no account, or of several, and for an unknown event
 */
export async function createFilter(
  criteria: EventCriteria,
  store: AuthorizationStore,
): Promise<EventFilter | null> {
  const { type = null, user = null, client = null, grant = null, since } = criteria;
  if (type !== null) checkEventType(type);
  const accountId = user === null ? null : await findAccountId(store, user);
  const details = Object.entries(criteria).flatMap(([name, value]): [string, string][] =>
    DETAILS.includes(name) && typeof value === 'string' ? [[name, value]] : [],
  );
  const isGiven = [type, user, client, grant].some((value) => value !== null) || since !== undefined;
  if (!isGiven && details.length === 0) return null;
  return {
    search: {
      ...{ type, accountId, clientId: client, grantId: grant },
      details: Object.fromEntries(details),
    },
    matches: (event) =>
      (type === null || matchesType(event.type, type)) &&
      (accountId === null || event.accountId === accountId) &&
      (client === null || event.clientId === client) &&
      (grant === null || event.grantId === grant) &&
      (since === undefined || event.at >= since) &&
      details.every(([name, value]) => event.details[name] === value),
  };
}

async function findAccountId(store: AuthorizationStore, user: string): Promise<string> {
  if (user.startsWith('user_')) return user;
  const account = await createAccountReading(store).find(user);
  if (account !== null) return account.id;
  throw new OperationError(
    'not_found',
    `There is no account for ${user}. Events of a removed account are found by its ID, which begins with user_`,
  );
}

const DETAILS: readonly string[] = SEARCHED_DETAILS;

/** The store searches for one detail. */
function bySelectivity([one]: readonly [string, string], [other]: readonly [string, string]): number {
  return DETAILS.indexOf(one) - DETAILS.indexOf(other);
}

/** Events of one query. */
const PAGE = 1_000;
/** Time range of the first query, in milliseconds. */
const FIRST_SPAN = HOUR;
/** Target query duration in milliseconds, so that a page is shown at once; faster queries increase the next range. */
const QUICK = 50;
const SLOW = 100;
/** Time range after a failure, in milliseconds: a busy hour after a quiet one may exceed the store's timeout. */
const LEAST_SPAN = 60_000;
/** Sorts after every identifier. */
export const END = '~';

/** One query of a search. */
interface SearchedSpan {
  /** Those that match, oldest first. */
  readonly events: readonly AuditEventRecord[];
  /** All events from this identifier on were searched; `null`: all there are. */
  readonly searched: string | null;
}

/**
 * Searches the log back from its end, or from before an event, until a time. Hours that are known to have no match are not read.
 * @param since epoch milliseconds
 */
export async function* searchSpans(
  store: SearchedStore,
  { details = {}, ...search }: EventSearch,
  { since, before: begin = END }: { readonly since: number; readonly before?: string },
): AsyncGenerator<SearchedSpan> {
  const [oldest] = await store.listEvents('', 1);
  if (oldest === undefined) return;
  const first = Math.max(since, oldest.at);
  const skipper = createHourSkipper(store, { ...details, ...keysOfSearch(search) }, first);
  const detail = Object.entries(details).toSorted(bySelectivity)[0] ?? null;
  let [span, end, before] = [FIRST_SPAN, begin === END ? Date.now() : timeOfId(begin), begin];
  for (;;) {
    const began = performance.now();
    const run = await skipper(end);
    if (run === null) {
      yield { events: [], searched: null };
      return;
    }
    if (run.end < end) before = idPrefixOf(run.end);
    const from = Math.max(first, run.from, run.end - span);
    const page = await store
      .searchEvents({ ...search, detail, from: idPrefixOf(from), before }, PAGE)
      .catch((error: unknown) => {
        if (span <= LEAST_SPAN) throw error;
        return null;
      });
    if (page === null) {
      span /= 8;
      continue;
    }
    const isWhole = page.length < PAGE;
    const isLast = isWhole && from <= first;
    before = isWhole ? idPrefixOf(from) : (page[0]?.id ?? before);
    yield { events: page, searched: isLast ? null : before };
    if (isLast) return;
    if (isWhole) end = from;
    const took = performance.now() - began;
    if (took < QUICK) span *= 2;
    else if (took > SLOW) span /= 2;
  }
}

/** The columns of a search, as the filters of hours name them. */
function keysOfSearch({ type, clientId, accountId, grantId }: Omit<EventSearch, 'details'>) {
  const named = { type, client: clientId, user: accountId, grant: grantId };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null));
}
