/** Requests that name a revision in their body, at a backend over HTTP: no backend with sessions gets one. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { json, startBackend } from './support/backend.ts';
import { lastMessage, startSession } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const META = 'io.modelcontextprotocol/';

/**
 * @param isStateless whether the backend is of revision 2026-07-28, which answers for itself, or has sessions
 * @param failures how many times it cannot be initialized
 */
async function start(isStateless: boolean, failures = 0) {
  let failed = 0;
  const backend = await startBackend(({ body, headers }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    const own = { supportedVersions: ['2026-07-28', '2027-01-01'], capabilities: {} };
    if (isStateless && method === 'initialize') return void response.writeHead(400).end();
    if (isStateless) return json(response, { jsonrpc: '2.0', id, result: own });
    if (method === 'initialize' && failed < failures) {
      failed += 1;
      return json(response, { jsonrpc: '2.0', id, error: { code: -32_000, message: 'Warming up' } });
    }
    if (method === 'initialize') {
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x' } };
      return json(response, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': 'own' });
    }
    if (headers['mcp-session-id'] === 'own')
      return json(response, { jsonrpc: '2.0', id, result: { tools: [] } });
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end('{"jsonrpc":"2.0","error":{"code":-32000,"message":"Server not initialized"},"id":null}');
  });
  onTestFinished(() => backend.close());
  const gateway = await startGateway([{ path: '/mcp', name: 'Files', backend: { url: backend.url } }]);
  onTestFinished(() => gateway.close());
  const messageOf = (version: string) => ({
    ...{ jsonrpc: '2.0', id: 7, method: 'tools/list' },
    params: { _meta: { [`${META}protocolVersion`]: version, [`${META}clientCapabilities`]: {} } },
  });
  return {
    backend,
    gateway,
    messageOf,
    /** @param header `null`: not sent */
    list: async (version: string, header: string | null = version) => {
      const headers = {
        ...(header !== null && { 'mcp-protocol-version': header }),
        'mcp-method': 'tools/list',
      };
      const response = await gateway.send('alice', { message: messageOf(version), headers });
      return [response.status, await lastMessage(response)];
    },
    lists: () => backend.received.filter(({ body }) => body.includes('tools/list')).length,
  };
}

describe('a request that names its revision, at a backend with sessions', () => {
  it.each(['1900-01-01', '2027-01-01', '2025-11-25'])('gets the supported ones for %s', async (version) => {
    const { list, lists } = await start(false);
    const data = { supported: ['2026-07-28'], requested: version };
    expect(await list(version)).toMatchObject([400, { id: 7, error: { code: -32_022, data } }]);
    expect(lists()).toBe(0);
    expect(await list('2026-07-28')).toMatchObject([200, { id: 7, result: { tools: [] } }]);
  });

  it('is refused without the header that has to repeat it', async () => {
    const { list, lists } = await start(false);
    expect(await list('2026-07-28', null)).toMatchObject([400, { id: 7, error: { code: -32_020 } }]);
    expect(lists()).toBe(0);
  });

  it('is served once the backend, which could not be initialized before, can be', async () => {
    const { list } = await start(false, 1);
    expect(await list('2026-07-28')).toMatchObject([400, { error: { message: 'Server not initialized' } }]);
    expect(await list('2026-07-28')).toMatchObject([200, { id: 7, result: { tools: [] } }]);
  });

  it('is one of the session in a session', async () => {
    const { gateway, messageOf, lists } = await start(false);
    const { post } = await startSession(gateway, 'alice');
    expect((await post(messageOf('2025-11-25'))).status).toBe(200);
    expect(lists()).toBe(1);
  });
});

it('a revision that the gateway does not know is left to a backend of revision 2026-07-28', async () => {
  const { list, lists } = await start(true);
  expect(await list('2027-01-01')).toMatchObject([200, { result: { supportedVersions: expect.any(Array) } }]);
  expect(lists()).toBe(1);
});

it('an incomplete request of 2026-07-28 does not reach a backend of that revision', async () => {
  const { gateway, list, lists, messageOf } = await start(true);
  const version = '2026-07-28';
  expect(await list(version, null)).toMatchObject([400, { id: 7, error: { code: -32_020 } }]);
  const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' };
  const send = async (message: object, given: Readonly<Record<string, string>>) => {
    const response = await gateway.send('alice', { message, headers: given });
    return [response.status, await lastMessage(response)];
  };
  const message = messageOf(version);
  expect(await send(message, { 'mcp-protocol-version': version })).toMatchObject([
    400,
    { id: 7, error: { code: -32_020, message: 'The header Mcp-Method is missing.' } },
  ]);
  const { [`${META}clientCapabilities`]: _, ...others } = message.params._meta;
  for (const params of [{}, { _meta: others }])
    expect(await send({ ...message, params }, headers)).toMatchObject([
      400,
      { id: 7, error: { code: -32_602, message: expect.stringContaining('_meta lacks') } },
    ]);
  expect(lists()).toBe(0);
  expect(await send(message, headers)).toMatchObject([200, {}]);
  expect(lists()).toBe(1);
});
