/** Backends that send `100 Continue` although the gateway never asks for it. */
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startBackend } from './support/backend.ts';
import { callOf } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const WITH_FIELDS = 'HTTP/1.1 100 Continue\r\nserver: old\r\n\r\n';
const RESULT = { jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: CONTINUE }] } };

async function behind(interim: (response: ServerResponse) => unknown, limits = {}): Promise<TestGateway> {
  const backend = await startBackend(async (_request, response) => {
    await interim(response);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(RESULT));
  });
  onTestFinished(() => backend.close());
  const gateway = await startGateway([{ path: '/mcp', name: 'Old', backend: { url: backend.url }, limits }]);
  onTestFinished(() => gateway.close());
  return gateway;
}

async function writePieces(response: ServerResponse, text: string): Promise<void> {
  for (const byte of text) {
    response.socket?.write(byte);
    await wait(1);
  }
}

it.each([
  ['nothing', () => {}],
  ['one', (response: ServerResponse) => response.writeContinue()],
  [
    'two, the second with fields',
    (response: ServerResponse) => response.socket?.write(CONTINUE + WITH_FIELDS),
  ],
  ['one, byte by byte', (response: ServerResponse) => writePieces(response, WITH_FIELDS)],
])('the final response is passed on after %s, on each call of a connection', async (_what, interim) => {
  const gateway = await behind(interim);
  for (const _call of [1, 2]) {
    const response = await gateway.send('alice', { message: { ...callOf('read'), id: 7 } });
    expect(await response.json()).toEqual(RESULT);
    expect(response.status).toBe(200);
  }
});

it('a backend that sends nothing else has the time for the first byte of a response', async () => {
  const gateway = await behind(
    async ({ socket }) => {
      while (socket?.writable) {
        socket.write(CONTINUE);
        await wait(50);
      }
    },
    { firstByte: 1 },
  );
  const response = await gateway.send('alice', { message: { ...callOf('read'), id: 7 } });
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ id: 7 });
});
