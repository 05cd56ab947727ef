/** Statistics over time: of hours that are saved, and of the last ones as counted so far. */
import type { EventHour, LiveCounts } from '@portcullis/authorization-server/store';
import { type CountedHour, type CountingStore, countHours } from './count-hours.ts';
import { type Counts, NO_COUNTS, sumCounts } from './counts.ts';
import { HOUR, hourOf } from './event-time.ts';
import { createRunningCounts, type RunningCounts } from './running-counts.ts';
import { addSteps, beginOf, type SeriesStep } from './steps.ts';

/** Milliseconds that a request may count events for; usually it has none left to count. */
const PATIENCE = 100;
/** Milliseconds between counts of new events, so that requests have few to count. */
const INTERVAL = 10_000;
/** Milliseconds for which what is live is not counted again. */
const LIVE_AGE = 600_000;

/** One step of a time series. */
interface Bucket {
  /** Epoch milliseconds of its begin. */
  readonly at: number;
  readonly counts: Counts;
  /** At its end, or now. `null`: not known. */
  readonly live: LiveCounts | null;
}

/** A time series of counts. */
interface Series {
  readonly buckets: readonly Bucket[];
  /** Whether every hour was counted; otherwise a process that serves counts the rest. */
  readonly isComplete: boolean;
}

/** Counts of events over time. */
export interface Statistics {
  /**
   * Steps from the one that `from` is in to the one before `to`. Minutes are those of the last hours only.
   * @param from epoch milliseconds, as `to`
   */
  count(from: number, to: number, step: SeriesStep): Promise<Series>;
  /** Counts hours that are over, and new events. @returns a function that stops it */
  start(): () => Promise<void>;
}

/** @param clock epoch milliseconds */
export function createStatistics(store: CountingStore, clock: () => number): Statistics {
  const countRunning = createRunningCounts(store, clock);
  let live: { readonly at: number; readonly counts: LiveCounts } | null = null;

  async function countLive(): Promise<LiveCounts> {
    if (live === null || clock() - live.at > LIVE_AGE)
      live = { at: clock(), counts: await store.countLive(Math.floor(clock() / 1000)) };
    return live.counts;
  }

  return {
    async count(from, to, step) {
      const first = beginOf(step, from);
      const end = addSteps(step, beginOf(step, to - 1), 1);
      const running = await countRunning(PATIENCE);
      const begins: number[] = [];
      for (let at = first; at < end; at = addSteps(step, at, 1)) begins.push(at);
      if (step === 'minute') return countMinutes(begins, running);
      const saved = await store.listEventHours(hourOf(first) / 1000, end / 1000);
      const hours = new Map(saved.map((hour) => [hour.at * 1000, readHour(hour)]));
      const [oldest] = await store.listEvents('', 1);
      const range = { first, end: Math.min(end, clock()), oldest: oldest?.at ?? clock() };
      const isComplete = addRunning(hours, running, range);
      const current = end > clock() ? await countLive() : null;
      const groups = Map.groupBy(hours, ([at]) => beginOf(step, at));
      const buckets = begins.map((at, index) => {
        const own = (groups.get(at) ?? []).toSorted(([one], [other]) => one - other).map(([, hour]) => hour);
        const last = own.findLast((hour) => hour.live !== null)?.live ?? null;
        return { at, counts: sumCounts(own), live: index === begins.length - 1 ? (current ?? last) : last };
      });
      return { buckets, isComplete };
    },
    start() {
      const stopping = new AbortController();
      const counting = countHours(store, clock, stopping.signal);
      const timer = setInterval(() => void countRunning(PATIENCE).catch(() => {}), INTERVAL);
      timer.unref();
      return async () => {
        clearInterval(timer);
        stopping.abort();
        await counting;
      };
    },
  };
}

function countMinutes(begins: readonly number[], { from, minutes }: RunningCounts): Series {
  const buckets = begins.map((at) => ({ at, counts: minutes.get(at) ?? NO_COUNTS, live: null }));
  return { buckets, isComplete: from !== null && (begins[0] ?? 0) >= from };
}

/** Adds the hours that are not saved. @returns whether none is missing since the oldest event */
function addRunning(
  hours: Map<number, CountedHour>,
  { from, minutes }: RunningCounts,
  { first, end, oldest }: { readonly first: number; readonly end: number; readonly oldest: number },
): boolean {
  const groups = Map.groupBy(minutes, ([at]) => hourOf(at));
  for (const [hour, group] of groups)
    if (!hours.has(hour) && hour >= first && hour < end)
      hours.set(hour, { ...sumCounts(group.map(([, counts]) => counts)), live: null });
  if (from === null) return false;
  const begin = Math.max(first, hourOf(oldest));
  const missing = Math.max(0, (Math.min(from, end) - begin) / HOUR);
  return [...hours.keys()].filter((hour) => hour >= begin && hour < from).length >= missing;
}

/** Written by this version or another one: what it lacks is empty. */
function readHour({ counts }: EventHour): CountedHour {
  return { ...NO_COUNTS, live: null, ...counts };
}
