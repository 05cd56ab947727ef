/**
 * A process of its own that refreshes tokens at a steady rate, and measures how long each waits from the time it was due. Messages:
 * the port of the server, with tokens in the first one; `report` responds with the latencies since the last report.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { refresh } from '../browser.ts';
import { isGone } from '../load.ts';

export interface RefreshLoad {
  readonly port: number;
  readonly tokens?: readonly string[];
}

export interface Latencies {
  /** Refreshes that had a response. */
  readonly count: number;
  /** Those that a kill interrupted, and that were repeated. */
  readonly interrupted: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
}

const rate = Number(process.argv[2]);
const server = { port: 0 };
const idle: string[] = [];
const due: number[] = [];
let times: number[] = [];
let interrupted = 0;
let since = performance.now();

process.on('message', (message: RefreshLoad | 'report') => {
  if (message === 'report') {
    process.send?.(report());
    return;
  }
  server.port = message.port;
  if (message.tokens === undefined) return;
  idle.push(...message.tokens);
  const started = performance.now();
  let scheduled = 0;
  setInterval(() => {
    for (; started + (scheduled * 1000) / rate <= performance.now(); scheduled += 1)
      due.push(started + (scheduled * 1000) / rate);
    start();
  }, 2);
});
process.once('disconnect', () => process.exit(0));

/** A session has one pending refresh. */
function start(): void {
  while (due.length > 0 && idle.length > 0) {
    const at = due.shift();
    const token = idle.shift();
    if (at === undefined || token === undefined) return;
    renew(token, at, server.port).catch((error: unknown) => {
      process.stderr.write(`${error}\n`);
      process.exit(1);
    });
  }
}

async function renew(token: string, at: number, port: number): Promise<void> {
  try {
    const { status, body, text } = await refresh({ port }, token);
    if (status !== 200) throw new Error(`a refresh failed with ${status}: ${text}`);
    times.push(performance.now() - at);
    idle.push(String(body['refresh_token']));
  } catch (error) {
    if (!isGone(error)) throw error;
    interrupted += 1;
    await sleep(100);
    // What was due meanwhile is not counted: there was no server.
    due.length = 0;
    idle.push(token);
  }
}

function report(): Latencies {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10;
  const latencies = {
    count: sorted.length,
    interrupted,
    perSecond: Math.round((sorted.length * 10_000) / (performance.now() - since)) / 10,
    p50: at(0.5),
    p99: at(0.99),
    worst: Math.round(sorted.at(-1) ?? 0),
  };
  times = [];
  interrupted = 0;
  since = performance.now();
  return latencies;
}
