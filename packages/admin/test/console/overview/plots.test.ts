/** The plots of the overview: their points, their scale, what they are compared with, and the table behind each. */
import { describe, expect, it } from 'vitest';
import { plotMarkup, scaleOf } from '../../../src/console/overview/plot.ts';
import { compareCounts, earlierText, readOverview, VIEWS } from '../../../src/console/overview/views.ts';
import { NO_COUNTS } from '../../../src/operations/statistics/counts.ts';
import type { Statistics } from '../../../src/operations/statistics/statistics.ts';
import { addSteps, beginOf } from '../../../src/operations/statistics/steps.ts';

const NOW = Date.parse('2026-11-28T18:20:00Z');

describe('a comparison', () => {
  it.each([
    [1204, 1115, '8 % more than last Tuesday'],
    [50, 100, '50 % fewer than last Tuesday'],
    [7, 7, 'as many as last Tuesday'],
    [5000, 10, '500 times as many as last Tuesday'],
    [3, 0, 'none last Tuesday'],
    [0, 0, 'none, as last Tuesday'],
    [3, null, 'no figures for last Tuesday'],
  ])('of %d with %d is %s', (count, earlier, said) => {
    expect(compareCounts(count, earlier, 'last Tuesday')).toBe(said);
  });

  it('of a day names the day of the week', () => {
    expect(earlierText('day', NOW)).toBe('last Saturday');
  });
});

describe('a view', () => {
  /** One event in each step. */
  const statistics: Pick<Statistics, 'count'> = {
    async count(from, to, step) {
      const buckets: Awaited<ReturnType<Statistics['count']>>['buckets'][number][] = [];
      for (let at = beginOf(step, from); at < to; at = addSteps(step, at, 1))
        buckets.push({ at, counts: { ...NO_COUNTS, events: { 'token.issued': 1 } }, live: null });
      return { buckets, isComplete: true };
    },
  };

  it.each(Object.entries(VIEWS))(
    'of the %s has all its points, without a gap, and ends now',
    async (name, { points: count, group }) => {
      const { points, earlier } = await readOverview(
        statistics as Statistics,
        name as keyof typeof VIEWS,
        NOW,
      );
      expect(points).toHaveLength(count);
      expect(points.every(({ counts }) => counts.events['token.issued'] === group)).toBe(true);
      expect(points.slice(1).every(({ from }, index) => from === points[index]?.before)).toBe(true);
      expect([(points.at(-1)?.from ?? 0) <= NOW, (points.at(-1)?.before ?? 0) > NOW]).toEqual([true, true]);
      expect(earlier?.events['token.issued']).toBe(count * group);
    },
  );

  it('has nothing to compare with where the log begins later than the time before', async () => {
    const begin = addSteps('day', beginOf('day', NOW), -40);
    const count: Statistics['count'] = async (...range) => {
      const { buckets, ...about } = await (statistics as Statistics).count(...range);
      return {
        ...about,
        buckets: buckets.map((bucket) => (bucket.at < begin ? { ...bucket, counts: NO_COUNTS } : bucket)),
      };
    };
    const { earlier } = await readOverview({ ...statistics, count } as Statistics, 'month', NOW);
    expect(earlier).toBeNull();
  });
});

describe('a plot', () => {
  const series = [
    { label: 'Allowed', look: 'solid', values: [3, 0, 9] },
    { label: 'Refused', look: 'outline', values: [1, 0, 3], isBad: true },
  ] as const;

  it.each([
    { given: series, top: 20 },
    { given: [{ label: 'x', look: 'line', values: [null, 12.5] }] as const, top: 20 },
    { given: [{ label: 'x', look: 'line', values: [null, null] }] as const, top: 1 },
    { given: [{ label: 'x', look: 'solid', values: [1001] }] as const, top: 2000 },
  ])('is scaled to $top', ({ given, top }) => {
    expect(scaleOf(given)).toBe(top);
  });

  it('has a table with every value, whose rows lead to the events', async () => {
    const points = ['04:00', '05:00', '06:00'].map((label) => ({
      label,
      href: `/admin/activity?since=${label}`,
    }));
    const markup = String(
      await plotMarkup({
        title: 'Calls',
        unit: '',
        series,
        points,
        marks: [{ label: 'x', letter: 'A', position: 0.5, href: '/' }],
      }),
    );
    expect(markup.match(/<tr>/g)).toHaveLength(4);
    expect(markup).toContain(
      '<th scope="row"><a href="/admin/activity?since=06:00">06:00</a></th><td>9</td><td>3</td>',
    );
    expect(markup).toContain('class="mark" d="M240 0');
    expect(markup).not.toMatch(/NaN|undefined|style=/);
  });

  it('has the letters of marks at nearly the same time side by side', async () => {
    const marks = [0.1, 0.5, 0.505, 0.53].map((position, index) => ({
      ...{ label: 'start', href: '/', position },
      letter: 'ABCD'[index] ?? '',
    }));
    const points = [{ label: '04:00', href: '/' }];
    const markup = String(await plotMarkup({ title: 'Calls', unit: '', series, points, marks }));
    expect(markup.match(/y="11">[^<]+/g)).toEqual(['y="11">A', 'y="11">BCD']);
  });

  it('has a gap where nothing is known', async () => {
    const points = [1, 2, 3, 4].map((label) => ({ label: String(label), href: '/' }));
    const line = { label: 'Live', look: 'line', values: [10, null, 20, 20] } as const;
    const markup = String(await plotMarkup({ title: 'Live', unit: '', series: [line], points, marks: [] }));
    expect(/class="line" d="([^"]+)"/.exec(markup)?.[1]).toBe('M56 48H64M300 1L420 1');
  });

  it('says in its legend how many were counted, and the latest of what is measured', async () => {
    const points = [1, 2, 3].map((label) => ({ label: String(label), href: '/' }));
    const legendOf = async (look: 'solid' | 'line') => {
      const series = [{ label: 'A', look, values: [7, null, 2] }];
      const markup = String(await plotMarkup({ title: 'A', unit: '', series, points, marks: [] }));
      return /<b data-value>([^<]*)</.exec(markup)?.[1];
    };
    expect([await legendOf('solid'), await legendOf('line')]).toEqual(['9', '2']);
  });
});
