/** Measures the program of another commit and this one in turns, with users who have what a year brings. */
import { flowNames } from '../authorization/flows.ts';
import { type RunningInstance, startPortcullis } from '../authorization/portcullis.ts';
import { median, type Part, spread } from '../harness/figures.ts';
import { type Begin, load, type Until } from '../harness/load.ts';
import { measure } from '../harness/measure.ts';
import { extractProgram } from './other-program.ts';
import {
  type History,
  type LoadedFlow,
  NEW,
  PLAIN_RULES,
  type Prepare,
  seedHistory,
  startBackend,
  type ToolRules,
  YEAR,
} from './year.ts';

/** A regression: more than this many times the cost of the other program, with a confidence of 95 %. */
const MOST = 1.25;
const FLOWS = [...flowNames, 'gateway call', 'start'] as const;

interface Program {
  readonly history: History;
  start(): Promise<RunningInstance>;
}

/** How much is measured. */
export interface Turns {
  readonly rounds: number;
  /** What a program does before the other one's turn comes. */
  readonly turn: Until;
  readonly warmUp: Until;
}

interface Sample {
  readonly flow: string;
  /** Microseconds of processor time of one flow. */
  readonly before: number;
  readonly now: number;
  readonly issue: string | null;
}

/** @param wanted parts of the names of flows; all by default */
export async function measurePair(name: string, wanted: readonly string[], turns: Turns): Promise<Part> {
  const { commit, folder } = extractProgram(name);
  const { backend, settingsFor } = await startBackend();
  const settings = settingsFor(YEAR);
  const samples = await measureAll(
    [
      { history: YEAR, start: () => startPortcullis({ settings, root: folder }) },
      { history: YEAR, start: () => startPortcullis({ settings }) },
    ],
    wanted,
    turns,
  );
  await backend.stop();
  return report(
    `${commit} and now`,
    `Each user has ${YEAR.grants} grants, the server ${YEAR.scopes} scopes and ${YEAR.clients} configured clients.`,
    `in ${commit}`,
    samples,
  );
}

/** What a flow costs a new user of a small configuration, and one who has what a year brings. */
export async function measureFlatness(wanted: readonly string[], turns: Turns): Promise<Part> {
  const { backend, settingsFor } = await startBackend();
  const programOf = (history: History): Program => ({
    history,
    start: () => startPortcullis({ settings: settingsFor(history) }),
  });
  const samples = await measureAll([programOf(NEW), programOf(YEAR)], wanted, turns);
  await backend.stop();
  return report(
    'A new user, and one of a year',
    `Before: ${JSON.stringify(NEW)}. Now: ${JSON.stringify(YEAR)}.`,
    'a new user',
    samples,
  );
}

/** Rules that are compared with plain ones, for calls of the tool `echo`. */
const RULES: Readonly<Record<string, ToolRules>> = {
  'the same rules again': PLAIN_RULES,
  'a public tool, a condition and an approval, of other tools': {
    ...PLAIN_RULES,
    search: { public: true },
    transfer: { scopes: ['notes:read'], when: 'call.arguments.amount < 100' },
    remove: { scopes: ['notes:read'], approval: { by: 'user' } },
  },
  'a condition on the user': { '*': { scopes: ['notes:read'], when: "client.id != 'none'" } },
  'a condition on the arguments': {
    '*': { scopes: ['notes:read'], when: "call.arguments.text.startsWith('The text')" },
  },
};

/** What rules of tools cost a call, beside a server with plain ones. @param wanted parts of the names of rules; all by default */
export async function measureRules(wanted: readonly string[], turns: Turns): Promise<Part> {
  const { backend, settingsFor } = await startBackend();
  const programWith = (tools: ToolRules): Program => ({
    history: NEW,
    start: () => startPortcullis({ settings: settingsFor(NEW, tools) }),
  });
  const samples: Sample[] = [];
  for (const [name, tools] of Object.entries(RULES)) {
    if (wanted.length > 0 && !wanted.some((text) => name.includes(text))) continue;
    const programs = [programWith(PLAIN_RULES), programWith(tools)] as const;
    console.log(name);
    const found = await measureInTurns(programs, ['gateway call'], turns);
    samples.push(...found.map((sample) => ({ ...sample, flow: name })));
  }
  await backend.stop();
  return report('Rules of tools', 'A call of one tool.', 'with plain rules', samples);
}

async function measureAll(
  programs: readonly [Program, Program],
  wanted: readonly string[],
  turns: Turns,
): Promise<readonly Sample[]> {
  const flows = FLOWS.filter((flow) => wanted.length === 0 || wanted.some((text) => flow.includes(text)));
  const loaded = flows.filter((flow) => flow !== 'start');
  const samples = loaded.length === 0 ? [] : await measureInTurns(programs, loaded, turns);
  if (loaded.length === flows.length) return samples;
  // The first start of a program fills its compile cache.
  if (loaded.length === 0) for (const program of programs) await measureStart(program);
  return [...samples, ...(await measureStarts(programs, turns))];
}

/** Processes of the same program differ by chance, in what V8 compiles and when: each program gets several, in pairs of at least four rounds. */
const MAX_INSTANCES = 4;

interface Instance {
  readonly server: RunningInstance;
  readonly prepare: Prepare;
}

type Pair = readonly [Instance, Instance];

/** Each flow in the same processes. @param turns its rounds are those of all pairs together */
async function measureInTurns(
  programs: readonly [Program, Program],
  flows: readonly LoadedFlow[],
  turns: Turns,
): Promise<readonly Sample[]> {
  const startOne = async (program: Program): Promise<Instance> => {
    const server = await program.start();
    return { server, prepare: await seedHistory(server, program.history) };
  };
  const instances = Math.min(MAX_INSTANCES, Math.max(1, Math.floor(turns.rounds / 4)));
  const pairs: Pair[] = [];
  while (pairs.length < instances) pairs.push([await startOne(programs[0]), await startOne(programs[1])]);
  const samples: Sample[] = [];
  for (const flow of flows) {
    const found = await measureFlow(pairs, flow, turns);
    samples.push(...found);
    console.log(rowsOf(found).join(' | '));
  }
  await Promise.all(pairs.flat().map(({ server }) => server.stop()));
  return samples;
}

async function measureFlow(
  pairs: readonly Pair[],
  flow: LoadedFlow,
  { rounds, turn, warmUp }: Turns,
): Promise<readonly Sample[]> {
  const begins = new Map<Instance, Begin>();
  for (const instance of pairs.flat()) {
    const begin = await instance.prepare(flow);
    begins.set(instance, begin);
    await load([instance.server.port], begin, warmUp);
  }
  const measureOne = (instance: Instance) =>
    measure([instance.server], begins.get(instance) ?? (() => null), turn);
  const samples: Sample[] = [];
  for (let round = 0; round < rounds / pairs.length; round += 1)
    for (const [other, own] of pairs) {
      const first = await measureOne(round % 2 === 0 ? other : own);
      const second = await measureOne(round % 2 === 0 ? own : other);
      const [before, now] = round % 2 === 0 ? [first, second] : [second, first];
      samples.push({ flow, before: before.cost, now: now.cost, issue: before.issue ?? now.issue });
    }
  return samples;
}

/** Processor time until the first response, with an empty data folder and a filled compile cache. */
async function measureStarts(
  programs: readonly [Program, Program],
  { rounds }: Turns,
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (let round = 0; round < Math.floor(rounds / 3); round += 1) {
    const before = await measureStart(programs[0]);
    samples.push({ flow: 'start', before, now: await measureStart(programs[1]), issue: null });
  }
  console.log(rowsOf(samples).join(' | '));
  return samples;
}

async function measureStart(program: Program): Promise<number> {
  const server = await program.start();
  const spent = server.cpu() * 1e6;
  await server.stop();
  return spent;
}

function report(title: string, note: string, other: string, samples: readonly Sample[]): Part {
  const groups = [...Map.groupBy(samples, ({ flow }) => flow).values()];
  return {
    title,
    notes: [
      `µs of processor time of one flow: median (range) of all rounds, in which several processes of both programs were measured in turns, in pairs. ` +
        `Times: now by before in each round, median and its confidence interval of 95 %. ${note}`,
    ],
    columns: ['flow', 'before, µs', 'now, µs', 'times'],
    rows: groups.map(rowsOf),
    samples,
    issues: groups.flatMap((group) => {
      const flow = group[0]?.flow;
      const [low] = confidence(group.map(timesOf));
      return [
        ...group.flatMap(({ issue }) => (issue === null ? [] : [`${flow}: ${issue}`])),
        ...(low > MOST ? [`${flow} costs more than ${MOST} times what it cost ${other}`] : []),
      ];
    }),
  };
}

function rowsOf(group: readonly Sample[]): readonly string[] {
  const times = group.map(timesOf);
  const [low, high] = confidence(times);
  return [
    group[0]?.flow ?? '',
    spread(
      group.map(({ before }) => before),
      0,
    ),
    spread(
      group.map(({ now }) => now),
      0,
    ),
    `${median(times).toFixed(2)} (${low.toFixed(2)}..${high.toFixed(2)})`,
  ];
}

const timesOf = ({ before, now }: Sample): number => now / before;

/** The interval that contains the true median with a confidence of 95 %. */
function confidence(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)));
  return [sorted[rank - 1] ?? Number.NaN, sorted.at(-rank) ?? Number.NaN];
}
