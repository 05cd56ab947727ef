/** Compares predictions with measurements on this machine, whose cores the processes, the database and the load share. */
import { Client } from 'pg';
import { startServer } from '../../tests/support/postgres.ts';
import { databaseCpu, seedDatabase } from '../authorization/measure-costs.ts';
import {
  makeChains,
  newFolder,
  refreshFlowOf,
  register,
  resourceAt,
  startPortcullis,
} from '../authorization/portcullis.ts';
import { median } from '../harness/figures.ts';
import { load } from '../harness/load.ts';
import { cpuOf } from '../harness/machine.ts';
import type { Server } from '../harness/server.ts';
import { costsOf, type Observation, refreshTrips } from './costs.ts';
import { type Costs, type Deployment, simulate } from './simulate.ts';

const SECONDS = 1;
/** Each is measured so often, in turns, because others slow the machine down from one second to the next. */
const ROUNDS = 3;
/** The share by which a prediction may be off. */
const TOLERANCE = 0.15;

interface Measured extends Observation {
  /** Microseconds of the load for one flow. */
  readonly load: number;
}

/** How many of the processes serve, and requests at once altogether. The first two are what the costs are from. */
const PLACES = [
  { processes: 1, clients: 64 },
  { processes: 1, clients: 8 },
  { processes: 1, clients: 32 },
  { processes: 1, clients: 16 },
  { processes: 2, clients: 64 },
  { processes: 2, clients: 32 },
] as const;

/** @returns whether all predictions are close */
export async function check(): Promise<boolean> {
  const postgres = await startServer({});
  const statistics = new Client({ connectionString: postgres.url });
  try {
    await statistics.connect();
    const folder = newFolder();
    const first = await startPortcullis({ folder, database: postgres.url, core: null });
    const publicUrl = `http://localhost:${first.port}`;
    const second = await startPortcullis({ folder, database: postgres.url, publicUrl, core: null });
    const users = {
      clientId: await register(first.port),
      browsers: await seedDatabase(statistics, publicUrl),
    };
    const begin = refreshFlowOf(users.clientId, await makeChains(first.port, users, resourceAt(first.port)));
    const all = [first, second];
    const measureAt = ({ processes, clients }: (typeof PLACES)[number]) =>
      measureOnce(all.slice(0, processes), clients, statistics, begin);
    await measureAt({ processes: 2, clients: 64 });
    const samples = PLACES.map((): Measured[] => []);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [index, place] of PLACES.entries()) samples[index]?.push(await measureAt(place));
    }
    const [many, few, ...others] = samples.map(medians);
    if (many === undefined || few === undefined) return false;
    const costs = costsOf(many, few, refreshTrips);
    console.log('costs', costs);
    await Promise.all(all.map((server) => server.stop()));
    return others.map((one, index) => compare(costs, one, PLACES[index + 2] ?? PLACES[0])).every(Boolean);
  } finally {
    await statistics.end();
    await postgres.stop();
  }
}

function medians(samples: readonly Measured[]): Measured {
  const of = (read: (one: Measured) => number) => median(samples.map(read));
  return {
    own: of(({ own }) => own),
    database: of(({ database }) => database),
    batches: of(({ batches }) => batches),
    load: of(({ load }) => load),
  };
}

/**
 * Flows for each second of processor time of all that takes part: on two cores that they share, and of which others take an unknown part,
 * that is what decides on the throughput.
 */
function compare(costs: Costs, measured: Measured, { processes, clients }: (typeof PLACES)[number]): boolean {
  const deployment: Deployment = {
    processes,
    clients: clients / processes,
    databaseCores: 0,
    processCores: 2,
    isShared: true,
    flush: 40,
    network: 0,
    load: measured.load,
  };
  const { perSecond, use } = simulate(costs, deployment, 1);
  const predicted = perSecond / (use.processes * deployment.processCores);
  const found = 1e6 / (measured.own + measured.database + measured.load);
  const off = predicted / found - 1;
  console.log(
    `${processes} processes, ${clients} at once: predicted ${predicted.toFixed(0)} flows for each second of a core, measured ${found.toFixed(0)} (${(off * 100).toFixed(0)} %)`,
  );
  return Math.abs(off) <= TOLERANCE;
}

async function measureOnce(
  servers: readonly Server[],
  clients: number,
  statistics: Client,
  begin: Parameters<typeof load>[1],
): Promise<Measured> {
  const read = async () => ({
    own: servers.reduce((sum, server) => sum + server.cpu(), 0) * 1e6,
    database: await databaseCpu(statistics),
    load: cpuOf(process.pid) * 1e6,
    batches: await countBatches(servers),
  });
  const before = await read();
  const ports = servers.map(({ port }) => port);
  const { flows, issue } = await load(ports, begin, { seconds: SECONDS }, clients);
  if (issue !== null) throw new Error(issue);
  const after = await read();
  const each = (name: keyof typeof before) => (after[name] - before[name]) / flows;
  return {
    own: each('own'),
    database: each('database'),
    load: each('load'),
    batches: each('batches'),
  };
}

/** Each operation that shares no batch, and each batch, takes a connection once. */
async function countBatches(servers: readonly Server[]): Promise<number> {
  const counts = servers.map(async ({ port }) => {
    const text = await (await fetch(`http://localhost:${port}/metrics`)).text();
    return Number(/^portcullis_database_pool_wait_seconds_count (\d+)/m.exec(text)?.[1]);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
