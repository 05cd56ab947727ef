/** Measures the cold start: from the start of a process to its first response, with an empty data folder. */
import { median, type Part, spread } from '../harness/figures.ts';
import { startBare } from '../harness/measure.ts';
import type { Server } from '../harness/server.ts';
import type { Contender } from './flows.ts';
import type { Effort } from './measure-flows.ts';
import { BUILT, isBuilt, newFolder, startPortcullis } from './portcullis.ts';

const AIM = 400;

export async function measureStart(contenders: readonly Contender[], { rounds }: Effort): Promise<Part> {
  const kept = newFolder();
  const kinds: Record<string, () => Promise<Server>> = { 'bare node:http': startBare };
  for (const { name, start } of contenders) kinds[name] = start;
  kinds['Portcullis, TypeScript sources'] = () => startPortcullis();
  delete kinds['Portcullis'];
  if (isBuilt()) {
    kinds['Portcullis, built'] = () => startPortcullis({ main: BUILT });
    kinds['Portcullis, built, started before'] = () => startPortcullis({ main: BUILT, folder: kept });
  }
  const samples = Object.entries(kinds).map(([name, start]) => ({
    name,
    start,
    times: [] as number[],
    memory: [] as number[],
  }));
  // The first round does not count: it fills the disk cache.
  for (let round = 0; round <= rounds + 1; round += 1) {
    for (const { start, times, memory } of samples) {
      const server = await start();
      if (round > 0) {
        times.push(server.startedIn);
        memory.push(server.memory());
      }
      await server.stop();
    }
  }
  const bare = median(samples[0]?.times ?? []);
  return {
    title: 'Start to first answer',
    notes: [
      'From the start of the process to the first answer of its metadata document, on one core. Portcullis makes its database and its ' +
        `keys in that time; "started before" finds them. Aim: under ${AIM} ms. "Built" is there after \`npm run build\`.`,
    ],
    columns: ['server', 'ms', 'times bare', 'resident MB when ready'],
    rows: samples.map(({ name, times, memory }) => [
      name,
      spread(times, 0),
      (median(times) / bare).toFixed(2),
      spread(memory, 0),
    ]),
    samples: samples.map(({ name, times, memory }) => ({ name, times, memory })),
    issues: [],
  };
}
