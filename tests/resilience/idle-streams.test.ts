/** 5,000 open streams that deliver nothing, or as many as a process may open files for. */
import { type ChildProcess, fork } from 'node:child_process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, it } from 'vitest';
import { startGateway } from '../../packages/gateway/test/support/gateway.ts';

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** Clients and backend have processes, and thus descriptors, of their own. */
function startEnd(...words: readonly string[]): ChildProcess {
  const child = fork(new URL('stream-ends.ts', import.meta.url), words, { execArgv: [] });
  children.push(child);
  return child;
}

/** The next message of a child. */
function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const refuse = (code: number | null) => reject(new Error(`the child ended with ${code}`));
    child.once('exit', refuse).once('message', (message) => {
      child.off('exit', refuse);
      resolve(message);
    });
  });
}

/** Files that a process may have open. */
function fileLimit(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : 100_000;
}

/** Bytes in use once all garbage is gone: the same on every machine, unlike the memory that a process holds. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  for (let time = 0; time < 2; time += 1) if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}

it('leave the gateway able to answer, cost little memory each, and end with their clients', async () => {
  // Two sockets of the gateway for each stream.
  const count = Math.min(5_000, Math.floor((fileLimit() - 200) / 2 / 50) * 50);
  const backend = startEnd('backend');
  const { port } = (await messageOf(backend)) as { readonly port: number };
  const limits = { streamsPerUser: count / 50, idle: 1 };
  const url = `http://127.0.0.1:${port}/mcp`;
  const gateway = await startGateway([{ path: '/mcp', backend: { url }, limits }]);
  try {
    expect((await gateway.send('alice')).status).toBe(200);
    const before = heapUsed();
    const clients = startEnd('clients', gateway.origin, String(count));
    expect(await messageOf(clients)).toEqual({ opened: count });
    // 12.7 kB at 4,000 streams as at 10,000: nearly half for the connection to the backend, and as much for node:http.
    expect((heapUsed() - before) / count).toBeLessThan(15_000);
    expect((await gateway.send('alice')).status).toBe(200);
    clients.kill('SIGKILL');
    const openAtBackend = async () => {
      backend.send('open');
      return await messageOf(backend);
    };
    await expect.poll(openAtBackend, { timeout: 300_000 }).toEqual({ open: 0 });
    expect((await gateway.send('alice')).status).toBe(200);
  } finally {
    await gateway.close();
  }
}, 600_000);
