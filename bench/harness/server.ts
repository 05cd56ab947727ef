/** Measured servers, each a process on the core reserved for servers. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { load, request } from './load.ts';
import { cpuOf, memoryOf, onCore, SERVER_CORE } from './machine.ts';

export interface Server {
  readonly port: number;
  readonly pid: number;
  /** Milliseconds from the start of the process to its first response. */
  readonly startedIn: number;
  /** Seconds of CPU time so far. */
  cpu(): number;
  /** Resident megabytes. */
  memory(): number;
  stop(): Promise<void>;
}

export interface Start {
  readonly command: readonly [string, ...string[]];
  readonly port: number;
  /** A path that returns 200 when the server is ready. */
  readonly ready: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** A file descriptor for its output, which is discarded by default. */
  readonly output?: number;
  /** `null`: on any core. */
  readonly core?: number | null;
}

const PATIENCE = 60_000;
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** Starts a server and waits for its first response. */
export async function start({
  command,
  port,
  ready,
  environment,
  output,
  core = SERVER_CORE,
}: Start): Promise<Server> {
  const began = performance.now();
  const [file, ...rest] = onCore(core, command);
  const child = spawn(file, rest, {
    stdio: ['ignore', output ?? 'ignore', output ?? 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', ...environment, PORT: String(port) },
  });
  const { pid = 0 } = child;
  running.add(child);
  child.once('exit', () => running.delete(child));
  while (!(await responds(port, ready))) {
    if (child.exitCode !== null) throw new Error(`The server ended: ${command.join(' ')}`);
    if (performance.now() - began > PATIENCE)
      throw new Error(`The server did not start: ${command.join(' ')}`);
    await sleep(2);
  }
  return {
    port,
    pid,
    startedIn: performance.now() - began,
    cpu: () => cpuOf(pid),
    memory: () => memoryOf(pid),
    stop: () => end(child),
  };
}

/** The command that runs a TypeScript file of this clone, or one with an absolute path, as `npm start` does. */
export function nodeCommand(file: string, ...rest: string[]): [string, ...string[]] {
  const path = resolve(fileURLToPath(new URL('../../', import.meta.url)), file);
  return [process.execPath, '--conditions=portcullis-source', path, ...rest];
}

async function responds(port: number, path: string): Promise<boolean> {
  try {
    const check = ({ status }: { readonly status: number }): null => {
      if (status !== 200) throw new Error(`status ${status}`);
      return null;
    };
    const { bad } = await load(
      [port],
      () => ({ request: request('GET', path), read: check }),
      { flows: 1 },
      1,
    );
    return bad === 0;
  } catch {
    return false;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const last = setTimeout(() => child.kill('SIGKILL'), 12_000);
  await gone;
  clearTimeout(last);
}

/** A free port. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('There is no free port.');
  return address.port;
}
