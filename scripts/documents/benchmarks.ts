/** docs/benchmarks.md and its plots, from the tables of bench/RESULTS.md: the first of each kind is the newest. */
import { readFileSync } from 'node:fs';
import { type BarGroup, barChart } from './bar-chart.ts';

type Table = readonly (readonly string[])[];

const results = readFileSync(new URL('../../bench/RESULTS.md', import.meta.url), 'utf8');

/** The first table with a head that begins so: head and rows, and the heading above it. */
function findTable(head: string): { readonly heading: string; readonly rows: Table } {
  const lines = results.split('\n');
  const start = lines.findIndex((line) => line.startsWith(head));
  if (start < 0) throw new Error(`bench/RESULTS.md has no table that begins with ${head}`);
  const heading = lines.slice(0, start).findLast((line) => line.startsWith('## ')) ?? '';
  const length = lines.slice(start).findIndex((line) => !line.startsWith('|'));
  const rows = lines.slice(start, start + length).map((line) => line.split('|').slice(1, -1).map(clean));
  return { heading: heading.slice(3), rows: rows.filter((_, index) => index !== 1) };
}

function clean(cell: string): string {
  return cell.replaceAll('*', '').trim();
}

/** The number at the end: `0.198 (0.184..0.212), 84` is 84 µs. */
function lastNumber(cell: string): number | null {
  const [, number] = /(?:^|, )([\d.]+)$/.exec(cell) ?? [];
  return number === undefined ? null : Number(number);
}

/** The number at the beginning: `135.8 (101.0..192.0)`, `7,210`. */
function firstNumber(cell = ''): number {
  return Number.parseFloat(cell.replaceAll(',', ''));
}

function peerGroups({ rows: [head = [], ...rows] }: { readonly rows: Table }): readonly BarGroup[] {
  return rows.map(([flow = '', ...cells]) => ({
    label: flow,
    bars: cells.flatMap((cell, index) => {
      const name = head[index + 1] ?? '';
      const value = lastNumber(cell);
      return value === null || name === 'aim' || name === 'by rate'
        ? []
        : [{ name, value, ours: name.startsWith('Portcullis') }];
    }),
  }));
}

function growthGroups(): readonly BarGroup[] {
  const [, sizes = '', costs = ''] =
    /^\| refresh among ([\d,]+, [\d,]+, [\d,]+) grants.*?\| ([^|]+)\|/m.exec(results) ?? [];
  const values = [...costs.matchAll(/(\d+) \([\d.]+\)/g)].map(([, value]) => Number(value));
  const names = sizes.split(/, /);
  if (names.length !== values.length) throw new Error('bench/RESULTS.md has no row "refresh among … grants"');
  return [
    {
      label: 'refresh among so many grants, SQLite',
      bars: names.map((name, index) => ({ name, value: values[index] ?? 0, ours: true })),
    },
  ];
}

function gatewayGroup(label: string, { rows: [, ...rows] }: { readonly rows: Table }): BarGroup {
  const bars = rows.map(([name = '', , , cost]) => ({
    name,
    value: firstNumber(cost),
    ours: name.startsWith('portcullis'),
  }));
  return { label, bars };
}

function postgresGroups({ rows: [, ...rows] }: { readonly rows: Table }): readonly BarGroup[] {
  const flows = [...new Set(rows.map(([flow = '']) => flow))];
  return flows.map((flow) => ({
    label: flow,
    bars: rows
      .filter(([name]) => name === flow)
      .map(([, processes = '', rate]) => ({
        name: `${processes} process${processes === '1' ? '' : 'es'}`,
        value: firstNumber(rate),
        ours: true,
      })),
  }));
}

const peers = findTable('| flow | aim | Portcullis |');
const postgres = findTable('| flow | processes | flows/s |');
const gateway = findTable('| proxy | calls/s |');
const gatewayToStdio = findTable('| in front of a stdio server | calls/s |');

/** File → SVG. */
export function benchmarkPlots(): Readonly<Record<string, string>> {
  const folder = 'docs/images';
  return {
    [`${folder}/bench-peers.svg`]: barChart('CPU time of a flow, beside peers', 'µs', peerGroups(peers)),
    [`${folder}/bench-growth.svg`]: barChart('CPU time with the number of grants', 'µs', growthGroups()),
    [`${folder}/bench-postgres.svg`]: barChart(
      'Flows a second on PostgreSQL',
      '/s',
      postgresGroups(postgres),
    ),
    [`${folder}/bench-gateway.svg`]: barChart('CPU time of a call', 'µs', [
      gatewayGroup('a tool call to a server over HTTP', gateway),
      gatewayGroup('a tool call to a server over stdio', gatewayToStdio),
    ]),
  };
}

/** The whole page, in Markdown. */
export function benchmarksPage(): string {
  return `# Benchmarks

The newest measurements of [bench/RESULTS.md](../bench/RESULTS.md), as plots; conditions, ranges and everything that was measured before are there. \`npm run bench\` measures and writes tables like these into \`bench/results/\`; \`npm run documents\` draws the plots from bench/RESULTS.md. Shorter bars are cheaper, except where the unit is flows a second.

## Beside peers

CPU time of one flow on one core. Portcullis alone writes to a disk before it answers, signs ES256, limits rates and keeps an audit log; the peers keep everything in memory. *${peers.heading}*

![CPU time of each flow, beside peers](images/bench-peers.svg)

## With the number of grants

![CPU time of a refresh among a thousand to a million grants](images/bench-growth.svg)

## On PostgreSQL

Database, load and processes share two cores here, so this does not show how far they scale. *${postgres.heading}*

![Flows a second on PostgreSQL](images/bench-postgres.svg)

## The gateway

CPU time of one tool call with authorization, policy and an event, beside a proxy that only forwards, and beside gateways that put a stdio server behind HTTP without any of these.

![CPU time of a call through the gateway](images/bench-gateway.svg)

A condition on the arguments of a small call adds 2 to 3 µs to its decision; without conditions, a decision takes 0.2 µs.

Whole calls with a condition, a public tool or an approval in the rules cost what calls with plain rules cost, as far as that can be measured. An open stream holds 14 KB, less than half of what it holds in a proxy that only forwards; a session whose user is away holds nothing.

## Starting

Processor time from the start of the built command to its first response, with a compile cache, on a busy computer: 230 to 260 ms for \`portcullis up\`, 350 with 300 configured clients, 345 for \`portcullis protect\`, which tries its backend meanwhile; 185 ms for \`portcullis call\` until its first request, 18 ms for the import of the guard. Node alone takes 20 to 30.

## Repeat it

\`\`\`sh
npm run bench                     # all parts, about half an hour on a quiet machine
npm run bench -- flows --quick    # one part, roughly
npm run bench -- postgres         # the way to grow
npm run bench -- policy rules     # what decisions cost, alone and in calls
npm run bench pair HEAD~20 code   # codes of that commit and of this one, in turns, by processor time
npm run bench dimensions          # many grants, sessions, servers and so on, beside one of each
\`\`\`
`;
}
