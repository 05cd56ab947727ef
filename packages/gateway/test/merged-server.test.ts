/** Merged servers: names, rules, approvals and failures of their parts. */
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend } from './support/backend.ts';
import { callOf, sendStateless, startSession } from './support/client.ts';
import { defineTestServers, startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const OVER_STDIO = { command: TINY };

/** Every scope of both parts. */
const ALICE = 'alice_inspector_files.read_files.write_tiny.read_tiny.write';
const READER = 'bob_inspector_files.read_tiny.read';

const tools = [
  { name: 'read_file', description: 'Reads', annotations: { readOnlyHint: true } },
  { name: 'write_file', description: 'Writes' },
  { name: 'delete_file', description: 'Deletes' },
];

/** A server over HTTP with a tool that nothing calls: it costs less than a process. */
async function startSmall() {
  const backend = await startBackend(({ method: verb, body }, response) => {
    if (verb !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    const info = { capabilities: { tools: {} }, serverInfo: { name: 'tiny', version: '1' } };
    const initialized = { protocolVersion: params?.protocolVersion, ...info };
    const result = method === 'initialize' ? initialized : { tools: [{ name: 'echo' }], resources: [] };
    json(response, { jsonrpc: '2.0', id, result });
  });
  closing.push(backend.close);
  return { url: backend.url };
}

/** `/all` merges a server over HTTP, whose tool `delete_file` is never allowed, and another, by default over HTTP as well. */
async function setUp(rules: Partial<GatewayServerOptions> = {}, tiny?: typeof OVER_STDIO) {
  const state = { tools, isDown: false, hasStreams: false, streams: [] as ServerResponse[] };
  const resultOf = (method: string, { name, uri }: { readonly name?: string; readonly uri?: string }) => {
    if (method === 'initialize')
      return {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'x', version: '1' },
      };
    if (method === 'tools/list') return { tools: state.tools };
    if (method === 'resources/list') return { resources: [{ uri: 'file:///a', name: 'a' }] };
    if (method === 'resources/read') return { contents: [{ uri, text: 'content' }] };
    if (method !== 'tools/call') return {};
    return {
      content: [
        { type: 'text', text: `did ${name}` },
        { type: 'resource_link', uri: 'file:///a', name: 'a' },
      ],
    };
  };
  const backend = await startBackend(({ method: verb, body }, response) => {
    if (state.isDown) return void response.socket?.destroy();
    if (verb === 'GET' && state.hasStreams) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      return void state.streams.push(response);
    }
    if (verb !== 'POST') return void response.writeHead(405).end();
    const { id, method, params = {} } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    json(response, { jsonrpc: '2.0', id, result: resultOf(method, params) });
  });
  const store = await openEmptyStore();
  const gateway = await startGateway(
    [
      {
        path: '/files',
        name: 'Files',
        backend: { url: backend.url, forward: ['X-Tenant'] },
        tools: { delete_file: false },
        ...rules,
      },
      { path: '/tiny', name: 'Tiny', backend: tiny ?? (await startSmall()) },
      { path: '/all', name: 'All', merges: { fs: '/files', tiny: '/tiny' } },
    ],
    { pins: store },
  );
  closing.push(
    () => backend.close(),
    () => store.close(),
    () => gateway.close(),
  );
  const open = async (user = ALICE) => {
    const client = await startSession(gateway, user, '/all');
    const ask = async (method: string, params: object = {}) => {
      const response = await client.post({ jsonrpc: '2.0', id: 7, method, params });
      const text = await response.text();
      const written = text.startsWith('{')
        ? text
        : (text
            .match(/^data: (.*)$/gm)
            ?.at(-1)
            ?.slice(6) ?? '{}');
      return {
        status: response.status,
        challenge: response.headers.get('www-authenticate'),
        ...JSON.parse(written),
      };
    };
    const toolNames = async () =>
      (await ask('tools/list')).result.tools.map(({ name }: { name: string }) => name);
    return { ...client, ask, toolNames };
  };
  const calls = () => backend.received.filter(({ body }) => body.includes('tools/call')).length;
  /** The methods that the server over HTTP received. */
  const methods = () => backend.received.flatMap(({ body }) => (body === '' ? [] : JSON.parse(body).method));
  return { state, backend, gateway, open, calls, methods };
}

describe('a merged server', () => {
  it('lists and calls the tools of its parts under their prefixes', async () => {
    const { open } = await setUp({}, OVER_STDIO);
    const { toolNames, call, ask } = await open();
    const names = await toolNames();
    expect(names).toEqual(expect.arrayContaining(['fs__read_file', 'fs__write_file', 'tiny__echo']));
    expect(await call('tiny__echo', { text: 'hello' })).toBe('hello');
    const { result } = await ask('tools/call', { name: 'fs__read_file', arguments: {} });
    expect(result.content).toEqual([
      { type: 'text', text: 'did read_file' },
      { type: 'resource_link', uri: 'fs+file:///a', name: 'a' },
    ]);
  });

  it('lists everything at once, and knows no cursor', async () => {
    const { open } = await setUp();
    const { ask, toolNames } = await open();
    for (const method of ['tools/list', 'resources/list', 'prompts/list'])
      for (const cursor of ['garbage', 5, ''])
        expect((await ask(method, { cursor })).error).toMatchObject({ code: -32_602 });
    expect((await ask('tools/list', { cursor: null })).result.tools.length).toBe((await toolNames()).length);
  });

  it('gives the resources of its parts URIs of their own', async () => {
    const { open, backend } = await setUp();
    const { ask } = await open();
    expect((await ask('resources/list')).result).toEqual({ resources: [{ uri: 'fs+file:///a', name: 'a' }] });
    const { result } = await ask('resources/read', { uri: 'fs+file:///a' });
    expect(result.contents).toEqual([{ uri: 'fs+file:///a', text: 'content' }]);
    expect(backend.received.at(-1)?.body).toContain('"uri":"file:///a"');
  });

  it('forwards the headers that a part names, those of each request', async () => {
    const { open, backend, gateway } = await setUp();
    const { session } = await open();
    const send = (tenant: string) =>
      gateway.send(ALICE, {
        path: '/all',
        message: callOf('fs__read_file'),
        headers: { 'mcp-session-id': session, 'x-tenant': tenant, 'x-other': 'no' },
      });
    for (const tenant of ['acme', 'umbrella']) expect((await send(tenant)).status).toBe(200);
    const calls = backend.received.filter(({ body }) => body.includes('tools/call'));
    expect(calls.map(({ headers }) => headers['x-tenant'])).toEqual(['acme', 'umbrella']);
    expect(calls.flatMap(({ headers }) => Object.keys(headers))).not.toContain('x-other');
  });

  it('decides by the rules of the part: never, or with its scopes', async () => {
    const { open, calls } = await setUp();
    const { toolNames, ask } = await open(READER);
    const names = await toolNames();
    expect(names).toContain('fs__read_file');
    expect(names).not.toContain('fs__write_file');
    expect(names).not.toContain('fs__delete_file');
    expect((await ask('tools/call', { name: 'fs__delete_file', arguments: {} })).status).toBe(403);
    const missing = await ask('tools/call', { name: 'fs__write_file', arguments: {} });
    expect([missing.status, missing.challenge]).toEqual([403, expect.stringContaining('files:write')]);
    expect(calls()).toBe(0);
    expect((await ask('tools/call', { name: 'fs__read_file', arguments: {} })).status).toBe(200);
    expect(calls()).toBe(1);
  });

  it('lists what the token of the request allows, in a session that another one has opened', async () => {
    const { gateway, open } = await setUp();
    const { session } = await open('alice_inspector_files.read_files.write');
    const list = async (user: string) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const headers = { 'mcp-session-id': session };
      return (await gateway.send(user, { path: '/all', message, headers })).text();
    };
    expect(await list('alice_inspector_files.read')).not.toContain('fs__write_file');
    expect(await list('alice_inspector_files.read_files.write')).toContain('fs__write_file');
  });

  it('hides and refuses a tool of a part that has changed since it was approved', async () => {
    const { open, state, gateway, calls } = await setUp();
    const client = await open();
    expect(await client.toolNames()).toContain('fs__read_file');
    state.tools = [{ ...tools[0], description: 'Reads, and sends it elsewhere' } as (typeof tools)[number]];
    expect(await client.toolNames()).not.toContain('fs__read_file');
    const { status } = await client.ask('tools/call', { name: 'fs__read_file', arguments: {} });
    expect([status, calls()]).toEqual([403, 0]);
    expect(gateway.events).toContainEqual(
      expect.objectContaining({ type: 'tool.changed', server: '/files' }),
    );
  });

  it('refuses a tool by the name that its client used, which has the prefix', async () => {
    const { open, calls } = await setUp();
    const { ask } = await open();
    const refused = await ask('tools/call', { name: 'fs__delete_file', arguments: {} });
    expect([refused.status, refused.error.message]).toEqual([
      403,
      'The tool "fs__delete_file" is not available to you here.',
    ]);
    const unknown = await ask('tools/call', { name: 'fs__nothing', arguments: {} });
    expect(unknown.result).toMatchObject({ content: [{ text: 'Unknown tool: fs__nothing' }] });
    expect(calls()).toBe(0);
    expect((await ask('tools/call', { name: 'fs__read_file', arguments: {} })).status).toBe(200);
  });

  it('refuses names of no part, and requests that no part can be found for', async () => {
    const { open, calls } = await setUp();
    const { ask } = await open();
    for (const name of ['read_file', 'other__read_file'])
      expect((await ask('tools/call', { name, arguments: {} })).result).toMatchObject({
        content: [{ text: `Unknown tool: ${name}` }],
        isError: true,
      });
    for (const [method, params, code] of [
      ['resources/read', { uri: 'file:///a' }, -32_002],
      ['prompts/get', { name: 'hello' }, -32_602],
    ] as const)
      expect(await ask(method, params)).toMatchObject({ status: 200, error: { code } });
    expect((await ask('tasks/get', { taskId: '1' })).error.code).toBe(-32_602);
    expect(calls()).toBe(0);
  });

  it.each([
    'tasks/list',
    'tasks/result',
    'tasks/cancel',
    'vendor/wipe',
    'Tools/Call',
    'tools/call ',
    'Resources/Read',
    'prompts/list/',
  ])('forwards no request whose target the rules do not read, whatever it names: %s', async (method) => {
    const { open, methods } = await setUp();
    const { ask } = await open();
    for (const params of [{ name: 'fs__delete_file' }, { uri: 'fs+file:///a' }, { ref: { name: 'fs__x' } }]) {
      const { error } = await ask(method, { ...params, arguments: {} });
      expect(error.code).toBeLessThan(-32_000);
    }
    expect(methods()).not.toContain(method);
    await ask('tools/call', { name: 'fs__read_file', arguments: {} });
    expect(methods()).toContain('tools/call');
  });

  it('sends a request to the part whose rules decided about it, whatever else it names', async () => {
    const { open, backend } = await setUp();
    const { ask } = await open();
    const ref = { type: 'ref/resource', uri: 'fs+file:///a', name: 'tiny__x' };
    await ask('resources/read', { uri: 'fs+file:///a', name: 'tiny__echo', ref });
    await ask('prompts/get', { name: 'fs__hello', uri: 'tiny+file:///a' });
    await ask('completion/complete', { ref, name: 'tiny__x', argument: { name: 'a', value: 'b' } });
    const received = backend.received.flatMap(({ body }) => (body === '' ? [] : JSON.parse(body)));
    expect(received.filter(({ method }) => /read|get|complete/.test(method))).toMatchObject([
      { method: 'resources/read', params: { uri: 'file:///a', name: 'tiny__echo' } },
      { method: 'prompts/get', params: { name: 'hello' } },
      { method: 'completion/complete', params: { ref: { uri: 'file:///a' } } },
    ]);
  });

  it('applies what a part allows of methods to messages that go to all parts', async () => {
    const shared = ['resources/list', 'logging/setLevel', 'notifications/roots/list_changed'];
    const received = async (rules: Partial<GatewayServerOptions>) => {
      const { open, methods } = await setUp(rules);
      const { ask, toolNames, post } = await open();
      expect(await toolNames()).toContain('fs__read_file');
      const { result } = await ask('resources/list');
      await ask('logging/setLevel', { level: 'info' });
      await post({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
      return { resources: result.resources.length, methods: shared.filter((one) => methods().includes(one)) };
    };
    const none = Object.fromEntries(shared.map((method) => [method, false] as const));
    expect(await received({ methods: none })).toEqual({ resources: 0, methods: [] });
    expect(await received({})).toEqual({ resources: 1, methods: shared });
  });

  describe('a message without an id', () => {
    /** Two parts over HTTP that record what reaches them, in a session in which both are open. */
    async function openTwo() {
      const received: Record<string, string[]> = { a: [], b: [] };
      const streams: Record<string, ServerResponse> = {};
      const start = async (name: string) => {
        const backend = await startBackend(({ method: verb, body }, response) => {
          if (verb === 'GET') {
            response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
            streams[name] = response;
            return;
          }
          const { id, method, params } = JSON.parse(body || '{}');
          if (/tools\/call|notifications\/(?!initialized)/.test(method)) received[name]?.push(body);
          if (method === undefined || id === undefined) return void response.writeHead(202).end();
          const info = { capabilities: { tools: {} }, serverInfo: { name, version: '1' } };
          const initialized = { protocolVersion: params?.protocolVersion, ...info };
          const result = method === 'initialize' ? initialized : { tools: [{ name: 'x' }], content: [] };
          json(response, { jsonrpc: '2.0', id, result });
        });
        closing.push(backend.close);
        return { path: `/${name}`, backend: { url: backend.url }, review: 'auto' as const };
      };
      const [a, b] = [await start('a'), await start('b')];
      const gateway = await startGateway([
        { ...a, tools: { '*': [] } },
        { ...b, tools: { '*': false } },
        { path: '/all', name: 'All', merges: { a: '/a', b: '/b' } },
      ]);
      closing.push(gateway.close);
      const client = await startSession(gateway, 'alice', '/all');
      await (await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).text();
      await expect.poll(() => Object.keys(streams)).toHaveLength(2);
      const headers = { 'mcp-session-id': client.session };
      const stream = await gateway.send('alice', { path: '/all', method: 'GET', headers });
      const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
      return {
        ...{ received, post: client.post },
        /** The part asks the client for something, and names a token for its progress. */
        async ask(name: string, progressToken: number) {
          const asked = { jsonrpc: '2.0', id: 1, method: 'roots/list', params: { _meta: { progressToken } } };
          streams[name]?.write(`data: ${JSON.stringify(asked)}\n\n`);
          let text = '';
          while (!text.includes('roots/list')) text += (await reader?.read())?.value ?? '';
        },
        /** Sends a notification, and then one that reaches both parts. */
        async notify(message: object) {
          const last = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
          for (const one of [message, last]) expect((await client.post(one)).status).toBe(202);
          const isLast = (body = '') => body.includes('list_changed');
          await expect
            .poll(() => Object.values(received).map((bodies) => isLast(bodies.at(-1))))
            .toEqual([true, true]);
          for (const bodies of Object.values(received)) bodies.pop();
        },
      };
    }

    it('refuses a call without an id, which reaches no part, and sends one with an id to its own', async () => {
      const { received, post } = await openTwo();
      const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'a__x', arguments: {} } };
      const refused = await post(call);
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('with an id')]);
      expect(received).toEqual({ a: [], b: [] });
      expect((await post({ ...call, id: 5 })).status).toBe(200);
      expect(received).toEqual({ a: [expect.stringContaining('"name":"x"')], b: [] });
    });

    it.each([
      ['a tool', 'tools/call', { name: 'nope' }],
      ['a prompt', 'prompts/get', { name: 'nope' }],
      ['a resource', 'resources/read', { uri: 'nope:x' }],
    ])(
      'refuses an unknown name of %s without an id with 400, not with a response',
      async (_, method, params) => {
        const { post } = await openTwo();
        const refused = await post({ jsonrpc: '2.0', method, params });
        expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('with an id')]);
        expect((await post({ jsonrpc: '2.0', id: 5, method, params })).status).toBe(200);
      },
    );

    it('sends progress to the part that has asked alone, and other notifications to no part', async () => {
      const { received, ask, notify } = await openTwo();
      const progress = (progressToken: number) => ({
        ...{ jsonrpc: '2.0', method: 'notifications/progress' },
        params: { progressToken, progress: 1, message: 'for one part' },
      });
      await ask('a', 1);
      for (const message of [progress(2), { jsonrpc: '2.0', method: 'notifications/vendor' }])
        await notify(message);
      expect(received).toEqual({ a: [], b: [] });
      await notify(progress(1));
      expect(received).toEqual({ a: [expect.stringContaining('for one part')], b: [] });
      await ask('b', 1);
      await notify(progress(1));
      expect(received).toEqual({ a: [expect.any(String)], b: [] });
    });
  });

  it('counts a call at its part as well', async () => {
    const { open, calls } = await setUp({ limits: { callsPerMinute: 2 } });
    const { ask } = await open();
    const statuses: number[] = [];
    for (let call = 0; call < 3; call += 1)
      statuses.push((await ask('tools/call', { name: 'fs__read_file', arguments: {} })).status);
    expect([statuses, calls()]).toEqual([[200, 200, 429], 2]);
  });

  it('refuses a call with 400 if its part needs a capability that the client did not declare', async () => {
    const error = { code: -32_021, message: 'sampling', data: { requiredCapabilities: { sampling: {} } } };
    const backend = await startBackend(({ body }, response) => {
      const { id, method, params } = JSON.parse(body || '{}');
      if (method === 'initialize') return void response.writeHead(400).end();
      const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
      if (method === 'server/discover') return json(response, { jsonrpc: '2.0', id, result: discovered });
      const declared = params?._meta?.['io.modelcontextprotocol/clientCapabilities'];
      if (method === 'tools/call' && declared?.sampling === undefined) {
        response.writeHead(400, { 'content-type': 'application/json' });
        return void response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      }
      json(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', content: [], tools: [] } });
    });
    const gateway = await startGateway([
      { path: '/new', backend: { url: backend.url }, review: 'auto' },
      { path: '/all', merges: { new: '/new' } },
    ]);
    closing.push(
      () => backend.close(),
      () => gateway.close(),
    );
    const call = async (capabilities: object) => {
      const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
      const params = { name: 'new__summarize', arguments: {}, _meta };
      const response = await sendStateless(gateway, 'alice_app_new.write', 'tools/call', params, '/all');
      return [response.status, await response.json()];
    };
    expect(await call({})).toMatchObject([400, { error }]);
    expect(await call({ sampling: {} })).toMatchObject([200, { result: { content: [] } }]);
  });

  it('leaves out a part that is down, and names it when it is called', async () => {
    const { open, state } = await setUp({}, OVER_STDIO);
    const { ask, toolNames, call } = await open();
    state.isDown = true;
    const names = await toolNames();
    expect(names).toContain('tiny__echo');
    expect(names.some((name: string) => name.startsWith('fs__'))).toBe(false);
    const { status, error } = await ask('tools/call', { name: 'fs__read_file', arguments: {} });
    expect([status, error.message]).toEqual([503, expect.stringContaining('Files')]);
    expect(await call('tiny__echo', { text: 'still here' })).toBe('still here');
  });

  it('passes questions of a part to the client, and its answer back', async () => {
    const { gateway, open } = await setUp({}, OVER_STDIO);
    const { session, post } = await open();
    const called = post({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'tiny__ask', arguments: {} },
    });
    const reader = (await called).body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('elicitation/create')) text += (await reader?.read())?.value ?? '';
    const { id } = JSON.parse(text.match(/^data: (.*elicitation.*)$/m)?.[1] ?? '{}');
    await gateway.send(ALICE, {
      path: '/all',
      headers: { 'mcp-session-id': session },
      message: { jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Ada' } } },
    });
    for (let chunk = await reader?.read(); chunk?.done === false; chunk = await reader?.read())
      text += chunk.value;
    expect(text).toContain('Ada');
  });

  it('refuses what a part asks between calls if its rules forbid streams; otherwise its client is asked', async () => {
    const ask = async (rules: Partial<GatewayServerOptions> = {}) => {
      const tiny = { path: '/tiny', name: 'Tiny', backend: { command: TINY }, review: 'auto' as const };
      const gateway = await startGateway([
        { ...tiny, ...rules },
        { path: '/all', name: 'All', merges: { tiny: '/tiny' } },
      ]);
      closing.push(() => gateway.close());
      const client = await startSession(gateway, ALICE, '/all', { capabilities: { roots: {} } });
      await client.call('tiny__askBetween');
      return { gateway, ...client };
    };
    const { call } = await ask({ methods: { 'subscriptions/listen': false } });
    await expect.poll(() => call('tiny__between')).toBe('-32601');

    const { gateway, session } = await ask();
    const headers = { 'mcp-session-id': session };
    const stream = await gateway.send(ALICE, { path: '/all', method: 'GET', headers });
    let text = '';
    for await (const chunk of stream.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes('roots/list')) break;
    }
    expect(text).toContain('roots/list');
  });

  it('sets the log level of its client at parts that are opened later, too', async () => {
    const gateway = await startGateway([
      { path: '/tiny', backend: OVER_STDIO, review: 'auto' },
      { path: '/all', merges: { tiny: '/tiny' } },
    ]);
    closing.push(gateway.close);
    const { call, post } = await startSession(gateway, ALICE, '/all');
    await post({ jsonrpc: '2.0', id: 'level', method: 'logging/setLevel', params: { level: 'debug' } });
    expect(await call('tiny__level')).toBe('debug');
  });

  it('refuses the oldest of more than 1000 questions without an answer to their part, and passes the new one', async () => {
    const limits = { callsPerMinute: 2000 };
    const part = { backend: OVER_STDIO, review: 'auto', limits } as const;
    const gateway = await startGateway([
      { path: '/one', ...part },
      { path: '/two', ...part },
      { path: '/all', merges: { one: '/one', two: '/two' }, limits },
    ]);
    closing.push(gateway.close);
    const user = 'alice_inspector_one.read_one.write_two.read_two.write';
    const { call, post } = await startSession(gateway, user, '/all', { protocolVersion: '2025-03-26' });
    expect(await call('one__askUnawaited')).toBe('does not wait');
    const batch = Array.from({ length: 100 }, () => callOf('two__askUnawaited'));
    for (let count = 0; count < 10; count += 1) {
      expect(await call('one__between')).toBe('undefined');
      expect((await (await post(batch)).text()).match(/does not wait/g)).toHaveLength(100);
    }
    await expect.poll(() => call('one__between')).toBe('-32601');
    expect(await call('two__between')).toBe('undefined');
  });

  describe('between calls', () => {
    const WRITER = ALICE;
    const FILES_READER = 'alice_inspector_files.read_tiny.read_tiny.write';
    const REPORTED = [
      { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'for writers' } },
      { jsonrpc: '2.0', method: 'notifications/prompts/list_changed' },
      { jsonrpc: '2.0', id: 'r1', method: 'roots/list' },
    ];

    /** A session whose part reports to a stream that another token has opened. @returns what the stream has */
    async function report(opener: string, reader: string, isStateless = false) {
      const { open, state, backend, gateway } = await setUp(
        {
          scopes: { 'files:read': 'Read', 'files:write': 'Write' },
          tools: { '*': ['files:read'] },
          // Without review, the gateway opens no sessions of its own.
          review: 'auto',
          methods: { 'subscriptions/listen': ['files:write'] },
        },
        OVER_STDIO,
      );
      state.hasStreams = true;
      const statelessly = (user: string, method: string, params = {}) =>
        sendStateless(gateway, user, method, params, '/all');
      const changes = { promptsListChanged: true, toolsListChanged: true };
      const listen = async () => {
        if (isStateless) {
          await (await statelessly(opener, 'tools/list')).text();
          const stream = await statelessly(reader, 'subscriptions/listen', { notifications: changes });
          const change = async () =>
            (await statelessly(opener, 'tools/call', { name: 'tiny__change' })).text();
          return { stream, change };
        }
        const { session, toolNames, call } = await open(opener);
        await toolNames();
        const headers = { 'mcp-session-id': session };
        const stream = await gateway.send(reader, { path: '/all', method: 'GET', headers });
        return { stream, change: () => call('tiny__change') };
      };
      const { stream, change } = await listen();
      expect(stream.status).toBe(200);
      await expect.poll(() => state.streams.length).toBe(1);
      for (const message of REPORTED) state.streams[0]?.write(`data: ${JSON.stringify(message)}\n\n`);
      const responses = () => backend.received.filter(({ body }) => body.includes('"id":"r1"'));
      let text = '';
      const read = async () => {
        for await (const chunk of stream.body ?? []) {
          text += Buffer.from(chunk).toString();
          if (text.includes('tools/list_changed')) break;
        }
      };
      const reading = read();
      await expect.poll(() => text.includes('roots/list') || responses().length > 0).toBe(true);
      await change();
      await reading;
      return { text, responses: responses().map(({ body }) => JSON.parse(body)), gateway };
    }

    it.each([WRITER, FILES_READER])(
      'reports nothing of a part to a token that the part refuses a stream, and refuses what it asks; opened by %s',
      async (opener) => {
        const { text, responses, gateway } = await report(opener, FILES_READER);
        expect(text).not.toMatch(/for writers|roots\/list|prompts/);
        expect(responses).toMatchObject([{ error: { code: -32_601 } }]);
        expect((await gateway.send(FILES_READER, { path: '/files', method: 'GET' })).status).toBe(403);
      },
    );

    it.each([WRITER, FILES_READER])(
      'reports what a part sends to a token that may open a stream of the part; opened by %s',
      async (opener) => {
        const { text, responses } = await report(opener, WRITER);
        expect(text).toContain('for writers');
        expect([text.includes('roots/list'), responses]).toEqual([true, []]);
      },
    );

    it('reports nothing of a part in a subscription without a session that the part refuses', async () => {
      for (const opener of [WRITER, FILES_READER]) {
        expect((await report(opener, FILES_READER, true)).text).not.toContain('prompts/list_changed');
        expect((await report(opener, WRITER, true)).text).toContain('prompts/list_changed');
      }
    });
  });

  it('is a resource of its own: a token of a part is refused there, and its session at the part', async () => {
    const { gateway, open } = await setUp();
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await gateway.send(`${ALICE}@/files`, { path: '/all', message })).status).toBe(401);
    const { session, toolNames } = await open();
    const headers = { 'mcp-session-id': session };
    expect((await gateway.send(ALICE, { path: '/tiny', message, headers })).status).toBe(404);
    expect(await toolNames()).toContain('tiny__echo');
  });
});

describe('the configuration of a merged server', () => {
  const member = { path: '/files', backend: { url: 'https://backend.example/mcp' } };
  const define = (rules: object) => () =>
    defineTestServers(
      [member, { path: '/all', merges: { fs: '/files' }, ...rules }],
      'https://gateway.example',
    );

  it.each(['tools', 'resources', 'prompts', 'methods'])(
    'has no %s of its own, which would forbid nothing: those of the members apply',
    (table) => {
      expect(define({ [table]: { 'delete_*': false } })).toThrow(
        `"${table}"],"message":"belongs to the members of a merged server: their rules apply"`,
      );
      expect(define({})).not.toThrow();
    },
  );
});
