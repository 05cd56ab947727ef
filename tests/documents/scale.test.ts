/** The tables of the guides about scale and sizing are those that the simulator prints. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describeNeeds, internetScale, needsOf } from '../../bench/scale/installations.ts';

const guide = (name: string) =>
  readFileSync(new URL(`../../docs/guides/${name}.md`, import.meta.url), 'utf8');

it.each([20, 200, 2_000, 20_000, 200_000])('the guide of sizing has what %i users need', (users) => {
  expect(guide('sizing').split('\n')).toContain(describeNeeds(needsOf(users)));
});

it('the guide of scale has what ten million users need', () => {
  expect(guide('scale').split('\n')).toContain(describeNeeds(internetScale()));
});
