/** `/statistics`: what happened, how fast, and how much there was, over time. */
import * as z from 'zod';
import { readStatistics, statisticsSchema } from '../../operations/statistics/read-statistics.ts';
import { SERIES_STEPS } from '../../operations/statistics/steps.ts';
import { defineEndpoint, type Endpoint } from '../endpoint.ts';

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
    response: statisticsSchema,
    handle: ({ admin, query: { from, to, step } }) => {
      const parse = (time: string | undefined) => (time === undefined ? undefined : Date.parse(time));
      return readStatistics(admin.statistics, { from: parse(from), to: parse(to), step });
    },
  }),
];
