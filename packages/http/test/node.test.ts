/** Serving on node:http: what arrives, what is refused, and how it ends. */
import { once } from 'node:events';
import { Agent, request as send } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Listening, type ListenOptions, listen, type PeerHandler } from '../src/node.ts';

const servers: Listening[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close(0)));
});

async function serve(handler: PeerHandler, options: Partial<ListenOptions> = {}): Promise<Listening> {
  const server = await listen(handler, { port: 0, host: '127.0.0.1', ...options });
  servers.push(server);
  return server;
}

/** Sends raw bytes and answers all that comes back until the connection ends. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(text);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += String(chunk);
  });
  await once(socket, 'close');
  return answer;
}

describe('listen', () => {
  it('hands over method, address, headers, body and peer', async () => {
    const server = await serve(async (request, peer) =>
      Response.json({
        method: request.method,
        url: request.url,
        type: request.headers.get('content-type'),
        body: await request.text(),
        peer,
      }),
    );
    const response = await fetch(`http://127.0.0.1:${server.port}/a/b?c=d%20e`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: 'hello',
    });
    expect(await response.json()).toEqual({
      method: 'POST',
      url: `http://127.0.0.1:${server.port}/a/b?c=d%20e`,
      type: 'text/plain',
      body: 'hello',
      peer: { address: '127.0.0.1', connection: 'local' },
    });
  });

  it('passes bodies as streams, in both directions', async () => {
    const server = await serve(async (request) => new Response(request.body));
    let sender: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        sender = controller;
        controller.enqueue(Buffer.from('one '));
      },
    });
    const response = await fetch(`http://127.0.0.1:${server.port}/`, {
      method: 'POST',
      body,
      duplex: 'half',
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toBe('one ');
    sender?.enqueue(Buffer.from('two'));
    sender?.close();
    expect((await reader?.read())?.value).toBe('two');
    expect((await reader?.read())?.done).toBe(true);
  });

  it('shows both of two Authorization headers, so that a guard can refuse them', async () => {
    const server = await serve(async (request) => new Response(request.headers.get('authorization')));
    const answer = await exchange(
      server.port,
      'GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/Bearer a, Bearer b$/);
  });

  it('answers 500 without the reason when the handler throws, and tells the operator', async () => {
    const told: unknown[] = [];
    const fault = new Error('the secret reason');
    const server = await serve(
      async () => {
        throw fault;
      },
      { onError: (error) => told.push(error) },
    );
    const response = await fetch(`http://127.0.0.1:${server.port}/`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret');
    expect(told).toEqual([fault]);
  });

  it.each([
    ['a Host that is none', 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n'],
    ['no Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['no HTTP', 'hello\r\n\r\n'],
    ['a target that names a user', 'GET http://ada:secret@a/ HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('refuses %s with 400 before the handler sees it', async (_what, text) => {
    const seen: string[] = [];
    const server = await serve(async (request) => {
      seen.push(request.url);
      return new Response();
    });
    expect(await exchange(server.port, text)).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
    expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(200);
  });

  it('takes a target that names its host, and an @ behind it', async () => {
    const server = await serve(async (request) => new Response(request.url));
    const answer = await exchange(server.port, 'GET http://a/x@y?z://u@v HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*http:\/\/a\/x@y\?z:\/\/u@v/s);
  });

  it('cuts off who sends too slowly, headers or body', async () => {
    const timeouts = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 };
    const server = await serve(async (request) => new Response(await request.text()), { timeouts });
    for (const start of [
      'GET / HTTP/1.1\r\nHos',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab',
    ]) {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(start);
      socket.resume();
      await once(socket, 'close');
    }
    expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(200);
  });

  it('rejects with the reason of the system when the port is taken', async () => {
    const { port } = await serve(async () => new Response());
    await expect(serve(async () => new Response(), { port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe('close', () => {
  it('lets a request under way end, closes its connection, and takes no new one', async () => {
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const server = await serve(async () => {
      arrived.resolve();
      await release.promise;
      return new Response('done');
    });
    const agent = new Agent({ keepAlive: true });
    const pending = send({ port: server.port, host: '127.0.0.1', agent }).end();
    const answer = once(pending, 'response');
    await arrived.promise;
    const closing = server.close(5_000);
    await expect(fetch(`http://127.0.0.1:${server.port}/`)).rejects.toThrow();
    release.resolve();
    const [response] = await answer;
    expect(response.statusCode).toBe(200);
    expect(response.headers.connection).toBe('close');
    response.resume();
    expect(await closing).toBe(0);
    agent.destroy();
  });

  it('does not wait for connections on which nothing is under way', async () => {
    const server = await serve(async () => new Response('done'));
    const agent = new Agent({ keepAlive: true });
    const [response] = await once(send({ port: server.port, host: '127.0.0.1', agent }).end(), 'response');
    response.resume();
    await once(response, 'end');
    const started = Date.now();
    expect(await server.close(5_000)).toBe(0);
    expect(Date.now() - started).toBeLessThan(1_000);
    agent.destroy();
  });

  it('cuts what has not ended when the grace is over', async () => {
    const server = await serve(async () => new Response(new ReadableStream()));
    const response = await fetch(`http://127.0.0.1:${server.port}/`);
    const reading = response.text().catch(() => 'cut');
    await sleep(10);
    expect(await server.close(50)).toBe(1);
    expect(await reading).toBe('cut');
  });
});
