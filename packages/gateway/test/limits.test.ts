/** Limits and timeouts: who is refused, who is not, and what reaches the backend. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { loadConditions } from '@portcullis/policy';
import { afterEach, describe, expect, it } from 'vitest';
import { costOf } from '../../../tests/support/cost.ts';
import { createCallRate } from '../src/http/slots.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { answerAll, json, startBackend, type TestBackend } from './support/backend.ts';
import { callOf, INITIALIZE, sendStateless, startSession, subscription } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const open: { close(): Promise<void> }[] = [];

async function started<A extends { close(): Promise<void> }>(starting: Promise<A>): Promise<A> {
  const one = await starting;
  open.push(one);
  return one;
}

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function behind(
  respond: Parameters<typeof startBackend>[0],
  limits: Readonly<Record<string, number | false>> = {},
): Promise<{ readonly backend: TestBackend; readonly gateway: TestGateway }> {
  const backend = await started(startBackend(respond));
  const gateway = await started(
    startGateway(
      ['/mcp', '/other'].map((path) => ({ path, name: 'Files', backend: { url: backend.url }, limits })),
    ),
  );
  return { backend, gateway };
}

describe('calls per minute', () => {
  it('are counted by user, server and tool: further ones are a 429 that reaches no backend', async () => {
    const { backend, gateway } = await behind(answerAll, { callsPerMinute: 2 });
    const call = async (user: string, tool: string, path = '/mcp') =>
      (await gateway.send(user, { path, message: callOf(tool) })).status;
    expect([await call('alice', 'read'), await call('alice', 'read')]).toEqual([200, 200]);
    const refused = await gateway.send('alice', { message: callOf('read') });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(20);
    expect(await refused.text()).toContain('Too many calls of read at Files');
    // The user, not the client.
    expect(await call('alice_other', 'read')).toBe(429);
    expect(backend.received).toHaveLength(2);
    expect([
      await call('alice', 'write'),
      await call('bob', 'read'),
      await call('alice', 'read', '/other'),
    ]).toEqual([200, 200, 200]);
    expect((await gateway.send('alice')).status).toBe(200);
    expect(gateway.calls.map(({ decision }) => decision).filter((one) => one === 'limited')).toHaveLength(2);
  });

  it('count each call of a batch, which is refused whole', async () => {
    const { backend, gateway } = await behind(answerAll, { callsPerMinute: 2 });
    const three = [callOf('read'), callOf('read'), callOf('read')];
    expect((await gateway.send('alice', { message: three })).status).toBe(429);
    expect(backend.received).toEqual([]);
    expect((await gateway.send('bob', { message: three.slice(1) })).status).toBe(200);
  });

  it('do not count what is refused for its form', async () => {
    const { backend, gateway } = await behind(answerAll, { callsPerMinute: 1 });
    const batch = [callOf('read')];
    const refused = await gateway.send('alice', {
      message: batch,
      headers: { 'mcp-protocol-version': '2025-06-18' },
    });
    expect([refused.status, backend.received]).toEqual([400, []]);
    expect((await gateway.send('alice', { message: batch })).status).toBe(200);
    expect((await gateway.send('alice', { message: batch })).status).toBe(429);
  });

  it.each([
    ['is streamed', {}, undefined],
    ['is refused until its end has arrived', { 'mcp-protocol-version': '2099-01-01' }, '2099-01-01'],
  ])('count a long body once that %s', async (_name, headers, version) => {
    const { gateway } = await behind(answerAll, { callsPerMinute: 2 });
    const params = {
      ...{ name: 'read', arguments: { text: 'a'.repeat(100_000) } },
      _meta: version === undefined ? {} : { 'io.modelcontextprotocol/protocolVersion': version },
    };
    const message = { jsonrpc: '2.0', method: 'tools/call', params, id: 1 };
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1)
      statuses.push((await gateway.send('alice', { message, headers })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('are not forgotten when their user calls ever new names', async () => {
    const { backend, gateway } = await behind(answerAll, { callsPerMinute: 1 });
    const called = async (user: string, tools: readonly string[]) =>
      (await gateway.send(user, { message: tools.map((tool) => callOf(tool)) })).status;
    const names = (prefix: string) => Array.from({ length: 999 }, (_, at) => `${prefix}${at}`);
    expect([await called('alice', ['read']), await called('alice', names('a'))]).toEqual([200, 200]);
    expect([await called('alice', names('b')), await called('alice', ['read'])]).toEqual([429, 429]);
    expect([await called('bob', names('b')), await called('bob', ['read'])]).toEqual([200, 200]);
    expect(backend.received).toHaveLength(4);
  });

  it.each([
    ['one tool', 6000, 1, 20],
    ['many tools', 120, 20, 1000],
  ])('are not refused while each tool is called less often: %s', (_what, perMinute, tools, pause) => {
    const rate = createCallRate(perMinute);
    const waits = Array.from({ length: 6000 }, (_, at) =>
      rate.take('alice', `tool${at % tools}`, Math.floor(at / tools) * pause),
    );
    expect(Math.max(...waits)).toBe(0);
    expect(
      Array.from({ length: perMinute + 1 }, () => rate.take('alice', 'other', 0)).at(-1),
    ).toBeGreaterThan(0);
  });

  it('may be unlimited', async () => {
    const { gateway } = await behind(answerAll, { callsPerMinute: false, connect: 60 });
    const statuses = await Promise.all(
      Array.from(
        { length: 50 },
        async () => (await gateway.send('alice', { message: callOf('read') })).status,
      ),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});

describe('the URIs of a body', () => {
  const uriOf = (length: number) => `file:///${'%2525252e/'.repeat(length / 10)}`;
  const read = (uri: string, id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'resources/read',
    params: { uri },
  });
  const listen = (uris: readonly string[]) => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' },
    params: { notifications: { resourceSubscriptions: uris } },
  });
  const some = (length: number, count: number) => Array.from({ length: count }, () => uriOf(length));

  it.each([
    ['a batch', (count: number) => some(4000, count).map(read)],
    ['a subscription', (count: number) => listen(some(4000, count))],
    ['a read', (count: number) => read(uriOf(count * 4000), 1)],
    [
      'a read whose end is far away',
      (count: number) => ({ ...read(uriOf(count * 4000), 1), x: uriOf(200_000) }),
    ],
  ])('are refused beyond 128 KiB: of %s', async (_name, messageOf) => {
    const { backend, gateway } = await behind(answerAll);
    const refused = await gateway.send('alice', { message: messageOf(33) });
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: -32_602 } }]);
    expect(backend.received).toEqual([]);
    expect((await gateway.send('alice', { message: messageOf(32) })).status).toBe(200);
  });
});

describe('a name of 120,000 marks that Unicode normalization reorders', () => {
  const marks = '\u0315\u0300'.repeat(60_000);
  const name = `a${marks}`;
  const when = { when: 'call.arguments.a != "b"' };

  async function withRules(tools: GatewayServerOptions['tools']): Promise<TestGateway> {
    const backend = await started(
      startBackend(({ body }, response) => {
        const { id, method } = JSON.parse(body);
        const resources = [{ name: 'a', uri: `x:${name}` }];
        json(response, { jsonrpc: '2.0', id, result: method === 'resources/list' ? { resources } : {} });
      }),
    );
    const options = { conditions: await loadConditions() };
    return started(startGateway([{ path: '/mcp', backend: { url: backend.url }, tools }], options));
  }

  it.each<[string, object, GatewayServerOptions['tools']]>([
    ['a tool', { method: 'tools/call', params: { name } }, { 'read_*': [], '*': [] }],
    ['a prompt', { method: 'prompts/get', params: { name } }, {}],
    ['a method', { method: name, params: {} }, {}],
    ['a resource', { method: 'resources/read', params: { uri: `x:${marks.slice(0, 65_000)}` } }, {}],
    ['a resource of a list', { method: 'resources/list' }, {}],
    [
      'an argument',
      { method: 'tools/call', params: { name: 'x', arguments: { a: 'c', [name]: 1 } } },
      { x: when },
    ],
  ])('takes linear time as the name of %s', async (_what, message, tools) => {
    const gateway = await withRules(tools);
    const cost = await costOf(async () => {
      const response = await gateway.send('alice', { message: { jsonrpc: '2.0', id: 1, ...message } });
      expect([response.status, await response.json()]).toMatchObject([200, { id: 1 }]);
    });
    // Several seconds, where it was quadratic.
    expect(cost).toBeLessThan(1000);
  });

  it('takes linear time for a client without a token, where there is a public tool', async () => {
    const gateway = await withRules({ info: { public: true } });
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } };
    const cost = await costOf(async () => {
      expect((await gateway.send(null, { message })).status).toBe(401);
    });
    expect(cost).toBeLessThan(1000);
  });
});

/** A server that accepts connections and says nothing. */
async function silent(): Promise<{ readonly port: number; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe.each([
  { transport: 'http' as const, message: undefined },
  { transport: 'sse' as const, message: INITIALIZE },
])('a backend with transport $transport', ({ transport, message }) => {
  it('to which no connection is made in time is answered with 503', async () => {
    const { port } = await started(silent());
    const gateway = await started(
      startGateway([
        {
          path: '/mcp',
          name: 'Files',
          // The handshake belongs to the connection.
          backend: { url: `https://127.0.0.1:${port}/mcp`, transport },
          limits: { connect: 1, firstByte: 600 },
        },
      ]),
    );
    const response = await gateway.send('alice', { message });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.text()).toContain('Files');
    expect(gateway.gateway.health()).toEqual([{ server: '/mcp', status: 'down' }]);
  });

  it('that begins no response in time is answered with 503', async () => {
    const { port } = await started(silent());
    const gateway = await started(
      startGateway([
        {
          path: '/mcp',
          name: 'Files',
          backend: { url: `http://127.0.0.1:${port}/mcp`, transport },
          limits: { firstByte: 1 },
        },
      ]),
    );
    const response = await gateway.send('alice', { message });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('Files');
  });
});

describe('a response that delivers nothing more', () => {
  const behindSilence = (type: string, beginning: string) =>
    behind(
      (_received, response) => {
        response.writeHead(200, { 'content-type': type });
        response.write(beginning);
      },
      { idle: 1 },
    );
  const outcomes = ({ calls }: TestGateway) => calls.map(({ outcome, status }) => ({ outcome, status }));

  it('breaks off after the idle time: a stream', async () => {
    const event = 'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n';
    const { backend, gateway } = await behindSilence('text/event-stream', event);
    const response = await gateway.send('alice', { message: callOf('read') });
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    await expect.poll(() => backend.aborted()).toBe(1);
    await expect.poll(() => outcomes(gateway)).toEqual([{ outcome: 'unavailable', status: 200 }]);
  });

  it('is an error after the idle time: a document', async () => {
    const { backend, gateway } = await behindSilence('application/json', '{"jsonrpc":"2.0",');
    const response = await gateway.send('alice', { message: callOf('read') });
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining('Files')]);
    await expect.poll(() => backend.aborted()).toBe(1);
    await expect.poll(() => outcomes(gateway)).toEqual([{ outcome: 'unavailable', status: 502 }]);
  });

  it('is an error after the idle time: a document instead of the stream of a subscription', async () => {
    const { backend, gateway } = await behindSilence('application/json', '{"jsonrpc":"2.0",');
    const response = await gateway.send('alice', subscription);
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('Files')]);
    await expect.poll(() => backend.aborted()).toBe(1);
  });

  it.each([
    ['the stream of a session', { method: 'GET' }],
    ['a subscription', subscription],
  ])('stays open when it is %s, and when it delivers in time', async (_what, request) => {
    const { gateway } = await behind(
      (_received, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        let count = 0;
        const timer = setInterval(() => {
          count += 1;
          response.write(`data: ${count}\n\n`);
          if (count < 4) return;
          clearInterval(timer);
          setTimeout(() => response.end(), 1700);
        }, 500);
      },
      { idle: 1 },
    );
    const stream = await gateway.send('alice', request);
    expect(await stream.text()).toContain('data: 4');
  });
});

describe('a document where a stream of a subscription was expected', () => {
  it('passes while it delivers within the idle time, however long it takes', async () => {
    const { gateway } = await behind(
      (_received, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const pieces = ['{"jsonrpc":"2.0",', '"id":1,', '"result":', '{}', '}'];
        const timer = setInterval(() => {
          response.write(pieces.shift());
          if (pieces.length > 0) return;
          clearInterval(timer);
          response.end();
        }, 600);
      },
      { idle: 2 },
    );
    const response = await gateway.send('alice', subscription);
    expect([response.status, await response.json()]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
  });
});

describe('a credential that the backend rejects', () => {
  async function rejecting(accepted: string) {
    const backend = await started(
      startBackend((received, response, request) => {
        if (received.headers['x-key'] === accepted) return answerAll(received, response, request);
        response.writeHead(401).end();
      }),
    );
    let key = 'first';
    const credentials = {
      for: () => ({ headers: { 'x-key': key }, key: 'key', sign: null }),
      async rejected() {
        if (key === 'second') return 'final' as const;
        key = 'second';
        return 'retry' as const;
      },
    };
    const gateway = await started(
      startGateway(
        [{ path: '/mcp', name: 'Files', backend: { url: backend.url }, limits: { concurrency: 1 } }],
        {
          credentials,
        },
      ),
    );
    return { backend, gateway };
  }

  it('is replaced once, and the whole request is sent again', async () => {
    const { backend, gateway } = await rejecting('second');
    const message = callOf('read', { text: 'é'.repeat(100_000) });
    const response = await gateway.send('alice', { message });
    expect(response.status).toBe(200);
    expect(backend.received.map(({ headers }) => headers['x-key'])).toEqual(['first', 'second']);
    for (const { body } of backend.received) expect(JSON.parse(body)).toEqual(message);
    expect(gateway.calls.map(({ outcome }) => outcome)).toEqual(['answered']);
    expect((await gateway.send('alice')).status).toBe(200);
  });

  it('twice is a 502 without the challenge, after two requests, and its place is free again', async () => {
    const { backend, gateway } = await rejecting('third');
    const response = await gateway.send('alice', { message: callOf('read') });
    expect(response.status).toBe(502);
    expect(response.headers.has('www-authenticate')).toBe(false);
    expect(await response.text()).toContain('Files does not accept the credentials of this gateway');
    expect(backend.received).toHaveLength(2);
    expect((await gateway.send('alice')).status).toBe(502);
  });
});

describe('the places of a backend for requests at once', () => {
  const LIMITS = { concurrency: 8, callsPerMinute: false } as const;

  it.each([
    ['over HTTP', null],
    ['of a process', TINY],
  ])('are never all taken by one user, who may have all but what others need: %s', async (_name, command) => {
    const hanging = await started(
      startBackend(
        ({ body }, response) =>
          void (body.includes('hang') || answerAll({ body } as never, response, {} as never)),
      ),
    );
    const backend =
      command === null ? { url: hanging.url } : { command: [...command] as [string, ...string[]] };
    const gateway = await started(startGateway([{ path: '/mcp', name: 'Files', backend, limits: LIMITS }]));
    const sessionOf = async (user: string) =>
      command === null
        ? (message: unknown, signal?: AbortSignal) =>
            gateway.send(user, { message, ...(signal && { signal }) })
        : (await startSession(gateway, user)).post;
    const [alice, bob, carol] = [await sessionOf('alice'), await sessionOf('bob'), await sessionOf('carol')];
    const client = new AbortController();
    const statuses: number[] = [];
    const fill = (post: typeof alice) =>
      Promise.all(
        Array.from({ length: 12 }, async () => {
          const response = await post(callOf('hang'), client.signal).catch(() => null);
          if (response !== null) statuses.push(response.status);
        }),
      );
    const filling = [fill(alice)];
    await expect.poll(() => statuses.length).toBe(6);
    filling.push(fill(bob));
    await expect.poll(() => statuses.length).toBe(17);
    expect(new Set(statuses)).toEqual(new Set([429]));
    const echo = callOf('echo', { text: 'x' });
    const refused = await alice(echo);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await refused.text()).toContain('some of yours');
    expect((await carol(echo)).status).toBe(200);
    client.abort();
    await Promise.all(filling);
    await expect.poll(async () => (await alice(echo)).status).toBe(200);
  });
});

it('requests at once are limited for stdio servers as well; those that wait are answered', async () => {
  const gateway = await started(
    startGateway([
      {
        path: '/mcp',
        name: 'Tiny',
        backend: { command: [...TINY] },
        limits: { concurrency: 1, firstByte: 5 },
      },
    ]),
  );
  const { post, call } = await startSession(gateway, 'alice');
  const waiting = post(callOf('hang'));
  await expect.poll(async () => (await post(callOf('echo', { text: 'x' }))).status).toBe(503);
  const refused = await post(callOf('echo', { text: 'x' }));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.text()).toContain('Tiny is busy');
  expect(await (await waiting).text()).toContain('did not answer');
  expect(await call('echo', { text: 'again' })).toBe('again');
});

it('capabilities of stateless clients are as long as those of sessions at most: longer ones open no session', async () => {
  const initialized = { protocolVersion: '2025-11-25', serverInfo: { name: 's', version: '1' } };
  const { backend, gateway } = await behind(({ body }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    const error = { code: -32_601, message: 'Unknown' };
    const result = { ...initialized, capabilities: { tools: {} }, tools: [] };
    json(response, { jsonrpc: '2.0', id, ...(method === 'server/discover' ? { error } : { result }) });
  });
  const list = (length: number) =>
    sendStateless(gateway, 'alice', 'tools/list', {
      _meta: { 'io.modelcontextprotocol/clientCapabilities': { experimental: { own: 'x'.repeat(length) } } },
    });
  const opened = () => backend.received.filter(({ body }) => body.includes('xxx'));
  const refused = await list(4000);
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: -32_602 } }]);
  expect(opened()).toEqual([]);
  expect((await list(3000)).status).toBe(200);
  expect(opened()).toHaveLength(1);
});
