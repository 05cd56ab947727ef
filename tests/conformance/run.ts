/** Runs every authorization scenario of the official conformance suite, and those for servers through the gateway. `npm run conformance [-- part-of-a-name]`; a run of all writes docs/conformance.md. */
import '../support/compile-cache.ts';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAuthorizationServer } from './authorization-server.ts';
import { runForeign } from './foreign.ts';
import { runGateway } from './gateway.ts';
import { runInLanes } from './lanes.ts';
import { conformancePage } from './page.ts';
import { listClientRuns, type Result, type Run, runClient } from './suite.ts';

/** Scenarios that each side has in the version of the suite that is installed. */
const LEAST_CLIENT_SCENARIOS = 33;

/** Runs at the same time. */
const LANES = 3;

interface Row extends Result {
  readonly name: string;
}

const wanted = process.argv[2] ?? '';
const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
try {
  const runs = await listClientRuns(folder);
  const scenarios = new Set(runs.map(({ scenario }) => scenario)).size;
  if (scenarios < LEAST_CLIENT_SCENARIOS) {
    throw new Error(`The suite lists ${scenarios} client scenarios, not ${LEAST_CLIENT_SCENARIOS}.`);
  }
  const isGateway = 'gateway'.includes(wanted);
  // At once, because each of them waits half of the time.
  const [clients, server, own, comparisons] = await Promise.all([
    runAll(runs.filter((run) => nameOf(run).includes(wanted))),
    'authorization-server'.includes(wanted) ? runAuthorizationServer(folder) : [],
    isGateway ? runGateway() : [],
    isGateway ? runForeign() : [],
  ]);
  const others = [...server, ...own, ...comparisons].map((result) => ({ name: result.scenario, ...result }));
  others.forEach(report);
  const rows = [...clients, ...others];
  const expected = await readExpectedFailures();
  if (wanted === '')
    await writeFile(
      new URL('../../docs/conformance.md', import.meta.url),
      conformancePage(runs, rows, comparisons, expected),
    );
  conclude(rows, expected);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function runAll(runs: readonly Run[]): Promise<readonly Row[]> {
  return runInLanes(runs, LANES, async (run) => {
    const row = { name: nameOf(run), ...(await runClient(run)) };
    report(row);
    return row;
  });
}

function nameOf({ scenario, transport }: Run): string {
  return `${scenario} on ${transport}`;
}

function report({ name, passed, checks, issues }: Row): void {
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${name.padEnd(58)} ${checks}`);
  for (const issue of issues) console.log(`       ${issue}`);
}

/** Names as in the table. The list may only shrink: a row of it that passes fails the run. */
async function readExpectedFailures(): Promise<readonly string[]> {
  const text = await readFile(new URL('expected-failures.json', import.meta.url), 'utf8');
  return JSON.parse(text) as readonly string[];
}

function conclude(rows: readonly Row[], expected: readonly string[]): void {
  const unexpected = rows.filter(({ name, passed }) => !passed && !expected.includes(name));
  const stale = rows.filter(({ name, passed }) => passed && expected.includes(name));
  for (const { name } of unexpected) console.log(`fails, and is not on the list: ${name}`);
  for (const { name } of stale) console.log(`passes now: remove it from expected-failures.json: ${name}`);
  const passed = rows.filter((row) => row.passed).length;
  const failed = unexpected.length + stale.length;
  console.log(`${rows.length - passed - unexpected.length} fail as expected-failures.json says`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && rows.length > 0 ? 0 : 1;
}
