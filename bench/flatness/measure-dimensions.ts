/** What flows cost a user and a server with much of one thing, beside those with little of everything. */
import { execFileSync } from 'node:child_process';
import { median, type Part } from '../harness/figures.ts';
import { onCore, SERVER_CORE } from '../harness/machine.ts';
import { nodeCommand } from '../harness/server.ts';
import { dimensions, type Size, SMALL } from './growth.ts';

/** The median cost of each flow, by its name, in µs. */
type Costs = Readonly<Record<string, number>>;

interface Sample {
  readonly dimension: string;
  readonly costs: Costs;
  /** As times the cost of the same flow with little of everything, a moment before. */
  readonly times: Readonly<Record<string, number>>;
}

/** @param wanted parts of the names of dimensions; all by default */
export async function measureDimensions(wanted: readonly string[], turns: number): Promise<Part> {
  const named = Object.entries(dimensions).filter(
    ([name]) => wanted.length === 0 || wanted.some((text) => name.includes(text)),
  );
  const samples: Sample[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const small = measureSize(SMALL);
    samples.push(sampleOf('one of each', small, small));
    for (const [dimension, changes] of named) {
      samples.push(sampleOf(dimension, measureSize({ ...SMALL, ...changes }), small));
      console.log(rowOf(samples.slice(-1)).join(' | '));
    }
  }
  return {
    title: 'Flows by what there is of one thing',
    notes: [
      'Processor time of a flow in one process without sockets, on a SQLite file: µs for a user and a server with one of each thing, and ' +
        `times that where there is much of one. Medians of ${turns} processes each, with the median of its rounds.`,
    ],
    columns: ['dimension', ...Object.keys(samples[0]?.costs ?? {})],
    rows: [...Map.groupBy(samples, ({ dimension }) => dimension).values()].map(rowOf),
    samples,
    issues: [],
  };
}

function sampleOf(dimension: string, costs: Costs, small: Costs): Sample {
  const times = Object.entries(costs).map(([flow, cost]) => [flow, cost / (small[flow] ?? Number.NaN)]);
  return { dimension, costs, times: Object.fromEntries(times) };
}

function rowOf(samples: readonly Sample[]): readonly string[] {
  const [first] = samples;
  const cells = Object.keys(first?.costs ?? {}).map((flow) => {
    const middle = (of: (sample: Sample) => number | undefined) =>
      median(samples.map((one) => of(one) ?? Number.NaN));
    return first?.dimension === 'one of each'
      ? `${middle(({ costs }) => costs[flow]).toFixed(0)} µs`
      : middle(({ times }) => times[flow]).toFixed(2);
  });
  return [first?.dimension ?? '', ...cells];
}

function measureSize(size: Size): Costs {
  const [command, ...rest] = onCore(
    SERVER_CORE,
    nodeCommand('bench/flatness/flows-inside.ts', JSON.stringify(size)),
  );
  const rounds: Readonly<Record<string, readonly number[]>> = JSON.parse(
    execFileSync(command, rest, { encoding: 'utf8' }),
  );
  return Object.fromEntries(Object.entries(rounds).map(([flow, costs]) => [flow, median(costs)]));
}
