/** Two processes of one installation on PostgreSQL behind a load, and what one of its flows costs. */
import { Client } from 'pg';
import { tokenStep } from '../authorization/flows.ts';
import { databaseCpu, seedDatabase } from '../authorization/measure-costs.ts';
import {
  flowsAt,
  makeChains,
  newFolder,
  register,
  resourceAt,
  startPortcullis,
} from '../authorization/portcullis.ts';
import { type Begin, form, load, walk } from '../harness/load.ts';
import type { Server } from '../harness/server.ts';
import { callFlow } from '../pair/gateway-flow.ts';
import { NEW, startBackend } from '../pair/year.ts';
import { createArrivals } from './arrivals.ts';
import type { Observation, ScaledFlow } from './costs.ts';

const CONNECTIONS = 64;

export interface Measured extends Observation {
  /** Milliseconds; of a flow of several requests, as many times that of a request. */
  readonly p50: number;
}

export interface Place {
  /** How many of the processes serve. */
  readonly processes: number;
  /** Flows that arrive; by default each connection begins one when its last has ended. */
  readonly perSecond?: number;
}

export interface Installation {
  measure(place: Place, seconds: number): Promise<Measured>;
  stop(): Promise<void>;
}

export async function startInstallation(database: string, flow: ScaledFlow): Promise<Installation> {
  const statistics = new Client({ connectionString: database });
  await statistics.connect();
  const { backend, settingsFor } = await startBackend();
  const folder = newFolder();
  const settings = settingsFor(NEW);
  const first = await startPortcullis({ folder, database, settings, core: null });
  const publicUrl = `http://localhost:${first.port}`;
  const servers = [first, await startPortcullis({ folder, database, publicUrl, settings, core: null })];
  const begin = await prepare(flow, first.port, await seedDatabase(statistics, publicUrl));

  return {
    async measure({ processes, perSecond }, seconds) {
      const used = servers.slice(0, processes);
      const ports = used.map(({ port }) => port);
      const batches = await countBatches(used);
      const [own, postgres] = [cpuOf(used), await databaseCpu(statistics)];
      const arrive = perSecond === undefined ? undefined : createArrivals(perSecond, seconds);
      const until = arrive === undefined ? { seconds } : {};
      const { flows, requests, issue, p50 } = await load(ports, begin, until, CONNECTIONS, arrive);
      if (issue !== null) throw new Error(issue);
      return {
        own: (cpuOf(used) - own) / flows,
        database: ((await databaseCpu(statistics)) - postgres) / flows,
        batches: ((await countBatches(used)) - batches) / flows,
        p50: (p50 * requests) / flows,
      };
    },
    async stop() {
      await Promise.all([...servers, backend].map((server) => server.stop()));
      await statistics.end();
    },
  };
}

async function prepare(
  flow: ScaledFlow,
  port: number,
  browsers: Parameters<typeof makeChains>[1]['browsers'],
): Promise<Begin> {
  const flows = flowsAt(port, () => browsers);
  if (flow === 'refresh') return flows.refresh();
  if (flow === 'code') return flows['authorization code']();
  const clientId = await register(port);
  const tokens: string[] = [];
  for (const refreshToken of await makeChains(port, { clientId, browsers }, resourceAt(port))) {
    const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken };
    await walk(port, () =>
      tokenStep(form('/token', fields), { jwt: true }, ({ access_token: token }) => {
        tokens.push(token);
        return null;
      }),
    );
  }
  return callFlow(port, tokens);
}

const cpuOf = (servers: readonly Server[]): number =>
  servers.reduce((sum, server) => sum + server.cpu(), 0) * 1e6;

/** Each operation that shares no batch, and each batch, takes a connection once. */
async function countBatches(servers: readonly Server[]): Promise<number> {
  const counts = servers.map(async ({ port }) => {
    const text = await (await fetch(`http://localhost:${port}/metrics`)).text();
    return Number(/^portcullis_database_pool_wait_seconds_count (\d+)/m.exec(text)?.[1]);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}
