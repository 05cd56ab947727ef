/** `/statistics`: how many events there were, over time. */
import * as z from 'zod';
import { HOUR } from '../../operations/statistics.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';
import { ProblemError } from '../problem.ts';

/** Hours of each step, and how many steps a request may have. */
const STEPS = { hour: 1, day: 24 } as const;
const MAX_HOURS = 92 * 24;

const countSchema = z
  .object({
    type: z.string(),
    count: z.int(),
    allowed: z.int().describe('of `call.finished`: calls that were allowed; the others were refused'),
  })
  .meta({ id: 'EventCount' });

export const statisticsEndpoints: readonly Endpoint[] = [
  defineEndpoint({
    method: 'GET',
    path: '/statistics',
    id: 'countEvents',
    tag: 'Events',
    summary: 'Count events by type over time, in steps of an hour or a day',
    description:
      'Whole hours in UTC; the current one counts so far. A request ends after two seconds: then `isComplete` is false, and the same request counts the rest.',
    scope: 'admin:read',
    query: {
      from: z.iso.datetime().optional().describe('first hour; 24 steps before `to` by default'),
      to: z.iso.datetime().optional().describe('time after the last hour; now by default'),
      step: z.enum(['hour', 'day']).default('hour'),
    },
    response: z
      .object({
        items: z.array(
          z
            .object({ at: z.string().describe('begin of the step, ISO 8601'), counts: z.array(countSchema) })
            .meta({ id: 'CountedStep' }),
        ),
        isComplete: z.boolean(),
      })
      .meta({ id: 'Statistics' }),
    async handle({ admin, query: { from, to, step } }) {
      const size = STEPS[step];
      const end = Math.ceil((to === undefined ? Date.now() : Date.parse(to)) / HOUR);
      const begin = from === undefined ? end - 24 * size : Math.floor(Date.parse(from) / HOUR);
      const hours = end - begin;
      if (hours < 1 || hours > MAX_HOURS)
        throw new ProblemError(
          400,
          'Name a time of at least one hour and at most 92 days, which ends after it begins.',
        );
      const { buckets, isComplete } = await admin.statistics.count(begin * HOUR, hours, size);
      return {
        items: buckets.map(({ at, counts }) => ({ at: new Date(at).toISOString(), counts })),
        isComplete,
      };
    },
  }),
];
