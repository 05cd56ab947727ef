/** Searches the audit log: filters, and the events that match them, the latest first. */
import { createAccountAdministration } from '@portcullis/authorization-server';
import type {
  AuditEventRecord,
  AuditEventSearch,
  AuthorizationStore,
} from '@portcullis/authorization-server/store';
import { OperationError } from './errors.ts';
import { checkEventType, matchesType } from './event-types.ts';

/** Which events are wanted; all given criteria must match. */
export interface EventCriteria {
  readonly type?: string | undefined;
  readonly user?: string | undefined;
  readonly client?: string | undefined;
  readonly grant?: string | undefined;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly decision?: string | undefined;
  readonly outcome?: string | undefined;
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
}

/** A filter: criteria for the store's search, and details that are matched here. */
export interface EventFilter {
  readonly search: EventSearch;
  readonly matches: (event: AuditEventRecord) => boolean;
}

export type EventSearch = Omit<AuditEventSearch, 'from' | 'before'>;

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
  const details = Object.entries(criteria).filter(
    ([name, value]) => DETAILS.includes(name) && value !== undefined,
  );
  const isGiven = [type, user, client, grant].some((value) => value !== null) || since !== undefined;
  if (!isGiven && details.length === 0) return null;
  return {
    search: { type, accountId, clientId: client, grantId: grant, reference: null },
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
  // Finding records no event, and needs no time.
  const { find } = createAccountAdministration({ store, issuer: '', clock: () => 0, events: () => {} });
  const account = await find(user);
  if (account !== null) return account.id;
  throw new OperationError(
    'not_found',
    `There is no account for ${user}. Events of a removed account are found by its ID, which begins with user_`,
  );
}

const DETAILS: readonly string[] = ['server', 'tool', 'decision', 'outcome'];

/** Events of one query. */
const PAGE = 1_000;
/** Time range of the first query, in milliseconds. */
const FIRST_SPAN = 3_600_000;
/** Target query duration in milliseconds, far below the store's timeout; faster queries increase the next range. */
const QUICK = 250;
const SLOW = 1_000;
/** Time range after a failure, in milliseconds: a busy hour after a quiet one may exceed the store's timeout. */
const LEAST_SPAN = 60_000;
/** Sorts after every identifier. */
export const END = '~';

/** The latest events that match, oldest first. Reads back as far as necessary. */
export async function findLatest(
  store: AuthorizationStore,
  limit: number,
  filter: EventFilter | null,
  since = 0,
): Promise<readonly AuditEventRecord[]> {
  if (limit === 0 || filter === null) return store.listLatestEvents(limit);
  const found: AuditEventRecord[] = [];
  for await (const page of searchBack(store, filter.search, since)) {
    found.unshift(...page.filter(filter.matches));
    if (found.length >= limit) break;
  }
  return found.slice(-limit);
}

/** Searches the log from its end: pages of matching events, the latest first, until a time. @param since epoch milliseconds */
export async function* searchBack(
  store: AuthorizationStore,
  search: EventSearch,
  since = 0,
): AsyncGenerator<readonly AuditEventRecord[]> {
  for await (const { events } of searchSpans(store, search, { since, before: END })) yield events;
}

/** One query of a search. */
interface SearchedSpan {
  /** Those that match, oldest first. */
  readonly events: readonly AuditEventRecord[];
  /** All events from this identifier on were searched. */
  readonly searched: string;
}

/** The queries of `searchBack`, from before an event on. */
export async function* searchSpans(
  store: AuthorizationStore,
  search: EventSearch,
  { since, before: begin }: { readonly since: number; readonly before: string },
): AsyncGenerator<SearchedSpan> {
  const [oldest] = await store.listEvents('', 1);
  if (oldest === undefined) return;
  const first = Math.max(since, oldest.at);
  let [span, end, before] = [FIRST_SPAN, begin === END ? Date.now() : timeOfId(begin), begin];
  for (;;) {
    const began = performance.now();
    const from = Math.max(first, end - span);
    const page = await store
      .searchEvents({ ...search, from: idPrefixOf(from), before }, PAGE)
      .catch((error: unknown) => {
        if (span <= LEAST_SPAN) throw error;
        return null;
      });
    if (page === null) {
      span /= 8;
      continue;
    }
    const isWhole = page.length < PAGE;
    if (!isWhole) before = page[0]?.id ?? before;
    yield { events: page, searched: isWhole ? idPrefixOf(from) : before };
    if (isWhole) {
      if (from <= first) return;
      [end, before] = [from, idPrefixOf(from)];
    }
    const took = performance.now() - began;
    if (took < QUICK) span *= 2;
    else if (took > SLOW) span /= 2;
  }
}

/** Epoch milliseconds. */
function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, TIME_DIGITS), 36);
}

/** Digits of the time that an event ID begins with. */
const TIME_DIGITS = 9;

/** The prefix of every event ID created at a time. @param at epoch milliseconds */
export function idPrefixOf(at: number): string {
  return Math.floor(at).toString(36).padStart(TIME_DIGITS, '0');
}
