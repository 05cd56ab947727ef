/** Users and clients that share a server: what one of them does reaches no other, and takes nothing from them. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend } from './support/backend.ts';
import { callOf, sendStateless, startSession, textOf } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

async function start(servers: readonly GatewayServerOptions[]): Promise<TestGateway> {
  const gateway = await startGateway(servers);
  onTestFinished(() => gateway.close());
  return gateway;
}

const tiny = (more: Partial<GatewayServerOptions> = {}): GatewayServerOptions => ({
  path: '/mcp',
  name: 'Tiny',
  backend: { command: TINY },
  ...more,
});

describe('a merged server', () => {
  const listen = (gateway: TestGateway, uri: string) =>
    sendStateless(
      gateway,
      'alice_inspector_tiny.read_tiny.write',
      'subscriptions/listen',
      { notifications: { resourceSubscriptions: [uri] } },
      '/all',
    );

  it('subscribes to no resource that a rule of its part forbids, alone or beside another', async () => {
    const gateway = await start([
      { path: '/tiny', name: 'Tiny', backend: { command: TINY }, resources: { 'secret://*': false } },
      { path: '/all', name: 'All', merges: { tiny: '/tiny' } },
    ]);
    expect((await listen(gateway, 'tiny+secret://a')).status).toBe(403);
    const allowed = await listen(gateway, 'tiny+note://a');
    expect(allowed.status).toBe(200);
    await allowed.body?.cancel();
  });
});

it('a subscription that is refused says which of its resources the rules forbid', async () => {
  const gateway = await start([tiny({ resources: { 'secret://*': false } })]);
  const listen = (resourceSubscriptions: readonly string[]) =>
    sendStateless(gateway, 'alice', 'subscriptions/listen', { notifications: { resourceSubscriptions } });
  const refused = await listen(['note://a', 'secret://a']);
  const message = 'The resource "secret://a" is not available to you here.';
  expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: -32_003, message } }]);
  const allowed = await listen(['note://a']);
  expect(allowed.status).toBe(200);
  await allowed.body?.cancel();
});

describe('the session of another user', () => {
  it.each(['/tiny', '/all'])(
    'at %s is unknown to everyone else, and nothing is started for them',
    async (path) => {
      const gateway = await start([
        { path: '/tiny', name: 'Tiny', backend: { command: TINY, processes: 1 } },
        { path: '/all', name: 'All', merges: { tiny: '/tiny' } },
      ]);
      const scopes = 'inspector_tiny.read_tiny.write';
      const tool = path === '/all' ? 'tiny__pid' : 'pid';
      const alice = await startSession(gateway, `alice_${scopes}`, path);
      const pid = await alice.call(tool);
      for (const user of [`mallory_${scopes}`, 'alice_other_tiny.read_tiny.write'])
        for (const [method, name] of [
          ['POST', tool],
          ['POST', 'unknown'],
          ['GET', ''],
          ['DELETE', ''],
        ] as const) {
          const headers = { 'mcp-session-id': alice.session };
          const response = await gateway.send(user, { path, method, headers, message: callOf(name) });
          expect([method, name, response.status]).toEqual([method, name, 404]);
          await response.body?.cancel();
        }
      // The only process is still that of its user.
      expect(await alice.call(tool)).toBe(pid);
    },
  );
});

describe('the headers of a session in a stateless request', () => {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const ask = (gateway: TestGateway, headers: Readonly<Record<string, string>>) =>
    gateway.send('bob', {
      message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pid', arguments: {}, _meta } },
      headers: { 'mcp-method': 'tools/call', 'mcp-name': 'pid', 'last-event-id': 'unknown', ...headers },
    });

  it('are ignored: the process of another user is not reached', async () => {
    const gateway = await start([tiny()]);
    const alice = await startSession(gateway, 'alice');
    const headers = { 'mcp-session-id': alice.session, 'mcp-protocol-version': version };
    const response = await ask(gateway, headers);
    expect(response.headers.has('mcp-session-id')).toBe(false);
    const pid = await textOf(response);
    expect(Number(pid)).toBeGreaterThan(0);
    expect(pid).not.toBe(await alice.call('pid'));
    expect((await ask(gateway, { 'mcp-session-id': alice.session })).status).toBe(404);
  });

  it('are not sent to a backend over HTTP', async () => {
    const backend = await startBackend(({ body }, response) => {
      const { id } = JSON.parse(body || '{}');
      json(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', content: [] } });
    });
    onTestFinished(() => backend.close());
    const gateway = await start([
      { path: '/mcp', name: 'Files', backend: { url: backend.url }, review: 'auto' },
    ]);
    const headers = { 'mcp-session-id': 'unknown', 'mcp-protocol-version': version };
    expect((await ask(gateway, headers)).status).toBe(200);
    const reached = backend.received.at(-1)?.headers ?? {};
    expect(Object.keys(reached)).toContain('mcp-name');
    expect(Object.keys(reached)).not.toContain('mcp-session-id');
    expect(Object.keys(reached)).not.toContain('last-event-id');
  });
});

describe('two subscriptions of a client to one resource', () => {
  it('end one after the other: the first that ends leaves the other one', async () => {
    const gateway = await start([tiny()]);
    const listen = async (resourceSubscriptions: readonly string[]) => {
      const filter = { notifications: { resourceSubscriptions } };
      const response = await sendStateless(gateway, 'alice', 'subscriptions/listen', filter);
      expect(response.status).toBe(200);
      return response;
    };
    const subscribed = async () =>
      textOf(await sendStateless(gateway, 'alice', 'tools/call', { name: 'subscribed', arguments: {} }));
    const [first, second] = [await listen(['note:a', 'note:b']), await listen(['note:a'])];
    expect(await subscribed()).toBe('note:a,note:b');
    await first.body?.cancel();
    await expect.poll(subscribed).toBe('note:a');
    await second.body?.cancel();
    await expect.poll(subscribed).toBe('');
  });
});

describe('a subscription to many resources whose client leaves', () => {
  it('ends at once: the backend gets no more of them, and one request at a time', async () => {
    const reached: string[] = [];
    const waiting: (() => void)[] = [];
    const backend = await startBackend(async ({ body, method: verb }, response) => {
      if (verb !== 'POST') return void response.writeHead(405).end();
      const { id, method, params } = JSON.parse(body || '{}');
      if (method === 'server/discover') return void response.writeHead(400).end();
      if (id === undefined) return void response.writeHead(202).end();
      if (method.startsWith('resources/')) {
        reached.push(`${method} ${params.uri}`);
        await new Promise<void>((respond) => waiting.push(respond));
      }
      const capabilities = { resources: { subscribe: true } };
      const serverInfo = { name: 'x', version: '1' };
      const result =
        method === 'initialize' ? { protocolVersion: '2025-11-25', capabilities, serverInfo } : {};
      json(response, { jsonrpc: '2.0', id, result });
    });
    onTestFinished(() => backend.close());
    const gateway = await start([{ path: '/mcp', backend: { url: backend.url }, review: 'auto' }]);
    const client = new AbortController();
    const resourceSubscriptions = ['x:a', 'x:b', 'x:c', 'x:d'];
    const params = { notifications: { resourceSubscriptions } };
    const left = sendStateless(gateway, 'alice', 'subscriptions/listen', params, '/mcp', client.signal);
    const next = async (count: number) => {
      await expect.poll(() => reached.length).toBe(count);
      expect(waiting).toHaveLength(1);
      return waiting.pop() ?? expect.fail();
    };
    (await next(1))();
    const second = await next(2);
    client.abort();
    await expect(left).rejects.toThrow();
    await expect.poll(() => gateway.countConnections()).toBe(0);
    second();
    (await next(3))();
    (await next(4))();
    // Its stream has ended: the next one is served.
    const stay = sendStateless(gateway, 'alice', 'subscriptions/listen', params);
    for (const index of resourceSubscriptions.keys()) (await next(5 + index))();
    await (await stay).body?.cancel();
    expect(reached).toEqual([
      ...['x:a', 'x:b'].map((uri) => `resources/subscribe ${uri}`),
      ...['x:a', 'x:b'].map((uri) => `resources/unsubscribe ${uri}`),
      ...resourceSubscriptions.map((uri) => `resources/subscribe ${uri}`),
    ]);
    for (const index of resourceSubscriptions.keys()) (await next(9 + index))();
  });
});

describe('a user who claims other capabilities again and again', () => {
  it('ends no process of another user', async () => {
    const gateway = await start([tiny({ backend: { command: TINY, processes: 10 } })]);
    const alice = await startSession(gateway, 'alice');
    const pid = await alice.call('pid');
    for (let count = 0; count < 12; count += 1)
      await startSession(gateway, 'mallory', '/mcp', { capabilities: { experimental: { [count]: {} } } });
    expect(await alice.call('pid')).toBe(pid);
  });
});

describe('the ninth app of a user', () => {
  it('ends the process that is idle longest, though its client has a stream, and starts another at its next call', async () => {
    const gateway = await start([tiny()]);
    const open = (index: number) => startSession(gateway, `alice_app${index}`);
    const first = await open(1);
    const pid = await first.call('pid');
    const headers = { 'mcp-session-id': first.session };
    const stream = await gateway.send('alice_app1', { method: 'GET', headers });
    for (let index = 2; index <= 8; index += 1) await open(index);
    expect(await first.call('pid')).toBe(pid);
    for (let index = 2; index <= 8; index += 1) await (await open(index)).call('pid');
    await open(9);
    const next = await first.call('pid');
    expect([/^\d+$/.test(next), next === pid]).toEqual([true, false]);
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
  });
});

describe('two clients of one user', () => {
  it('have a process each, so that none is asked about a call of the other, though it has ended', async () => {
    const gateway = await start([tiny()]);
    const one = await startSession(gateway, 'alice_one');
    const two = await startSession(gateway, 'alice_two');
    expect(await one.call('pid')).not.toBe(await two.call('pid'));
    await one.call('leave', { text: 'of the first' });
    const response = await two.post(callOf('deliver'));
    expect(await response.text()).not.toContain('of the first');
  });

  it('are asked by the server at the same time', async () => {
    const gateway = await start([tiny()]);
    const [one, two] = [await startSession(gateway, 'alice_one'), await startSession(gateway, 'alice_two')];
    const waiting = new AbortController();
    const hanging = two.post(callOf('hang'), waiting.signal);
    const response = await one.post(callOf('askLater'));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const { value = '' } = (await reader?.read()) ?? {};
    expect(value).toContain('elicitation/create');
    await reader?.cancel();
    waiting.abort();
    await expect(hanging).rejects.toThrow();
  });
});

describe('limits', () => {
  it('of streams count those of a user with all clients', async () => {
    const backend = await startBackend(({ method }, response) => {
      if (method === 'GET') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      else json(response, { jsonrpc: '2.0', id: 1, result: {} });
    });
    onTestFinished(() => backend.close());
    const limits = { streamsPerUser: 1 };
    const gateway = await start([{ path: '/mcp', name: 'Http', backend: { url: backend.url }, limits }]);
    const open = async (user: string) => {
      const response = await gateway.send(user, { method: 'GET' });
      onTestFinished(() => void response.body?.cancel());
      return response.status;
    };
    expect(await open('alice_one')).toBe(200);
    expect(await open('alice_two')).toBe(429);
    expect(await open('bob_one')).toBe(200);
  });

  it('of calls count long names by their beginning, so that names fill no memory', async () => {
    const limits = { callsPerMinute: 1 };
    const gateway = await start([tiny({ limits })]);
    const { post } = await startSession(gateway, 'alice');
    const name = 'a'.repeat(100);
    expect((await post(callOf(`${name}1`))).status).toBe(200);
    expect((await post(callOf(`${name}2`))).status).toBe(429);
    expect((await post(callOf('b'))).status).toBe(200);
  });

  it('of calls that wait for an answer are those of each user, so that no user is kept from asking', async () => {
    const gateway = await start([tiny({ limits: { callsPerMinute: false, concurrency: 500 } })]);
    const ask = async (user: string) =>
      (await sendStateless(gateway, user, 'tools/call', { name: 'ask' })).json();
    const answers: unknown[] = [];
    // One after the other, since the process does not say whom it asks.
    for (let count = 0; count < 101; count += 1) answers.push(await ask('mallory'));
    const refused = answers.filter((answer) => 'error' in (answer as object));
    expect(refused).toMatchObject([{ error: { message: expect.stringContaining('wait for input') } }]);
    expect(await ask('alice')).toMatchObject({ result: { resultType: 'input_required' } });
  });
});
