/**
 * Measures what an operator reads of a filled store: searches of the audit log by each filter, statistics, and lists.
 * `node --conditions=portcullis-source bench/admin/measure.ts [folder] [rounds]`, after `bench/admin/fill.ts`.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '@portcullis/store';
import type { Administration } from '../../packages/admin/src/operations/administration.ts';
import { listEvents } from '../../packages/admin/src/operations/events.ts';
import { findReference } from '../../packages/admin/src/operations/refusals.ts';
import type { EventCriteria } from '../../packages/admin/src/operations/search-events.ts';
import { countMissing } from '../../packages/admin/src/operations/statistics/count-hours.ts';
import { createStatistics } from '../../packages/admin/src/operations/statistics/statistics.ts';
import type { SeriesStep } from '../../packages/admin/src/operations/statistics/steps.ts';
import { median } from '../harness/figures.ts';

const [folder = join(tmpdir(), 'portcullis-admin-bench'), rounds = '5'] = process.argv.slice(2);
const locations: readonly string[] = JSON.parse(readFileSync(join(folder, 'locations.json'), 'utf8'));

const filters: Readonly<Record<string, EventCriteria>> = {
  'no filter': {},
  'frequent type': { type: 'call.finished' },
  'rare type': { type: 'key.rotated' },
  'types below a name': { type: 'key.*' },
  'type without events': { type: 'client.disabled' },
  user: { user: 'user_rare' },
  client: { client: 'rare_client' },
  grant: { grant: 'grant_rare' },
  server: { server: '/rare' },
  decision: { decision: 'denied' },
  'tool of a user': { user: 'user_rare', tool: 'delete_page' },
};

for (const location of locations) {
  const store = await openStore(location);
  const admin = { store } as unknown as Administration;
  const statistics = createStatistics(store, Date.now);
  const began = performance.now();
  const cpu = process.cpuUsage();
  await countMissing(store, Date.now, null);
  const { user, system } = process.cpuUsage(cpu);
  console.log(
    `hours counted in ${((performance.now() - began) / 1000).toFixed(1)} s, of which ${((user + system) / 1e6).toFixed(1)} s of this process`,
  );
  const of = location.startsWith('postgres') ? 'PostgreSQL' : 'SQLite';
  for (const [name, criteria] of Object.entries(filters))
    await measure(`${of}, events, ${name}`, async () => {
      const { events, before } = await listEvents(admin.store, criteria, '', 50);
      return `${events.length} events${before === null ? ', all were searched' : ''}`;
    });
  // As a process that serves: it counts the running hours every few seconds.
  for (let isComplete = false; !isComplete; )
    ({ isComplete } = await statistics.count(Date.now() - 3_600_000, Date.now(), 'minute'));
  const day = 86_400_000;
  const views = { minute: 3_600_000, hour: day, day: 31 * day, week: 91 * day, month: 300 * day } as const;
  for (const [step, time] of Object.entries(views) as [SeriesStep, number][])
    await measure(`${of}, statistics, ${step}s`, async () => {
      const { buckets, isComplete } = await statistics.count(Date.now() - time, Date.now(), step);
      return `${buckets.length} steps${isComplete ? '' : ', some hours are missing'}`;
    });
  await measure(`${of}, what is live`, async () =>
    JSON.stringify(await store.countLive(Math.floor(Date.now() / 1000))),
  );
  await measure(`${of}, reference`, async () => `${(await findReference(store, 'RARE-40')).length} events`);
  await measure(`${of}, users`, async () => `${(await store.listAccounts('', 50)).length}`);
  await measure(`${of}, clients`, async () => `${(await store.listClients('', 50)).length}`);
  await store.close();
}

async function measure(name: string, work: () => Promise<string>): Promise<void> {
  const times: number[] = [];
  let found = '';
  for (let round = 0; round < Number(rounds); round += 1) {
    const began = performance.now();
    found = await work();
    times.push(performance.now() - began);
  }
  console.log(
    `${name}: ${median(times).toFixed(1)} ms, at most ${Math.max(...times).toFixed(1)} ms (${found})`,
  );
}
