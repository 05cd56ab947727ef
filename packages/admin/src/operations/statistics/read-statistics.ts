/** Statistics as the API and the command line show them: counts, refusals, and calls of servers with their latencies, in steps. */
import * as z from 'zod';
import { OperationError } from '../errors.ts';
import { type Counts, sumCounts } from './counts.ts';
import { DAY } from './event-time.ts';
import { addHistograms, type Histogram, quantileOf } from './histogram.ts';
import type { Statistics } from './statistics.ts';
import { addSteps, beginOf, type SeriesStep } from './steps.ts';

/** Steps of a request by default, and at most. */
const BY_DEFAULT = { minute: 60, hour: 24, day: 30, week: 13, month: 12 } as const;
const MAX_STEPS = 800;
/** As long as hours are kept. */
const MAX_DAYS = 400;

const countSchema = z
  .object({
    type: z.string(),
    count: z.int(),
    allowed: z.int().describe('of `call.finished`: calls that were allowed; the others were refused'),
  })
  .meta({ id: 'EventCount' });

const latencySchema = z
  .object({ p50: z.number(), p95: z.number(), p99: z.number() })
  .nullable()
  .describe('milliseconds that so many percent of the allowed calls did not exceed; at most a fifth too long')
  .meta({ id: 'Latency' });

const counted = {
  counts: z.array(countSchema),
  refusals: z.array(
    z.object({
      reason: z.string().describe('a type, or a type and its reason: `call.finished:denied`'),
      count: z.int(),
    }),
  ),
  servers: z.array(
    z.object({
      server: z.string().describe('path of a server behind the gateway'),
      calls: z.int(),
      refused: z.int(),
      failed: z.int().describe('allowed, but the backend did not respond'),
      latency: latencySchema,
    }),
  ),
  gateway: latencySchema,
  backends: latencySchema,
};

const stepSchema = z
  .object({
    at: z.string().describe('begin of the step, ISO 8601'),
    ...counted,
    live: z
      .object({ grants: z.int(), clients: z.int(), sessions: z.int() })
      .nullable()
      .describe('how much there was at the end of the step; null: not known'),
  })
  .meta({ id: 'CountedStep' });

const totalSchema = z.object(counted).describe('of the whole time').meta({ id: 'CountedTime' });

/** The result of `readStatistics`. */
export const statisticsSchema = z
  .object({ items: z.array(stepSchema), total: totalSchema, isComplete: z.boolean() })
  .meta({ id: 'Statistics' });

/** What happened in a time. */
export type ShownCounts = z.infer<typeof totalSchema>;

/** What happened in each step of a time. */
export type ShownStatistics = z.infer<typeof statisticsSchema>;

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
    backends: latencyOf(calls.map(({ backend }) => backend).reduce<Histogram>(addHistograms, {})),
  };
}

function latencyOf(histogram: Histogram): ShownCounts['gateway'] {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => quantileOf(histogram, part));
  return p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 };
}
