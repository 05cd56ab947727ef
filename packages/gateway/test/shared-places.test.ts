/** Requests at once are counted by backend, whatever path they take to it. */
import { afterEach, expect, it } from 'vitest';
import { json, startBackend } from './support/backend.ts';
import { callOf, INITIALIZE, sendStateless, startSession } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'x', version: '1' },
};

/** A backend with sessions whose tool `hang` answers when it is told to. A user may have six of the eight places. */
async function setUp() {
  const hanging: (() => void)[] = [];
  const backend = await startBackend(({ method: verb, body }, response) => {
    if (verb !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'server/discover') return void response.writeHead(400).end();
    const answer = () => json(response, { jsonrpc: '2.0', id, result: { content: [] } });
    if (params?.name === 'hang') hanging.push(answer);
    else if (method === 'initialize') json(response, { jsonrpc: '2.0', id, result: INITIALIZED });
    else if (method === 'tools/list')
      json(response, { jsonrpc: '2.0', id, result: { tools: [{ name: 'a' }] } });
    else answer();
  });
  const gateway = await startGateway([
    {
      path: '/mcp',
      name: 'Files',
      backend: { url: backend.url },
      limits: { concurrency: 8, callsPerMinute: false },
    },
    { path: '/all', name: 'All', merges: { fs: '/mcp' } },
  ]);
  open.push(backend, gateway);
  return { gateway, hanging };
}

/** Every scope of the part. */
const ALICE = 'alice_inspector_mcp.read_mcp.write';

async function postTo(gateway: TestGateway, path: '/mcp' | '/all', user = ALICE) {
  if (path === '/mcp') return (name: string) => gateway.send(user, { message: callOf(name) });
  const { post } = await startSession(gateway, user, path);
  return (name: string) => post(callOf(`fs__${name}`));
}

it('calls at a merged server take the places of the part that they are for, and leave those of others', async () => {
  const { gateway, hanging } = await setUp();
  const [merged, direct] = [await postTo(gateway, '/all'), await postTo(gateway, '/mcp')];
  const bob = await postTo(gateway, '/all', ALICE.replace('alice', 'bob'));
  const waiting = Array.from({ length: 6 }, () => merged('hang'));
  await expect.poll(() => hanging.length).toBe(6);
  expect([(await direct('a')).status, (await merged('a')).status]).toEqual([429, 429]);
  expect((await bob('a')).status).toBe(200);
  expect(hanging).toHaveLength(6);
  for (const answer of hanging) answer();
  for (const response of await Promise.all(waiting)) expect(response.status).toBe(200);
  expect([(await direct('a')).status, (await merged('a')).status]).toEqual([200, 200]);
});

it('calls to a part take the places that calls at its merged server would take', async () => {
  const { gateway, hanging } = await setUp();
  const [merged, direct] = [await postTo(gateway, '/all'), await postTo(gateway, '/mcp')];
  const waiting = Array.from({ length: 6 }, () => direct('hang'));
  await expect.poll(() => hanging.length).toBe(6);
  const refused = await merged('a');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(await refused.text()).toContain('Too many requests to Files');
  for (const answer of hanging) answer();
  await Promise.all(waiting);
  expect((await merged('a')).status).toBe(200);
});

it('calls of another revision take the same places', async () => {
  const { gateway, hanging } = await setUp();
  const direct = await postTo(gateway, '/mcp');
  const waiting = Array.from({ length: 6 }, () =>
    sendStateless(gateway, ALICE, 'tools/call', { name: 'hang' }),
  );
  await expect.poll(() => hanging.length).toBe(6);
  expect((await direct('a')).status).toBe(429);
  for (const answer of hanging) answer();
  for (const response of await Promise.all(waiting)) expect(response.status).toBe(200);
  expect((await direct('a')).status).toBe(200);
});

it('a call takes its place until it is over, also after its client has gone, who may resume it', async () => {
  const limits = { concurrency: 2, callsPerMinute: false as const };
  const gateway = await startGateway([{ path: '/mcp', name: 'Tiny', backend: { command: TINY }, limits }]);
  open.push(gateway);
  const { session, post } = await startSession(gateway, 'alice');
  const client = new AbortController();
  const streamed = await post({ ...callOf('ask'), id: 7 }, client.signal);
  await streamed.body?.getReader().read();
  const connections = gateway.countConnections();
  client.abort();
  await expect.poll(() => gateway.countConnections()).toBeLessThan(connections);
  expect((await post(callOf('pid'))).status).toBe(429);
  const headers = { 'mcp-session-id': session };
  expect((await gateway.send('alice', { method: 'DELETE', headers })).status).toBe(200);
  await expect.poll(async () => (await gateway.send('alice', { message: INITIALIZE })).status).toBe(200);
});
