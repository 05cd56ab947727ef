/** Clients that disappear before their request is sent: nothing is sent for them, and they leave no slot taken. */
import { expect, it, onTestFinished } from 'vitest';
import { noCredential } from '../src/credentials/credential-source.ts';
import { startBackend } from './support/backend.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

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
