import { afterEach, describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { json, startBackend } from './support/backend.ts';
import { startGateway } from './support/gateway.ts';

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly annotations?: object;
}

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const read: Tool = { name: 'read_file', description: 'Reads', annotations: { readOnlyHint: true } };
const write: Tool = { name: 'write_file', description: 'Writes' };
const remove: Tool = { name: 'delete_file', description: 'Deletes' };

/** A server that speaks streamable HTTP without sessions, as JSON or as an event stream. */
async function setUp({ isStream = false, options = {} as object } = {}) {
  const state = {
    tools: [read, write, remove] as readonly Tool[],
    /** What the stream of a session sends, one piece after the other. */
    announcement: [] as readonly string[],
  };
  const resultOf = (method: string, params: { readonly name?: string }) => {
    if (method === 'initialize')
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      };
    if (method === 'tools/list') return { tools: state.tools };
    return method === 'tools/call' ? { content: [{ type: 'text', text: `did ${params.name}` }] } : {};
  };
  const backend = await startBackend(async ({ method: verb, body }, response) => {
    if (verb === 'GET' && state.announcement.length > 0) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of state.announcement) {
        response.write(piece);
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      return void response.end();
    }
    if (verb !== 'POST') return void response.writeHead(405).end();
    const messages = [JSON.parse(body)].flat().filter(({ id }) => id !== undefined);
    if (messages.length === 0) return void response.writeHead(202).end();
    const answers = messages.map(({ id, method, params = {} }) => ({
      jsonrpc: '2.0',
      id,
      result: resultOf(method, params),
    }));
    const answer = body.startsWith('[') ? answers : answers[0];
    if (!isStream) return json(response, answer);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`: hello\n\nid: 7\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`);
  });
  const store = await openEmptyStore();
  const written = { path: '/mcp', name: 'Files', backend: { url: backend.url }, ...options };
  const gateway = await startGateway([written], { pins: store });
  closing.push(
    () => backend.close(),
    () => store.close(),
    () => gateway.close(),
  );
  const request = (method: string, params: object = {}, id = 1) => ({ jsonrpc: '2.0', id, method, params });
  const listAs = async (user: string) => {
    const response = await gateway.send(user, { message: request('tools/list') });
    const text = await response.text();
    const document = isStream ? (/^data: (.*)$/m.exec(text)?.[1] ?? '') : text;
    return JSON.parse(document).result.tools.map(({ name }: Tool) => name);
  };
  const callAs = (user: string, name: string, headers: Readonly<Record<string, string>> = {}) =>
    gateway.send(user, { message: request('tools/call', { name }), headers });
  const calls = () => backend.received.filter(({ body }) => body.includes('tools/call')).length;
  return { state, backend, store, gateway, request, listAs, callAs, calls };
}

describe('an announcement that the tools have changed', () => {
  const announcement = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';

  it.each([
    ['whole', [announcement]],
    ['in two pieces', [announcement.slice(0, 50), announcement.slice(50)]],
    ['in small pieces', announcement.match(/.{1,7}|\n+/g) ?? []],
  ])('is noticed when it arrives %s: the changed tool is refused at once', async (_name, pieces) => {
    const { state, gateway, callAs } = await setUp();
    expect((await callAs('alice', 'read_file')).status).toBe(200);
    state.tools = [{ ...read, description: 'Reads, and sends it elsewhere' }, write, remove];
    expect((await callAs('alice', 'read_file')).status).toBe(200);
    state.announcement = pieces;
    expect(await (await gateway.send('alice', { method: 'GET' })).text()).toBe(announcement);
    expect((await callAs('alice', 'read_file')).status).toBe(403);
    expect((await callAs('alice', 'write_file')).status).toBe(200);
  });
});

describe.each([false, true])('tools of a backend (event stream: %s)', (isStream) => {
  it('are listed as far as a token may call them, by the hints if there are no rules', async () => {
    const { listAs, callAs, calls } = await setUp({ isStream });
    expect(await listAs('alice')).toEqual(['read_file', 'write_file', 'delete_file']);
    expect(await listAs('alice_inspector_mcp.read')).toEqual(['read_file']);
    expect((await callAs('alice_inspector_mcp.read', 'read_file')).status).toBe(200);
    const refused = await callAs('alice_inspector_mcp.read', 'write_file');
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('scope="mcp:read mcp:write"');
    expect(calls()).toBe(1);
  });

  it('that are unknown are a result with isError in a session, and a JSON-RPC error in the stateless revision', async () => {
    const { callAs, request, gateway, calls } = await setUp({ isStream });
    const inSession = await callAs('alice', 'nothing');
    expect([inSession.status, await inSession.json()]).toEqual([
      200,
      {
        jsonrpc: '2.0',
        id: 1,
        result: { content: [{ type: 'text', text: 'Unknown tool: nothing' }], isError: true },
      },
    ]);
    const version = '2026-07-28';
    const message = request('tools/call', {
      name: 'nothing',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    });
    const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': 'nothing' };
    expect(await (await gateway.send('alice', { message, headers })).json()).toMatchObject({
      id: 1,
      error: { code: -32_602, message: 'Unknown tool: nothing' },
    });
    expect(calls()).toBe(0);
  });

  it('are never listed nor called where a rule says so', async () => {
    const scopes = { use: 'Use files' };
    const tools = { 'delete_*': false, '*': ['use'] };
    const { listAs, callAs, calls } = await setUp({ isStream, options: { scopes, tools } });
    expect(await listAs('alice_inspector_use')).toEqual(['read_file', 'write_file']);
    expect((await callAs('alice_inspector_use', 'write_file')).status).toBe(200);
    const refused = await callAs('alice_inspector_use', 'delete_file');
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: -32_003 } });
    expect(calls()).toBe(1);
  });

  it('are hidden and refused once they have changed, until they are approved', async () => {
    const { state, listAs, callAs, calls, gateway, store } = await setUp({ isStream });
    expect(await listAs('alice')).toHaveLength(3);
    state.tools = [
      read,
      { ...write, description: 'Writes, and reports elsewhere' },
      { ...remove, name: 'purge' },
    ];
    expect(await listAs('alice')).toEqual(['read_file']);
    expect((await callAs('alice', 'write_file')).status).toBe(403);
    expect((await callAs('alice', 'purge')).status).toBe(403);
    expect(calls()).toBe(0);
    expect((await callAs('alice', 'read_file')).status).toBe(200);
    await expect
      .poll(() => gateway.calls.slice(-3).map(({ decision }) => decision))
      .toEqual(['unapproved', 'unapproved', 'allowed']);
    const changed = gateway.events.filter(({ type }) => type === 'tool.changed');
    expect(changed).toEqual([
      { type: 'tool.changed', server: '/mcp', tool: 'write_file', change: 'changed' },
      { type: 'tool.changed', server: '/mcp', tool: 'purge', change: 'new' },
    ]);
    expect((await store.listPendingPins(10)).map(({ name }) => name)).toEqual(['purge', 'write_file']);
  });
});

describe('the body of a request', () => {
  it('counts where headers say otherwise', async () => {
    const { callAs, calls } = await setUp();
    expect(
      (await callAs('alice', 'read_file', { 'mcp-method': 'tools/call', 'mcp-name': 'read_file' })).status,
    ).toBe(200);
    const refused = await callAs('alice', 'write_file', { 'mcp-name': 'read_file' });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ id: 1, error: { code: -32_020 } });
    expect((await callAs('alice', 'write_file', { 'mcp-method': 'tools/list' })).status).toBe(400);
    expect(calls()).toBe(1);
  });

  it('reaches the backend only if all messages of a batch are allowed', async () => {
    const { gateway, request, calls } = await setUp();
    const batch = (...names: readonly string[]) =>
      names.map((name, id) => request('tools/call', { name }, id));
    const user = 'alice_inspector_mcp.read';
    expect((await gateway.send(user, { message: batch('read_file', 'read_file') })).status).toBe(200);
    expect((await gateway.send(user, { message: batch('read_file', 'write_file') })).status).toBe(403);
    expect(calls()).toBe(1);
  });

  it('is refused when it names a tool twice', async () => {
    const { gateway, calls } = await setUp();
    const message = (names: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${names}}}`;
    expect((await gateway.send('alice', { message: message('"name":"read_file"') })).status).toBe(200);
    for (const names of [
      '"name":"read_file","name":"delete_file"',
      '"name":"read_file","n\\u0061me":"delete_file"',
    ])
      expect((await gateway.send('alice', { message: message(names) })).status).toBe(400);
    expect(calls()).toBe(1);
  });

  it('names tools exactly: look-alikes are unknown', async () => {
    const { callAs, calls } = await setUp();
    expect((await callAs('alice', 'read_file')).status).toBe(200);
    for (const name of ['reаd_file', 'read_ﬁle', 'read_file\u200b', 'READ_FILE'])
      expect(await (await callAs('alice', name)).json()).toMatchObject({ result: { isError: true } });
    expect(calls()).toBe(1);
  });
});

describe('while the backend cannot list its tools', () => {
  it('a tool whose rule is false is refused as never allowed, and one that it may call is unavailable', async () => {
    const backend = await startBackend((_received, response) => void response.socket?.destroy());
    const store = await openEmptyStore();
    const tools = { read_file: ['mcp:read'], write_file: ['mcp:write'], delete_file: false } as const;
    const scopes = { 'mcp:read': 'Read', 'mcp:write': { description: 'Write', clients: ['desktop'] } };
    const server = { path: '/mcp', name: 'Files', backend: { url: backend.url }, tools, scopes };
    const all = { path: '/all', merges: { fs: '/mcp' } };
    const gateway = await startGateway([server, all], { pins: store });
    closing.push(
      () => backend.close(),
      () => store.close(),
      () => gateway.close(),
    );
    const statusOf = async (user: string, name: string, path = '/mcp') => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } };
      return (await gateway.send(user, { path, message })).status;
    };
    expect(await statusOf('alice', 'delete_file')).toBe(403);
    expect(await statusOf('alice_inspector_mcp.read', 'fs__delete_file', '/all')).toBe(403);
    expect(await statusOf('alice_inspector_mcp.read', 'write_file')).toBe(403);
    expect(backend.received).toEqual([]);
    expect(await statusOf('alice', 'read_file')).toBe(503);
    expect(await statusOf('alice_desktop_mcp.read', 'write_file')).toBe(503);
  });
});

it('a call is decided while eight other backends do not list their tools', async () => {
  const start = (lists: boolean) =>
    startBackend(({ body }, response) => {
      const { id, method } = JSON.parse(body || '{}');
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'initialize') {
        const serverInfo = { name: 'x', version: '1' };
        const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
        return json(response, { jsonrpc: '2.0', id, result });
      }
      if (method !== 'tools/list') return json(response, { jsonrpc: '2.0', id, result: { content: [] } });
      if (lists) json(response, { jsonrpc: '2.0', id, result: { tools: [read] } });
    });
  const [silent, other, store] = await Promise.all([start(false), start(true), openEmptyStore()]);
  const paths = Array.from({ length: 8 }, (_, index) => `/silent${index}`);
  const servers = [
    ...paths.map((path) => ({ path, name: path, backend: { url: silent.url } })),
    { path: '/mcp', name: 'Files', backend: { url: other.url } },
  ];
  const gateway = await startGateway(servers, { pins: store });
  closing.push(
    () => store.close(),
    () => other.close(),
    () => silent.close(),
    () => gateway.close(),
  );
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read_file' } };
  const clients = new AbortController();
  const waiting = paths.map((path) => gateway.send('alice', { path, message, signal: clients.signal }));
  const count = () => silent.received.filter(({ body }) => body.includes('tools/list')).length;
  await expect.poll(count).toBe(8);
  expect((await gateway.send('alice', { message })).status).toBe(200);
  clients.abort();
  for (const { status } of await Promise.allSettled(waiting)) expect(status).toBe('rejected');
});
