/** The steps of a time series: from a minute to a month, in UTC. */
import { DAY, HOUR, MINUTE } from './event-time.ts';

/** The first Monday of the epoch. */
const MONDAY = 4 * DAY;

export const SERIES_STEPS = ['minute', 'hour', 'day', 'week', 'month'] as const;
/** The length of the steps of a time series. */
export type SeriesStep = (typeof SERIES_STEPS)[number];

/** The begin of the step that a time is in. @param at epoch milliseconds */
export function beginOf(step: SeriesStep, at: number): number {
  const floor = (size: number, from = 0) => Math.floor((at - from) / size) * size + from;
  if (step === 'minute') return floor(MINUTE);
  if (step === 'hour') return floor(HOUR);
  if (step === 'day') return floor(DAY);
  if (step === 'week') return floor(7 * DAY, MONDAY);
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** The begin of a step that is so many later, or earlier. @param begin of a step */
export function addSteps(step: SeriesStep, begin: number, count: number): number {
  const sizes = { minute: MINUTE, hour: HOUR, day: DAY, week: 7 * DAY };
  if (step !== 'month') return begin + count * sizes[step];
  const date = new Date(begin);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count);
}
