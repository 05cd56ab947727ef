/** The stream that GET opens, and the session that DELETE ends: who may, and which changes of resources are reported. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createCallAudit } from '../src/index.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend } from './support/backend.ts';
import { callOf, INITIALIZE, startSession } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const RULES = {
  scopes: { 'mcp:read': 'Read', 'mcp:write': 'Write' },
  tools: { search: { public: true }, '*': ['mcp:write'] },
  resources: { 'secret://*': false, '*': ['mcp:read'] },
  review: 'auto',
};

const updated = (uri: string) => ({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri },
});
const EVENTS = [
  { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'payroll of ada' } },
  updated('secret://payroll'),
  updated('file:///public'),
];
const write = (response: ServerResponse, messages: readonly object[]) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [index, message] of messages.entries())
    response.write(`id: ${index}\ndata: ${JSON.stringify(message)}\n\n`);
  response.end();
};

/** A backend without sessions, unless its headers name one: it sends to every stream what concerns one of its users. */
async function behind(
  more: object = {},
  options: Parameters<typeof startGateway>[1] = {},
  headers: Readonly<Record<string, string>> = {},
) {
  const backend = await startBackend(({ method: verb, body }, response) => {
    if (verb === 'GET') return write(response, EVENTS);
    const { id, method } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    const { protocolVersion } = INITIALIZE.params;
    const initialized = { protocolVersion, capabilities: {}, serverInfo: { name: 'x', version: '1' } };
    const result = method === 'initialize' ? initialized : { content: [] };
    if (method === 'tools/call') return write(response, [...EVENTS, { jsonrpc: '2.0', id, result }]);
    json(response, { jsonrpc: '2.0', id, result }, method === 'initialize' ? headers : {});
  });
  closing.push(backend.close);
  const server = { path: '/mcp', backend: { url: backend.url }, ...RULES, ...more };
  const gateway = await startGateway([server as unknown as GatewayServerOptions], options);
  closing.push(gateway.close);
  return { backend, gateway };
}

async function eventOf(gateway: TestGateway) {
  const record = gateway.calls.at(-1);
  if (record === undefined) throw new Error('no call');
  return new Promise<object>((resolve) => createCallAudit(resolve).record(record));
}

async function openAnonymousSession(gateway: TestGateway) {
  const response = await gateway.send(null, { message: INITIALIZE });
  await response.text();
  return { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' };
}

describe('the stream of GET', () => {
  it('is not opened without a token beside public operations, and nothing reaches the backend', async () => {
    const { backend, gateway } = await behind();
    const refused = await gateway.send(null, { method: 'GET' });
    // Not a challenge: the client has nothing to sign in for.
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, DELETE']);
    expect(backend.received).toEqual([]);
    await expect.poll(() => gateway.calls.length).toBe(1);
    const reason = 'there is no token';
    expect(await eventOf(gateway)).toMatchObject({ method: 'GET', decision: 'denied', status: 405, reason });
    const allowed = await gateway.send('alice', { method: 'GET' });
    expect([allowed.status, await allowed.text()]).toEqual([200, expect.stringContaining('payroll of ada')]);
  });

  it('is not opened in a session without a token, where the backend has none', async () => {
    const { gateway } = await behind();
    const headers = await openAnonymousSession(gateway);
    const response = await gateway.send(null, { method: 'GET', headers });
    expect([response.status, await response.text()]).toEqual([405, expect.not.stringContaining('payroll')]);
    expect((await gateway.send(null, { message: callOf('search'), headers })).status).toBe(200);
  });

  it('is opened without a token where a rule makes it public', async () => {
    const { gateway } = await behind({ methods: { 'subscriptions/listen': { public: true } } });
    const response = await gateway.send(null, { method: 'GET' });
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining('payroll of ada'),
    ]);
  });

  it.each([
    ['of all methods, without its scope', { '*': ['mcp:write'] }, 'alice_app_mcp.read', 403],
    ['of all methods, with its scope', { '*': ['mcp:write'] }, 'alice_app_mcp.write', 200],
    ['of streams, without its scope', { 'subscriptions/listen': ['mcp:write'] }, 'alice_app_mcp.read', 403],
    ['that forbids streams', { 'subscriptions/listen': false }, 'alice', 405],
    ['that forbids all other methods', { 'tools/*': [], '*': false }, 'alice', 405],
    ['of other methods', { 'tools/*': ['mcp:write'] }, 'alice_app_mcp.read', 200],
  ])('is decided by the rule %s', async (_, methods, user, status) => {
    const { backend, gateway } = await behind({ methods });
    const response = await gateway.send(user, { method: 'GET' });
    expect(response.status).toBe(status);
    expect(backend.received.map(({ method }) => method)).toEqual(status === 200 ? ['GET'] : []);
    expect((await response.text()).includes('payroll')).toBe(status === 200);
    const challenge = response.headers.get('www-authenticate') ?? '';
    expect(challenge.includes('insufficient_scope')).toBe(status === 403);
  });
});

describe('a stream that responds to a call', () => {
  const idsIn = (text: string) => [...text.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => id);

  it('is resumed in a session without the rule for streams, and no other stream is', async () => {
    const shared = { masterKey: randomBytes(32), publicUrl: 'https://mcp.example' };
    const { backend, gateway: open } = await behind({}, shared, { 'mcp-session-id': 'mine' });
    const rules = { methods: { 'subscriptions/listen': false }, backend: { url: backend.url } };
    const { gateway } = await behind(rules, shared);
    const initialized = await gateway.send('alice', { message: INITIALIZE });
    const headers = { 'mcp-session-id': initialized.headers.get('mcp-session-id') ?? '' };
    const resume = (id: string, more: object) =>
      gateway.send('alice', { method: 'GET', headers: { ...more, 'last-event-id': id } });
    const ofGet = idsIn(await (await open.send('alice', { method: 'GET', headers })).text())[0] ?? '';
    const call = await gateway.send('alice', { message: callOf('other'), headers });
    const ofCall = idsIn(await call.text())[0] ?? '';
    const before = backend.received.length;
    expect((await resume(ofGet, headers)).status).toBe(405);
    expect((await resume(ofCall, {})).status).toBe(405);
    expect(backend.received).toHaveLength(before);
    expect((await resume(ofCall, headers)).status).toBe(200);
    const reached = { method: 'GET', headers: { 'last-event-id': '0', 'mcp-session-id': 'mine' } };
    expect(backend.received.at(-1)).toMatchObject(reached);
  });

  it('opens no stream of a backend without sessions that ignores the event', async () => {
    const { backend, gateway } = await behind();
    const text = await (await gateway.send(null, { message: callOf('search') })).text();
    const headers = { 'last-event-id': idsIn(text)[0] ?? '' };
    const before = backend.received.length;
    expect((await gateway.send(null, { method: 'GET', headers })).status).toBe(405);
    expect(backend.received).toHaveLength(before);
    const ofUser = await (await gateway.send('alice', { message: callOf('other') })).text();
    const own = { 'last-event-id': idsIn(ofUser)[0] ?? '' };
    expect((await gateway.send('alice', { method: 'GET', headers: own })).status).toBe(200);
  });

  it('is resumed in a session without a token, and the stream of the session is not opened by that', async () => {
    const tools = { progress: { public: true }, change: { public: true } };
    const server = { path: '/mcp', backend: { command: TINY }, review: 'auto', tools };
    const gateway = await startGateway([server as unknown as GatewayServerOptions]);
    closing.push(gateway.close);
    const headers = await openAnonymousSession(gateway);
    const message = callOf('progress', {}, { progressToken: 'mine' });
    const [first = '', ...others] = idsIn(await (await gateway.send(null, { message, headers })).text());
    expect(others.length).toBeGreaterThan(1);
    await (await gateway.send(null, { message: callOf('change'), headers })).text();
    const resumed = await gateway.send(null, {
      method: 'GET',
      headers: { ...headers, 'last-event-id': first },
    });
    const text = await resumed.text();
    expect([resumed.status, text]).toEqual([200, expect.stringContaining('"text":"done"')]);
    expect(text).not.toContain('list_changed');
    const unknown = { ...headers, 'last-event-id': 'unknown' };
    for (const refused of [headers, unknown])
      expect((await gateway.send(null, { method: 'GET', headers: refused })).status).toBe(405);
  });
});

describe('DELETE', () => {
  it.each([null, 'alice'])(
    'without a session is refused, and nothing reaches the backend: %s',
    async (user) => {
      const { backend, gateway } = await behind();
      expect((await gateway.send(user, { method: 'DELETE' })).status).toBe(405);
      expect(backend.received).toEqual([]);
    },
  );

  it('ends a session that was opened without a token', async () => {
    const { gateway } = await behind();
    const headers = await openAnonymousSession(gateway);
    expect((await gateway.send(null, { method: 'DELETE', headers })).status).toBe(200);
    expect((await gateway.send(null, { message: callOf('search'), headers })).status).toBe(404);
  });
});

describe('the change of a resource', () => {
  it.each([
    ['the stream of GET', 'alice', { method: 'GET' }],
    ['the response to a call', 'alice', { message: callOf('other') }],
    ['the response to a public call', null, { message: callOf('search') }],
  ])('that the rules hide is left out of %s, with its event ID retained', async (_, user, init) => {
    const { gateway } = await behind();
    const text = await (await gateway.send(user, init)).text();
    expect(text).not.toContain('secret://payroll');
    expect(text).toContain('payroll of ada');
    expect(text.includes('file:///public')).toBe(user !== null);
    expect(text.match(/^id: /gm)).toHaveLength(user === null ? 4 : 'message' in init ? 4 : 3);
  });

  it.each(['\\/updated', '\\u002fupdated', '\\u002Fupdated', '/\\u0075pdated'])(
    'is left out where its method has an escape: %s',
    async (ending) => {
      const method = `notifications/resources${ending}`;
      const backend = await startBackend((_received, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const uri of ['secret://payroll', 'file:///public'])
          response.write(`data: {"jsonrpc":"2.0","method":"${method}","params":{"uri":"${uri}"}}\n\n`);
        response.end();
      });
      closing.push(backend.close);
      const server = { path: '/mcp', backend: { url: backend.url }, ...RULES };
      const gateway = await startGateway([server as unknown as GatewayServerOptions]);
      closing.push(gateway.close);
      const text = await (await gateway.send('alice', { method: 'GET' })).text();
      expect(text).not.toContain('secret://payroll');
      expect(text).toContain('file:///public');
    },
  );

  it('is left out of a batch, which keeps its other messages', async () => {
    const backend = await startBackend((_received, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify(EVENTS)}\n\n`);
    });
    closing.push(backend.close);
    const server = { path: '/mcp', backend: { url: backend.url }, ...RULES };
    const gateway = await startGateway([server as unknown as GatewayServerOptions]);
    closing.push(gateway.close);
    const text = await (await gateway.send('alice', { method: 'GET' })).text();
    expect(JSON.parse(text.slice('data: '.length))).toEqual([EVENTS[0], EVENTS[2]]);
  });

  const tiny = {
    path: '/tiny',
    backend: { command: TINY },
    review: 'auto',
    tools: {},
    resources: { 'file:///a/secret': false, '*': [] },
  } as unknown as GatewayServerOptions;

  it.each([
    ['of a process', '/tiny', '', 'touch'],
    ['of a merged server', '/mcp', 'tiny+', 'tiny__touch'],
  ])(
    'below one that is subscribed, which the rules hide, is left out of the stream %s',
    async (_, path, prefix, tool) => {
      const gateway = await startGateway([
        { ...tiny, tools: { '*': [] } },
        { path: '/mcp', merges: { tiny: '/tiny' } },
      ]);
      closing.push(gateway.close);
      const { session, post, call } = await startSession(gateway, 'alice', path);
      const subscribe = {
        jsonrpc: '2.0',
        id: 9,
        method: 'resources/subscribe',
        params: { uri: `${prefix}file:///a` },
      };
      expect((await post(subscribe)).status).toBe(200);
      const headers = { 'mcp-session-id': session };
      const stream = await gateway.send('alice', { path, method: 'GET', headers });
      for (const uri of ['file:///a/secret', 'file:///a/open']) await call(tool, { uri });
      let text = '';
      for await (const chunk of stream.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (text.includes('open')) break;
      }
      expect(text).toContain(`${prefix}file:///a/open`);
      expect(text).not.toContain('secret');
    },
  );
});
