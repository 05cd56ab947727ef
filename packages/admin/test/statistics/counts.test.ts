/** What is counted of events, and how durations add up. */
import { describe, expect, it } from 'vitest';
import { countEvents, NO_COUNTS, sumCounts } from '../../src/operations/statistics/counts.ts';
import { addHistograms, bucketOf, quantileOf } from '../../src/operations/statistics/histogram.ts';
import { addSteps, beginOf, type SeriesStep } from '../../src/operations/statistics/steps.ts';

const call = (more: object) => ({
  type: 'call.finished',
  details: {
    server: '/files',
    decision: 'allowed',
    outcome: 'answered',
    duration: 30,
    backendDuration: 20,
    ...more,
  },
});

describe('counts', () => {
  it.each([
    {
      description: 'types',
      given: [{ type: 'login.succeeded' }, { type: 'token.issued' }, { type: 'login.succeeded' }],
      expect: { events: { 'login.succeeded': 2, 'token.issued': 1 }, refusals: {}, servers: {} },
    },
    {
      description: 'refusals by their reason',
      given: [
        { type: 'login.failed' },
        { type: 'request.rejected', details: { error: 'invalid_grant' } },
        { type: 'request.rejected', details: { error: 7 } },
        call({ decision: 'denied' }),
      ],
      expect: {
        refusals: {
          'login.failed': 1,
          'request.rejected:invalid_grant': 1,
          'request.rejected': 1,
          'call.finished:denied': 1,
        },
        servers: { '/files': { calls: 1, refused: 1, failed: 0, backend: {} } },
        gateway: {},
      },
    },
    {
      description: 'calls of each server with the latency of the backend and of the gateway',
      given: [call({}), call({ outcome: 'timeout' }), call({ server: '/other', duration: 'long' })],
      expect: {
        servers: {
          '/files': { calls: 2, refused: 0, failed: 1, backend: { [bucketOf(20)]: 2 } },
          '/other': { calls: 1, refused: 0, failed: 0, backend: {} },
        },
        gateway: { [bucketOf(10)]: 2 },
      },
    },
    { description: 'nothing', given: [], expect: NO_COUNTS },
  ])('count $description', ({ given, expect: expected }) => {
    const events = given.map((event) => ({ details: {}, ...event }));
    expect(countEvents(NO_COUNTS, events)).toMatchObject(expected);
    expect(sumCounts(events.map((event) => countEvents(NO_COUNTS, [event])))).toEqual(
      countEvents(NO_COUNTS, events),
    );
  });

  it('do not grow with the names that events have', () => {
    const events = Array.from({ length: 500 }, (_, index) => call({ server: `/${index}` }));
    const { servers } = countEvents(NO_COUNTS, events);
    expect(Object.keys(servers)).toHaveLength(201);
    expect(servers['(others)']).toMatchObject({ calls: 300 });
  });
});

describe('quantiles of durations', () => {
  it.each([
    { given: [], part: 0.5, expected: null },
    { given: [0], part: 0.5, expected: 0 },
    { given: [10], part: 0.99, expected: 10 },
    { given: [1, 1, 1, 100], part: 0.5, expected: 1 },
    { given: [1, 1, 1, 100], part: 0.99, expected: 100 },
    { given: [Number.MAX_VALUE, Number.NaN], part: 0.99, expected: 1_800_000 },
  ])('of $given are at most a fifth too long', ({ given, part, expected }) => {
    const histogram = given
      .map((duration) => ({ [bucketOf(duration)]: 1 }))
      .reduce<Readonly<Record<string, number>>>(addHistograms, {});
    const found = quantileOf(histogram, part);
    if (expected === null) expect(found).toBeNull();
    else {
      expect(found).toBeGreaterThanOrEqual(expected * 0.99);
      expect(found).toBeLessThanOrEqual(expected * 1.21 + 0.1);
    }
  });
});

describe('steps', () => {
  it.each<{ step: SeriesStep; at: string; begin: string; next: string }>([
    {
      step: 'minute',
      at: '2026-03-01T04:05:06Z',
      begin: '2026-03-01T04:05:00Z',
      next: '2026-03-01T04:06:00Z',
    },
    { step: 'hour', at: '2026-03-01T04:05:06Z', begin: '2026-03-01T04:00:00Z', next: '2026-03-01T05:00:00Z' },
    { step: 'day', at: '2026-02-28T04:05:06Z', begin: '2026-02-28T00:00:00Z', next: '2026-03-01T00:00:00Z' },
    { step: 'week', at: '2026-11-29T23:59:59Z', begin: '2026-11-23T00:00:00Z', next: '2026-11-30T00:00:00Z' },
    {
      step: 'month',
      at: '2026-12-31T23:59:59Z',
      begin: '2026-12-01T00:00:00Z',
      next: '2027-01-01T00:00:00Z',
    },
  ])('of a $step begin and end in UTC', ({ step, at, begin, next }) => {
    const found = beginOf(step, Date.parse(at));
    expect(new Date(found).toISOString()).toBe(begin.replace('Z', '.000Z'));
    expect(new Date(addSteps(step, found, 1)).toISOString()).toBe(next.replace('Z', '.000Z'));
    expect(addSteps(step, addSteps(step, found, 5), -5)).toBe(found);
  });
});
