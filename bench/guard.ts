/**
 * What a guard costs: a protected endpoint of 60 bytes against the same endpoint without a guard, 64 connections, with one
 * token that repeats, 10,000 tokens, and tokens that were never seen. `node --conditions=portcullis-source bench/guard.ts [seconds]
 * [repetitions] [server]`. Server and load stand on a core each where `taskset` can put them there.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inTurn, load, requestWith } from './guard/load.ts';
import { makeTokens } from './guard/tokens.ts';

const [seconds = 2, repetitions = 3] = process.argv.slice(2, 4).map(Number);
const wanted = process.argv[4] ?? '';

/** Each with the aim for its share of the speed without a guard. */
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
/** Of the new ones there are more than a guard remembers, so that each is forgotten before it comes again. */
const lists = { one: all.slice(0, 1), '10,000': all.slice(0, 10_000), new: all };

interface Server {
  readonly port: number;
  /** Each server gets all requests of the list in turn, whatever the other one has got. */
  readonly next: () => Buffer;
  /** CPU time in microseconds, and resident memory in bytes. */
  usage(): Promise<{ cpu: number; memory: number }>;
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
    port,
    next: inTurn(lists[kind]),
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

interface Figure {
  readonly perSecond: number;
  /** Microseconds of CPU time for a request. */
  readonly cost: number;
}

/** For four seconds, in which V8 compiles what is used, and until a number of requests was sent. */
async function warmUp(server: Server, least: number): Promise<void> {
  let sent = 0;
  do sent += (await load(server.port, server.next, 4)).requests;
  while (sent < least);
}

async function measure(server: Server): Promise<Figure> {
  const before = await server.usage();
  const result = await load(server.port, server.next, seconds);
  const after = await server.usage();
  return { perSecond: result.requests / result.seconds, cost: (after.cpu - before.cpu) / result.requests };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

if (canPin) spawnSync('taskset', ['-cp', '1', String(process.pid)]);
console.log('server | tokens | requests/s | of the bare one | CPU µs | CPU share | aim | memory');
for (const { server: name, against, tokens, aim } of comparisons.filter(({ server }) =>
  server.startsWith(wanted),
)) {
  const [bare, guarded] = await Promise.all([start(against, tokens), start(name, tokens)]);
  // Nothing is measured while it is learned.
  for (const server of [bare, guarded]) await warmUp(server, tokens === '10,000' ? 10_000 : 0);
  const pairs: { bare: Figure; guarded: Figure }[] = [];
  for (let round = 0; round < repetitions; round += 1) {
    pairs.push({ bare: await measure(bare), guarded: await measure(guarded) });
  }
  const { memory } = await guarded.usage();
  const share = median(pairs.map((pair) => pair.guarded.perSecond / pair.bare.perSecond));
  const cpuShare = median(pairs.map((pair) => pair.bare.cost / pair.guarded.cost));
  console.log(
    [
      name,
      tokens,
      Math.round(median(pairs.map((pair) => pair.guarded.perSecond))),
      share.toFixed(3),
      median(pairs.map((pair) => pair.guarded.cost)).toFixed(1),
      cpuShare.toFixed(3),
      aim ?? '',
      `${Math.round(memory / 1e6)} MB`,
    ].join(' | '),
  );
  bare.stop();
  guarded.stop();
}
