/** The steps of a time series: from a minute to a month, in UTC. */
import { DAY, HOUR, MINUTE } from './event-time.ts';

/** The first Monday of the epoch. */
const MONDAY = 4 * DAY;
const SIZES = { minute: MINUTE, hour: HOUR, day: DAY, week: 7 * DAY } as const;

export const SERIES_STEPS = ['minute', 'hour', 'day', 'week', 'month'] as const;
/** The length of the steps of a time series. */
export type SeriesStep = (typeof SERIES_STEPS)[number];

/** The begin of the step that a time is in. @param at epoch milliseconds */
export function beginOf(step: SeriesStep, at: number): number {
  if (step === 'month') return addSteps(step, at, 0);
  const from = step === 'week' ? MONDAY : 0;
  return Math.floor((at - from) / SIZES[step]) * SIZES[step] + from;
}

/** The begin of a step that is so many later, or earlier. @param begin of a step */
export function addSteps(step: SeriesStep, begin: number, count: number): number {
  if (step !== 'month') return begin + count * SIZES[step];
  const date = new Date(begin);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count);
}
