/** `/statistics`: what happened, how fast, and how much there was, over time. */
import * as z from 'zod';
import { readStatistics } from '../../operations/statistics/read-statistics.ts';
import { SERIES_STEPS } from '../../operations/statistics/steps.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';

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

export const statisticsEndpoints: readonly Endpoint[] = [
  defineEndpoint('Events', 'GET /statistics', {
    id: 'countEvents',
    summary: 'Count events, refusals and calls over time, with latencies and what was live',
    description:
      'In UTC, from the step that `from` is in; the current one counts so far. Minutes are those of the last two hours. Servers count each hour in the background, soon after it is over; `isComplete` is false while some are not counted yet.',
    query: {
      from: z.iso.datetime().optional().describe('a day of hours, a month of days, … before `to` by default'),
      to: z.iso.datetime().optional().describe('time after the last step; now by default'),
      step: z.enum(SERIES_STEPS).default('hour'),
    },
    response: z
      .object({ items: z.array(stepSchema), total: totalSchema, isComplete: z.boolean() })
      .meta({ id: 'Statistics' }),
    handle: ({ admin, query: { from, to, step } }) => {
      const parse = (time: string | undefined) => (time === undefined ? undefined : Date.parse(time));
      return readStatistics(admin.statistics, { from: parse(from), to: parse(to), step });
    },
  }),
];
