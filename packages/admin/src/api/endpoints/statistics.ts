/** `/statistics`: what happened, how fast, and how much there was, over time. */
import * as z from 'zod';
import type { Counts, ServerCounts } from '../../operations/statistics/counts.ts';
import { addHistograms, type Histogram, quantileOf } from '../../operations/statistics/histogram.ts';
import { addSteps, beginOf, SERIES_STEPS } from '../../operations/statistics/steps.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { ProblemError } from '../problem.ts';

/** Steps of a request by default, and at most. */
const BY_DEFAULT = { minute: 60, hour: 24, day: 30, week: 13, month: 12 } as const;
const MAX_STEPS = 800;
const DAY = 86_400_000;
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

const stepSchema = z
  .object({
    at: z.string().describe('begin of the step, ISO 8601'),
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
    live: z
      .object({ grants: z.int(), clients: z.int(), sessions: z.int() })
      .nullable()
      .describe('how much there was at the end of the step; null: not known'),
  })
  .meta({ id: 'CountedStep' });

export const statisticsEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    method: 'GET',
    path: '/statistics',
    id: 'countEvents',
    tag: 'Events',
    summary: 'Count events, refusals and calls over time, with latencies and what was live',
    description:
      'In UTC, from the step that `from` is in; the current one counts so far. Minutes are those of the last two hours. Servers count each hour in the background, soon after it is over; `isComplete` is false while some are not counted yet.',
    scope: 'admin:read',
    query: {
      from: z.iso.datetime().optional().describe('a day of hours, a month of days, … before `to` by default'),
      to: z.iso.datetime().optional().describe('time after the last step; now by default'),
      step: z.enum(SERIES_STEPS).default('hour'),
    },
    response: z.object({ items: z.array(stepSchema), isComplete: z.boolean() }).meta({ id: 'Statistics' }),
    async handle({ admin, query: { from, to, step } }) {
      const end = to === undefined ? Date.now() : Date.parse(to);
      const begin =
        from === undefined ? addSteps(step, beginOf(step, end - 1), 1 - BY_DEFAULT[step]) : Date.parse(from);
      if (begin >= end || end - begin > MAX_DAYS * DAY || addSteps(step, begin, MAX_STEPS) < end)
        throw new ProblemError(
          400,
          `Name a time of at most ${MAX_DAYS} days and ${MAX_STEPS} steps, which ends after it begins.`,
        );
      const { buckets, isComplete } = await admin.statistics.count(begin, end, step);
      return {
        items: buckets.map(({ at, counts, live }) => ({
          at: new Date(at).toISOString(),
          ...countsJson(counts),
          live,
        })),
        isComplete,
      };
    },
  }),
];

function countsJson({ events, refusals, servers, gateway }: Counts) {
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

function latencyOf(histogram: Histogram) {
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => quantileOf(histogram, part));
  return p50 == null || p95 == null || p99 == null ? null : { p50, p95, p99 };
}
