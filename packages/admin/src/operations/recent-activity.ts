/** What lately happened of a user, a client or a grant, counted by the day, as far as a moment of search reaches. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { Administration } from './administration.ts';
import { listEvents } from './events.ts';
import type { EventCriteria } from './search-events.ts';
import { timeOfId } from './statistics/event-time.ts';
import { addSteps, beginOf } from './statistics/steps.ts';

const DAYS = 30;
/** Milliseconds of a search, and events that it reads at most. */
const PATIENCE = 80;
const MAX_EVENTS = 20_000;

/** One day. Times are epoch milliseconds. */
interface ActiveDay {
  readonly from: number;
  readonly before: number;
  /** `null`: not searched. */
  readonly counts: { readonly calls: number; readonly refused: number; readonly others: number } | null;
}

interface RecentActivity {
  readonly days: readonly ActiveDay[];
  /** Since when everything was counted; `null`: since the first day. */
  readonly since: number | null;
}

/** @param criteria that the store searches by an index: a user, a client or a grant */
export async function countRecentActivity(
  { store }: Pick<Administration, 'store'>,
  criteria: Pick<EventCriteria, 'user' | 'client' | 'grant'>,
): Promise<RecentActivity> {
  const end = addSteps('day', beginOf('day', Date.now()), 1);
  const begin = addSteps('day', end, -DAYS);
  const { events, before: searched } = await listEvents(
    store,
    { ...criteria, since: begin },
    '',
    MAX_EVENTS,
    PATIENCE,
  );
  const since = searched === null ? null : timeOfId(searched);
  const byDay = Map.groupBy(events, ({ at }) => beginOf('day', at));
  const days = Array.from({ length: DAYS }, (_, index) => {
    const from = addSteps('day', begin, index);
    const before = addSteps('day', from, 1);
    const isSearched = before > (since ?? begin);
    return { from, before, counts: isSearched ? countDay(byDay.get(from) ?? []) : null };
  });
  return { days, since };
}

function countDay(events: readonly AuditEventRecord[]): NonNullable<ActiveDay['counts']> {
  const calls = events.filter(({ type }) => type === 'call.finished');
  const allowed = calls.filter(({ details }) => details['decision'] === 'allowed').length;
  return { calls: allowed, refused: calls.length - allowed, others: events.length - calls.length };
}
