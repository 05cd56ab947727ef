/** Measures the memory of a server that has issued many tokens, and whether it grows: the published build, and the sources. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../harness/figures.ts';
import { load } from '../harness/load.ts';
import type { Effort } from './measure-flows.ts';
import { BUILT, isBuilt, portcullis, startPortcullis } from './portcullis.ts';

const AIM = 150;
/** The numbers of issued tokens at which memory is read. */
const MARKS = [0, 10_000, 50_000, 100_000, 150_000, 200_000];

/** Resident megabytes of one build. */
interface Course {
  readonly ready: number;
  /** At each mark. */
  readonly loaded: readonly number[];
  /** After three seconds without a request. */
  readonly idle: number;
  readonly issues: readonly string[];
}

export async function measureMemory({ rounds }: Effort): Promise<Part> {
  const marks = rounds > 1 ? MARKS : MARKS.slice(0, 3);
  const built = isBuilt() ? await follow('built', marks, BUILT) : null;
  const sources = await follow('from sources', marks);
  const courses = built === null ? [sources] : [built, sources];
  const row = (name: string, of: (course: Course) => number | undefined) => [
    name,
    ...courses.map((course) => (of(course) ?? Number.NaN).toFixed(0)),
  ];
  return {
    title: 'Memory',
    notes: [
      'Resident memory of the whole process (no collection forced) while access tokens are issued by refreshing 100 chains; the log goes to a file. ' +
        `Aim: under ${AIM} MB after 100,000, and flat. What is published is built; from sources, the types were read away by an earlier start.`,
    ],
    columns: [
      'tokens issued',
      ...(built === null ? [] : ['resident MB, built']),
      'resident MB, from sources',
    ],
    rows: [
      row('ready', ({ ready }) => ready),
      ...marks.map((mark, index) => row(mark.toLocaleString('en'), ({ loaded }) => loaded[index])),
      row('3 s later', ({ idle }) => idle),
    ],
    samples: { marks, built, sources },
    issues: courses.flatMap(({ issues }) => issues),
  };
}

async function follow(name: string, marks: readonly number[], main?: string): Promise<Course> {
  const server = await startPortcullis(main === undefined ? {} : { main });
  const ready = server.memory();
  const begin = await portcullis.flows.refresh?.(server.port);
  if (begin === undefined) throw new Error('There is no refresh.');
  const loaded: number[] = [];
  const issues: string[] = [];
  let issued = 0;
  for (const mark of marks) {
    const { flows, issue } = await load([server.port], begin, { flows: mark - issued });
    if (issue !== null) issues.push(`${name}: ${issue}`);
    issued += flows;
    loaded.push(server.memory());
    console.log(`${name}, ${issued} tokens: ${server.memory().toFixed(0)} MB`);
  }
  await sleep(3000);
  const idle = server.memory();
  await server.stop();
  return { ready, loaded, idle, issues };
}
