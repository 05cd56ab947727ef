/** Task ids, request states and ids of questions: the client sees them sealed, the backend as it issued them, and no other user can use them. */
import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend, type TestBackend } from './support/backend.ts';
import { callOf, INITIALIZE, lastMessage, type SessionClient, startSession } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const TASK = 'task-786512e2';
/** Backends count. */
const SERVER_REQUEST = 9;
const STATE = '{"step":1}';
/** Resembles a state that the gateway issues. */
const OPEN_STATE = 'open {"name":"own"}';
const RELATED = 'io.modelcontextprotocol/related-task';
const STATELESS = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

type Json = Readonly<Record<string, unknown>>;

const task = { taskId: TASK, status: 'working', ttl: 60_000 };

/** What the backend answers with, by method; a list is a stream of messages. */
function answerTo({ method, params }: Json): Json | readonly Json[] {
  const name = (params as { readonly name?: unknown } | undefined)?.name;
  switch (method) {
    case 'tools/call':
      if (name === 'ask') return { resultType: 'input_required', inputRequests: {}, requestState: STATE };
      if (name === 'open')
        return { resultType: 'input_required', inputRequests: {}, requestState: OPEN_STATE };
      if (name === 'own') return { content: [], structuredContent: { taskId: TASK } };
      if (name === 'stream')
        return [
          { method: 'notifications/tasks/status', params: task },
          { method: 'notifications/message', params: { data: 'x', _meta: { [RELATED]: { taskId: TASK } } } },
          { id: SERVER_REQUEST, method: 'tasks/get', params: { taskId: 'the-client-issued-this' } },
          { method: 'notifications/cancelled', params: { requestId: SERVER_REQUEST } },
          { id: 1, result: { task } },
        ];
      return { task };
    case 'tasks/list':
      return { tasks: [task, { ...task, taskId: 'another' }] };
    case 'tasks/result':
      return {
        content: [{ type: 'text', text: `"taskId":"${TASK}"` }],
        _meta: { [RELATED]: { taskId: TASK } },
      };
    default:
      return task;
  }
}

async function start(
  limits: Json = {},
): Promise<{ readonly backend: TestBackend; readonly gateway: TestGateway }> {
  const backend = await startBackend(({ body }, response) => {
    const request = JSON.parse(body || '{}') as Json;
    if (request['id'] === undefined || request['method'] === undefined)
      return void response.writeHead(202).end();
    const answer = answerTo(request);
    if (!Array.isArray(answer)) return json(response, { jsonrpc: '2.0', id: request['id'], result: answer });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const text = answer.map((one) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...one })}\n\n`).join('');
    // In the middle of an id.
    const cut = text.indexOf(TASK) + 3;
    response.write(text.slice(0, cut));
    setTimeout(() => response.end(text.slice(cut)), 20);
  });
  const gateway = await startGateway(
    ['/mcp', '/other'].map((path) => ({ path, backend: { url: backend.url }, limits })),
  );
  open.push(backend, gateway);
  return { backend, gateway };
}

/** Requests input for each resource that is read. */
function startStatelessBackend(): Promise<TestBackend> {
  const discovered = { supportedVersions: ['2026-07-28'], capabilities: { resources: {}, tools: {} } };
  const resultOf = ({ method, params }: Json): Json => {
    if (method === 'server/discover') return discovered;
    if (method !== 'resources/read') return { tools: [] };
    const { uri, requestState } = params as Json;
    if (requestState !== undefined) return { contents: [{ uri, text: requestState }] };
    const form = { message: 'x', requestedSchema: { type: 'object', properties: {} } };
    const inputRequests = { form: { method: 'elicitation/create', params: form } };
    return { resultType: 'input_required', inputRequests, requestState: STATE };
  };
  return startBackend(({ body }, response) => {
    const { id, ...received } = JSON.parse(body || '{}') as Json;
    const result = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...resultOf(received) };
    json(response, { jsonrpc: '2.0', id, result });
  });
}

const request = (method: string, params: Json = {}): Json => ({ jsonrpc: '2.0', id: 1, method, params });
const callFor = (name: string, more: Json = {}): Json =>
  request('tools/call', { name, arguments: {}, ...more });
const asTask = callFor('slow', { task: { ttl: 60_000 } });

async function ask(
  { gateway }: { readonly gateway: TestGateway },
  user: string,
  message: Json,
  init: Omit<NonNullable<Parameters<TestGateway['send']>[1]>, 'message'> = {},
): Promise<{ readonly result: Json & { readonly task: Json }; readonly error?: Json }> {
  return (await (await gateway.send(user, { ...init, message })).json()) as never;
}

/** The messages of a stream. */
async function streamed({ gateway }: { readonly gateway: TestGateway }): Promise<readonly Json[]> {
  const text = await (await gateway.send('alice', { message: callFor('stream') })).text();
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data) as Json);
}

/** The id of a request of the backend. */
async function serverRequestOf(t: { readonly gateway: TestGateway }): Promise<unknown> {
  return (await streamed(t)).find(({ id, method }) => id !== undefined && method !== undefined)?.['id'];
}

const lastBody = ({ received }: TestBackend): Json => JSON.parse(received.at(-1)?.body ?? '{}') as Json;
const paramsOf = (message: Json): Json => message['params'] as Json;

describe('a task id', () => {
  it('is sealed for its client, and the backend gets its own again', async () => {
    const t = await start();
    const { result } = await ask(t, 'alice', asTask);
    const sealed = String(result.task['taskId']);
    expect(sealed).not.toContain(TASK);
    for (const method of ['tasks/get', 'tasks/cancel']) {
      const answer = await ask(t, 'alice', request(method, { taskId: sealed }));
      expect(paramsOf(lastBody(t.backend))['taskId']).toBe(TASK);
      expect(answer.result['taskId']).not.toBe(TASK);
      expect(answer.result['status']).toBe('working');
    }
  });

  it('is sealed in the metadata of messages, and not in the text of a tool', async () => {
    const t = await start();
    const sealed = (await ask(t, 'alice', asTask)).result.task['taskId'];
    const { result } = await ask(t, 'alice', request('tasks/result', { taskId: sealed }));
    expect(result['content']).toEqual([{ type: 'text', text: `"taskId":"${TASK}"` }]);
    const related = (result['_meta'] as Record<string, Json>)[RELATED]?.['taskId'];
    expect(related).not.toBe(TASK);
    const _meta = { [RELATED]: { taskId: related } };
    await t.gateway.send('alice', {
      message: { jsonrpc: '2.0', id: await serverRequestOf(t), result: { action: 'accept', _meta } },
    });
    expect(lastBody(t.backend)['result']).toEqual({
      action: 'accept',
      _meta: { [RELATED]: { taskId: TASK } },
    });
  });

  it('stays as it is where a client has issued it, or a tool returns one of its own', async () => {
    const t = await start();
    const { result } = await ask(t, 'alice', callFor('own'));
    expect(result['structuredContent']).toEqual({ taskId: TASK });
    const _meta = { [RELATED]: { taskId: 'mine' } };
    await t.gateway.send('alice', {
      message: { jsonrpc: '2.0', id: await serverRequestOf(t), result: { task: { taskId: 'mine' }, _meta } },
    });
    expect(lastBody(t.backend)['result']).toEqual({ task: { taskId: 'mine' }, _meta });
  });

  it('is sealed in each event of a stream, however it is divided', async () => {
    const t = await start();
    const messages = await streamed(t);
    expect(JSON.stringify(messages)).not.toContain(TASK);
    expect(messages).toHaveLength(5);
    expect(messages[2]).toMatchObject({ method: 'tasks/get', params: { taskId: 'the-client-issued-this' } });
  });

  it('passes in an event that is too long to be read, where it is of no use', async () => {
    const t = await start({ frame: 1024 });
    const long = await startBackend((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const filler = 'x'.repeat(5000);
      response.write(
        `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${filler}"}}\n\n`,
      );
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task } })}\n\n`);
    });
    open.push(long);
    t.gateway.replaceServers([{ path: '/mcp', backend: { url: long.url }, limits: { frame: 1024 } }]);
    const text = await (await t.gateway.send('alice', { message: callFor('stream') })).text();
    expect(text).toContain('x'.repeat(5000));
    expect(text).not.toContain(TASK);
  });

  it('is the same in every message, so that clients recognize it', async () => {
    const t = await start();
    const { taskId } = (await ask(t, 'alice', asTask)).result.task;
    expect((await ask(t, 'alice', request('tasks/get', { taskId }))).result['taskId']).toBe(taskId);
    const [notified] = await streamed(t);
    expect(notified).toMatchObject({ method: 'notifications/tasks/status', params: { taskId } });
  });

  it.each([
    ['another user', 'bob', '/mcp'],
    ['another client of the same user', 'alice_other', '/mcp'],
    ['the same user at another server', 'alice', '/other'],
  ])('of alice is unknown to %s, and nothing reaches the backend', async (_who, user, path) => {
    const t = await start();
    const taskId = (await ask(t, 'alice', asTask)).result.task['taskId'];
    const before = t.backend.received.length;
    for (const one of [taskId, TASK]) {
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update']) {
        const { error } = await ask(t, user, request(method, { taskId: one }), { path });
        expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining('Task not found') });
      }
    }
    expect(t.backend.received).toHaveLength(before);
    expect((await ask(t, 'alice', request('tasks/get', { taskId }))).error).toBeUndefined();
  });

  it('of a process is sealed for each client of its user', async () => {
    const gateway = await startGateway([{ path: '/mcp', backend: { command: TINY } }]);
    open.push(gateway);
    const [alice, other] = await Promise.all(
      ['alice', 'alice_other'].map((user) => startSession(gateway, user)),
    );
    const text = (await (await alice?.post(callOf('task')))?.text()) ?? '';
    expect(text).not.toContain('task-1');
    const [first, second] = [...text.matchAll(/"taskId":"([^"]+)"/g)].map(([, taskId]) => taskId);
    expect(second).toMatch(/^[\w-]{40,}$/);
    for (const taskId of [first, second]) {
      const ask = request('tasks/get', { taskId });
      expect(await (await alice?.post(ask))?.json()).toMatchObject({ result: { status: 'working' } });
      expect(await (await other?.post(ask))?.json()).toMatchObject({ error: { code: -32_602 } });
    }
  });

  it('of a process is listed to its client, and not to another one of its user', async () => {
    const gateway = await startGateway([{ path: '/mcp', backend: { command: TINY } }]);
    open.push(gateway);
    const own = await startSession(gateway, 'alice_app');
    const other = await startSession(gateway, 'alice_other');
    const created = await (await own.post(callOf('task'))).text();
    const [, taskId] = /"task":\{"taskId":"([^"]+)"/.exec(created) ?? [];
    const listOf = async ({ post }: SessionClient) => lastMessage(await post(request('tasks/list')));
    expect(await listOf(own)).toMatchObject({ result: { tasks: [{ taskId, status: 'working' }] } });
    expect(await listOf(other)).toMatchObject({ result: { tasks: [] } });
  });

  it('is listed by no backend over HTTP, since even one that knows its users does not tell their clients apart', async () => {
    const t = await start();
    const exchange = { as: 'exchange', clientId: 'gateway', tokenEndpoint: 'https://as.example/token' };
    for (const credentials of [undefined, exchange]) {
      const backend = { url: t.backend.url, ...(credentials && { credentials }) };
      t.gateway.replaceServers([{ path: '/mcp', backend } as GatewayServerOptions]);
      const before = t.backend.received.length;
      const refused = await ask(t, 'bob', request('tasks/list'));
      expect(refused.error).toMatchObject({ code: -32_601, message: expect.stringContaining('clients') });
      expect(t.backend.received).toHaveLength(before);
    }
  });

  it('is listed where initialize offers it: at processes, and at no backend over HTTP', async () => {
    const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    const backend = await startBackend(({ body }, response) => {
      const { id } = JSON.parse(body || '{}') as Json;
      const result = { protocolVersion: '2025-11-25', capabilities: { tasks, logging: {} }, serverInfo: {} };
      json(response, { jsonrpc: '2.0', id, result });
    });
    const program = `process.stdin.once('data', (line) => console.log(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(line).id,
      result: { protocolVersion: '2025-11-25', capabilities: { tasks: ${JSON.stringify(tasks)} }, serverInfo: {} } })))`;
    const command = [process.execPath, '-e', program] as const;
    const gateway = await startGateway([
      { path: '/http', backend: { url: backend.url } },
      { path: '/stdio', backend: { command } },
    ] as GatewayServerOptions[]);
    open.push(backend, gateway);
    const offered = async (path: string) => {
      const response = await gateway.send('alice', { path, message: INITIALIZE });
      return ((await lastMessage(response))['result'] as Json)['capabilities'];
    };
    const { list: _, ...others } = tasks;
    expect(await offered('/http')).toEqual({ tasks: others, logging: {} });
    expect(await offered('/stdio')).toEqual({ tasks });
  });

  it('is opened in the header that repeats it', async () => {
    const t = await start();
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tasks/get' };
    const sealed = String((await ask(t, 'alice', asTask)).result.task['taskId']);
    const message = request('tasks/get', { taskId: sealed, _meta: STATELESS });
    await ask(t, 'alice', message, { headers: { ...headers, 'mcp-name': sealed } });
    expect(t.backend.received.at(-1)?.headers['mcp-name']).toBe(TASK);
  });
});

describe('the id of a question of the backend', () => {
  const answerTo = (id: unknown) => ({ jsonrpc: '2.0', id, result: { action: 'accept' } });

  it('is sealed for its client, also where the backend cancels it, and the backend gets its own again', async () => {
    const t = await start();
    const [, , serverRequest, cancelled] = await streamed(t);
    expect(serverRequest?.['id']).toMatch(/^[\w-]{40,}$/);
    expect(cancelled).toMatchObject({ params: { requestId: serverRequest?.['id'] } });
    await t.gateway.send('alice', { message: answerTo(serverRequest?.['id']) });
    expect(lastBody(t.backend)).toEqual(answerTo(SERVER_REQUEST));
  });

  it.each(['first', 'last'])(
    'is opened also in a long answer, in which it is the %s member',
    async (slot) => {
      const t = await start();
      const id = await serverRequestOf(t);
      const text = 'x'.repeat(300_000);
      const answer = slot === 'first' ? { id, result: { text } } : { result: { text }, id };
      await t.gateway.send('alice', { message: { jsonrpc: '2.0', ...answer } });
      expect(lastBody(t.backend)).toEqual({ jsonrpc: '2.0', id: SERVER_REQUEST, result: { text } });
      const before = t.backend.received.length;
      const forged = await t.gateway.send('alice', {
        message: { jsonrpc: '2.0', ...answer, id: SERVER_REQUEST },
      });
      expect([forged.status, t.backend.received.length]).toEqual([400, before]);
    },
  );

  it.each([
    ['another user', 'bob', '/mcp'],
    ['another client of the same user', 'alice_other', '/mcp'],
    ['the same user at another server', 'alice', '/other'],
  ])('of alice is answered by nothing that %s sends', async (_who, user, path) => {
    const t = await start();
    const id = await serverRequestOf(t);
    const before = t.backend.received.length;
    for (const one of [id, SERVER_REQUEST, String(SERVER_REQUEST)]) {
      const response = await t.gateway.send(user, { path, message: answerTo(one) });
      expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32_600 } }]);
    }
    expect(t.backend.received).toHaveLength(before);
  });
});

describe('what a backend issued', () => {
  it('does not reach another one that is configured at its path, and is of use to the first one again', async () => {
    const t = await start();
    const other = await startBackend((_received, response) =>
      json(response, { jsonrpc: '2.0', id: 1, result: {} }),
    );
    open.push(other);
    const asked = callFor('ask', { _meta: STATELESS });
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'ask' };
    const { taskId } = (await ask(t, 'alice', asTask)).result.task;
    const { requestState } = (await ask(t, 'alice', asked, { headers })).result;
    const serverRequest = await serverRequestOf(t);
    const retry = { ...asked, params: { ...paramsOf(asked), requestState } };
    const send = async () => [
      (await ask(t, 'alice', request('tasks/get', { taskId }))).error,
      (await ask(t, 'alice', retry, { headers })).error,
      (await t.gateway.send('alice', { message: { jsonrpc: '2.0', id: serverRequest, result: {} } })).status,
    ];
    t.gateway.replaceServers([{ path: '/mcp', backend: { url: other.url } }]);
    expect(await send()).toMatchObject([{ code: -32_602 }, { code: -32_602 }, 400]);
    expect(other.received).toEqual([]);
    t.gateway.replaceServers([{ path: '/mcp', backend: { url: t.backend.url } }]);
    expect(await send()).toEqual([undefined, undefined, 202]);
  });
});

describe('a request state', () => {
  const message = callFor('ask', { _meta: STATELESS });
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'ask' };

  it('is sealed for its client, and the backend gets its own again', async () => {
    const t = await start();
    const { result } = await ask(t, 'alice', message, { headers });
    expect(result['requestState']).not.toContain('step');
    const retry = { ...message, params: { ...paramsOf(message), requestState: result['requestState'] } };
    await ask(t, 'alice', retry, { headers });
    expect(paramsOf(lastBody(t.backend))).toEqual({ ...paramsOf(message), requestState: STATE });
  });

  it('is never taken for one of the gateway, whatever its backend writes', async () => {
    const t = await start();
    const own = { ...headers, 'mcp-name': 'open' };
    const call = callFor('open', { _meta: STATELESS });
    const { result } = await ask(t, 'alice', call, { headers: own });
    const params = { ...paramsOf(call), requestState: result['requestState'], inputResponses: { a: 1 } };
    await ask(t, 'alice', { ...call, params }, { headers: own });
    expect(paramsOf(lastBody(t.backend))).toEqual({ ...params, requestState: OPEN_STATE });
  });

  it('continues no call of another tool, and nothing reaches the backend', async () => {
    const t = await start();
    const { result } = await ask(t, 'alice', message, { headers });
    const before = t.backend.received.length;
    const params = { ...paramsOf(message), name: 'own', requestState: result['requestState'] };
    const retry = { headers: { ...headers, 'mcp-name': 'own' } };
    const { error } = await ask(t, 'alice', { ...message, params }, retry);
    expect(error).toMatchObject({
      code: -32_602,
      message: expect.stringContaining('not for this operation'),
    });
    expect(t.backend.received).toHaveLength(before);
  });

  it('of a resource of a merged server continues reading that one only, whatever other name its request had', async () => {
    const backend = await startStatelessBackend();
    const gateway = await startGateway([
      { path: '/shop', backend: { url: backend.url } },
      { path: '/all', merges: { shop: '/shop' } },
    ]);
    open.push(backend, gateway);
    const [uri, name] = ['shop+x://a', 'shop+x://b'];
    const _meta = { ...STATELESS, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
    const read = (params: Json): ReturnType<typeof ask> =>
      ask({ gateway }, 'alice_app_shop.read', request('resources/read', { ...params, _meta }), {
        path: '/all',
        headers: { ...headers, 'mcp-method': 'resources/read', 'mcp-name': String(params['uri']) },
      });
    const { requestState, inputRequests } = (await read({ uri, name })).result;
    const before = backend.received.length;
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests as Json).map((key) => [key, { action: 'accept', content: {} }]),
    );
    const retry = { requestState, inputResponses };
    const { error } = await read({ uri: name, ...retry });
    expect(error).toMatchObject({ message: expect.stringContaining('not for this operation') });
    expect(backend.received).toHaveLength(before);
    expect((await read({ uri, name, ...retry })).result['contents']).toMatchObject([{ text: STATE }]);
  });

  it('of alice is unknown to another user, and nothing reaches the backend', async () => {
    const t = await start();
    const { result } = await ask(t, 'alice', message, { headers });
    const before = t.backend.received.length;
    for (const requestState of [result['requestState'], STATE]) {
      const retry = { ...message, params: { ...paramsOf(message), requestState } };
      const { error } = await ask(t, 'bob', retry, { headers });
      expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining('requestState') });
    }
    expect(t.backend.received).toHaveLength(before);
  });
});
