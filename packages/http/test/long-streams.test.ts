/** Event streams that stay open without the HTTP parser of their connection. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ListeningServer,
  listen,
  onShutdown,
  releaseParser,
  type TlsCertificate,
} from '../src/node/server.ts';

const read = (name: string) => readFileSync(new URL(`fixtures/${name}.pem`, import.meta.url), 'utf8');
const certificate: TlsCertificate = { cert: read('certificate'), key: read('key') };

const EVENTS = { 'content-type': 'text/event-stream' };

let server: ListeningServer | undefined;
let client: Socket | undefined;
afterEach(async () => {
  client?.destroy();
  await server?.close(0);
});

/** Opens a stream: its response at the server, what the client has received, and the targets of all requests. */
async function openStream(
  method: 'GET' | 'POST',
  prepare: (outgoing: ServerResponse) => void = () => {},
  { tls, pipelined = '' }: { readonly tls?: TlsCertificate; readonly pipelined?: string } = {},
) {
  const opened = Promise.withResolvers<ServerResponse>();
  const targets: (string | undefined)[] = [];
  server = await listen(
    async () => ({
      node(incoming, outgoing) {
        targets.push(incoming.url);
        if (incoming.url === '/pipelined') return void outgoing.end('x');
        incoming.resume().on('end', () => {
          prepare(outgoing);
          outgoing.writeHead(200, EVENTS).write('data: one\n\n');
          opened.resolve(outgoing);
        });
      },
    }),
    { port: 0, host: '127.0.0.1', ...(tls !== undefined && { certificate: tls }) },
  );
  const target = { port: server.port, host: '127.0.0.1', allowHalfOpen: true };
  const socket: Socket =
    tls === undefined ? connect(target) : connectSecurely({ ...target, rejectUnauthorized: false });
  client = socket;
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
  });
  const accept = method === 'GET' ? 'Accept: text/event-stream\r\n' : '';
  socket.write(`${method} /first HTTP/1.1\r\nHost: a\r\n${accept}Content-Length: 0\r\n\r\n${pipelined}`);
  const outgoing = await opened.promise;
  await expect.poll(() => received).toContain('one');
  return { server, socket, outgoing, targets, received: () => received };
}

const hasParser = ({ req }: ServerResponse): boolean => Object(req.socket).parser !== null;

describe('an event stream whose parser was released', () => {
  it('has none, delivers its events, and closes its connection after the last one', async () => {
    const { socket, outgoing, received } = await openStream('GET', releaseParser);
    await expect.poll(() => hasParser(outgoing)).toBe(false);
    const closed = once(socket, 'end');
    outgoing.write('data: two\n\n');
    outgoing.end('data: three\n\n');
    await closed;
    expect(received()).toMatch(/^connection: close\r$/im);
    expect(received()).toMatch(/one.*two.*three.*\r\n0\r\n\r\n$/s);
  });

  it('reads no further request from its connection, as one with a parser does after its end', async () => {
    const released = await openStream('GET', releaseParser);
    await expect.poll(() => hasParser(released.outgoing)).toBe(false);
    released.socket.write('GET /second HTTP/1.1\r\nHost: a\r\n\r\n');
    const closed = once(released.socket, 'end');
    released.outgoing.end();
    await closed;
    expect(released.targets).toEqual(['/first']);
    await released.server.close(0);

    const { socket, outgoing, targets } = await openStream('GET');
    expect(hasParser(outgoing)).toBe(true);
    socket.write('GET /second HTTP/1.1\r\nHost: a\r\n\r\n');
    outgoing.end();
    await expect.poll(() => targets).toEqual(['/first', '/second']);
  });

  it('retains neither the listeners of its parser nor the raw headers', async () => {
    const retained = ({ req }: ServerResponse) => ({
      listeners: [req.socket.listenerCount('data'), req.socket.listenerCount('end')],
      hasRawHeaders: req.rawHeaders.length > 0,
      accept: req.headers.accept,
    });
    const released = await openStream('GET', releaseParser);
    await expect.poll(() => hasParser(released.outgoing)).toBe(false);
    expect(retained(released.outgoing)).toEqual({
      listeners: [1, 1],
      hasRawHeaders: false,
      accept: 'text/event-stream',
    });
    await released.server.close(0);

    const { outgoing } = await openStream('GET');
    expect(retained(outgoing)).toMatchObject({ hasRawHeaders: true, accept: 'text/event-stream' });
  });

  it('is closed when its client keeps sending, and stays open beside a few bytes', async () => {
    const { socket, outgoing, targets, received } = await openStream('GET', releaseParser);
    await expect.poll(() => hasParser(outgoing)).toBe(false);
    await new Promise<void>((resolve) => socket.write('x'.repeat(64 * 1024), () => resolve()));
    outgoing.write('data: two\n\n');
    await expect.poll(received).toContain('two');
    const closed = once(outgoing, 'close');
    socket.on('error', () => {}).write('x'.repeat(1024));
    await closed;
    expect(targets).toEqual(['/first']);
  });

  it.each(['end', 'destroy'] as const)('is closed when its client leaves by %s', async (leave) => {
    const { socket, outgoing } = await openStream('GET', releaseParser);
    await expect.poll(() => hasParser(outgoing)).toBe(false);
    const closed = once(outgoing, 'close');
    socket[leave]();
    await closed;
    expect(outgoing.writableFinished).toBe(false);
  });

  it.each([
    ['released', releaseParser],
    ['retained', () => {}],
  ])(
    'is closed when its client leaves behind a pipelined request, with a parser that is %s',
    async (_what, prepare) => {
      const pipelined = 'GET /pipelined HTTP/1.1\r\nHost: a\r\n\r\n';
      const { socket, outgoing, targets } = await openStream('GET', prepare, { pipelined });
      await expect.poll(() => targets).toEqual(['/first', '/pipelined']);
      const closed = once(outgoing, 'close');
      socket.end();
      await closed;
      expect(outgoing.writableFinished).toBe(false);
    },
  );

  it('is ended by its handler when the server closes, and cut off if that does not end it', async () => {
    const ended = await openStream('POST', (outgoing) => {
      releaseParser(outgoing);
      onShutdown(outgoing, () => void outgoing.end('data: the end\n\n'));
    });
    await expect.poll(() => hasParser(ended.outgoing)).toBe(false);
    expect(await ended.server.close(20)).toBe(1);
    await expect.poll(ended.received).toContain('the end');

    const cut = await openStream('POST', releaseParser);
    await expect.poll(() => hasParser(cut.outgoing)).toBe(false);
    expect(await cut.server.close(20)).toBe(1);
    expect(cut.outgoing.destroyed).toBe(true);
  });

  it('stays open in a runtime whose parser cannot be freed', async () => {
    const { outgoing, received } = await openStream('GET', (opened) => {
      const socket = Object(opened.req.socket);
      const { parser } = socket;
      socket.parser = {};
      releaseParser(opened);
      setImmediate(() => {
        // Of this Node, which uses it further.
        socket.parser = parser;
      });
    });
    outgoing.end('data: two\n\n');
    await expect.poll(received).toContain('two');
  });

  it('delivers its events over TLS, closes its connection after the last one, and discards what its client sends', async () => {
    const { socket, outgoing, received, targets } = await openStream('GET', releaseParser, {
      tls: certificate,
    });
    await expect.poll(() => hasParser(outgoing)).toBe(false);
    await new Promise<void>((resolve) =>
      socket.write('GET /second HTTP/1.1\r\nHost: a\r\n\r\n', () => resolve()),
    );
    const closed = once(socket, 'end');
    outgoing.write('data: two\n\n');
    await expect.poll(received).toContain('two');
    outgoing.end('data: three\n\n');
    await closed;
    expect(received()).toMatch(/three.*\r\n0\r\n\r\n$/s);
    expect(targets).toEqual(['/first']);
  });

  it('is closed when its client keeps sending over TLS', async () => {
    const { socket, outgoing } = await openStream('GET', releaseParser, { tls: certificate });
    await expect.poll(() => hasParser(outgoing)).toBe(false);
    const closed = once(outgoing, 'close');
    socket.on('error', () => {}).write('x'.repeat(65 * 1024));
    await closed;
  });

  it('retains its parser while the body of its request arrives', async () => {
    const opened = Promise.withResolvers<ServerResponse>();
    server = await listen(
      async () => ({
        node(_incoming, outgoing) {
          releaseParser(outgoing);
          outgoing.writeHead(200, EVENTS).write('data: one\n\n');
          setImmediate(() => setImmediate(() => opened.resolve(outgoing)));
        },
      }),
      { port: 0, host: '127.0.0.1' },
    );
    client = connect(server.port, '127.0.0.1');
    client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12');
    const outgoing = await opened.promise;
    expect([hasParser(outgoing), outgoing.shouldKeepAlive]).toEqual([true, true]);
  });
});
