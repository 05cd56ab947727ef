/** Measures every flow of every authorization server, as a share of the speed of bare node:http at the same time. */
import { median, type Part, spread } from '../harness/figures.ts';
import { load } from '../harness/load.ts';
import { bareFlow, type Measurement, measure, measureQuietly, startBare } from '../harness/measure.ts';
import type { Server } from '../harness/server.ts';
import { aims, type Contender, type FlowName, flowNames } from './flows.ts';

export interface Effort {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
  /** The attempts to measure while the machine is quiet. */
  readonly tries: number;
}

interface Sample {
  readonly contender: string;
  readonly flow: FlowName;
  readonly bare: Measurement;
  readonly it: Measurement;
}

export async function measureFlows(
  contenders: readonly Contender[],
  effort: Effort,
  wanted: readonly FlowName[] = flowNames,
): Promise<Part> {
  const samples: Sample[] = [];
  const bare = await startBare();
  await load([bare.port], bareFlow, { seconds: effort.warmUp });
  for (let round = 0; round < effort.rounds; round += 1) {
    for (const contender of contenders) {
      for (const flow of wanted) {
        const sample = await measureOne(bare, contender, flow, effort);
        if (sample === null) continue;
        samples.push(sample);
        console.log(`${round + 1}/${effort.rounds} ${describe(sample)}`);
      }
    }
  }
  await bare.stop();
  return {
    title: 'Flows',
    notes: [
      'Flows that ended well in a second on one core, 64 connections, closed loop; every response was read and checked. ' +
        'Share: flows a second by requests a second of bare node:http just before, on the same core; CPU share: the same from CPU time. ' +
        'Median (range). Noise: cores that other processes took.',
      'Refresh: 100 chains, rotated at each use. Authorization code: two requests, the authorization request of a user who is signed ' +
        'in, and the redemption; 1,000 users in turn, whose consent Portcullis remembers (the peers are set up to ask for none). "Asked" is ' +
        'four: the page of consent and its form besides. Introspection: 100 active JWTs of an authenticated client; the peers look up ' +
        'opaque tokens or a map, and the SDK authenticates no user.',
      ...contenders.map(({ name, about }) => `${name}: ${about}.`),
      loadShare(samples),
    ],
    columns: [
      'server',
      'flow',
      'flows/s',
      'share',
      'CPU share',
      'aim',
      'CPU µs',
      'p50 ms',
      'p99 ms',
      'bad',
      'noise',
    ],
    rows: rowsOf(samples),
    samples,
    issues: samples.flatMap(({ contender, flow, bare, it }) => [
      ...(bare.issue === null ? [] : [`bare: ${bare.issue}`]),
      // Errors of other servers are in the table: one keeps 1,000 entries in memory and sometimes evicts one in use.
      ...(it.issue === null || contender !== 'Portcullis' ? [] : [`${flow}: ${it.issue}`]),
    ]),
  };
}

/** On a new server, so that no flow is affected by the state of another. */
async function measureOne(
  bare: Server,
  contender: Contender,
  flow: FlowName,
  effort: Effort,
): Promise<Sample | null> {
  const prepare = contender.flows[flow];
  if (prepare === undefined) return null;
  const { seconds, warmUp, tries } = effort;
  const beside = await measureQuietly(() => measure([bare], bareFlow, { seconds: 1 }), tries);
  const it = await measureQuietly(async () => {
    const server = await contender.start();
    try {
      await load([server.port], await prepare(server.port), { seconds: warmUp });
      // Prepared again: the state after a warm-up depends on its speed.
      return await measure([server], await prepare(server.port), { seconds });
    } finally {
      await server.stop();
    }
  }, tries);
  return { contender: contender.name, flow, bare: beside, it };
}

function describe({ contender, flow, bare, it }: Sample): string {
  const share = (it.perSecond / bare.perSecond).toFixed(3);
  const cpuShare = (bare.cost / it.cost).toFixed(3);
  const noise = `noise ${bare.noise.toFixed(2)}/${it.noise.toFixed(2)}`;
  return `${contender} ${flow}: ${it.perSecond.toFixed(0)}/s, share ${share}, CPU share ${cpuShare} (${it.cost.toFixed(0)} µs against ${bare.cost.toFixed(1)}), bad ${it.bad}, ${noise}${it.issue === null ? '' : `: ${it.issue}`}`;
}

function rowsOf(samples: readonly Sample[]): readonly (readonly string[])[] {
  const groups = Map.groupBy(samples, ({ contender, flow }) => `${flow}|${contender}`);
  const inOrder = flowNames.flatMap((flow) => [...groups].filter(([name]) => name.startsWith(`${flow}|`)));
  return inOrder.map(([, group]) => {
    const [first] = group;
    const figures = (of: (sample: Sample) => number, digits: number) => spread(group.map(of), digits);
    const middle = (of: (sample: Sample) => number, digits: number) => median(group.map(of)).toFixed(digits);
    return [
      first?.contender ?? '',
      first?.flow ?? '',
      figures(({ it }) => it.perSecond, 0),
      figures(({ it, bare }) => it.perSecond / bare.perSecond, 3),
      figures(({ it, bare }) => bare.cost / it.cost, 3),
      first?.contender === 'Portcullis' ? String(aims[first.flow] ?? '') : '',
      middle(({ it }) => it.cost, 0),
      middle(({ it }) => it.p50, 1),
      middle(({ it }) => it.p99, 1),
      String(group.reduce((sum, { it }) => sum + it.bad, 0)),
      middle(({ it }) => it.noise, 2),
    ];
  });
}

/** Whether the load generator may have limited the bare server, and so every share. */
function loadShare(samples: readonly Sample[]): string {
  const rates = samples.map(({ bare }) => bare.perSecond);
  const costs = samples.map(({ bare }) => bare.cost);
  const possible = 1e6 / median(costs);
  return (
    `Bare node:http: ${spread(rates, 0)} requests/s, ${spread(costs, 1)} µs of CPU a request, which alone would allow ` +
    `${possible.toFixed(0)}/s: it was ${((median(rates) / possible) * 100).toFixed(0)} % busy. Where that is far below 100 %, the load held it ` +
    'back, the shares by rate flatter everybody, and the CPU shares are the ones to read.'
  );
}
