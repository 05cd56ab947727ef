/**
 * Measures what a flow costs on each store: processor time of our process and of PostgreSQL, statements, transactions (of nearly all
 * operations each is one round trip), commits that wrote, WAL, rows, and updates that touched no index (HOT).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Client } from 'pg';
import { startServer } from '../../tests/support/postgres.ts';
import { median, type Part } from '../harness/figures.ts';
import { load } from '../harness/load.ts';
import { cpuOf, SERVER_CORE } from '../harness/machine.ts';
import type { Server } from '../harness/server.ts';
import type { Effort } from './measure-flows.ts';
import { flowsAt, newFolder, startPortcullis } from './portcullis.ts';
import {
  accountRow,
  INSERT_ACCOUNT,
  INSERT_SESSION,
  inventUsers,
  seedUsers,
  sessionRow,
  type Users,
} from './users.ts';

/** Counters of PostgreSQL since its start. */
interface Counters {
  readonly cpu: number;
  readonly calls: number;
  readonly transactions: number;
  readonly flushes: number;
  readonly wal: number;
  readonly inserted: number;
  readonly updated: number;
  readonly hot: number;
  readonly deleted: number;
  readonly indexScans: number;
}

interface Sample {
  readonly store: string;
  readonly flow: string;
  readonly atOnce: number;
  readonly perSecond: number;
  /** Microseconds of our process for one flow. */
  readonly own: number;
  readonly flows: number;
  readonly issue: string | null;
  /** For one flow; `null` on SQLite. */
  readonly database: Counters | null;
}

export async function measureCosts(effort: Effort, wanted = ''): Promise<Part> {
  const samples: Sample[] = [];
  const sqlite = await startPortcullis({ core: SERVER_CORE });
  await measureStore(
    'SQLite',
    sqlite,
    (port) => seedUsers(sqlite.database, `http://localhost:${port}`),
    null,
  );
  await sqlite.stop();

  const postgres = await startServer({
    shared_preload_libraries: 'pg_stat_statements',
    track_io_timing: 'off',
  });
  const statistics = new Client({ connectionString: postgres.url });
  try {
    await statistics.connect();
    await statistics.query('CREATE EXTENSION pg_stat_statements');
    const server = await startPortcullis({ folder: newFolder(), database: postgres.url, core: SERVER_CORE });
    await measureStore(
      'PostgreSQL',
      server,
      (port) => seedDatabase(statistics, `http://localhost:${port}`),
      statistics,
    );
    await server.stop();
    if (wanted !== '') await printStatements(statistics);
  } finally {
    await statistics.end();
    await postgres.stop();
  }
  return report(samples);

  async function measureStore(
    store: string,
    server: Server,
    seedAll: (port: number) => Users['browsers'] | Promise<Users['browsers']>,
    statistics: Client | null,
  ): Promise<void> {
    const browsers = await seedAll(server.port);
    const flows = flowsAt(server.port, () => browsers);
    for (const [flow, prepare] of Object.entries(flows).filter(([name]) => name.includes(wanted))) {
      const begin = await prepare();
      for (const atOnce of [64, 1]) {
        await load([server.port], begin, { seconds: atOnce === 1 ? 0.5 : effort.warmUp }, atOnce);
        if (statistics !== null && wanted !== '') await statistics.query('SELECT pg_stat_statements_reset()');
        for (let round = 0; round < effort.rounds; round += 1) {
          const before = statistics === null ? null : await readCounters(statistics);
          const cpu = server.cpu();
          const result = await load([server.port], begin, { seconds: effort.seconds }, atOnce);
          const own = ((server.cpu() - cpu) * 1e6) / result.flows;
          const after = statistics === null ? null : await readCounters(statistics);
          const database = before && after && perFlow(before, after, result.flows);
          const perSecond = result.flows / result.seconds;
          samples.push({
            store,
            flow,
            atOnce,
            perSecond,
            own,
            flows: result.flows,
            issue: result.issue,
            database,
          });
          console.log(
            `${store}, ${flow}, ${atOnce} at once: ${perSecond.toFixed(0)}/s, ${own.toFixed(0)} µs, ${database?.cpu.toFixed(0)} µs`,
          );
        }
      }
    }
  }
}

/** Inserts users with a session each. @returns their browsers */
export async function seedDatabase(client: Client, publicUrl: string): Promise<Users['browsers']> {
  const users = inventUsers(publicUrl);
  for (const user of users) {
    await client.query(INSERT_ACCOUNT, accountRow(user.accountId));
    await client.query(INSERT_SESSION, sessionRow(user));
  }
  return users.map(({ browser }) => browser);
}

async function readCounters(client: Client): Promise<Counters> {
  // Sessions report what they counted when they have been idle for a moment.
  await client.query('SELECT pg_sleep(1.2)');
  const { rows } = await client.query(`SELECT
      (SELECT sum(calls) FROM pg_stat_statements)::float8 AS calls,
      (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS transactions,
      (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')::float8 AS flushes,
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal,
      sum(n_tup_ins)::float8 AS inserted, sum(n_tup_upd)::float8 AS updated, sum(n_tup_hot_upd)::float8 AS hot,
      sum(n_tup_del)::float8 AS deleted, sum(idx_scan)::float8 AS "indexScans"
    FROM pg_stat_user_tables`);
  return { ...rows[0], cpu: await databaseCpu(client) };
}

/** Microseconds of all processes of the server. */
export async function databaseCpu(client: Client): Promise<number> {
  const { rows } = await client.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid');
  const parent = parentOf(rows[0]?.pid ?? 0);
  const all = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid === parent || (pid > 0 && parentOf(pid) === parent));
  return (all.reduce((sum, pid) => sum + (cpuOf(pid) || 0), 0) + endedCpuOf(parent)) * 1e6;
}

/** Seconds of the processes that a process has started and that have ended, in hundredths. */
function endedCpuOf(pid: number): number {
  const [, , , , , , , , , , , , , user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number);
  return (user + system) / 100;
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return Number.NaN;
  }
}

function perFlow(before: Counters, after: Counters, flows: number): Counters {
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, (value - before[name as keyof Counters]) / flows]),
  ) as unknown as Counters;
}

/** What PostgreSQL spent most on, for one flow that was named. */
async function printStatements(client: Client): Promise<void> {
  const { rows } =
    await client.query(`SELECT calls::int, round((total_exec_time * 1000 / calls)::numeric, 1)::float8 AS us,
      round((total_plan_time * 1000 / calls)::numeric, 1)::float8 AS plan, (wal_bytes / calls)::int AS wal,
      regexp_replace(left(query, 110), '\\s+', ' ', 'g') AS query
    FROM pg_stat_statements WHERE calls > 20 ORDER BY total_exec_time DESC LIMIT 14`);
  console.table(rows);
}

function report(samples: readonly Sample[]): Part {
  const groups = Map.groupBy(samples, ({ store, flow, atOnce }) => `${flow}|${store}|${atOnce}`);
  return {
    title: 'What a flow costs on each store',
    notes: [
      'Processor time in µs for one flow: of the process, and of all processes of PostgreSQL. Transactions are round trips, except ' +
        'those of operations of several steps. Flushes: of the WAL to disk. Medians.',
    ],
    columns: ['flow', 'store', 'at once', 'flows/s', 'our µs', 'PostgreSQL µs', 'statements', 'transactions', 'flushes', 'WAL bytes', 'inserted', 'updated', 'HOT', 'index scans'], // biome-ignore format: one list
    rows: [...groups].map(([name, group]) => {
      const of = (read: (sample: Sample) => number | undefined, digits: number) => {
        const values = group.map(read).filter((value) => value !== undefined);
        return values.length === 0 ? '' : median(values).toFixed(digits);
      };
      return [
        ...name.split('|'),
        of(({ perSecond }) => perSecond, 0),
        of(({ own }) => own, 0),
        of(({ database }) => database?.cpu, 0),
        of(({ database }) => database?.calls, 2),
        of(({ database }) => database?.transactions, 2),
        of(({ database }) => database?.flushes, 2),
        of(({ database }) => database?.wal, 0),
        of(({ database }) => database?.inserted, 2),
        of(({ database }) => database?.updated, 2),
        of(({ database }) => (database?.updated ? (100 * database.hot) / database.updated : undefined), 0),
        of(({ database }) => database?.indexScans, 1),
      ];
    }),
    samples,
    issues: samples.flatMap(({ flow, store, issue }) =>
      issue === null ? [] : [`${flow} on ${store}: ${issue}`],
    ),
  };
}
