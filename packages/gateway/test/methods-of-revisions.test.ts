/** Methods that the revision of a client does not have: refused as that revision says, whatever the backend speaks. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend } from './support/backend.ts';
import { lastMessage, sendStateless, startSession } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

/** @param isStateless whether the backend is of revision 2026-07-28, or has sessions */
async function startHttp(isStateless: boolean, extensions: object = {}) {
  const backend = await startBackend(({ method: verb, body }, response) => {
    if (verb !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    const capabilities = { tools: {}, resources: { subscribe: true }, extensions };
    const foreign = isStateless ? 'initialize' : 'server/discover';
    if (method === foreign) return void response.writeHead(400).end();
    const results: Record<string, object> = {
      'server/discover': { supportedVersions: ['2026-07-28'], capabilities },
      initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'x', version: '1' } },
      'tools/list': { tools: [] },
    };
    const started = { resultType: 'task', taskId: 'task-1', status: 'working' };
    if (params?.name === 'start') return json(response, { jsonrpc: '2.0', id, result: started });
    const result = results[method] ?? (params?.task === undefined ? { content: [] } : { task: {} });
    const headers = { ...(method === 'initialize' && { 'mcp-session-id': 'own' }) };
    json(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }, headers);
  });
  onTestFinished(() => backend.close());
  const sent = (method: string) => backend.received.filter(({ body }) => body.includes(`"${method}"`));
  return { url: backend.url, sent };
}

async function start(...servers: readonly GatewayServerOptions[]) {
  const gateway = await startGateway(servers.map((one) => ({ review: 'auto' as const, ...one })));
  onTestFinished(() => gateway.close());
  const codeOf = async (response: Response) => [
    response.status,
    Object((await lastMessage(response))['error']).code,
  ];
  return {
    gateway,
    codeOf,
    ask: async (method: string, params: object = {}, path = '/mcp') =>
      codeOf(await sendStateless(gateway, 'alice', method, { ...params }, path)),
  };
}

const UNKNOWN = [404, -32_601];
const TASKS = ['tasks/get', 'tasks/cancel', 'tasks/update'];
const REMOVED = ['tasks/list', 'tasks/result', 'ping', 'logging/setLevel', 'resources/subscribe'];
const parametersOf = (method: string) =>
  method.startsWith('tasks') ? { taskId: 'task-1' } : { uri: 'file:///a', level: 'info' };

describe('a client of revision 2026-07-28', () => {
  it('gets 404 for methods of sessions and for tasks, at a process and at a merged server', async () => {
    const { ask } = await start(
      { path: '/mcp', backend: { command: TINY } },
      { path: '/all', merges: { tiny: '/mcp' } },
    );
    for (const path of ['/mcp', '/all']) {
      for (const method of [...REMOVED, ...TASKS])
        expect([method, await ask(method, parametersOf(method), path)]).toEqual([method, UNKNOWN]);
      expect(await ask('tools/list', {}, path)).toEqual([200, undefined]);
    }
  });

  it('gets it at a backend with sessions, which receives none of them, and no task in a call', async () => {
    const { url, sent } = await startHttp(false);
    const { ask, gateway } = await start({ path: '/mcp', backend: { url } });
    expect(await ask('tools/list')).toEqual([200, undefined]);
    for (const method of [...REMOVED, ...TASKS]) {
      expect([method, await ask(method, parametersOf(method))]).toEqual([method, UNKNOWN]);
      expect(sent(method)).toEqual([]);
    }
    const call = { name: 'slow', arguments: {}, task: { ttl: 60_000 } };
    const called = await lastMessage(await sendStateless(gateway, 'alice', 'tools/call', call));
    expect(called['result']).toMatchObject({ content: [] });
    expect(sent('tools/call')).toHaveLength(1);
  });

  it.each([
    ['without tasks', {}, UNKNOWN],
    ['whose tasks are others', { 'io.modelcontextprotocol/tasks': {} }, [200, -32_602]],
  ])('gets it at a backend of its own revision %s', async (_what, extensions, ofTasks) => {
    const { url, sent } = await startHttp(true, extensions);
    const { ask } = await start({ path: '/mcp', backend: { url } });
    expect(await ask('tools/list')).toEqual([200, undefined]);
    for (const method of REMOVED) {
      expect([method, await ask(method, parametersOf(method))]).toEqual([method, UNKNOWN]);
      expect(sent(method)).toEqual([]);
    }
    for (const method of TASKS) expect(await ask(method, parametersOf(method))).toEqual(ofTasks);
  });

  it('finds a task that it was given, also where the backend did not say that it has tasks', async () => {
    const { url, sent } = await startHttp(true);
    const { ask, gateway } = await start({ path: '/mcp', backend: { url } });
    const response = await sendStateless(gateway, 'alice', 'tools/call', { name: 'start' });
    const { taskId } = Object((await lastMessage(response))['result']);
    expect(await ask('tasks/get', { taskId })).toEqual([200, undefined]);
    expect(sent('tasks/get').at(-1)?.body).toContain('"taskId":"task-1"');
  });
});

it('a session has no methods of revision 2026-07-28, at a backend of that revision', async () => {
  const { url, sent } = await startHttp(true);
  const { gateway, codeOf } = await start({ path: '/mcp', backend: { url } });
  const { post } = await startSession(gateway, 'alice');
  const discovered = sent('server/discover').length;
  for (const method of ['server/discover', 'subscriptions/listen']) {
    const params = { notifications: { toolsListChanged: true } };
    expect(await codeOf(await post({ jsonrpc: '2.0', id: 5, method, params }))).toEqual([200, -32_601]);
  }
  expect([sent('server/discover').length, sent('subscriptions/listen')]).toEqual([discovered, []]);
  expect(await codeOf(await post({ jsonrpc: '2.0', id: 6, method: 'tools/list' }))).toEqual([200, undefined]);
});

it('a method that no revision has is unknown where it is refused, and reaches the backend elsewhere', async () => {
  const { url, sent } = await startHttp(false);
  const { gateway, ask, codeOf } = await start(
    { path: '/mcp', backend: { url }, unknownMethods: 'refuse' },
    { path: '/other', backend: { url } },
  );
  const message = { jsonrpc: '2.0', id: 5, method: 'vendor/wipe' };
  const { post } = await startSession(gateway, 'alice');
  // In a session, 404 would say that it has ended.
  expect(await codeOf(await post(message))).toEqual([200, -32_601]);
  expect(await ask('vendor/wipe')).toEqual(UNKNOWN);
  expect(sent('vendor/wipe')).toEqual([]);
  expect(gateway.calls.at(-1)).toMatchObject({
    decision: 'denied',
    because: { rule: 'servers[0].unknownMethods' },
  });
  const other = await startSession(gateway, 'alice', '/other');
  expect(await codeOf(await other.post(message))).toEqual([200, undefined]);
  expect(sent('vendor/wipe')).toHaveLength(1);
});

it('a session has no method whose name is no header value, at a backend of revision 2026-07-28', async () => {
  const { url } = await startHttp(true);
  const { gateway, codeOf } = await start({ path: '/mcp', backend: { url } });
  const { post } = await startSession(gateway, 'alice');
  const ask = async (method: string) => codeOf(await post({ jsonrpc: '2.0', id: 1, method }));
  for (const method of ['x/😀', 'ü/x', 'a\nb', 'a\u0000b', ' a'])
    expect([method, await ask(method)]).toEqual([method, [200, -32_601]]);
  expect(await ask('x/own method')).toEqual([200, undefined]);
});
