/** What lately happened of a user, a client or a grant, counted by the day, as far as a moment of search reaches. */
import type { Administration } from './administration.ts';
import { createFilter, type EventCriteria, searchSpans } from './search-events.ts';
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
  const counted = new Map<number, { calls: number; refused: number; others: number }>();
  const filter = await createFilter({ ...criteria, since: begin }, store);
  let searchedTo = begin;
  let count = 0;
  const until = performance.now() + PATIENCE;
  if (filter !== null) {
    for await (const { events, searched } of searchSpans(store, filter.search, { since: begin })) {
      for (const event of events.filter(filter.matches)) {
        const day = beginOf('day', event.at);
        const counts = counted.get(day) ?? { calls: 0, refused: 0, others: 0 };
        counted.set(day, counts);
        if (event.type !== 'call.finished') counts.others += 1;
        else if (event.details['decision'] === 'allowed') counts.calls += 1;
        else counts.refused += 1;
      }
      count += events.length;
      searchedTo = timeOfId(searched);
      if (performance.now() > until || count > MAX_EVENTS) break;
      searchedTo = begin;
    }
  }
  const days = Array.from({ length: DAYS }, (_, index) => {
    const from = addSteps('day', begin, index);
    const before = addSteps('day', from, 1);
    const none = before > searchedTo ? { calls: 0, refused: 0, others: 0 } : null;
    return { from, before, counts: counted.get(from) ?? none };
  });
  return { days, since: searchedTo <= begin ? null : searchedTo };
}
