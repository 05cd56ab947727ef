/** Errors of backends with sessions, as clients of revision 2026-07-28 know them. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { json, startBackend } from './support/backend.ts';
import { lastMessage, sendStateless, startSession } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

/** A server of 2025-11-25 whose calls fail with the error in their arguments, unless its user has opened the URL. */
async function start() {
  const state = { isOpened: false };
  const backend = await startBackend(({ method: verb, body }, response) => {
    if (verb !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body || '{}');
    if (method === 'server/discover') return void response.writeHead(400).end();
    if (id === undefined) return void response.writeHead(202).end();
    const capabilities = { tools: {} };
    const own = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'x', version: '1' } };
    const results = { initialize: own, 'tools/list': { tools: [] } };
    const result = results[method as keyof typeof results] ?? { content: [{ type: 'text', text: 'done' }] };
    const { arguments: { notifications } = {}, _meta = {} } = params ?? {};
    if (notifications !== undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const message of [...notifications, { id, result }])
        response.write(
          `data: ${JSON.stringify({ jsonrpc: '2.0', ...message }).replace('"own"', JSON.stringify(_meta.progressToken))}\n\n`,
        );
      return void response.end();
    }
    const error = state.isOpened ? undefined : params?.arguments?.error;
    const headers = { ...(method === 'initialize' && { 'mcp-session-id': 'own' }) };
    json(response, { jsonrpc: '2.0', id, ...(error === undefined ? { result } : { error }) }, headers);
  });
  onTestFinished(() => backend.close());
  const gateway = await startGateway([{ path: '/mcp', backend: { url: backend.url }, review: 'auto' }]);
  onTestFinished(() => gateway.close());
  const call = async (error: object, capabilities: object = {}, more: object = {}) => {
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
    const params = { name: 'pay', arguments: { error }, ...more, _meta };
    const response = await sendStateless(gateway, 'alice', 'tools/call', params);
    return [response.status, await response.json()];
  };
  return { state, backend, gateway, call };
}

const elicitation = {
  mode: 'url',
  elicitationId: '7',
  url: 'https://pay.example/1',
  message: 'Confirm the payment',
};
const required = {
  code: -32_042,
  message: 'A confirmation is needed',
  data: { elicitations: [elicitation] },
};
const withUrls = { elicitation: { form: {}, url: {} } };

describe('a URL that a user has to open before a call', () => {
  it('is opened by a client of the official SDK, whose call then succeeds', async () => {
    const { state, gateway } = await start();
    const client = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: { elicitation: { url: {} } } },
    );
    const asked: unknown[] = [];
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params);
      state.isOpened = true;
      return { action: 'accept' };
    });
    const requestInit = { headers: { authorization: 'Bearer alice' } };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`), { requestInit }),
    );
    onTestFinished(() => client.close());
    const result = await client.callTool({ name: 'pay', arguments: { error: required } });
    expect(result).toMatchObject({ content: [{ text: 'done' }] });
    const { url, message } = elicitation;
    expect(asked).toEqual([{ mode: 'url', url, message }]);
  });

  it('is asked for again as long as it was not opened, and not after the user has declined', async () => {
    const { call } = await start();
    const { url, message } = elicitation;
    const params = { mode: 'url', url, message };
    const input = { open0: { method: 'elicitation/create', params } };
    const asked = [200, { result: { resultType: 'input_required', inputRequests: input } }];
    expect(await call(required, withUrls)).toMatchObject(asked);
    const retry = (action: string) => call(required, withUrls, { inputResponses: { open0: { action } } });
    expect(await retry('accept')).toMatchObject(asked);
    for (const action of ['decline', 'cancel'])
      expect(await retry(action)).toMatchObject([200, { error: { ...required, code: -32_603 } }]);
  });

  it('is a missing capability of a client that opens none', async () => {
    const { call } = await start();
    const data = { requiredCapabilities: { elicitation: { url: {} } } };
    const error = { code: -32_021, message: required.message, data };
    for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }])
      expect(await call(required, capabilities)).toMatchObject([400, { error }]);
  });

  it('is an error where the backend names none', async () => {
    const { call } = await start();
    for (const data of [undefined, {}, { elicitations: ['?', { url: 5 }] }])
      expect(await call({ ...required, data }, withUrls)).toMatchObject([200, { error: { code: -32_603 } }]);
  });
});

it.each([
  [-32_002, -32_602],
  [-32_020, -32_603],
  [-32_022, -32_603],
  [-32_050, -32_603],
  [-32_000, -32_000],
  [-32_602, -32_602],
  [-31_000, -31_000],
])(
  'the error %i of a backend with sessions is %i for a client of 2026-07-28 alone',
  async (code, expected) => {
    const { call, gateway } = await start();
    const error = { code, message: 'It failed', data: { reason: 'x' } };
    expect(await call(error)).toMatchObject([200, { error: { ...error, code: expected } }]);
    const { post } = await startSession(gateway, 'alice');
    const params = { name: 'pay', arguments: { error } };
    const inSession = await post({ jsonrpc: '2.0', id: 5, method: 'tools/call', params });
    expect(await inSession.json()).toMatchObject({ error });
  },
);

it('a client of 2026-07-28 receives the progress of a call, and no notification about an elicitation or task of a session', async () => {
  const { gateway } = await start();
  const progress = { method: 'notifications/progress', params: { progressToken: 'own', progress: 1 } };
  const elicited = { method: 'notifications/elicitation/complete', params: { elicitationId: '7' } };
  const status = { method: 'notifications/tasks/status', params: { taskId: 't', status: 'working' } };
  const input = { name: 'pay', arguments: { notifications: [elicited, status, progress] } };
  const received = async (response: Response) =>
    [...(await response.text()).matchAll(/"method":"([^"]+)"/g)].map(([, method]) => method);
  const _meta = { progressToken: 'p' };
  const stateless = await sendStateless(gateway, 'alice', 'tools/call', { ...input, _meta });
  expect(await received(stateless)).toEqual([progress.method]);
  const { post } = await startSession(gateway, 'alice');
  const inSession = await post({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { ...input, _meta } });
  expect(await received(inSession)).toEqual([elicited.method, status.method, progress.method]);
});

describe('an HTTP error of a backend, where the gateway translates', () => {
  /** A server that responds to calls with the HTTP status in their arguments. */
  async function startFailing(isStateless: boolean) {
    const backend = await startBackend(({ method: verb, body }, response) => {
      if (verb !== 'POST') return void response.writeHead(405).end();
      const { id, method, params } = JSON.parse(body || '{}');
      if (method === (isStateless ? 'initialize' : 'server/discover'))
        return void response.writeHead(400).end();
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'tools/call') return void response.writeHead(params.arguments.status).end();
      const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
      const result = isStateless
        ? discovered
        : {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 'x', version: '1' },
          };
      json(response, { jsonrpc: '2.0', id, result: method === 'tools/list' ? { tools: [] } : result });
    });
    onTestFinished(() => backend.close());
    const gateway = await startGateway([{ path: '/mcp', backend: { url: backend.url }, review: 'auto' }]);
    onTestFinished(() => gateway.close());
    return gateway;
  }

  it.each([
    ['a session', true],
    ['a client of revision 2026-07-28', false],
  ])('is a 502 without Retry-After for %s if it is permanent', async (_client, isStateless) => {
    const gateway = await startFailing(isStateless);
    const { post } = await startSession(gateway, 'alice');
    const call = async (status: number) => {
      const params = { name: 'pay', arguments: { status } };
      const response = isStateless
        ? await post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
        : await sendStateless(gateway, 'alice', 'tools/call', params);
      const { error } = await lastMessage(response);
      expect(error).toMatchObject({ code: -32_000, message: expect.stringContaining(String(status)) });
      return [response.status, response.headers.get('retry-after')];
    };
    for (const status of [400, 413, 422, 431])
      expect([status, await call(status)]).toEqual([status, [502, null]]);
    for (const status of [408, 429, 503]) expect([status, await call(status)]).toEqual([status, [503, '5']]);
  });
});
