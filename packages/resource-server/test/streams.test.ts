/** Event streams of node:http that end with their token, however their head is written, and other open connections. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { protectNode } from '../src/adapters/node.ts';
import { createGuard, type Guard, type Principal } from '../src/index.ts';
import { createIssuer, NOW, RESOURCE, type TestIssuer } from './support/issuer.ts';

let issuer: TestIssuer;
let token: string;
beforeAll(async () => {
  issuer = await createIssuer();
  token = await issuer.token({ exp: NOW + 100 });
});

let now = NOW;

function createGuardHere(): Guard {
  now = NOW;
  const streams = { every: 0.01 };
  return createGuard({ resource: RESOURCE, verifier: issuer.verifier(), clock: () => now, streams });
}

/** Creates an application that starts a stream, and keeps writing after its end. */
function begins(begin: (response: ServerResponse) => void): Parameters<typeof protectNode>[1] {
  return (_request, response) => {
    begin(response);
    response.write('data: 1\n\n');
    const writing = setInterval(() => now > NOW && response.write('data: 2\n\n'), 2);
    onTestFinished(() => clearInterval(writing));
  };
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });

describe('an event stream', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ['fields in an object', (response) => response.writeHead(200, { 'Content-Type': 'text/event-stream' })],
    ['a reason', (response) => response.writeHead(200, 'Fine', { 'content-type': 'text/event-stream' })],
    ['a flat list', (response) => response.writeHead(200, ['X-A', 'b', 'Content-Type', 'text/event-stream'])],
    [
      'fields set before',
      (response) => response.setHeader('content-type', 'Text/Event-Stream;charset=utf-8').writeHead(200),
    ],
    ['no head of its own', (response) => response.setHeader('Content-Type', 'text/event-stream')],
    ['flushed headers', (response) => response.setHeader('Content-Type', 'text/event-stream').flushHeaders()],
  ])('ends an event stream whose head is written with %s', async (_, begin) => {
    const server = createServer(protectNode(createGuardHere(), begins(begin)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => server.closeAllConnections());
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, { headers });
    const ended = response.text();
    expect(await Promise.race([ended, pause(50)])).toBeUndefined();
    now = NOW + 105;
    expect(await ended).toMatch(/^data: 1\n\n(?:data: 2\n\n)*$/);
    // The same connection and the same server go on; the token does not.
    expect((await fetch(`http://127.0.0.1:${port}/mcp`, { headers })).status).toBe(401);
  });

  it('ends an event stream that starts long after its request was authorized, among many that have not started', async () => {
    const waiting: ServerResponse[] = [];
    const handler = protectNode(createGuardHere(), (_request, response) => void waiting.push(response));
    const server = createServer(handler).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => server.closeAllConnections());
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const headers = { authorization: `Bearer ${token}` };
    const asked = Array.from({ length: 100 }, () => fetch(`http://127.0.0.1:${port}/mcp`, { headers }));
    await expect.poll(() => waiting.length).toBe(asked.length);
    // Long enough to be looked at a few times.
    await pause(50);
    for (const [at, response] of waiting.entries()) {
      response.writeHead(200, { 'content-type': at % 2 === 0 ? 'text/event-stream' : 'text/plain' });
      response.write('data: 1\n\n');
    }
    const answers = await Promise.all(asked);
    now = NOW + 105;
    const isStream = ({ headers: fields }: Response): boolean =>
      fields.get('content-type') === 'text/event-stream';
    const [streams, others] = [answers.filter(isStream), answers.filter((answer) => !isStream(answer))];
    expect(await Promise.all(streams.map((answer) => answer.text()))).toEqual(Array(50).fill('data: 1\n\n'));
    const endOfOthers = Promise.race(others.map((answer) => answer.text()));
    expect(await Promise.race([endOfOthers, pause(50)])).toBeUndefined();
    endOfOthers.catch(() => {});
  });

  it('ends event streams over HTTP/2, and no other responses', async () => {
    let type = 'text/event-stream';
    const handler = protectNode(createGuardHere(), (_request, response) => {
      response.setHeader('content-type', type);
      response.write('data: 1\n\n');
    });
    const server = createHttp2Server(handler as never);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => void server.close());
    onTestFinished(() => session.destroy());
    const open = async (): Promise<{ readonly ended: Promise<unknown> }> => {
      const stream = session.request({
        ':path': '/mcp',
        ':authority': new URL(RESOURCE).host,
        authorization: `Bearer ${token}`,
      });
      await once(stream, 'data');
      stream.resume();
      return { ended: once(stream, 'end') };
    };
    const { ended } = await open();
    type = 'application/json';
    const { ended: other } = await open();
    now = NOW + 105;
    await ended;
    expect(await Promise.race([other, pause(50)])).toBeUndefined();
  });
});

describe('what else stays open', () => {
  async function admit(guard: Guard): Promise<Principal> {
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    if (!decision.authorized) throw new Error('refused');
    return decision.principal;
  }

  it('watches a long-lived connection until it ends by itself', async () => {
    const guard = createGuardHere();
    const principal = await admit(guard);
    let ends = 0;
    const stop = guard.watchStream?.(principal, 'GET', () => {
      ends += 1;
    });
    guard.watchStream?.(principal, 'GET', () => {
      ends += 10;
    });
    stop?.();
    await pause(30);
    expect(ends).toBe(0);
    now = NOW + 105;
    await expect.poll(() => ends).toBe(10);
  });

  it('watches connections only for a principal created by a guard', async () => {
    const guard = createGuardHere();
    const copy = { ...(await admit(guard)) };
    expect(() => guard.watchStream?.(copy, 'GET', () => {})).toThrow(TypeError);
  });
});
