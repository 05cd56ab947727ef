/**
 * Profiles the CPU time of a flow: `portcullis up` under load, with the users of a pair, by package and by function.
 * `node --conditions=portcullis-source bench/profile.ts [flow] [seconds] [commit]`
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { flowNames } from './authorization/flows.ts';
import { newFolder, startPortcullis } from './authorization/portcullis.ts';
import { load } from './harness/load.ts';
import { standAside } from './harness/machine.ts';
import { extractProgram } from './pair/other-program.ts';
import { type LoadedFlow, seedHistory, startBackend, YEAR } from './pair/year.ts';

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
  /** Microseconds. */
  readonly startTime: number;
  readonly endTime: number;
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

const [flow = 'refresh', seconds = '4', commit] = process.argv.slice(2);
const names: readonly string[] = [...flowNames, 'gateway call'];
if (!names.includes(flow)) throw new Error(`There is no such flow; there are ${names.join(', ')}`);

standAside();
const folder = newFolder();
const { backend, settingsFor } = await startBackend();
const nodeOptions = ['--cpu-prof', '--cpu-prof-dir', folder];
const other = commit === undefined ? {} : { root: extractProgram(commit).folder };
const server = await startPortcullis({ folder, settings: settingsFor(YEAR), nodeOptions, ...other });
const prepare = await seedHistory(server, YEAR);
const begin = await prepare(flow as LoadedFlow);
await load([server.port], begin, { seconds: 1 });
const before = server.cpu();
const began = performance.now();
const run = await load([server.port], begin, { seconds: Number(seconds) });
const each = ((server.cpu() - before) * 1e6) / run.flows;
const ended = performance.now();
await server.stop();
const stopped = performance.now();
await backend.stop();
const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.cpuprofile'));
const profile: Profile = JSON.parse(readFileSync(join(folder, file), 'utf8'));

const byId = new Map(profile.nodes.map((node) => [node.id, node]));
const selfOf = new Map<number, number>();
let at = profile.startTime;
/** A longer step between samples is time in which another process ran. */
const STEP = 2_000;
profile.samples.forEach((id, index) => {
  const delta = profile.timeDeltas[index] ?? 0;
  at += delta;
  const toEnd = (profile.endTime - at) / 1000;
  // Without start and preparation.
  if (toEnd > stopped - began || toEnd < stopped - ended) return;
  selfOf.set(id, (selfOf.get(id) ?? 0) + Math.min(delta, STEP));
});
const idle = new Set(['(idle)', '(root)']);

/** Microseconds per flow, summed by a name of each frame. */
function sumBy(name: (node: ProfileNode) => string): [string, number][] {
  const sums = new Map<string, number>();
  for (const [id, time] of selfOf) {
    const node = byId.get(id);
    if (node === undefined || idle.has(node.callFrame.functionName)) continue;
    sums.set(name(node), (sums.get(name(node)) ?? 0) + time / run.flows);
  }
  return [...sums].sort(([, a], [, b]) => b - a);
}

/** Like `sumBy`, including callees. A recursive function counts once. */
function totals(name: (node: ProfileNode) => string): [string, number][] {
  const sums = new Map<string, number>();
  const visit = (id: number, above: ReadonlySet<string>): number => {
    const node = byId.get(id);
    if (node === undefined) return 0;
    const called = name(node);
    const inside = new Set([...above, called]);
    const time = (node.children ?? []).reduce(
      (sum, child) => sum + visit(child, inside),
      selfOf.get(id) ?? 0,
    );
    if (!above.has(called)) sums.set(called, (sums.get(called) ?? 0) + time / run.flows);
    return time;
  };
  visit(profile.nodes[0]?.id ?? 0, new Set());
  return [...sums].sort(([, a], [, b]) => b - a);
}

function placeOf({ callFrame: { url, functionName } }: ProfileNode): string {
  const ours = /\/(packages|bench)\/(.+)$/.exec(url);
  if (ours !== null) return ours[0].slice(1);
  const module = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url);
  if (module !== null) return module[1] ?? '';
  return url === '' ? functionName : url.replace(/\/[^/]*$/, '');
}

function functionOf(node: ProfileNode): string {
  const { functionName, lineNumber } = node.callFrame;
  return `${functionName || '(anonymous)'} ${node.callFrame.url === '' ? '' : `${placeOf(node)}:${lineNumber + 1}`}`.trim();
}

function print(title: string, rows: readonly [string, number][], most: number): void {
  console.log(`\n${title}, µs a flow`);
  for (const [name, time] of rows.slice(0, most)) console.log(`${time.toFixed(1).padStart(8)}  ${name}`);
}

console.log(
  `${flow}: ${run.flows} flows, ${each.toFixed(0)} µs of CPU each while being profiled, bad ${run.bad}`,
);
print('By place', sumBy(placeOf), 35);
print('By function', sumBy(functionOf), 45);
print(
  'By function with all that it calls (until something is awaited)',
  totals(functionOf).filter(([name]) => name.includes('packages/')),
  40,
);
