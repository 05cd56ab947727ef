/** Log levels and subscriptions where the gateway translates: unknown levels are refused, and what a server does not declare. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend } from './support/backend.ts';
import { lastMessage, sendStateless, startSession, textOf } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const LEVEL = 'io.modelcontextprotocol/logLevel';

async function start(...servers: object[]) {
  const gateway = await startGateway(servers as GatewayServerOptions[]);
  onTestFinished(() => gateway.close());
  return gateway;
}

async function errorOf(response: Response): Promise<unknown> {
  return (await lastMessage(response))['error'];
}

/** A client with a session at a backend of revision 2026-07-28 with these capabilities. */
async function startAtStateless(capabilities: object) {
  const backend = await startBackend(({ body }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities }
        : method === 'tools/call'
          ? { content: [] }
          : { tools: [{ name: 'act', inputSchema: { type: 'object' } }] };
    if (method === 'initialize') response.writeHead(400).end();
    else json(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } });
  });
  onTestFinished(() => backend.close());
  const gateway = await start({ path: '/mcp', backend: { url: backend.url } });
  const { post } = await startSession(gateway, 'alice');
  const ask = async (method: string, params: object) =>
    lastMessage(await post({ jsonrpc: '2.0', id: 5, method, params }));
  /** The log level that each call named at the backend. */
  const levels = () =>
    backend.received
      .filter(({ headers }) => headers['mcp-method'] === 'tools/call')
      .map(({ body }) => JSON.parse(body).params['_meta'][LEVEL]);
  return { ask, levels };
}

describe('a log level', () => {
  it('of a stateless request is refused if it does not exist, and the call does not reach the process', async () => {
    const gateway = await start({ path: '/mcp', backend: { command: TINY } });
    const call = (level: unknown, name = 'level') =>
      sendStateless(gateway, 'alice', 'tools/call', { name, arguments: {}, _meta: { [LEVEL]: level } });
    expect(await textOf(await call('error'))).toBe('error');
    for (const level of ['zzz', 'ERROR', 3, null]) {
      const response = await call(level, 'log');
      expect([response.status, await errorOf(response)]).toMatchObject([400, { code: -32_602 }]);
    }
    expect(gateway.events.filter(({ line }) => String(line).includes('of the server'))).toEqual([]);
    expect(await textOf(await call('debug'))).toBe('debug');
  });

  it('of a session at a stateless backend is named in its requests if it exists', async () => {
    const { ask, levels } = await startAtStateless({ tools: {}, logging: {} });
    expect(await ask('logging/setLevel', { level: 'info' })).toMatchObject({ result: {} });
    expect(await ask('logging/setLevel', { level: 'zzz' })).toMatchObject({ error: { code: -32_602 } });
    await ask('tools/call', { name: 'act' });
    expect(levels()).toEqual(['info']);
  });

  it('of a merged server is refused if it does not exist, and its parts keep theirs', async () => {
    const gateway = await start(
      { path: '/tiny', name: 'Tiny', backend: { command: TINY } },
      { path: '/all', name: 'All', merges: { tiny: '/tiny' } },
    );
    const { post, call } = await startSession(gateway, 'alice_inspector_tiny.read_tiny.write', '/all');
    const set = async (level: string) =>
      lastMessage(await post({ jsonrpc: '2.0', id: 5, method: 'logging/setLevel', params: { level } }));
    expect(await call('tiny__level')).toBe('warning');
    expect(await set('error')).toMatchObject({ result: {} });
    expect(await set('zzz')).toMatchObject({ error: { code: -32_602 } });
    expect(await call('tiny__level')).toBe('error');
  });
});

describe('a session at a stateless backend', () => {
  it('has no log level and no subscriptions if the backend declares none', async () => {
    const { ask, levels } = await startAtStateless({ tools: {}, resources: { listChanged: true } });
    for (const [method, params] of [
      ['logging/setLevel', { level: 'info' }],
      ['resources/subscribe', { uri: 'r://a' }],
      ['resources/unsubscribe', { uri: 'r://a' }],
    ] as const)
      expect(await ask(method, params)).toMatchObject({ error: { code: -32_601 } });
    await ask('tools/call', { name: 'act' });
    expect(levels()).toEqual([undefined]);
  });

  it('has subscriptions if the backend declares them', async () => {
    const { ask } = await startAtStateless({ tools: {}, resources: { subscribe: true } });
    for (const method of ['resources/subscribe', 'resources/unsubscribe'])
      expect(await ask(method, { uri: 'r://a' })).toMatchObject({ result: {} });
  });
});

describe('the subscriptions of a session', () => {
  const subscriptionTo = (uri: string, id: number, method = 'resources/subscribe') => ({
    ...{ jsonrpc: '2.0', id, method },
    params: { uri },
  });

  it('are 500 at most, and reach the process no more', async () => {
    const gateway = await start({ path: '/mcp', backend: { command: TINY } });
    const { post, call } = await startSession(gateway, 'alice', '/mcp', { protocolVersion: '2025-03-26' });
    const failuresOf = async (response: Response) =>
      (await response.text()).match(/too many subscriptions/g)?.length;
    const many = Array.from({ length: 600 }, (_, id) => subscriptionTo(`r://${id}`, id));
    expect(await failuresOf(await post(many))).toBe(100);
    expect((await call('subscribed')).split(',')).toHaveLength(500);
    expect(await failuresOf(await post(many.slice(0, 500)))).toBe(undefined);
    expect(await failuresOf(await post(subscriptionTo('r://0', 1, 'resources/unsubscribe')))).toBe(undefined);
    expect(await failuresOf(await post(many.slice(-2)))).toBe(1);
    expect((await call('subscribed')).split(',')).toContain('r://598');
  });

  it('have URIs of 128 KiB together', async () => {
    const gateway = await start({ path: '/mcp', backend: { command: TINY } });
    const { post } = await startSession(gateway, 'alice');
    const subscribe = async (name: string) =>
      lastMessage(await post(subscriptionTo(`r://${name.repeat(50_000)}`, 1)));
    for (const name of ['a', 'b']) expect(await subscribe(name)).toMatchObject({ result: {} });
    expect(await subscribe('c')).toMatchObject({ error: { code: -32_000 } });
  });
});
