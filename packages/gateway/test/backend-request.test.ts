/** Responses that are paused. */
import { expect, it, onTestFinished } from 'vitest';
import type { Address } from '../src/addresses/addresses.ts';
import { createBackendPool } from '../src/addresses/backend-pool.ts';
import { BackendRequest } from '../src/http/backend-request.ts';
import { MAX_BUFFERED_RESPONSE } from '../src/limits.ts';
import type { GatewayServer } from '../src/servers/server.ts';
import { startBackend } from './support/backend.ts';

it.each([
  ['says so', 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n'],
  ['is of HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\n'],
  ['is of HTTP/1.0 and has a length', 'HTTP/1.0 200 OK\r\ncontent-length: 9\r\n\r\n'],
])('a connection that %s ends while its response is paused, which goes on afterwards', async (_, head) => {
  const closed = Promise.withResolvers<void>();
  const backend = await startBackend((_received, { socket }) => {
    socket?.once('close', () => setImmediate(closed.resolve));
    socket?.end(`${head}data: 1\n\n`);
  });
  onTestFinished(() => backend.close());
  const pool = startPool(backend.url);
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const log: string[] = [];
  const request = new BackendRequest({ pool, target: '/' } as Address, false, {
    head() {
      request.pause();
      begun.resolve();
    },
    data(chunk) {
      log.push(chunk.toString());
      request.pause();
    },
    complete() {
      log.push('complete');
      ended.resolve();
    },
    lost: (_address, error) => ended.reject(error),
  });
  request.dispatch('GET', [], null);
  await Promise.all([begun.promise, closed.promise]);
  expect(log).toEqual([]);
  request.resume();
  await expect.poll(() => log).toEqual(['data: 1\n\n']);
  request.resume();
  await ended.promise;
  expect(log).toEqual(['data: 1\n\n', 'complete']);
});

it('a paused response that cannot wait is buffered up to a limit', async () => {
  const backend = await startBackend((_received, response) => {
    response.writeHead(200, { connection: 'close', 'content-length': MAX_BUFFERED_RESPONSE + 1 });
    response.end(Buffer.alloc(MAX_BUFFERED_RESPONSE + 1));
  });
  onTestFinished(() => backend.close());
  const pool = startPool(backend.url);
  const lost = Promise.withResolvers<Error>();
  const request = new BackendRequest({ pool, target: '/' } as Address, false, {
    head: () => request.pause(),
    data: () => lost.reject(new Error('not paused')),
    complete: () => lost.reject(new Error('complete')),
    lost: (_address, error) => lost.resolve(error),
  });
  request.dispatch('GET', [], null);
  expect((await lost.promise).message).toContain('while the response was paused');
});

function startPool(url: string) {
  const limits = { connect: 10, firstByte: 10, idle: 10 } as GatewayServer['limits'];
  const pool = createBackendPool(new URL(url), limits);
  onTestFinished(() => pool.destroy());
  return pool;
}
