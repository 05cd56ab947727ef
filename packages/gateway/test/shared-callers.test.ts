/** Callers who share a process, or a session at a backend: what it sends about a call of one of them reaches no other. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend, type TestBackend } from './support/backend.ts';
import { callOf, lastMessage, sendStateless, startSession } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const SECRET = 'delete-all-files-of-the-first';
const PUBLIC = { tools: { '*': { public: true } }, review: 'auto' };

async function start(...servers: readonly object[]): Promise<TestGateway> {
  const gateway = await startGateway(servers as readonly GatewayServerOptions[]);
  onTestFinished(() => gateway.close());
  return gateway;
}

/** Reads a response until it contains a text, or ends. */
async function readUntil(response: Response, wanted: string): Promise<string> {
  let text = '';
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value = '' } = (await reader?.read()) ?? { done: true };
    text += value;
    if (done || text.includes(wanted)) break;
  }
  await reader?.cancel();
  return text;
}

describe('a process', () => {
  const shared = { path: '/mcp', backend: { command: TINY, process: 'shared' } };
  const open = { path: '/mcp', backend: { command: TINY }, ...PUBLIC };

  it.each([
    ['that users share', shared, 'alice', 'bob'],
    ['of callers without a token', open, null, null],
  ])('%s reports to none of them, and asks none, about a call of another', async (_what, server, a, b) => {
    const gateway = await start(server);
    const first = await startSession(gateway, a);
    const second = await startSession(gateway, b);
    expect(await first.call('pid')).toBe(await second.call('pid'));
    expect(await first.call('leave', { text: SECRET })).toBe('left');
    const text = await (await second.post(callOf('deliver'))).text();
    expect(text).not.toContain(SECRET);
    // The process learns that it can ask none of them.
    expect(text).toContain('error -32601');
  });

  it.each([
    ['that users share', shared, 'alice', 'bob'],
    ['of callers without a token', open, null, null],
  ])('%s does so neither when it has one session left', async (_what, server, a, b) => {
    const gateway = await start(server);
    const first = await startSession(gateway, a);
    await first.call('leave', { text: SECRET });
    const headers = { 'mcp-session-id': first.session };
    expect((await gateway.send(a, { method: 'DELETE', headers })).status).toBe(200);
    const second = await startSession(gateway, b);
    expect(await (await second.post(callOf('deliver'))).text()).not.toContain(SECRET);
  });

  it('that users share offers neither tasks nor log messages, nor does that of callers without a token', async () => {
    for (const [server, user] of [
      [shared, 'alice'],
      [open, null],
    ] as const) {
      const gateway = await start(server);
      const discovered = await lastMessage(await sendStateless(gateway, user, 'server/discover'));
      expect(discovered['result']).toMatchObject({ capabilities: { tools: {} } });
      expect(discovered['result']).not.toMatchObject({ capabilities: { logging: {} } });
    }
  });

  const methods = { 'logging/setLevel': { public: true }, 'tasks/list': { public: true } };

  it.each([
    ['that users share', shared, 'alice', 'bob'],
    ['of callers without a token', { ...open, methods }, null, null],
  ])('%s keeps its log level, whatever one of them sets, and has no tasks', async (_what, server, a, b) => {
    const gateway = await start(server);
    const first = await startSession(gateway, a);
    const second = await startSession(gateway, b);
    const setLevel = { jsonrpc: '2.0', id: 5, method: 'logging/setLevel', params: { level: 'debug' } };
    for (const refused of [setLevel, { ...setLevel, method: 'tasks/list', params: {} }])
      expect(await lastMessage(await first.post(refused))).toMatchObject({ id: 5, error: { code: -32601 } });
    expect(await second.call('level')).toBe('warning');
  });

  it('of one client has the log level that it sets', async () => {
    const client = await startSession(
      await start({ path: '/mcp', backend: { command: TINY }, review: 'auto' }),
      'alice',
    );
    const params = { level: 'debug' };
    await (await client.post({ jsonrpc: '2.0', id: 5, method: 'logging/setLevel', params })).text();
    expect(await client.call('level')).toBe('debug');
  });

  it('of one client reports to it and asks it, in whichever of its sessions', async () => {
    const gateway = await start({ path: '/mcp', backend: { command: TINY } });
    const [first, second] = [await startSession(gateway, 'alice'), await startSession(gateway, 'alice')];
    await first.call('leave', { text: SECRET });
    const text = await readUntil(await second.post(callOf('deliver')), 'elicitation/create');
    expect(text).toMatch(new RegExp(`notifications/message.*${SECRET}.*elicitation/create.*${SECRET}`, 's'));
  });
});

/** A backend with sessions, which reports and asks on the stream of the session about what a call has left. */
async function startShop(): Promise<TestBackend> {
  const streams = new Map<string, PromiseWithResolvers<ServerResponse>>();
  let left = '';
  const waiting = new Map<unknown, (message: Record<string, unknown>) => void>();
  const backend = await startBackend(async ({ method: verb, body, headers }, response) => {
    const session = String(headers['mcp-session-id'] ?? `session-${streams.size}`);
    const stream = streams.get(session) ?? Promise.withResolvers<ServerResponse>();
    streams.set(session, stream);
    if (verb === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      return stream.resolve(response);
    }
    const { id, method, params, ...rest } = JSON.parse(body || '{}');
    if (id === undefined || method === undefined) {
      waiting.get(id)?.(rest);
      return void response.writeHead(202).end();
    }
    // Only the gateway's probe has it.
    if (params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined)
      return void response.writeHead(400).end();
    const send = (result: unknown, more = {}) => json(response, { jsonrpc: '2.0', id, result }, more);
    const say = async (message: object) =>
      (await stream.promise).write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
    const capabilities = { tools: {}, logging: {} };
    if (method === 'initialize')
      return send(
        { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'shop', version: '1' } },
        { 'mcp-session-id': session },
      );
    if (method === 'tools/list')
      return send({
        tools: ['leave', 'deliver'].map((name) => ({ name, inputSchema: { type: 'object' } })),
      });
    if (params?.name === 'leave') left = params.arguments.text;
    if (params?.name !== 'deliver') return send({ content: [{ type: 'text', text: 'done' }] });
    waiting.set('asked', ({ error }) =>
      send({ content: [{ type: 'text', text: error === undefined ? 'accepted' : 'refused' }] }),
    );
    await say({ method: 'notifications/message', params: { level: 'error', data: left } });
    await say({ id: 'asked', method: 'elicitation/create', params: { message: left } });
  });
  onTestFinished(() => backend.close());
  return backend;
}

describe('a session at a backend that requests of revision 2026-07-28 share', () => {
  const call = (gateway: TestGateway, user: string | null, name: string, path: string) => {
    const tool = path === '/all' ? `shop__${name}` : name;
    const _meta = { 'io.modelcontextprotocol/logLevel': 'debug' };
    const params = { name: tool, arguments: { text: SECRET }, _meta };
    return sendStateless(gateway, user, 'tools/call', params, path);
  };
  const servers = async () => {
    const backend = await startShop();
    const gateway = await start(
      { path: '/shop', name: 'Shop', backend: { url: backend.url }, ...PUBLIC },
      { path: '/all', merges: { shop: '/shop' } },
    );
    return { backend, gateway };
  };
  const initialized = ({ received }: TestBackend) =>
    received.map(({ body }) => JSON.parse(body || '{}')).filter(({ method }) => method === 'initialize');

  it.each(['/shop', '/all'])(
    'without a token: at %s, none of its callers learns anything of a call of another, or is asked',
    async (path) => {
      const { gateway, backend } = await servers();
      expect((await call(gateway, null, 'leave', path)).status).toBe(200);
      const text = await (await call(gateway, null, 'deliver', path)).text();
      expect(text).not.toContain(SECRET);
      expect(text).toContain('refused');
      // No capability of a client was declared to it.
      expect(initialized(backend).at(-1)?.params.capabilities).toEqual({});
    },
  );

  it.each(['/shop', '/all'])('with a token: at %s, its client is asked', async (path) => {
    const { gateway, backend } = await servers();
    const user = 'alice_app_shop.read_shop.write';
    await (await call(gateway, user, 'leave', path)).text();
    const { result } = await lastMessage(await call(gateway, user, 'deliver', path));
    expect(result).toMatchObject({ resultType: 'input_required' });
    expect(JSON.stringify(result)).toContain(SECRET);
    expect(initialized(backend).at(-1)).toMatchObject({ params: { capabilities: { elicitation: {} } } });
  });

  it('but for those of clients with sessions, each of which has one of its own: it is asked without a token', async () => {
    const { gateway } = await servers();
    const { call: run, post } = await startSession(gateway, null, '/shop');
    await run('leave', { text: SECRET });
    const text = await readUntil(await post(callOf('deliver')), 'elicitation/create');
    expect(text).toContain(SECRET);
  });
});
