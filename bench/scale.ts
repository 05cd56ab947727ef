/**
 * Predicts what installations from 20 users to 100 million need: docs/guides/scale.md and docs/guides/sizing.md have these figures.
 * `node --conditions=portcullis-source bench/scale.ts [--check <flow>]`; with `--check` it measures what a flow costs one process here,
 * with 64 requests at once and while it is busy half of the time, then predicts and measures other rates, and two processes.
 */
import { check } from './scale/check.ts';
import { scaledFlows } from './scale/costs.ts';
import { describeNeeds, internetScale, type Needs, needsOf } from './scale/installations.ts';

const [word, wanted] = process.argv.slice(2);
if (word === '--check') {
  const flow = scaledFlows.find((name) => name === wanted);
  if (flow === undefined) {
    console.error(`There is no ${wanted}; there are ${scaledFlows.join(', ')}`);
    process.exit(1);
  }
  process.exit((await check(flow)) ? 0 : 1);
}
console.log(
  '| users | calls/s | processes | busy cores of processes | of PostgreSQL | GB of events in 90 days | p50, ms |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const users of [20, 200, 2_000, 20_000, 200_000]) print(needsOf(users));
for (const times of [1, 10]) print(internetScale(times));

function print(needs: Needs): void {
  console.log(`${describeNeeds(needs)} ${needs.p50.toFixed(1)} |`);
}
