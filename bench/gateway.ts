/**
 * Measures what the gateway costs: tool calls of one session through `portcullis up` with authorization, policy, sealed sessions and
 * audit, against a bare reverse proxy of node:http and against other gateways, in one run. `node --conditions=portcullis-source
 * bench/gateway.ts [rounds] [seconds] [streams]`
 *
 * Other gateways only put stdio servers behind HTTP: they stand beside Portcullis in front of the same command, once they are
 * installed (`npm ci --prefix bench/gateway/peers`).
 *
 * A proxy is pinned to the first core; the backend and the load share the second.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Connections, connectTo, inTurn } from './guard/load.ts';
import { median, spread } from './harness/figures.ts';

const [rounds = 5, seconds = 1, streams = 9_900] = process.argv.slice(2, 5).map(Number);
const canPin = spawnSync('taskset', ['--version']).status === 0;
const client = { client_id: 'bench', client_secret: 'a secret of the benchmark' };

interface Proxy {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  readonly headers: Readonly<Record<string, string>>;
  stop(): void;
}

interface Figures {
  readonly perSecond: number[];
  /** Microseconds of CPU time per call. */
  readonly cost: number[];
  /** Milliseconds of a call while no other is in progress. */
  readonly latency: number[];
}

const mb = (bytes: number) => Math.round(bytes / 1e6);

/** Of every POST. */
const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const folder = await mkdtemp(join(tmpdir(), 'bench-gateway-'));
const backend = await start('1', scriptPath('gateway/backend.ts'));
const backendUrl = `http://127.0.0.1:${backend.port}/mcp`;
if (canPin) spawnSync('taskset', ['-cp', '1', String(process.pid)]);
const viaHttp: Proxy[] = [];
const viaStdio: Proxy[] = [];
try {
  viaHttp.push(await startBare(), await startPortcullis('portcullis', 1, { url: backendUrl }));
  viaHttp.push(await startPortcullis('portcullis, 200 servers', 200, { url: backendUrl }));
  await report(viaHttp);
  for (const proxy of viaHttp.slice(0, 2)) if (streams > 0) await reportStreams(proxy);
  const command = [process.execPath, scriptPath('gateway/stdio-backend.ts')];
  viaStdio.push(await startPortcullis('portcullis, stdio', 1, { command }));
  for (const peer of ['supergateway', 'mcp-proxy'])
    if (existsSync(scriptPath(`gateway/peers/node_modules/${peer}`))) viaStdio.push(await startPeer(peer));
  await report(viaStdio);
} finally {
  for (const { stop } of [...viaHttp, ...viaStdio]) stop();
  backend.child.kill();
  await rm(folder, { recursive: true, force: true });
}

async function report(all: readonly Proxy[]): Promise<void> {
  const measured = await Promise.all(
    all.map(async (proxy) => {
      const next = inTurn(await callsThrough(proxy));
      return {
        proxy,
        many: await connectTo(proxy.port, next),
        next,
        figures: { perSecond: [], cost: [], latency: [] } as Figures,
      };
    }),
  );

  for (const { many } of measured) await many.load(3);
  for (let round = 0; round < rounds; round += 1) {
    for (const each of measured) await measure(each);
  }
  const first = measured[0]?.figures;
  console.log(
    `gateway | calls/s | of ${all[0]?.name} | CPU µs a call | CPU share | ms a call alone | added ms`,
  );
  for (const { proxy, figures, many } of measured) {
    const share = figures.perSecond.map((rate, at) => rate / (first?.perSecond[at] ?? Number.NaN));
    const cpu = figures.cost.map((cost, at) => (first?.cost[at] ?? Number.NaN) / cost);
    const added = median(figures.latency) - median(first?.latency ?? []);
    const cells = [
      ...[proxy.name, Math.round(median(figures.perSecond)), spread(share, 2), spread(figures.cost, 1)],
      ...[spread(cpu, 2), median(figures.latency).toFixed(3), added.toFixed(3)],
    ];
    console.log(cells.join(' | '));
    many.close();
  }
}

async function measure({
  proxy,
  many,
  next,
  figures,
}: {
  readonly proxy: Proxy;
  readonly many: Connections;
  readonly next: () => Buffer;
  readonly figures: Figures;
}): Promise<void> {
  const before = await cpuTime(proxy.pid);
  const { requests, seconds: taken } = await many.load(seconds);
  figures.cost.push(((await cpuTime(proxy.pid)) - before) / requests);
  figures.perSecond.push(requests / taken);
  const one = await connectTo(proxy.port, next, 1);
  const alone = await one.load(seconds / 2);
  one.close();
  figures.latency.push((alone.seconds * 1000) / alone.requests);
}

/** Opens streams and holds them. */
async function reportStreams(proxy: Proxy): Promise<void> {
  const before = await residentMemory(proxy.pid);
  const session = await openSession(proxy);
  const request = requestOf('GET', { ...proxy.headers, ...session, accept: 'text/event-stream' });
  const sockets: Socket[] = [];
  for (let count = 0; count < streams; count += 1) {
    const socket = connect({ port: proxy.port, host: '127.0.0.1' });
    const first = new Promise<string>((resolve, reject) => {
      socket.once('data', (chunk) => resolve(chunk.toString('latin1', 9, 12))).once('error', reject);
    });
    socket.write(request);
    const status = await first;
    if (status !== '200') throw new Error(`${proxy.name}: stream ${count + 1} got ${status}`);
    socket.resume();
    sockets.push(socket);
  }
  const after = await residentMemory(proxy.pid);
  console.log(
    `${proxy.name}: ${streams} open streams, ${mb(after)} MB, ${mb(after - before)} more than before`,
  );
  for (const socket of sockets) socket.destroy();
}

async function startBare(): Promise<Proxy> {
  const { port, child } = await start('0', scriptPath('gateway/bare-proxy.ts'), backendUrl);
  return { name: 'node:http', port, pid: child.pid ?? 0, headers: {}, stop: () => void child.kill() };
}

async function startPeer(name: string): Promise<Proxy> {
  const { port, child } = await start('0', scriptPath('gateway/peers.ts'), name);
  return { name, port, pid: child.pid ?? 0, headers: {}, stop: () => void child.kill() };
}

async function startPortcullis(name: string, servers: number, backend: object): Promise<Proxy> {
  const files = join(folder, name.replaceAll(/\W+/g, '-'));
  const configuration = `${files}.json`;
  const limits = {
    streamsPerUser: streams + 100,
    concurrency: 1000,
    callsPerMinute: false,
  };
  const entries = Array.from({ length: servers }, (_, index) => ({
    path: index === 0 ? '/mcp' : `/mcp-${index}`,
    name: `Bench ${index}`,
    backend,
    limits,
  }));
  const registration = {
    ...client,
    client_name: 'Bench',
    scope: 'mcp:read mcp:write',
    redirect_uris: [],
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_post',
  };
  const settings = {
    clients: [registration],
    servers: entries,
    log: 'none',
    database: `${files}.db`,
    keyFile: `${files}.key`,
    lifetimes: { accessToken: 3600 },
  };
  await writeFile(configuration, JSON.stringify(settings));
  const command = fileURLToPath(new URL('../packages/cli/bin.js', import.meta.url));
  const { port, child } = await start('0', command, 'up', '--port', '0', '--config', configuration);
  const issuer = `http://localhost:${port}`;
  const body = new URLSearchParams({
    ...client,
    grant_type: 'client_credentials',
    resource: `${issuer}/mcp`,
  });
  const response = await fetch(`${issuer}/token`, { method: 'POST', body });
  const { access_token: token } = (await response.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${token}` };
  return { name, port, pid: child.pid ?? 0, headers, stop: () => void child.kill() };
}

function scriptPath(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

/** Starts a program of this repository on one core; it prints `ready` with its port. */
async function start(
  core: string,
  ...words: readonly string[]
): Promise<{ readonly port: number; readonly child: ChildProcess }> {
  const command = [process.execPath, '--conditions=portcullis-source', ...words];
  const [file = '', ...rest] = canPin ? ['taskset', '-c', core, ...command] : command;
  const child = spawn(file, rest, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', XDG_CONFIG_HOME: folder },
  });
  const port = await new Promise<number>((resolve, reject) => {
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const found = /^ready (?:\S+:)?(\d+)$/m.exec(said)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once('exit', (code) => reject(new Error(`${words[0]} ended with ${code}: ${said}`)));
  });
  return { port, child };
}

async function openSession({ port, headers }: Proxy): Promise<Readonly<Record<string, string>>> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  };
  const response = await fetch(`http://localhost:${port}/mcp`, {
    method: 'POST',
    headers: { ...headers, ...JSON_HEADERS },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
  });
  const id = response.headers.get('mcp-session-id');
  if (id === null) throw new Error(`no session: ${response.status} ${await response.text()}`);
  return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}

/** Calls of one session. Each has an id of its own, all of one length: gateways that translate know requests by them. */
async function callsThrough(proxy: Proxy): Promise<readonly Buffer[]> {
  const headers = { ...proxy.headers, ...(await openSession(proxy)), ...JSON_HEADERS };
  const params = { name: 'echo', arguments: { text: 'The text that this tool returns.' } };
  return Array.from({ length: 1000 }, (_, index) =>
    requestOf(
      'POST',
      headers,
      JSON.stringify({ jsonrpc: '2.0', id: 1000 + index, method: 'tools/call', params }),
    ),
  );
}

function requestOf(method: string, headers: Readonly<Record<string, string>>, body = ''): Buffer {
  const lines = Object.entries({ host: 'localhost', ...headers, 'content-length': String(body.length) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.from(`${method} /mcp HTTP/1.1\r\n${head}\r\n${body}`);
}

/** Microseconds of user and system time. Linux only. @see proc_pid_stat(5) */
async function cpuTime(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

async function residentMemory(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
