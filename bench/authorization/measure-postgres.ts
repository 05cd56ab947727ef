/** Measures the same flows on PostgreSQL, with one process and with two that share the database. */
import { Client } from 'pg';
import { startServer } from '../../tests/support/postgres.ts';
import { median, type Part, spread } from '../harness/figures.ts';
import { load } from '../harness/load.ts';
import { LOAD_CORE, SERVER_CORE } from '../harness/machine.ts';
import { type Measurement, measure, measureQuietly } from '../harness/measure.ts';
import type { Server } from '../harness/server.ts';
import type { Effort } from './measure-flows.ts';
import {
  machineFlow,
  makeChains,
  newFolder,
  refreshFlowOf,
  register,
  resourceAt,
  startPortcullis,
} from './portcullis.ts';
import { accountRow, INSERT_ACCOUNT, INSERT_SESSION, inventUsers, sessionRow, type Users } from './users.ts';

export async function measurePostgres(effort: Effort): Promise<Part> {
  const postgres = await startServer({});
  const folder = newFolder();
  const samples: { processes: number; flow: string; it: Measurement }[] = [];
  try {
    const first = await startPortcullis({ folder, database: postgres.url, core: SERVER_CORE });
    const publicUrl = `http://localhost:${first.port}`;
    const second = await startPortcullis({ folder, database: postgres.url, publicUrl, core: LOAD_CORE });
    const users = { clientId: await register(first.port), browsers: await seed(postgres.url, publicUrl) };
    const chains = await makeChains(first.port, users, resourceAt(first.port));
    const flows = { refresh: refreshFlowOf(users.clientId, chains), 'client credentials': machineFlow };
    for (const [flow, begin] of Object.entries(flows)) {
      for (const servers of [[first], [first, second]] satisfies Server[][]) {
        await load(
          servers.map(({ port }) => port),
          begin,
          { seconds: effort.warmUp },
        );
        for (let round = 0; round < effort.rounds; round += 1) {
          const it = await measureQuietly(() => measure(servers, begin, effort), 1);
          samples.push({ processes: servers.length, flow, it });
          console.log(
            `${servers.length} processes, ${flow}: ${it.perSecond.toFixed(0)}/s, ${it.cost.toFixed(0)} µs`,
          );
        }
      }
    }
    await Promise.all([first.stop(), second.stop()]);
  } finally {
    await postgres.stop();
  }
  const groups = Map.groupBy(samples, ({ processes, flow }) => `${flow}|${processes}`);
  return {
    title: 'PostgreSQL',
    notes: [
      'PostgreSQL 18.4 on the same machine, fsync on. The first process stands on one core, the second on the core of the load; the database ' +
        'runs where a core is free. With two cores for all of them, two processes show that they share the state, not that they scale.',
    ],
    columns: ['flow', 'processes', 'flows/s', 'CPU µs of the processes', 'p50 ms', 'p99 ms', 'bad'],
    rows: [...groups].map(([name, group]) => [
      ...name.split('|'),
      spread(
        group.map(({ it }) => it.perSecond),
        0,
      ),
      spread(
        group.map(({ it }) => it.cost),
        0,
      ),
      median(group.map(({ it }) => it.p50)).toFixed(1),
      median(group.map(({ it }) => it.p99)).toFixed(1),
      String(group.reduce((sum, { it }) => sum + it.bad, 0)),
    ]),
    samples,
    issues: samples.flatMap(({ flow, processes, it }) =>
      it.issue === null ? [] : [`${flow}, ${processes} processes: ${it.issue}`],
    ),
  };
}

async function seed(url: string, publicUrl: string): Promise<Users['browsers']> {
  const users = inventUsers(publicUrl);
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const user of users) {
    await client.query(INSERT_ACCOUNT, accountRow(user.accountId));
    await client.query(INSERT_SESSION, sessionRow(user));
  }
  await client.end();
  return users.map(({ browser }) => browser);
}
