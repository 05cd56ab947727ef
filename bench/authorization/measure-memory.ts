/** What a server holds in memory after it has issued many tokens, and whether it grows. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../harness/figures.ts';
import { load } from '../harness/load.ts';
import type { Effort } from './measure-flows.ts';
import { portcullis } from './portcullis.ts';

const AIM = 150;
/** Tokens that have been issued when memory is read. */
const MARKS = [0, 10_000, 50_000, 100_000, 150_000, 200_000];

export async function measureMemory({ rounds }: Effort): Promise<Part> {
  const marks = rounds > 1 ? MARKS : MARKS.slice(0, 3);
  const server = await portcullis.start();
  const ready = server.memory();
  const begin = await portcullis.flows.refresh?.(server.port);
  if (begin === undefined) throw new Error('There is no refresh.');
  const samples: { issued: number; memory: number }[] = [];
  const faults: string[] = [];
  let issued = 0;
  for (const mark of marks) {
    const { flows, fault } = await load([server.port], begin, { flows: mark - issued });
    if (fault !== null) faults.push(fault);
    issued += flows;
    samples.push({ issued, memory: server.memory() });
    console.log(`${issued} tokens: ${server.memory().toFixed(0)} MB`);
  }
  await sleep(3000);
  const idle = server.memory();
  await server.stop();
  return {
    title: 'Memory',
    notes: [
      'Resident memory of the whole process (no collection forced) while access tokens are issued by refreshing 100 chains; the log goes to a file. ' +
        `Aim: under ${AIM} MB after 100,000, and flat.`,
    ],
    columns: ['tokens issued', 'resident MB'],
    rows: [
      ['ready', ready.toFixed(0)],
      ...samples.map(({ issued, memory }) => [issued.toLocaleString('en'), memory.toFixed(0)]),
      ['3 s later', idle.toFixed(0)],
    ],
    samples: { ready, samples, idle },
    faults,
  };
}
