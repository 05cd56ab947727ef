/**
 * `npm run fuzz [seconds] [target]`: changes inputs at random and keeps those that take a new way through the code, to change them
 * further. A failure is printed with its input, and ends the run with 1. `SEED` repeats a run of one target. A run of all targets
 * for five minutes or longer writes docs/fuzz.md.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createRandom, type Random } from '../resilience/random.ts';
import { beginRun, beginTarget, countEdges, endRun } from './coverage.ts';
import { createEndpointTargets } from './endpoints.ts';
import { mutate } from './mutate.ts';
import { type FuzzedTarget, fuzzPage } from './page.ts';
import { type Target, targets, tryOut } from './targets.ts';

const [seconds = '60', only] = process.argv.slice(2);
const CORPUS = new URL('corpus.json', import.meta.url);

/** Milliseconds for the longest input; what takes longer, three times in a row, hangs. */
const LONGEST_TIME = 50;

interface Issue {
  readonly target: string;
  readonly input: string;
  readonly reason: string;
}

/** One for each target and reason, by its shortest input. */
const issues = new Map<string, Issue>();
const fuzzed: FuzzedTarget[] = [];
let slowest = { milliseconds: 0, target: '', length: 0 };

function note(issue: Issue): void {
  const key = `${issue.target} ${issue.reason}`;
  const found = issues.get(key);
  if (found === undefined || found.input.length > issue.input.length) issues.set(key, issue);
}

/** Whether an input took a new way. */
async function run(target: Target, input: string): Promise<boolean> {
  beginRun();
  const start = performance.now();
  try {
    await tryOut(target, input);
  } catch (error) {
    note({ target: target.name, input, reason: String(error) });
  }
  const milliseconds = performance.now() - start;
  const isNew = endRun();
  if (milliseconds > LONGEST_TIME) await checkTime(target, input);
  return isNew;
}

/** The machine may have been busy. */
async function checkTime(target: Target, input: string): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 3; time += 1) {
    const start = performance.now();
    await tryOut(target, input).catch(() => null);
    least = Math.min(least, performance.now() - start);
  }
  if (least > slowest.milliseconds)
    slowest = { milliseconds: least, target: target.name, length: input.length };
  if (least > LONGEST_TIME) {
    note({ target: target.name, input, reason: 'it takes too long' });
  }
}

async function fuzz(
  target: Target,
  known: readonly string[],
  milliseconds: number,
  random: Random,
): Promise<string[]> {
  beginTarget();
  const corpus: string[] = [];
  for (const input of [...target.seeds, ...known])
    if ((await run(target, input)) || corpus.length === 0) corpus.push(input);
  const learned: string[] = [];
  const end = performance.now() + milliseconds;
  let tries = 0;
  while (performance.now() < end) {
    const input = mutate(corpus, random);
    tries += 1;
    if (!(await run(target, input))) continue;
    corpus.push(input);
    learned.push(input);
  }
  const edges = countEdges();
  fuzzed.push({ name: target.name, tries, kept: corpus.length, edges: edges.here });
  const rate = Math.round((tries / milliseconds) * 1000);
  console.log(
    `${target.name.padEnd(32)} ${String(tries).padStart(9)} tries ${String(rate).padStart(7)}/s ${String(corpus.length).padStart(5)} kept ${String(edges.here).padStart(5)} edges`,
  );
  return learned;
}

const random = createRandom();
const all = [...targets, ...(await createEndpointTargets())];
const chosen = all.filter(({ name }) => only === undefined || name === only);
if (chosen.length === 0)
  throw new Error(`There is no target of that name, but ${all.map(({ name }) => name).join(', ')}.`);
const corpus: Record<string, string[]> = JSON.parse(await readFile(CORPUS, 'utf8').catch(() => '{}'));
console.log(`SEED=${random.seed}`);
for (const target of chosen) {
  const known = corpus[target.name] ?? [];
  const learned = await fuzz(target, known, (Number(seconds) * 1000) / chosen.length, random);
  corpus[target.name] = [...known, ...learned];
}
console.log(
  `${countEdges().inAll} edges in all, ${issues.size} failures; slowest ${JSON.stringify(slowest)}`,
);
for (const issue of issues.values()) console.log(JSON.stringify(issue));
if (process.env['KEEP_CORPUS'] !== undefined) await writeFile(CORPUS, `${JSON.stringify(corpus, null, 1)}\n`);
if (only === undefined && Number(seconds) >= 300) {
  const page = fuzzPage(fuzzed, {
    seconds: Number(seconds),
    edges: countEdges().inAll,
    failures: issues.size,
    slowest,
  });
  await writeFile(new URL('../../docs/fuzz.md', import.meta.url), page);
}
process.exit(issues.size === 0 ? 0 : 1);
