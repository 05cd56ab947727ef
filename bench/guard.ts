/**
 * Measures what a guard costs: a protected endpoint that returns 60 bytes against the same endpoint without a guard, over 64
 * connections, with one repeated token, 10,000 tokens, and tokens never seen before. `node --conditions=portcullis-source
 * bench/guard.ts [processes] [rounds] [seconds] [server]`. Server and load are pinned to one core each if `taskset` exists.
 *
 * Two processes of the same program differ by more than 1 % for their whole life. So each server runs in several processes,
 * which are measured alternately, and the report shows the median of the processes with their range.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Connections, connectTo, inTurn, requestWith } from './guard/load.ts';
import { makeTokens } from './guard/tokens.ts';

const [processes = 3, rounds = 4, seconds = 0.3] = process.argv.slice(2, 5).map(Number);
const wanted = process.argv[5] ?? '';

/** Each with the target for its share of the speed without a guard. */
const comparisons = [
  { server: 'node:http guarded', against: 'node:http', tokens: 'one', aim: 0.92 },
  { server: 'node:http guarded', against: 'node:http', tokens: '10,000', aim: 0.85 },
  { server: 'node:http guarded', against: 'node:http', tokens: 'new', aim: 0.18 },
  { server: 'fetch on node:http guarded', against: 'fetch on node:http', tokens: 'one', aim: null },
  { server: 'express guarded', against: 'express', tokens: 'one', aim: 0.9 },
  { server: 'express behind middleware', against: 'express', tokens: 'one', aim: 0.9 },
  { server: 'express behind an empty middleware', against: 'express', tokens: 'one', aim: null },
  { server: 'fastify guarded', against: 'fastify', tokens: 'one', aim: 0.9 },
  { server: 'hono guarded', against: 'hono', tokens: 'one', aim: 0.9 },
  { server: 'hono behind middleware', against: 'hono', tokens: 'one', aim: 0.9 },
  { server: 'hono behind an empty middleware', against: 'hono', tokens: 'one', aim: null },
] as const;

const canPin = spawnSync('taskset', ['--version']).status === 0;
const stock = makeTokens(60_000);
const all = stock.tokens.map(requestWith);
/** More new tokens than a guard caches, so that each is evicted before it is used again. */
const lists = { one: all.slice(0, 1), '10,000': all.slice(0, 10_000), new: all };

interface Figure {
  readonly perSecond: number;
  /** Microseconds of CPU time per request. */
  readonly cost: number;
}

/** A server process with its measurements. */
interface Server {
  readonly connections: Connections;
  /** CPU time in microseconds, and resident memory in bytes. */
  usage(): Promise<{ cpu: number; memory: number }>;
  readonly figures: Figure[];
  stop(): void;
}

async function start(name: string, kind: keyof typeof lists): Promise<Server> {
  const path = fileURLToPath(new URL('./guard/servers.ts', import.meta.url));
  const command = [process.execPath, '--conditions=portcullis-source', path, name];
  const [file = '', ...rest] = canPin ? ['taskset', '-c', '0', ...command] : command;
  const child = spawn(file, rest, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', BENCH_KEYS: stock.keys },
  });
  const { port } = await answerOf<{ port: number }>(child);
  return {
    // Each cycles through the whole list of requests, independently of the others.
    connections: await connectTo(port, inTurn(lists[kind])),
    figures: [],
    async usage() {
      const answer = answerOf<{ cpu: number; memory: number }>(child);
      child.send('usage');
      return answer;
    },
    stop: () => void child.kill(),
  };
}

function answerOf<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error('the server ended'));
    child.once('exit', fail);
    child.once('message', (message) => {
      child.off('exit', fail);
      resolve(message as Message);
    });
  });
}

/** Warms up for two seconds and a minimum number of requests, until V8 has compiled the hot code. */
async function warmUp({ connections }: Server, least: number): Promise<void> {
  let sent = 0;
  do sent += (await connections.load(2)).requests;
  while (sent < least);
}

async function measure({ connections, usage, figures }: Server): Promise<void> {
  const before = await usage();
  const result = await connections.load(seconds);
  const after = await usage();
  figures.push({
    perSecond: result.requests / result.seconds,
    cost: (after.cpu - before.cpu) / result.requests,
  });
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** The median rate of each process. */
const ratesOf = (servers: readonly Server[]): number[] =>
  servers.map(({ figures }) => median(figures.map(({ perSecond }) => perSecond)));
const costsOf = (servers: readonly Server[]): number[] =>
  servers.map(({ figures }) => median(figures.map(({ cost }) => cost)));

/** The median, and the range of the processes. */
const spread = (values: readonly number[], digits: number): string => {
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)];
  return `${middle.toFixed(digits)} (${least.toFixed(digits)}..${most.toFixed(digits)})`;
};

/** One framework and one kind of tokens; all kinds share the processes of the server without a guard. */
const groups = Map.groupBy(
  comparisons.filter(({ server }) => server.startsWith(wanted)),
  ({ against, tokens }) => `${against} ${tokens}`,
);

if (canPin) spawnSync('taskset', ['-cp', '1', String(process.pid)]);
console.log('server | tokens | requests/s | of the bare one | CPU µs | CPU share | aim | memory');
for (const [first, ...more] of groups.values()) {
  if (first === undefined) continue;
  const { against, tokens } = first;
  const rows = [first, ...more];
  const names = [against, ...rows.map(({ server }) => server)];
  const each = Array.from({ length: processes }, () => names).flat();
  const started: Server[] = [];
  for (const name of each) started.push(await start(name, tokens));
  // Warm-up is not measured.
  for (const server of started) await warmUp(server, tokens === '10,000' ? 10_000 : 0);
  for (let round = 0; round < rounds; round += 1) for (const server of started) await measure(server);
  const [bare = [], ...guarded] = names.map((_, at) =>
    started.filter((_, place) => place % names.length === at),
  );
  const [bareRate, bareCost] = [median(ratesOf(bare)), median(costsOf(bare))];
  for (const [at, { server, aim }] of rows.entries()) {
    const own = guarded[at] ?? [];
    const usages = await Promise.all(own.map(({ usage }) => usage()));
    console.log(
      [
        server,
        tokens,
        Math.round(median(ratesOf(own))),
        spread(
          ratesOf(own).map((rate) => rate / bareRate),
          3,
        ),
        spread(costsOf(own), 1),
        spread(
          costsOf(own).map((cost) => bareCost / cost),
          3,
        ),
        aim ?? '',
        `${Math.round(median(usages.map(({ memory }) => memory)) / 1e6)} MB`,
      ].join(' | '),
    );
  }
  for (const server of started) {
    server.connections.close();
    server.stop();
  }
}
