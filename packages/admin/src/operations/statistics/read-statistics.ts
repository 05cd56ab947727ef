/** Statistics as the API and the command line show them: counts, refusals, and calls of servers with their latencies, in steps. */
import type { LiveCounts } from '@portcullis/authorization-server/store';
import { OperationError } from '../errors.ts';
import { type Counts, type ServerCounts, sumCounts } from './counts.ts';
import { addHistograms, type Histogram, quantileOf } from './histogram.ts';
import type { Statistics } from './statistics.ts';
import { addSteps, beginOf, type SeriesStep } from './steps.ts';

/** Steps of a request by default, and at most. */
const BY_DEFAULT = { minute: 60, hour: 24, day: 30, week: 13, month: 12 } as const;
const MAX_STEPS = 800;
const DAY = 86_400_000;
/** As long as hours are kept. */
const MAX_DAYS = 400;

/** Milliseconds that so many percent of the allowed calls did not exceed; `null`: there were none. */
type Latency = { readonly p50: number; readonly p95: number; readonly p99: number } | null;

/** What happened in a time. */
export interface ShownCounts {
  readonly counts: readonly { readonly type: string; readonly count: number; readonly allowed: number }[];
  readonly refusals: readonly { readonly reason: string; readonly count: number }[];
  readonly servers: readonly {
    readonly server: string;
    readonly calls: number;
    readonly refused: number;
    readonly failed: number;
    readonly latency: Latency;
  }[];
  readonly gateway: Latency;
  readonly backends: Latency;
}

/** What happened in each step of a time. */
export interface ShownStatistics {
  readonly items: readonly (ShownCounts & { readonly at: string; readonly live: LiveCounts | null })[];
  /** Of the whole time. */
  readonly total: ShownCounts;
  readonly isComplete: boolean;
}

/** The time that statistics are of. Epoch milliseconds. */
export interface StatisticsTime {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly step: SeriesStep;
}

/** The begin and end of a time: a day of hours, a month of days, … until now by default. @throws OperationError */
export function timeOfStatistics({ from, to = Date.now(), step }: StatisticsTime): {
  readonly begin: number;
  readonly end: number;
} {
  const begin = from ?? addSteps(step, beginOf(step, to - 1), 1 - BY_DEFAULT[step]);
  if (begin >= to || to - begin > MAX_DAYS * DAY || addSteps(step, begin, MAX_STEPS) < to)
    throw new OperationError(
      'invalid',
      `Name a time of at most ${MAX_DAYS} days and ${MAX_STEPS} steps, which ends after it begins.`,
    );
  return { begin: beginOf(step, begin), end: to };
}

/** @throws OperationError for a time that is too long */
export async function readStatistics(statistics: Statistics, time: StatisticsTime): Promise<ShownStatistics> {
  const { begin, end } = timeOfStatistics(time);
  const { buckets, isComplete } = await statistics.count(begin, end, time.step);
  return {
    items: buckets.map(({ at, counts, live }) => ({
      at: new Date(at).toISOString(),
      ...showCounts(counts),
      live,
    })),
    total: showCounts(sumCounts(buckets.map(({ counts }) => counts))),
    isComplete,
  };
}

function showCounts({ events, refusals, servers, gateway }: Counts): ShownCounts {
  const calls = Object.values(servers);
  const refused = calls.reduce((sum, server) => sum + server.refused, 0);
  return {
    counts: Object.entries(events).map(([type, count]) => ({
      ...{ type, count },
      allowed: type === 'call.finished' ? count - refused : 0,
    })),
    refusals: Object.entries(refusals).map(([reason, count]) => ({ reason, count })),
    servers: Object.entries(servers).map(([server, { backend, ...counts }]) => ({
      ...{ server, ...counts },
      latency: latencyOf(backend),
    })),
    gateway: latencyOf(gateway),
    backends: latencyOf(backendsOf(calls)),
  };
}

function backendsOf(servers: readonly ServerCounts[]): Histogram {
  return servers.map(({ backend }) => backend).reduce<Histogram>(addHistograms, {});
}

function latencyOf(histogram: Histogram): Latency {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => quantileOf(histogram, part));
  return p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 };
}
