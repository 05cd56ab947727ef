/** Clients that disappear before their request is sent: nothing is sent for them, and they leave no slot taken. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ConnectionRequired, noCredential } from '../src/credentials/credential-source.ts';
import { startBackend } from './support/backend.ts';
import { sendStateless, textOf } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';
import { startUpload, startUploadBackend } from './support/uploads.ts';

it.each([
  ['an HTTP backend', 200],
  ['a process', 400],
] as const)('while the credential of %s is looked up', async (name, status) => {
  const backend = await startBackend((_received, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
  });
  onTestFinished(() => backend.close());
  const looked = Promise.withResolvers<void>();
  const found = Promise.withResolvers<void>();
  const credentials = {
    async for() {
      looked.resolve();
      await found.promise;
      return noCredential;
    },
    rejected: async () => 'final' as const,
  };
  const to = name === 'a process' ? { command: [...TINY] as [string, ...string[]] } : { url: backend.url };
  const limits = { streamsPerUser: 1 };
  const gateway = await startGateway([{ path: '/mcp', name: 'Files', backend: to, limits }], { credentials });
  onTestFinished(() => gateway.close());

  const client = new AbortController();
  const first = gateway.send('alice', { method: 'GET', signal: client.signal }).catch(() => null);
  await looked.promise;
  client.abort();
  await first;
  await expect.poll(() => gateway.countConnections()).toBe(0);
  found.resolve();
  await expect.poll(() => gateway.calls).toMatchObject([{ outcome: 'cancelled', status: null }]);
  expect(backend.received).toEqual([]);

  const later = new AbortController();
  const second = await gateway.send('alice', { method: 'GET', signal: later.signal });
  expect(second.status).toBe(status);
  later.abort();
});

it('in the middle of a long body, whose error needs the rest of it: no memory is reserved for it', async () => {
  const backend = await startUploadBackend();
  onTestFinished(() => backend.close());
  const looked = Promise.withResolvers<void>();
  const missing = Promise.withResolvers<never>();
  let isConnected = false;
  const credentials = {
    for() {
      if (isConnected) return noCredential;
      looked.resolve();
      return missing.promise;
    },
    rejected: async () => 'final' as const,
  };
  // A user has memory for one body without a length.
  const limits = { body: 64 * 1024 * 1024 };
  const gateway = await startGateway(
    [{ path: '/mcp', name: 'Files', backend: { url: backend.url }, limits }],
    {
      credentials,
    },
  );
  onTestFinished(() => gateway.close());
  const long = 'x'.repeat(100_000);

  const first = startUpload(gateway, 'alice');
  await first.write(`{"method":"tools/call","params":{"name":"read_file","arguments":{"text":"${long}`);
  await looked.promise;
  first.abort();
  await first.response;
  await expect.poll(() => gateway.countConnections()).toBe(0);
  missing.reject(new ConnectionRequired('https://gateway.example/connect', 'Files'));
  await expect
    .poll(() => gateway.calls)
    .toMatchObject([{ outcome: 'connection_required', target: 'read_file' }]);

  isConnected = true;
  const second = startUpload(gateway, 'alice');
  await second.write(`{"jsonrpc":"2.0","id":1,"params":{"arguments":{"text":"${long}`);
  second.end('"},"name":"read_file"},"method":"tools/call"}');
  expect((await second.response)?.status).toBe(200);
  expect(backend.arriving).toHaveLength(1);
});

/** A server on standard input and output that initializes once a file exists, and counts calls of `pay`. */
const SLOW = `
let paid = 0;
const { existsSync } = require('node:fs');
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const initialize = () => {
    if (!existsSync(process.argv[1])) return setTimeout(initialize, 20);
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
  };
  if (method === 'initialize') return initialize();
  if (params.name === 'pay') paid += 1;
  send({ id, result: { content: [{ type: 'text', text: String(paid) }] } });
}).on('close', () => process.exit());
`;

it('while their process starts: a call in the stateless revision', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-slow-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'initialize');
  const command = [process.execPath, '-e', SLOW, file] as const;
  const gateway = await startGateway([{ path: '/mcp', name: 'Slow', backend: { command } }]);
  onTestFinished(() => gateway.close());
  const client = new AbortController();
  const call = (name: string, signal?: AbortSignal) =>
    sendStateless(gateway, 'alice', 'tools/call', { name }, '/mcp', signal);
  const first = call('pay', client.signal).catch(() => null);
  await expect.poll(() => gateway.countConnections()).toBe(1);
  client.abort();
  await first;
  await expect.poll(() => gateway.countConnections()).toBe(0);
  await writeFile(file, '');
  expect(await textOf(await call('paid'))).toBe('0');
  expect(gateway.calls).toMatchObject([{ target: 'pay', outcome: 'cancelled' }, { target: 'paid' }]);
  expect(await textOf(await call('pay'))).toBe('1');
});
