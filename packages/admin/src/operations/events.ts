/** Reads the audit log for operators: pages of matching events, and new ones as they are written. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { Administration } from './administration.ts';
import {
  createFilter,
  type EventCriteria,
  type EventFilter,
  type SearchedStore,
  searchSpans,
} from './search-events.ts';
import { idPrefixOf } from './statistics/event-time.ts';

/** Milliseconds that one request may search by default; what it has found by then is a page. */
const PATIENCE = 2_000;

interface EventPage {
  /** The latest first. */
  readonly events: readonly AuditEventRecord[];
  /** The search goes on before this identifier; `null`: every event was searched. */
  readonly before: string | null;
}

/** The latest events that match before one. @param before empty: the latest of all */
export async function listEvents(
  store: SearchedStore,
  criteria: EventCriteria,
  before: string,
  limit: number,
  patience: number = PATIENCE,
): Promise<EventPage> {
  const filter = await createFilter(criteria, store);
  if (filter === null || limit === 0) {
    const events = (await store.listLatestEvents(limit, before === '' ? undefined : before)).toReversed();
    return { events, before: events.length < limit ? null : (events.at(-1)?.id ?? null) };
  }
  const found: AuditEventRecord[] = [];
  const until = performance.now() + patience;
  const range = { since: criteria.since ?? 0, ...(before !== '' && { before }) };
  for await (const { events, searched } of searchSpans(store, filter.search, range)) {
    found.push(...events.filter(filter.matches).toReversed());
    if (found.length > limit) return { events: found.slice(0, limit), before: found[limit - 1]?.id ?? null };
    if (performance.now() > until) return { events: found, before: searched };
  }
  return { events: found, before: null };
}

/** The latest events of several types, the latest first. @param limit of each type */
export async function listEventsOfTypes(
  store: SearchedStore,
  types: readonly string[],
  criteria: Omit<EventCriteria, 'type'>,
  limit: number,
  patience?: number,
): Promise<readonly AuditEventRecord[]> {
  const pages = await Promise.all(
    types.map((type) => listEvents(store, { ...criteria, type }, '', limit, patience)),
  );
  return pages.flatMap(({ events }) => events).toSorted((one, other) => (one.id < other.id ? 1 : -1));
}

/** Milliseconds between queries. */
const POLL_INTERVAL = 500;
/** Milliseconds with which servers write events late, at most: each query overlaps the one before. */
const OVERLAP = 5_000;
const MAX_EVENTS = 1_000;

/** Milliseconds between checks that the caller still has the role. */
const CHECK_INTERVAL = 5_000;

/** New events that match, until the signal aborts or the caller may not go on. @param filter `null`: all of them */
export async function* followEvents(
  { store }: Administration,
  filter: EventFilter | null,
  signal: AbortSignal,
  isStillPermitted: () => Promise<boolean>,
): AsyncGenerator<AuditEventRecord | null> {
  const began = Date.now();
  let seen = new Set((await store.listEvents(idPrefixOf(began - OVERLAP), MAX_EVENTS)).map(({ id }) => id));
  let checkedAt = began;
  while (!signal.aborted) {
    if (Date.now() - checkedAt >= CHECK_INTERVAL) {
      if (!(await isStillPermitted())) return;
      checkedAt = Date.now();
    }
    const page = await store.listEvents(idPrefixOf(Math.max(began, Date.now()) - OVERLAP), MAX_EVENTS);
    const fresh = page.filter(({ id }) => !seen.has(id));
    for (const event of fresh) if (filter === null || filter.matches(event)) yield event;
    seen = new Set([...fresh.map(({ id }) => id), ...page.map(({ id }) => id)]);
    // A sign of life, so that a closed connection is noticed.
    yield null;
    await sleep(POLL_INTERVAL, undefined, { signal }).catch(() => {});
  }
}
