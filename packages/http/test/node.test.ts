/** Serving on node:http: what arrives, what is refused, and how it ends. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, type ServerResponse, request as send } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  type HttpRequest,
  readFormBody,
  respond,
  respondJson,
  toResponse,
  withCookies,
} from '../src/index.ts';
import {
  allowLongBody,
  type ConnectionInfo,
  type HttpHandler,
  type ListeningServer,
  type ListenOptions,
  listen,
  onShutdown,
  serveFetch,
} from '../src/node/server.ts';

const servers: ListeningServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close(0)));
});

async function serve(handler: HttpHandler, options: Partial<ListenOptions> = {}): Promise<ListeningServer> {
  const server = await listen(handler, { port: 0, host: '127.0.0.1', ...options });
  servers.push(server);
  return server;
}

/** Sends raw bytes and answers all that comes back until the connection ends. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(text, 'latin1');
  let answer = '';
  socket.on('data', (chunk) => {
    answer += String(chunk);
  });
  await once(socket, 'close');
  return answer;
}

type Tell = (asked: HttpRequest, connection: ConnectionInfo) => unknown;

/** Both kinds of handlers, which must receive the same request. */
const kinds = {
  handler:
    (tell: Tell): HttpHandler =>
    async (asked, connection) =>
      respondJson(await tell(asked, connection)),
  application: (tell: Tell): HttpHandler =>
    serveFetch(async (request, connection) => toResponse(respondJson(await tell(request, connection)))),
} as const;

const eachKind = describe.each(Object.entries(kinds));

eachKind('listen, for an answering %s', (_kind, telling) => {
  it('the HTTP server passes method, URL, headers, body and connection to the handler', async () => {
    const server = await serve(
      telling(async (asked, connection) => ({
        method: asked.method,
        url: asked.url,
        type: asked.headers.get('content-type'),
        body: await asked.text(),
        connection: connection,
      })),
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
      connection: { address: '127.0.0.1', security: 'loopback' },
    });
  });

  const fields = (lines: string) =>
    `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}Content-Length: 0\r\n\r\n`;
  it.each([
    ['Authorization: Bearer a\r\nAuthorization: Bearer b\r\n', 'authorization', 'Bearer a, Bearer b'],
    ['Content-Type: text/plain\r\nContent-Type: text/html\r\n', 'content-type', 'text/plain, text/html'],
    ['X-Forwarded-For: 1\r\nX-Forwarded-For: 2\r\n', 'x-forwarded-for', '1, 2'],
    ['Cookie: a=1\r\nCookie: b=2\r\n', 'cookie', 'a=1; b=2'],
    ['Origin: null\r\n', 'ORIGIN', 'null'],
    ['Accept-Language:   de \t\r\n', 'accept-language', 'de'],
    ['X-Empty:\r\n', 'x-empty', ''],
    ['X-Latin: \xfc\r\n', 'x-latin', '\xfc'],
    ['', 'constructor', null],
    ['', '__proto__', null],
  ])(
    'the handler receives headers combined as in the Fetch standard: of %j, %s is %j',
    async (lines, name, value) => {
      const server = await serve(telling(({ headers }) => [headers.get(name), headers.has(name)]));
      const answer = await exchange(server.port, fields(lines));
      expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual([value, value !== null]);
    },
  );

  const LARGEST = 'a='.padEnd(65_536, 'b');
  it.each([
    ['announced', `Content-Length: 9\r\n\r\na=b&c=%C3`, 9],
    ['in chunks', `Transfer-Encoding: chunked\r\n\r\n4\r\na=b&\r\n5\r\nc=%C3\r\n0\r\n\r\n`, 9],
    ['empty', `Content-Length: 0\r\n\r\n`, 0],
    ['64 KiB', `Content-Length: 65536\r\n\r\n${LARGEST}`, 65_536],
    ['64 KiB in chunks', `Transfer-Encoding: chunked\r\n\r\n10000\r\n${LARGEST}\r\n0\r\n\r\n`, 65_536],
  ])('[ALL-HTTP-61] the handler can read a request body: %s', async (_what, rest, length) => {
    const server = await serve(telling(async (asked) => (await asked.text()).length));
    const answer = await exchange(server.port, `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${rest}`);
    expect(answer.split('\r\n\r\n')[1]).toBe(String(length));
  });

  it.each([
    ['announced', 'Content-Length: 70000\r\n\r\na='],
    ['in chunks', `Transfer-Encoding: chunked\r\n\r\n20000\r\n${'a'.repeat(0x20_000)}\r\n`],
  ])(
    '[ALL-HTTP-61] T044 responds with 413 to an oversized body (%s) and disconnects a client that keeps sending',
    async (_what, rest) => {
      const server = await serve(
        telling(async (asked) => {
          const refused = await readFormBody(asked).catch((error: { status: number }) => error.status);
          return { refused };
        }),
        // Longer than a test may take.
        { timeouts: { requestTimeout: 600_000, responseTimeout: 600_000 } },
      );
      const answer = await exchange(
        server.port,
        `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n${rest}`,
      );
      expect(answer).toContain('{"refused":413}');
    },
  );

  it('a connection remains usable after a request whose body was not read', async () => {
    const server = await serve(telling(({ url }) => url));
    const answer = await exchange(
      server.port,
      `POST /one HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /two HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(answer.match(/http:\/\/a\/\w+/g)).toEqual(['http://a/one', 'http://a/two']);
  });

  it('a client that closes its side after the request gets its response', async () => {
    const server = await serve(
      telling(async (asked) => {
        const body = await asked.text();
        await sleep(50);
        return body;
      }),
    );
    const socket = connect(server.port, '127.0.0.1');
    socket.end('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc');
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*"abc"$/);
  });

  it.each([
    ['its response is awaited', '1.1', () => {}],
    ['its response is awaited', '1.0', () => {}],
    [
      'the event stream of its response is silent',
      '1.1',
      (outgoing: ServerResponse) =>
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
    ],
    [
      'half of a document has been sent',
      '1.1',
      (outgoing: ServerResponse) => outgoing.writeHead(200, { 'content-length': 10 }).write('half'),
    ],
  ])(
    'notices a client that has closed the connection while %s, in HTTP/%s',
    async (when, version, respond) => {
      const gone = Promise.withResolvers<void>();
      const server = await serve(async () => ({
        node: (incoming, outgoing) => {
          incoming.resume();
          outgoing.once('close', () => gone.resolve());
          respond(outgoing);
        },
      }));
      const socket = connect(server.port, '127.0.0.1').resume();
      // Its system acknowledges what arrives later, without a reset, as long as the other direction is open.
      socket.end(`POST / HTTP/${version}\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc`);
      if (version === '1.1' && when.includes('awaited')) setTimeout(() => socket.destroy(), 100);
      await gone.promise;
    },
  );

  it('a client that closes its side after the request gets a long response, however slowly it is written', async () => {
    const server = await serve(async () => ({
      node: (incoming, outgoing) => {
        incoming.resume();
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        let left = 4;
        const timer = setInterval(() => {
          outgoing.write(': \n\n');
          left -= 1;
          if (left > 0) return;
          clearInterval(timer);
          outgoing.end('data: last\n\n');
        }, 600);
      },
    }));
    const socket = connect(server.port, '127.0.0.1');
    socket.end('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc');
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    expect(answer).toContain('data: last');
  });

  it('responds 500 without the reason when the handler throws, and reports the error', async () => {
    const told: unknown[] = [];
    const issue = new Error('the secret reason');
    const server = await serve(
      telling(() => Promise.reject(issue)),
      { onError: (error) => told.push(error) },
    );
    const response = await fetch(`http://127.0.0.1:${server.port}/`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret');
    expect(told).toEqual([issue]);
  });

  it.each([
    ['a malformed Host', 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n'],
    ['a Host that names a path', 'GET / HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n'],
    ['a Host that names a user', 'GET / HTTP/1.1\r\nHost: ada@a\r\nConnection: close\r\n\r\n'],
    ['a Host that is an octal address', 'GET / HTTP/1.1\r\nHost: 0177.0.0.1\r\nConnection: close\r\n\r\n'],
    ['an empty Host', 'GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
    ['two Host headers', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
    [
      'two Host headers with an absolute URL',
      'GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
    ],
    [
      'a whole URL with a Host that is none',
      'GET http://a/ HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
    ],
    ['no Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a field over two lines', 'GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\nConnection: close\r\n\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost: a\r\nX-A : b\r\nConnection: close\r\n\r\n'],
    ['a field with NUL', 'GET / HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\nConnection: close\r\n\r\n'],
    ['no HTTP', 'hello\r\n\r\n'],
    [
      'a target that names a user',
      'GET http://ada:secret@a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    ],
    ['a target that is no path', 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['a backslash in the path', 'GET /a\\..\\b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['a whole URL that is none', 'GET http://:1:2/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['another scheme', 'GET ftp://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ])('rejects a request with 400 before the handler sees it: %s', async (_what, text) => {
    const seen: string[] = [];
    const server = await serve(telling(({ url }) => seen.push(url)));
    expect(await exchange(server.port, text)).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
    expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(200);
  });

  it.each([
    ['/', 'a', 'http://a/'],
    ['/a/../b?c=/../d', 'a', 'http://a/b?c=/../d'],
    ['/a/%2e%2e/b', 'a', 'http://a/b'],
    ['//b/c', 'a:80', 'http://a//b/c'],
    ['/x?redirect_uri=http%3A%2F%2Flocalhost%3A1%2Fcb&state=a\\b', 'LOCALHOST:8484', 'http://localhost:8484/x?redirect_uri=http%3A%2F%2Flocalhost%3A1%2Fcb&state=a\\b'],
    ['/%61?%7e', '[::1]:8484', 'http://[::1]:8484/%61?%7e'],
    ['/a"b?c\'d', 'a', 'http://a/a%22b?c%27d'],
    ['http://B/x@y?z://u@v', 'a', 'http://b/x@y?z://u@v'],
    ['https://b:443/x', 'a', 'https://b/x'],
  ])('reads the request target %s at %s', async (target, host, url) => {
    const server = await serve(telling((asked) => asked.url));
    const answer = await exchange(server.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toBe(url);
  }); // biome-ignore format: a table

  it.each([
    ['gzip, chunked', 501],
    ['GZIP, Chunked', 501],
    ['Chunked', 200],
  ])('responds to a body in the transfer coding %s with %i', async (coding, status) => {
    const seen: string[] = [];
    const server = await serve(telling(({ url }) => seen.push(url)));
    const head = `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: ${coding}\r\n\r\n`;
    const answer = await exchange(server.port, `${head}3\r\na=b\r\n0\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(seen).toHaveLength(status === 200 ? 1 : 0);
  });

  it('closes connections that send headers or body too slowly', async () => {
    const timeouts = { headersTimeout: 500, requestTimeout: 600, connectionsCheckingInterval: 20 };
    const server = await serve(
      telling((asked) => asked.text()),
      { timeouts },
    );
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
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(200);
  });

  it('closes connections that never finish a TLS handshake', async () => {
    const read = (name: string) => readFileSync(new URL(`fixtures/${name}.pem`, import.meta.url), 'utf8');
    const certificate = { cert: read('certificate'), key: read('key') };
    const handler = telling((asked) => asked.text());
    const server = await serve(handler, { certificate, timeouts: { headersTimeout: 300 } });
    for (const start of ['', '\x16\x03\x01\x02']) {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(start, 'latin1');
      socket.resume();
      await once(socket, 'close');
    }
  });

  it('leaves the time of a body to its handler where that limits it, and not that of the next on its connection', async () => {
    const timeouts = { headersTimeout: 1500, requestTimeout: 2000, connectionsCheckingInterval: 20 };
    const server = await serve(
      async () => ({
        node(incoming, outgoing) {
          if (incoming.url === '/long') allowLongBody(incoming, outgoing);
          incoming.resume().on('end', () => outgoing.end('whole'));
        },
      }),
      { timeouts },
    );
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.write('POST /long HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na');
    await sleep(2500);
    socket.write('b');
    await expect.poll(() => text).toContain('whole');
    socket.write('POST /short HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na');
    await closed;
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 408']);
  });

  it('responds to pipelined requests in order, and closes connections beyond the pipelining limit', async () => {
    let asked = 0;
    const server = await serve(
      telling(() => {
        asked += 1;
        return asked;
      }),
    );
    const one = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    const last = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    const answer = await exchange(server.port, one.repeat(19) + last);
    expect(answer.match(/(?<=\r\n\r\n)\d+/g)).toEqual(Array.from({ length: 20 }, (_, at) => String(at + 1)));
    asked = 0;
    const socket = connect(server.port, '127.0.0.1');
    const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve));
    socket.write(one.repeat(5000));
    await closed;
    expect(asked).toBeLessThan(100);
    expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(200);
  });

  it('closes connections that read nothing of a response, and waits for slow readers', async () => {
    const large = 'x'.repeat(64 * 2 ** 20);
    const handler = () => Promise.resolve(respond(200, {}, large));
    const server = await serve(handler, { timeouts: { responseTimeout: 3000 } });
    const open = (path: string) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
        socket.pause();
      });
      return socket.on('error', () => {});
    };
    const slow = open('/slow');
    let size = 0;
    slow.on('data', (chunk) => {
      size += chunk.length;
    });
    setTimeout(() => slow.resume(), 50);
    await once(slow, 'close');
    expect(size).toBeGreaterThan(large.length);

    const accepted = Promise.withResolvers<Socket>();
    const accept = (message: unknown) => accepted.resolve((message as { readonly socket: Socket }).socket);
    subscribe('http.server.request.start', accept);
    const unread = open('/unread');
    onTestFinished(() => {
      unsubscribe('http.server.request.start', accept);
      unread.destroy();
    });
    await once(await accepted.promise, 'close', { signal: AbortSignal.timeout(200_000) });
    expect(unread.bytesRead).toBeLessThan(large.length);
  });

  it('the server survives a client that disconnects in the middle of a body', async () => {
    const told: unknown[] = [];
    const arrived = Promise.withResolvers<void>();
    const server = await serve(
      telling((asked) => {
        arrived.resolve();
        return asked.text();
      }),
      { onError: (error) => told.push(error) },
    );
    const socket = connect(server.port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab');
    await arrived.promise;
    socket.destroy();
    await expect.poll(() => told).toHaveLength(1);
    expect((await fetch(`http://127.0.0.1:${server.port}/`)).status).toBe(200);
  });
});

describe('a response', () => {
  const get = (port: number, method = 'GET') =>
    exchange(port, `${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);

  it.each([
    ['a text', respond(200, { 'x-a': 'b' }, 'ü€'), 'GET', /x-a: b\r\ncontent-length: 5\r\n/, 'ü€'],
    ['bytes', respond(404, {}, Buffer.from('no')), 'GET', /404 Not Found\r\ncontent-length: 2\r\n/, 'no'],
    ['nothing', respond(303, { location: '/b' }), 'GET', /location: \/b\r\ncontent-length: 0\r\n/, ''],
    ['nothing, to HEAD', respond(200, {}), 'HEAD', /^(?!.*content-length)/s, ''],
    ['a text, to HEAD', respond(200, {}, 'abc'), 'HEAD', /content-length: 3\r\n/, ''],
    ['204', respond(204, {}), 'GET', /^(?!.*content-length)/s, ''],
    ['two cookies', withCookies(respond(200, {}, '', ['a=1']), ['b=2']), 'GET', /set-cookie: a=1\r\nset-cookie: b=2\r\n/, ''],
  ])('a response is sent with the correct headers and body: %s', async (_what, answer, method, head, body) => {
    const server = await serve(async () => answer);
    const [fields = '', sent] = (await get(server.port, method)).split(/\r\n\r\n(.*)/s);
    expect(fields).toMatch(head);
    expect(fields).not.toContain('chunked');
    expect(sent).toBe(body);
  }); // biome-ignore format: a table

  it.each([{ 'x-a': 'b\r\nset-cookie: c=d' }, { 'x-a\r\nb': 'c' }, { 'x-a': '\0' }])(
    'a response with a line break or null byte in a header is not sent: %j',
    async (headers) => {
      const told: unknown[] = [];
      const server = await serve(async () => respond(200, headers), { onError: (error) => told.push(error) });
      const answer = await get(server.port);
      expect(answer).toMatch(/^HTTP\/1\.1 500 /);
      expect(answer).not.toContain('set-cookie');
      expect(told).toEqual([expect.any(TypeError)]);
    },
  );

  it('a response converts to an equal standard Response', async () => {
    const answer = respond(201, { 'content-type': 'text/plain', 'x-a': 'b' }, 'c', ['d=1', 'e=2']);
    const made = toResponse(answer);
    expect([made.status, [...made.headers], await made.text()]).toEqual([
      201,
      [['content-type', 'text/plain'], ['set-cookie', 'd=1'], ['set-cookie', 'e=2'], ['x-a', 'b']],
      'c',
    ]); // biome-ignore format: a table
  });
});

describe('a fetch application', () => {
  it('a fetch application receives and sends bodies as streams', async () => {
    const server = await serve(serveFetch(async (request) => new Response(request.body)));
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

  it('a fetch application serves concurrent requests from the first one on', async () => {
    const server = await serve(serveFetch(async (request) => new Response(await request.text())));
    const answers = Array.from({ length: 20 }, async (_, index) => {
      const response = await fetch(`http://127.0.0.1:${server.port}/`, {
        method: 'POST',
        body: String(index),
      });
      return response.text();
    });
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 20 }, (_, index) => String(index)));
  });
});

describe('an event stream', () => {
  /** Streams one event, and says when the stream or the request is cancelled. */
  const open = async (method: 'GET' | 'POST', pause = 0) => {
    const ended: string[] = [];
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const server = await serve(
      serveFetch(async () => {
        await sleep(pause);
        const body = new ReadableStream<Uint8Array>({
          start(given) {
            controller = given;
            given.enqueue(Buffer.from('data: one\n\n'));
          },
          cancel: () => void ended.push('cancelled'),
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      }),
    );
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    socket.on('error', () => {});
    socket.write(`${method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`);
    return { socket, ended, answer: () => answer, finish: () => controller };
  };

  it.each([0, 200])(
    'that was opened by GET is cancelled when its client closes, %i ms before it, and nothing is sent for a second',
    async (pause) => {
      const { socket, ended, answer } = await open('GET', pause);
      if (pause === 0) await expect.poll(answer).toContain('one');
      socket.end();
      await expect.poll(() => ended, { timeout: 10_000 }).toEqual(['cancelled']);
    },
  );

  it('that answers a POST is completed for a client that has closed its side', async () => {
    const { socket, ended, answer, finish } = await open('POST');
    await expect.poll(answer).toContain('one');
    socket.end();
    await sleep(100);
    finish()?.enqueue(Buffer.from('data: two\n\n'));
    finish()?.close();
    await expect.poll(answer).toContain('two');
    expect(ended).toEqual([]);
  });
});

describe('an address', () => {
  it('listening on a port that is in use fails with EADDRINUSE', async () => {
    const { port } = await serve(async () => respond(200, {}));
    await expect(serve(async () => respond(200, {}), { port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe('close', () => {
  it('close lets a pending request finish, closes its connection, and accepts no new one', async () => {
    const arrived = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const server = await serve(async () => {
      arrived.resolve();
      await release.promise;
      return respond(200, {}, 'done');
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

  it('close does not wait for idle connections', async () => {
    const server = await serve(async () => respond(200, {}, 'done'));
    const agent = new Agent({ keepAlive: true });
    const [response] = await once(send({ port: server.port, host: '127.0.0.1', agent }).end(), 'response');
    response.resume();
    await once(response, 'end');
    // Longer than a test may take.
    expect(await server.close(600_000)).toBe(0);
    agent.destroy();
  });

  it('close serves a request that was in transit on an idle connection', async () => {
    const server = await serve(async () => respond(200, {}, 'done'));
    const agent = new Agent({ keepAlive: true });
    const ask = async () => {
      const [response] = await once(send({ port: server.port, host: '127.0.0.1', agent }).end(), 'response');
      response.resume();
      await once(response, 'end');
      return [response.statusCode, response.headers.connection];
    };
    expect(await ask()).toEqual([200, 'keep-alive']);
    const closing = server.close(600_000);
    expect(await ask()).toEqual([200, 'close']);
    expect(await closing).toBe(0);
    agent.destroy();
  });

  it('each response closes its connection once that was announced, and new connections are served', async () => {
    const server = await serve(async () => respond(200, {}, 'done'));
    server.closeAfterResponses();
    for (const _ of [1, 2]) {
      const response = await fetch(`http://127.0.0.1:${server.port}/`);
      expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
    }
  });

  it('close lets handlers end what is open at its deadline', async () => {
    const arrived = Promise.withResolvers<void>();
    const server = await serve(async () => ({
      node(_incoming, outgoing) {
        onShutdown(outgoing, () => void outgoing.writeHead(503, { 'retry-after': '1' }).end('the end'));
        arrived.resolve();
      },
    }));
    const answer = fetch(`http://127.0.0.1:${server.port}/`);
    await arrived.promise;
    expect(await server.close(50)).toBe(1);
    const response = await answer;
    expect([response.status, await response.text()]).toEqual([503, 'the end']);
  });

  it('close that keeps idle connections serves one more request on each, and accepts no new one', async () => {
    const server = await serve(async () => respond(200, {}, 'done'));
    const agent = new Agent({ keepAlive: true });
    const ask = async () => {
      const [response] = await once(send({ port: server.port, host: '127.0.0.1', agent }).end(), 'response');
      response.resume();
      await once(response, 'end');
      return response;
    };
    expect((await ask()).headers.connection).toBe('keep-alive');
    // Longer than a test may take.
    const closing = server.close(600_000, 'kept');
    await expect(fetch(`http://127.0.0.1:${server.port}/`)).rejects.toThrow();
    const { headers, statusCode } = await ask();
    expect([statusCode, headers.connection]).toEqual([200, 'close']);
    expect(await closing).toBe(0);
    agent.destroy();
  });

  it('close ends event streams that were opened by GET, without waiting', async () => {
    const server = await serve(serveFetch(async () => new Response(new ReadableStream())));
    const headers = { accept: 'text/event-stream' };
    const response = await fetch(`http://127.0.0.1:${server.port}/`, { headers });
    const reading = response.text().catch(() => 'ended');
    // Longer than a test may take.
    expect(await server.close(600_000)).toBe(0);
    expect(await reading).toBe('ended');
  });

  it('close cuts off pending responses after the grace period', async () => {
    const server = await serve(serveFetch(async () => new Response(new ReadableStream())));
    const response = await fetch(`http://127.0.0.1:${server.port}/`);
    const reading = response.text().catch(() => 'cut');
    await sleep(10);
    expect(await server.close(50)).toBe(1);
    expect(await reading).toBe('cut');
  });
});
