/** The connections to one address of a backend, which are opened with the first request. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { type BackendPool, createBackendPool } from '../src/addresses/backend-pool.ts';
import { limitsSchema } from '../src/servers/options.ts';

/** A request to a pool. Resolves with how it ended. */
function endOf(
  pool: BackendPool,
  send: 'dispatch' | 'openStream',
  onStart = (): void => {},
): Promise<string> {
  return new Promise((resolve) => {
    pool[send](
      { path: '/', method: 'POST' },
      {
        onRequestStart: () => {},
        onResponseStart: onStart,
        onResponseData: () => {},
        onResponseEnd: () => resolve('finished'),
        onResponseError: (_controller, error) => resolve(error.message),
      },
    );
  });
}

async function startPool(listener: RequestListener): Promise<BackendPool> {
  const server = createServer(listener);
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const limits = { ...limitsSchema().parse({}), callsPerMinute: null };
  return createBackendPool(new URL(`http://127.0.0.1:${port}/`), limits);
}

it('a request that came before the pool was closed is finished, also while the connections are still loaded', async () => {
  const pool = await startPool((_request, response) => response.end('x'));
  const ended = endOf(pool, 'dispatch');
  await pool.close();
  expect(await ended).toBe('finished');
});

it('a request does not use the connection that a stream has left, so that it never looks through those of streams', async () => {
  const connections = new Set<unknown>();
  const pool = await startPool(({ socket }, response) => {
    connections.add(socket);
    response.end('x');
  });
  for (const [send, count] of [
    ['openStream', 1],
    ['openStream', 1],
    ['dispatch', 2],
    ['dispatch', 2],
  ] as const) {
    expect([await endOf(pool, send), connections.size]).toEqual(['finished', count]);
    // A connection is free once the end of its response has been handled.
    await nextTurn();
  }
  await pool.close();
});

it.each([
  ['request', 'dispatch'],
  ['stream', 'openStream'],
] as const)('a %s that is open when the pool is destroyed fails', async (_what, send) => {
  const pool = await startPool((_request, response) => void response.writeHead(200).write('x'));
  const started = Promise.withResolvers<void>();
  const ended = endOf(pool, send, started.resolve);
  await started.promise;
  await pool.destroy();
  expect(await ended).not.toBe('finished');
});
