/** Servers that are added, changed and removed while others are in use. */
import { afterEach, describe, expect, it } from 'vitest';
import { answerAll, startBackend } from './support/backend.ts';
import { callOf, startSession, subscription } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
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

describe('a change of servers', () => {
  it('drops no stream of a server that stays, whose sessions and limits also stay', async () => {
    let emit = (_event: string): void => {};
    const backend = await started(
      startBackend((received, response, request) => {
        if (received.method !== 'GET') return answerAll(received, response, request);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': open\n\n');
        emit = (event) => void response.write(`data: ${event}\n\n`);
      }),
    );
    const other = await started(startBackend(answerAll));
    const staying = { path: '/mcp', backend: { url: backend.url }, limits: { streamsPerUser: 1 } };
    const gateway = await started(startGateway([staying, { path: '/old', backend: { url: other.url } }]));
    const stream = await gateway.send('alice', { method: 'GET' });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    await reader?.read();

    gateway.replaceServers([staying, { path: '/new', backend: { url: other.url } }]);
    emit('still here');
    expect((await reader?.read())?.value).toBe('data: still here\n\n');
    expect((await gateway.send('alice', { method: 'GET' })).status).toBe(429);
    expect((await gateway.send('alice', { path: '/new' })).status).toBe(200);
    expect((await gateway.send('alice', { path: '/old' })).status).toBe(404);
    await reader?.cancel();
  });

  it('applies changed rules to the streams that are open', async () => {
    let emit = (_uri: string): void => {};
    const backend = await started(
      startBackend((received, response, request) => {
        if (received.method !== 'GET') return answerAll(received, response, request);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': open\n\n');
        emit = (uri) => {
          const message = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
          response.write(`data: ${JSON.stringify(message)}\n\n`);
        };
      }),
    );
    const server = { path: '/mcp', backend: { url: backend.url } };
    const gateway = await started(startGateway([server]));
    const stream = await gateway.send('alice', { method: 'GET' });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    await reader?.read();
    emit('file:///a');
    expect((await reader?.read())?.value).toContain('file:///a');

    gateway.replaceServers([{ ...server, resources: { 'file:///a': false, '*': [] } }]);
    emit('file:///a');
    emit('file:///b');
    let received = '';
    while (!received.includes('file:///b')) received += (await reader?.read())?.value ?? '';
    expect(received).not.toContain('file:///a');
    await reader?.cancel();
  });

  it('uses the new address of a server whose backend has changed', async () => {
    const one = await started(startBackend(answerAll));
    const two = await started(startBackend(answerAll));
    const gateway = await started(startGateway([{ path: '/mcp', backend: { url: one.url } }]));
    await gateway.send('alice');
    gateway.replaceServers([{ path: '/mcp', backend: { url: two.url } }]);
    await gateway.send('alice');
    expect([one.received.length, two.received.length]).toEqual([1, 1]);
  });

  /** A backend whose calls wait until they are released. */
  async function startSlow() {
    const calls: (() => void)[] = [];
    const backend = await started(
      startBackend((received, response, request) => {
        if (!received.body.includes('"slow"')) return answerAll(received, response, request);
        calls.push(() => void answerAll(received, response, request));
      }),
    );
    return { url: backend.url, calls };
  }

  const slow = { jsonrpc: '2.0', id: 7, method: 'slow', params: {} };

  it.each([
    ['name', { name: 'Other' }],
    ['limits', { limits: { concurrency: 5, firstByte: 7 } }],
    ['rules', { methods: { '*': [] } }],
    ['review', { review: 'auto' as const }],
    ['address', { backend: { url: 'http://127.0.0.1:9/mcp' } }],
    ['credentials', { backend: { credentials: { as: 'header', name: 'X-Key', value: 'secret' } } }],
    ['path', { path: '/elsewhere' }],
  ])('loses no call under way when the %s of its server changes', async (_member, change) => {
    const { url, calls } = await startSlow();
    const gateway = await started(startGateway([{ path: '/mcp', backend: { url } }]));
    const call = gateway.send('alice', { message: slow });
    await expect.poll(() => calls.length).toBe(1);
    const backend = { url, ...('backend' in change ? change.backend : {}) };
    gateway.replaceServers([{ path: '/mcp', ...change, backend } as never]);
    gateway.replaceServers([{ path: '/mcp', name: 'Again', ...change, backend } as never]);
    calls[0]?.();
    const response = await call;
    expect([response.status, await response.json()]).toEqual([200, { jsonrpc: '2.0', id: 7, result: {} }]);
  });

  it('applies names, rules and limits to a process that stays', async () => {
    const backend = { command: TINY };
    const gateway = await started(startGateway([{ path: '/mcp', backend } as never]));
    const client = await startSession(gateway, 'alice');
    const pid = () => client.call('pid');
    const before = await pid();
    const limits = { frame: 2048, concurrency: 3 };
    gateway.replaceServers([
      { path: '/mcp', name: 'Other', backend, limits, tools: { echo: false, '*': [] } } as never,
    ]);
    expect(await pid()).toBe(before);
    expect((await client.post(callOf('echo'))).status).toBe(403);
  });

  it.each([
    ['GET', { method: 'GET' }],
    ['subscriptions/listen', subscription],
  ])(
    'ends the event streams by %s of a backend that is replaced, which their clients open again',
    async (_what, request) => {
      const backend = await started(
        startBackend((_received, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
        }),
      );
      const other = await started(startBackend(answerAll));
      const gateway = await started(startGateway([{ path: '/mcp', backend: { url: backend.url } }]));
      const stream = await gateway.send('alice', request);
      gateway.replaceServers([{ path: '/mcp', backend: { url: other.url } }]);
      expect(await stream.text()).toBe(': open\n\n');
      await expect.poll(() => backend.aborted()).toBe(1);
    },
  );

  it('keeps the limits of calls of a server that stays, also of a merged one', async () => {
    const backend = await started(startBackend(answerAll));
    const tools = { '*': ['mcp:read'] };
    const part = { path: '/mcp', backend: { url: backend.url }, review: 'auto', tools } as const;
    const scopes = { 'mcp:read': 'Read' };
    const limits = { callsPerMinute: 1 };
    const all = { path: '/all', merges: { one: '/mcp' }, limits };
    const staying = [{ ...part, scopes, limits }, all];
    const gateway = await started(startGateway(staying));
    const call = (name: string, path: string) =>
      gateway.send('alice_inspector_mcp.read', {
        path,
        message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } },
      });
    expect((await call('read', '/mcp')).status).toBe(200);
    expect((await call('one__read', '/all')).status).not.toBe(429);

    gateway.replaceServers([...staying, { path: '/new', backend: { url: backend.url } }]);
    expect((await call('read', '/mcp')).status).toBe(429);
    expect((await call('one__read', '/all')).status).toBe(429);
    gateway.replaceServers([{ ...part, scopes, limits: { callsPerMinute: 2 } }, all]);
    expect((await call('one__read', '/all')).status).not.toBe(429);
  });

  it('names the rules of a server that has moved by its new index, and keeps its process and sessions', async () => {
    const tools = { echo: false, '*': [] };
    const staying = [
      { path: '/mcp', backend: { command: TINY }, tools },
      { path: '/all', merges: { one: '/mcp' } },
    ] as never[];
    const gateway = await started(startGateway(staying));
    const [own, merged] = [
      await startSession(gateway, 'alice'),
      await startSession(gateway, 'alice', '/all'),
    ];
    let asked = 0;
    const ruleOf = async (client: typeof own, tool: string) => {
      expect((await client.post(callOf(tool))).status).toBe(403);
      asked += 1;
      const refused = () => gateway.calls.filter(({ because }) => because !== null);
      await expect.poll(() => refused().length).toBe(asked);
      return refused().at(-1)?.because?.rule;
    };
    const before = await own.call('pid');
    expect(await ruleOf(own, 'echo')).toBe('servers[0].tools["echo"]');

    const other = { path: '/new', backend: { url: 'http://127.0.0.1:9/mcp' } } as never;
    gateway.replaceServers([other, ...staying]);
    expect(await own.call('pid')).toBe(before);
    expect(await ruleOf(own, 'echo')).toBe('servers[1].tools["echo"]');
    expect(await ruleOf(merged, 'one__echo')).toBe('servers[1].tools["echo"]');
  });
});
