/** Public operations: what a client may do without a token, and that a token, its absence and its session never mix. */

import { request } from 'node:http';
import { loadConditions } from '@portcullis/policy';
import { afterEach, describe, expect, it } from 'vitest';
import { createCallAudit, createCredentialSource } from '../src/index.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend, type TestBackend } from './support/backend.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const TOOLS = ['search', 'write', 'wipe'].map((name) => ({ name, inputSchema: { type: 'object' } }));

/** A server with sessions; its tool `session` returns the session that the backend sees. */
async function startShop(): Promise<TestBackend> {
  let sessions = 0;
  const backend = await startBackend(({ method: verb, body, headers }, response) => {
    if (verb !== 'POST') return void response.writeHead(verb === 'DELETE' ? 200 : 405).end();
    const { id, method, params } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    const send = (result: unknown, more = {}) => json(response, { jsonrpc: '2.0', id, result }, more);
    if (method === 'initialize') {
      sessions += 1;
      const { protocolVersion } = params;
      const result = {
        protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'shop', version: '1' },
      };
      return send(result, { 'mcp-session-id': `backend-${sessions}` });
    }
    if (method === 'tools/list') return send({ tools: TOOLS });
    if (method === 'resources/list') return send({ resources: [{ uri: 'file:///a', name: 'a' }] });
    const text = `${params?.name} in ${headers['mcp-session-id']} by ${headers.authorization ?? 'none'}`;
    send(method === 'tools/call' ? { content: [{ type: 'text', text }] } : {});
  });
  closing.push(backend.close);
  return backend;
}

const SHOP = {
  path: '/mcp',
  name: 'Shop',
  scopes: { 'mcp:read': 'Read', 'mcp:write': 'Write' },
  tools: { search: { public: true }, write: ['mcp:write'], wipe: false },
  review: 'auto',
} as const;

async function behind(
  more: Readonly<Record<string, unknown>> = {},
  options: Parameters<typeof startGateway>[1] = {},
): Promise<{ readonly backend: TestBackend; readonly gateway: TestGateway }> {
  const backend = await startShop();
  const written = { ...SHOP, backend: { url: backend.url }, ...more } as GatewayServerOptions;
  const gateway = await startGateway([written], options);
  closing.push(gateway.close);
  return { backend, gateway };
}

const call = (name: string, given: unknown = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: given },
});
const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};

/** Opens a session; `null`: without a token. */
async function openSession(gateway: TestGateway, user: string | null, path = '/mcp') {
  const response = await gateway.send(user, { message: INITIALIZE, path });
  expect(response.status).toBe(200);
  const headers = {
    'mcp-session-id': response.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': '2025-11-25',
  };
  await response.text();
  const send = (as: string | null, message: unknown) => gateway.send(as, { message, headers, path });
  await send(user, { jsonrpc: '2.0', method: 'notifications/initialized' });
  return { headers, send };
}

async function textOf(response: Response): Promise<string> {
  const body = await response.text();
  const data = body.startsWith('{') ? body : (/^data: (.+)$/m.exec(body)?.[1] ?? '{}');
  const { result } = JSON.parse(data);
  return result?.content?.[0]?.text ?? JSON.stringify(result ?? JSON.parse(data));
}

describe('without a token', () => {
  it('a client initializes, sees the public tools, and calls one; no credential reaches the backend', async () => {
    const { gateway, backend } = await behind();
    const { send } = await openSession(gateway, null);
    expect((await send(null, { jsonrpc: '2.0', id: 3, method: 'ping' })).status).toBe(200);
    expect(JSON.parse(await textOf(await send(null, list))).tools).toMatchObject([{ name: 'search' }]);
    expect(await textOf(await send(null, call('search')))).toMatch(/^search in backend-\d by none$/);
    expect(backend.received.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });

  it.each([
    ['another tool', call('write')],
    ['a tool that is never allowed', call('wipe')],
    ['a tool that does not exist', call('none')],
    ['another list', { jsonrpc: '2.0', id: 7, method: 'resources/list' }],
    ['another method', { jsonrpc: '2.0', id: 7, method: 'logging/setLevel', params: { level: 'info' } }],
    ['an unknown method', { jsonrpc: '2.0', id: 7, method: 'x/y' }],
    ['a batch with a public and another tool', [call('search'), { ...call('write'), id: 8 }]],
    ['a batch with another and a public tool', [call('write'), { ...call('search'), id: 8 }]],
  ])('%s gets the challenge, and nothing reaches the backend', async (_what, message) => {
    const { gateway, backend } = await behind();
    const closed = await behind({ tools: { '*': ['mcp:read'] } });
    const response = await gateway.send(null, { message });
    const usual = await closed.gateway.send(null, { message });
    expect([response.status, usual.status]).toEqual([401, 401]);
    const challengeOf = ({ headers }: Response, { origin }: TestGateway) =>
      headers.get('www-authenticate')?.replaceAll(origin, '');
    expect(challengeOf(response, gateway)).toBe(challengeOf(usual, closed.gateway));
    expect(backend.received).toEqual([]);
    await expect.poll(() => gateway.calls.length).toBeGreaterThan(0);
    expect(gateway.calls).toMatchObject(
      gateway.calls.map(() => ({ decision: 'challenged', outcome: 'refused' })),
    );
  });

  it('nothing is served where no operation is public', async () => {
    const { gateway, backend } = await behind({ tools: { '*': ['mcp:read'] } });
    for (const message of [INITIALIZE, list, { jsonrpc: '2.0', id: 1, method: 'ping' }])
      expect((await gateway.send(null, { message })).status).toBe(401);
    expect(backend.received).toEqual([]);
  });

  it('a call is recorded with the site of its client, and no client', async () => {
    const { gateway } = await behind();
    await gateway.send(null, { message: call('search') });
    await expect.poll(() => gateway.calls.length).toBe(1);
    const [record] = gateway.calls;
    if (record === undefined) throw new Error('no call');
    const event = await new Promise((resolve) => createCallAudit(resolve).record(record));
    expect(event).toMatchObject({
      type: 'call.finished',
      site: '127.0.0.1',
      tool: 'search',
      decision: 'allowed',
    });
    expect(event).not.toHaveProperty('clientId');
    expect(event).not.toHaveProperty('accountId');
  });

  it('calls are limited by site, and those of a user apart from them', async () => {
    const { gateway } = await behind({ limits: { callsPerMinute: 1 } });
    const statusOf = async (user: string | null) =>
      (await gateway.send(user, { message: call('search') })).status;
    expect([await statusOf(null), await statusOf(null), await statusOf('alice')]).toEqual([200, 429, 200]);
  });

  it('a backend with credentials of users is reached with none, and one with a key of the gateway with that', async () => {
    const services = { connectedAccounts: new Proxy({}, { get: () => expect.unreachable() }) };
    const credentials = createCredentialSource(
      services as unknown as Parameters<typeof createCredentialSource>[0],
    );
    const credentialsOfServer = async (written: object) => {
      const backend = await startShop();
      const server = { ...SHOP, backend: { url: backend.url, credentials: written } };
      const gateway = await startGateway([server as GatewayServerOptions], { credentials });
      closing.push(gateway.close);
      return textOf(await gateway.send(null, { message: call('search') }));
    };
    expect(await credentialsOfServer({ as: 'user' })).toContain('by none');
    expect(await credentialsOfServer({ as: 'header', name: 'authorization', value: 'Key k' })).toContain(
      'by Key k',
    );
  });
});

describe('with a token', () => {
  it('an invalid one is refused, also for a public tool', async () => {
    const { gateway, backend } = await behind();
    expect((await gateway.send('alice@/other', { message: call('search') })).status).toBe(401);
    const basic = await gateway.send(null, {
      message: call('search'),
      headers: { authorization: 'Basic YTpi' },
    });
    expect(basic.status).toBe(401);
    expect(backend.received).toEqual([]);
  });

  it('a public tool needs no scope, and another one with too few scopes is refused as usual', async () => {
    const { gateway } = await behind();
    const reader = 'alice_client_mcp.read';
    expect((await gateway.send(reader, { message: call('search') })).status).toBe(200);
    const refused = await gateway.send(reader, { message: call('write') });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('www-authenticate')).toContain('insufficient_scope');
    expect((await gateway.send('alice', { message: call('write') })).status).toBe(200);
    expect((await gateway.send('alice', { message: call('wipe') })).status).toBe(403);
  });
});

describe('a session', () => {
  it('that was opened without a token is continued with one, in a session of the user at the backend', async () => {
    const { gateway } = await behind();
    const { send } = await openSession(gateway, null);
    const sessionOf = async (user: string | null, name: string) =>
      /backend-\d/.exec(await textOf(await send(user, call(name))))?.[0];
    const own = await sessionOf(null, 'search');
    expect((await send(null, call('write'))).status).toBe(401);
    const [alice, bob] = [await sessionOf('alice', 'write'), await sessionOf('bob', 'write')];
    expect(new Set([own, alice, bob]).size).toBe(3);
    expect(await sessionOf('alice', 'search')).toBe(alice);
    expect(await sessionOf(null, 'search')).toBe(own);
  });

  it('that was opened without a token is continued by its ID alone, at any network address, and by no other ID', async () => {
    const { gateway, backend } = await behind();
    const { headers } = await openSession(gateway, null);
    const { 'mcp-session-id': id } = headers;
    const statusOf = (session: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const sent = request(`${gateway.origin}/mcp`, {
          method: 'POST',
          localAddress: '127.0.0.2',
          headers: {
            ...{ ...headers, 'mcp-session-id': session },
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
        });
        sent.on('error', reject);
        sent.on('response', (response) => resolve(response.resume().statusCode));
        sent.end(JSON.stringify(call('search')));
      });
    const before = backend.received.length;
    const changed = `${id.slice(0, -4)}${id.slice(-4) === 'AAAA' ? 'BBBB' : 'AAAA'}`;
    expect([await statusOf(changed), await statusOf('backend-1')]).toEqual([404, 404]);
    expect(backend.received).toHaveLength(before);
    expect(await statusOf(id)).toBe(200);
  });

  it('that was opened with a token is never continued without one, nor by another user', async () => {
    const { gateway, backend } = await behind();
    const { send } = await openSession(gateway, 'alice');
    const before = backend.received.length;
    expect((await send(null, call('search'))).status).toBe(404);
    expect((await send('bob', call('search'))).status).toBe(404);
    expect(backend.received).toHaveLength(before);
    expect((await send('alice', call('search'))).status).toBe(200);
  });

  it('that a user deletes is no longer the session of that user, and remains that of the client without a token', async () => {
    const { gateway } = await behind();
    const { send, headers } = await openSession(gateway, null);
    await send('alice', call('search'));
    expect((await gateway.send('alice', { method: 'DELETE', headers })).status).toBeLessThan(300);
    expect((await send('alice', call('search'))).status).toBe(404);
    expect((await send(null, call('search'))).status).toBe(200);
  });
});

describe('public tools of other kinds of servers', () => {
  it('of a process: callers without a token share one, apart from those of users', async () => {
    const server = {
      path: '/mcp',
      backend: { command: TINY },
      tools: { pid: { public: true } },
      review: 'auto',
    };
    const gateway = await startGateway([server as unknown as GatewayServerOptions]);
    closing.push(gateway.close);
    const one = await openSession(gateway, null);
    const other = await openSession(gateway, null);
    const alice = await openSession(gateway, 'alice');
    const pid = await textOf(await one.send(null, call('pid')));
    expect(await textOf(await other.send(null, call('pid')))).toBe(pid);
    expect(await textOf(await alice.send('alice', call('pid')))).not.toBe(pid);
    expect((await one.send(null, call('cwd'))).status).toBe(401);
  });

  it('of a merged server: its lists contain what is public at its members, and nothing else is asked of them', async () => {
    const [shop, closed] = [await startShop(), await startShop()];
    const gateway = await startGateway([
      { ...SHOP, path: '/shop', backend: { url: shop.url } } as unknown as GatewayServerOptions,
      { path: '/closed', name: 'Closed', backend: { url: closed.url }, review: 'auto' },
      { path: '/mcp', merges: { shop: '/shop', closed: '/closed' } },
    ]);
    closing.push(gateway.close);
    const { send } = await openSession(gateway, null);
    expect(JSON.parse(await textOf(await send(null, list))).tools).toMatchObject([{ name: 'shop__search' }]);
    expect(await textOf(await send(null, call('shop__search')))).toContain('search in');
    for (const name of ['shop__write', 'closed__search'])
      expect((await send(null, call(name))).status, name).toBe(401);
    expect((await send(null, { jsonrpc: '2.0', id: 1, method: 'logging/setLevel' })).status).toBe(401);
    expect(closed.received).toEqual([]);
  });
});

describe('a public tool with a condition', () => {
  it('is allowed where it holds, and refused or challenged where it does not', async () => {
    const tools = {
      search: { public: true, when: 'call.arguments.limit <= 10' },
      write: { public: true, when: "user.id == 'alice'" },
    };
    const { gateway } = await behind({ tools }, { conditions: await loadConditions() });
    const statusOf = async (user: string | null, name: string, limit: number) =>
      (await gateway.send(user, { message: call(name, { limit }) })).status;
    expect(await statusOf(null, 'search', 10)).toBe(200);
    expect(await statusOf(null, 'search', 11)).toBe(403);
    expect(await statusOf(null, 'write', 1)).toBe(401);
    expect(await statusOf('alice', 'write', 1)).toBe(200);
    expect(await statusOf('bob', 'write', 1)).toBe(403);
  });
});
