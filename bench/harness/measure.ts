/** One measurement: load for a while, with its CPU time and the load by other processes meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Begin, type Load, load, request, type Until } from './load.ts';
import { busySeconds, cpuOf } from './machine.ts';
import { freePort, nodeCommand, type Server, start } from './server.ts';

export interface Measurement extends Load {
  readonly perSecond: number;
  /** CPU time of the server per flow, in microseconds. */
  readonly cost: number;
  /** Cores kept busy by other processes; 0.12 is little. */
  readonly noise: number;
}

/** A measurement with more than that is repeated. */
const LOUD = 0.12;

export async function measure(servers: readonly Server[], begin: Begin, until: Until): Promise<Measurement> {
  const ports = servers.map(({ port }) => port);
  const before = readClocks(servers);
  const result = await load(ports, begin, until);
  const after = readClocks(servers);
  const others = after.busy - before.busy - (after.servers - before.servers) - (after.own - before.own);
  return {
    ...result,
    perSecond: result.flows / result.seconds,
    cost: ((after.servers - before.servers) * 1e6) / result.flows,
    noise: Math.max(0, others / result.seconds),
  };
}

function readClocks(servers: readonly Server[]) {
  const spent = servers.reduce((sum, server) => sum + server.cpu(), 0);
  return { busy: busySeconds(), servers: spent, own: cpuOf(process.pid) };
}

/** Measures until the machine is quiet enough, at most `tries` times. @returns the quietest measurement */
export async function measureQuietly(
  attempt: () => Promise<Measurement>,
  tries: number,
): Promise<Measurement> {
  let best = await attempt();
  for (let made = 1; made < tries && best.noise > LOUD && best.bad === 0; made += 1) {
    await sleep(500);
    const next = await attempt();
    if (next.noise < best.noise || next.bad > 0) best = next;
  }
  return best;
}

/** The baseline of all comparisons. */
export async function startBare(): Promise<Server> {
  return start({ command: nodeCommand('bench/servers/bare.ts'), port: await freePort(), ready: '/' });
}

export const bareFlow: Begin = () => bareStep;

const bareStep = {
  request: request('GET', '/'),
  read({ status, body }: { readonly status: number; readonly body: string }): null {
    if (status !== 200 || body.length !== 60) throw new Error(`status ${status}, ${body.length} bytes`);
    return null;
  },
};
