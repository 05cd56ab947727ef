/** What the overview shows: the last hour, day, week or month, and what it is compared with. */
import { type Counts, sumCounts } from '../../operations/statistics/counts.ts';
import { HOUR } from '../../operations/statistics/event-time.ts';
import { type Histogram, quantileOf } from '../../operations/statistics/histogram.ts';
import type { Statistics } from '../../operations/statistics/statistics.ts';
import { addSteps, beginOf, type SeriesStep } from '../../operations/statistics/steps.ts';
import { links } from '../links.ts';
import { formatCount, formatDay } from '../ui/parts.ts';
import type { Plot, PlotSeries } from './plot.ts';

const DAY = 24 * HOUR;

/** A view. */
interface OverviewView {
  readonly label: string;
  readonly title: string;
  readonly step: SeriesStep;
  /** Steps of one point of a plot, and points. */
  readonly group: number;
  readonly points: number;
  /** Milliseconds before which the time lies that it is compared with. */
  readonly earlier: number;
}

export const VIEWS = {
  hour: { label: 'Hour', title: 'The last hour', step: 'minute', group: 2, points: 30, earlier: HOUR },
  day: { label: 'Day', title: 'The last 24 hours', step: 'hour', group: 1, points: 24, earlier: 7 * DAY },
  week: { label: 'Week', title: 'The last 7 days', step: 'hour', group: 6, points: 28, earlier: 7 * DAY },
  month: { label: 'Month', title: 'The last 30 days', step: 'day', group: 1, points: 30, earlier: 30 * DAY },
} as const satisfies Readonly<Record<string, OverviewView>>;

export type ViewName = keyof typeof VIEWS;

/** One point of the plots. Times are epoch milliseconds. */
export interface Point {
  readonly from: number;
  readonly before: number;
  readonly counts: Counts;
  readonly live: Bucket['live'];
}

/** What was counted in a view. */
export interface Overview {
  readonly points: readonly Point[];
  /** The same time earlier; `null`: the log does not reach back so far. */
  readonly earlier: Counts | null;
  readonly isComplete: boolean;
}

/** @param now epoch milliseconds */
export async function readOverview(statistics: Statistics, name: ViewName, now: number): Promise<Overview> {
  const { step, group, points, earlier } = VIEWS[name];
  const end = addSteps(step, beginOf(step, now), 1);
  const begin = addSteps(step, end, -group * points);
  const [shown, before] = await Promise.all([
    statistics.count(begin, end, step),
    statistics.count(begin - earlier, end - earlier - 1, step),
  ]);
  return {
    points: groupBuckets(shown.buckets, group, step),
    earlier: reachesBack(before.buckets) ? sumCounts(before.buckets.map(({ counts }) => counts)) : null,
    isComplete: shown.isComplete,
  };
}

type Bucket = Awaited<ReturnType<Statistics['count']>>['buckets'][number];

/** Whether there were events from the begin on, as far as that can be told. */
function reachesBack(buckets: readonly Bucket[]): boolean {
  const first = buckets.slice(0, Math.ceil(buckets.length / 4));
  return first.some(({ counts }) => Object.keys(counts.events).length > 0);
}

/** Buckets in groups of so many, as the points of a plot. */
function groupBuckets(buckets: readonly Bucket[], size: number, step: SeriesStep): readonly Point[] {
  return Array.from({ length: Math.ceil(buckets.length / size) }, (_, index) => {
    const own = buckets.slice(index * size, (index + 1) * size);
    const last = own.at(-1);
    return {
      from: own[0]?.at ?? 0,
      before: addSteps(step, last?.at ?? 0, 1),
      counts: sumCounts(own.map(({ counts }) => counts)),
      live: own.findLast(({ live }) => live !== null)?.live ?? null,
    };
  });
}

/** `than last Tuesday` @param now epoch milliseconds */
export function earlierText(name: ViewName, now: number): string {
  if (name === 'hour') return 'the hour before';
  if (name === 'week') return 'the week before';
  if (name === 'month') return 'the 30 days before';
  return `last ${new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(new Date(now - 7 * DAY))}`;
}

/** `8 % more than last Tuesday` */
export function compareCounts(count: number, earlier: number | null, than: string): string {
  if (earlier === null) return `no figures for ${than}`;
  if (earlier === 0) return count === 0 ? `none, as ${than}` : `none ${than}`;
  const percent = Math.round(((count - earlier) / earlier) * 100);
  if (percent === 0) return `as many as ${than}`;
  if (percent >= 1000) return `${formatCount(Math.round(count / earlier))} times as many as ${than}`;
  return `${Math.abs(percent)} % ${percent > 0 ? 'more' : 'fewer'} than ${than}`;
}

/** Of an address; without seconds. */
export function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16)}Z`;
}

/** When a point begins, as short as the view permits. */
function pointLabel(name: ViewName, at: number): string {
  const iso = new Date(at).toISOString();
  if (name === 'hour' || name === 'day') return iso.slice(11, 16);
  const day = formatDay(at);
  return name === 'week' ? `${day} ${iso.slice(11, 16)}` : day;
}

/** The points of a plot. @param criteria of the events that a click shows */
export function plotPoints(
  name: ViewName,
  points: readonly Pick<Point, 'from' | 'before'>[],
  criteria: Readonly<Record<string, string>>,
): Plot['points'] {
  return points.map(({ from, before }) => ({
    label: pointLabel(name, from),
    href: links.events({ ...criteria, since: timeText(from), until: timeText(before) }),
  }));
}

/** What went well, and what did not. */
export function outcomeSeries(
  [good, bad]: readonly [good: string, bad: string],
  succeeded: PlotSeries['values'],
  failed: PlotSeries['values'],
): readonly PlotSeries[] {
  return [
    { label: good, look: 'solid', values: succeeded },
    { label: bad, look: 'outline', values: failed, isBad: true },
  ];
}

/** The latency of half of the calls, and that of 95 percent. */
export function latencySeries(latencies: readonly Histogram[]): readonly PlotSeries[] {
  return [
    { label: 'Half of the calls', look: 'line', values: latencies.map((one) => quantileOf(one, 0.5)) },
    { label: '95 %', look: 'dashed', values: latencies.map((one) => quantileOf(one, 0.95)) },
  ];
}
