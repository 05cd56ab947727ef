/** `portcullis connect`, the stdio bridge, between official MCP clients and a protected server, real or scripted. */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as two from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportTwo } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ClientError, createMemoryStore } from '@portcullis/client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { createUser } from '../../../tests/support/user.ts';
import { createWorld } from '../../client/test/support/world.ts';
import { bridge } from '../src/client/bridge.ts';
import { type Computer, createComputer, followRedirects, main } from './support/command.ts';
import { bridgeTransport, startBridge } from './support/in-process-bridge.ts';

const info = { name: 'test', version: '1.0.0' };
const computers: Computer[] = [];

function newComputer(user = createUser(owner)): Computer {
  const computer = createComputer(user);
  computers.push(computer);
  return computer;
}

afterEach(() => {
  for (const computer of computers.splice(0)) computer.close();
});

function parameters(computer: Computer, ...args: readonly string[]) {
  return {
    command: process.execPath,
    args: [...sourceFlags(), main, 'connect', ...args],
    env: { ...computer.environment },
    cwd: computer.folder,
    stderr: 'pipe' as const,
  };
}

describe('with a real server', () => {
  let server: PortcullisHere;
  /** Signed in once for all revisions. */
  let computer: Computer;
  beforeAll(async () => {
    server = await startPortcullisHere();
    computer = createComputer(createUser(owner));
  });
  afterAll(async () => {
    computer.close();
    await server.stop();
  });

  it('bridges the official client 1.x to a protected server with one sign-in', async () => {
    const computer = newComputer();
    const client = new Client(info);
    await client.connect(new StdioClientTransport(parameters(computer, server.resource)));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('whoami');
    const answer = await client.callTool({ name: 'add_note', arguments: { text: 'tea — naïve ☕' } });
    expect(answer.isError ?? false).toBe(false);
    await expect(client.callTool({ name: 'add_note', arguments: {} })).resolves.toMatchObject({
      isError: true,
    });
    await client.close();
    expect(computer.opened()).toHaveLength(1);
  });

  it.each(['legacy', 'auto', { pin: '2026-07-28' }] as const)(
    'bridges the official client 2.x negotiating %j',
    async (mode) => {
      const client = new two.Client(info, { versionNegotiation: { mode } });
      await client.connect(new TransportTwo(parameters(computer, server.resource)));
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('list_notes');
      const answer = await client.callTool({ name: 'add_note', arguments: { text: 'tea' } });
      expect(answer.isError ?? false).toBe(false);
      await client.close();
    },
  );

  it('T120 signs in once for three bridges started at the same time', async () => {
    const computer = newComputer();
    const clients = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const client = new Client(info);
        await client.connect(new StdioClientTransport(parameters(computer, server.resource)));
        return client;
      }),
    );
    const answers = await Promise.all(
      clients.map((client) => client.callTool({ name: 'whoami', arguments: {} })),
    );
    expect(answers.every(({ isError }) => isError !== true)).toBe(true);
    for (const client of clients) await client.close();
    expect(computer.opened()).toHaveLength(1);
  });

  it('with --no-browser responds with an error that says how to sign in, and opens no browser', async () => {
    const computer = newComputer();
    const initialize = {
      jsonrpc: '2.0',
      id: 'first',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info },
    };
    const { code, output, errors } = await computer.run(['connect', server.resource, '--no-browser'], {
      input: `${JSON.stringify(initialize)}\n`,
    });
    const answers = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toEqual([
      {
        jsonrpc: '2.0',
        id: 'first',
        error: { code: -32000, message: expect.stringContaining('npm run -s portcullis -- login') },
      },
    ]);
    expect(errors).toContain('no browser is opened here');
    expect([code, computer.opened().length]).toEqual([0, 0]);
  });
});

it('the configuration of `connect --help` starts a bridge from any folder, with nothing but JSON-RPC on standard output', async () => {
  const { url } = await script((seen, response) => begin(seen, response, 's1'));
  const { output: help } = await newComputer().runProcess(['connect', '--help']);
  const { mcpServers } = JSON.parse(help.slice(help.indexOf('\n{')));
  const { command, args } = mcpServers.example;
  const child = spawn(command, [...args.slice(0, -1), url], {
    cwd: tmpdir(),
    env: newComputer().environment,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info };
  child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  expect(JSON.parse(await text(child.stdout))).toMatchObject({
    id: 1,
    result: { serverInfo: { name: 'scripted' } },
  });
});

describe('the name that a command registers', () => {
  const on = ` on ${hostname().split('.')[0]}`;
  const initialize = (clientInfo: object) =>
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } })}\n`;
  const discover = (clientInfo: object) =>
    `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: { 'io.modelcontextprotocol/clientInfo': clientInfo } } })}\n`;

  it.each([
    [
      'connect',
      [],
      initialize({ name: 'claude-ai', version: '1' }),
      `Portcullis connect (Claude Desktop${on})`,
    ],
    [
      'connect',
      [],
      initialize({ name: 'x', title: 'Ada’s Host', version: '1' }),
      `Portcullis connect (Ada’s Host${on})`,
    ],
    [
      'connect',
      [],
      discover({ name: 'inspector-client', version: '1' }),
      `Portcullis connect (MCP Inspector${on})`,
    ],
    ['connect', ['--client-name', 'My bridge'], initialize({ name: 'claude-ai', version: '1' }), 'My bridge'],
    ['login', [], '', `Portcullis${on}`],
    ['login', ['--client-name', 'Ada at work'], '', 'Ada at work'],
    ['doctor', [], '', `Portcullis doctor${on}`],
  ])(
    '%s %j is that of the host that it serves and of the computer',
    async (command, options, input, expected) => {
      const world = await createWorld();
      await newComputer(followRedirects).run([command, world.serverUrl, ...options], { input });
      expect(JSON.parse(world.as.asked('/register')[0]?.body ?? '{}')).toMatchObject({
        client_name: expected,
      });
    },
  );
});

it('connect --no-browser advises no command with a scope that would act on a shell', async () => {
  const world = await createWorld({ challengeScopes: 'notes:read' });
  const computer = newComputer(followRedirects);
  await computer.run(['login', world.serverUrl]);
  world.server.on('/mcp', {
    status: 403,
    headers: {
      'www-authenticate': 'Bearer error="insufficient_scope", scope="x;touch$IFSy --whole-origin"',
    },
  });
  const { output } = await computer.run(['connect', world.serverUrl, '--no-browser'], {
    input: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n',
  });
  const { message } = JSON.parse(output).error;
  const [, command = ''] = /Sign in: (.*)$/.exec(message) ?? [];
  expect(command).toContain(`login ${world.serverUrl}, and with --scope if you know these names`);
  expect(command).not.toMatch(/touch|--whole-origin/);
});

it('connect shows a short address for the sign-in, because hosts write it to log files', async () => {
  const world = await createWorld();
  const { errors } = await newComputer(followRedirects).run(['connect', world.serverUrl], {
    input: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n',
  });
  expect(errors).toMatch(/visit this URL: http:\/\/127\.0\.0\.1:\d+\/[\w-]{12}\n/);
  expect(errors).not.toContain('state=');
});

it('connect --no-browser names the scopes that the session lacks, and the sign-in that adds them', async () => {
  const world = await createWorld({ challengeScopes: 'notes:read' });
  const computer = newComputer(followRedirects);
  await computer.run(['login', world.serverUrl]);
  world.server.on('/mcp', {
    status: 403,
    headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="notes:write"' },
  });
  const { output } = await computer.run(['connect', world.serverUrl, '--no-browser'], {
    input: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n',
  });
  const { message } = JSON.parse(output).error;
  expect(message).toContain('The session lacks notes:write');
  expect(message).toMatch(/login \S+ --scope notes:read notes:write$/);
  expect(message).not.toMatch(/no session|--no-browser|--step-up/);
  expect(computer.opened()).toHaveLength(1);
});

interface Seen {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly message: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** An unprotected server of the transport with sessions, which responds as scripted. */
async function script(answer: (seen: Seen, response: ServerResponse, all: readonly Seen[]) => void) {
  const all: Seen[] = [];
  const http = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const seen = {
      method: request.method ?? '',
      headers: request.headers,
      message: body === '' ? {} : JSON.parse(body),
      body,
    };
    all.push(seen);
    answer(seen, response, all);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  servers.push(http);
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, all };
}

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const http of servers.splice(0)) {
    http.closeAllConnections();
    http.close();
  }
});

const json = { 'content-type': 'application/json' };
const stream = { 'content-type': 'text/event-stream' };
const event = (message: unknown, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`;

function begin({ message }: Seen, response: ServerResponse, session: string): void {
  const result = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'scripted', version: '1' },
  };
  response
    .writeHead(200, { ...json, 'mcp-session-id': session })
    .end(JSON.stringify({ jsonrpc: '2.0', id: message['id'], result }));
}

describe('with a scripted server', () => {
  it('passes notifications and requests from the server to the client, and the responses back', async () => {
    const { url, all } = await script((seen, response) => {
      const { message, method } = seen;
      if (message['method'] === 'initialize') return begin(seen, response, 's1');
      if (method === 'GET') {
        response.writeHead(200, stream);
        response.write(event({ jsonrpc: '2.0', id: 'q1', method: 'roots/list' }));
        return response.write(event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }));
      }
      return response.writeHead(method === 'DELETE' ? 200 : 202).end();
    });
    const client = new Client(info, { capabilities: { roots: {} } });
    const changed = Promise.withResolvers<void>();
    client.fallbackNotificationHandler = async ({ method }) => {
      if (method === 'notifications/tools/list_changed') changed.resolve();
    };
    const { ListRootsRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///here' }] }));
    await client.connect(bridgeTransport(url));
    await changed.promise;
    await expect
      .poll(() => all.map(({ message }) => message))
      .toContainEqual({
        jsonrpc: '2.0',
        id: 'q1',
        result: { roots: [{ uri: 'file:///here' }] },
      });
    await client.close();
    await expect.poll(() => all.some(({ method }) => method === 'DELETE')).toBe(true);
    const after = all.filter(
      ({ message, method }) => message['method'] !== 'initialize' || method !== 'POST',
    );
    expect(after.every(({ headers }) => headers['mcp-session-id'] === 's1')).toBe(true);
    expect(after.every(({ headers }) => headers['mcp-protocol-version'] === '2025-11-25')).toBe(true);
  });

  it('resumes a response where its stream broke', async () => {
    const { url, all } = await script((seen, response) => {
      const { message, method, headers } = seen;
      if (message['method'] === 'initialize') return begin(seen, response, 's1');
      if (message['method'] === 'tools/list') {
        response.writeHead(200, stream);
        return response.write(`id: e1\nretry: 10\ndata:\n\n`, () => response.destroy());
      }
      if (method === 'GET' && headers['last-event-id'] === 'e1')
        return response.writeHead(200, stream).end(
          event(
            {
              jsonrpc: '2.0',
              id: 1,
              result: { tools: [{ name: 'late', inputSchema: { type: 'object' } }] },
            },
            'e2',
          ),
        );
      return response.writeHead(method === 'GET' ? 405 : 202).end();
    });
    const client = new Client(info);
    await client.connect(bridgeTransport(url));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['late']);
    // The stream of the server's own messages may be asked for later than the one that broke.
    await expect.poll(() => all.filter(({ method }) => method === 'GET').length).toBe(2);
    await client.close();
  });

  it('passes requests on after a notification that the server does not respond to', async () => {
    const { url, all } = await script((seen, response) => {
      const { message } = seen;
      if (message['method'] === 'initialize') return begin(seen, response, 's1');
      return message['method'] === 'notifications/cancelled' ? undefined : response.writeHead(202).end();
    });
    const { input, stop, ended } = startBridge(url);
    const say = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    say({ id: 1, method: 'initialize', params: {} });
    say({ method: 'notifications/cancelled', params: { requestId: 7 } });
    say({ id: 2, method: 'ping' });
    await expect
      .poll(() => all.map(({ message }) => message['method']), { timeout: 20_000 })
      .toEqual(['initialize', 'notifications/cancelled', 'ping']);
    stop();
    await ended;
  });

  it('does not sign in again for the messages of the server until the host sends something', async () => {
    let streams = 0;
    const { url } = await script((seen, response) => begin(seen, response, 's1'));
    const input = new PassThrough();
    const output = new PassThrough();
    const ended = bridge({
      ...{ url, input, output, tell: () => undefined, signal: new AbortController().signal },
      fetch(target, init) {
        if (init?.method !== 'GET') return fetch(target, init);
        streams += 1;
        return Promise.reject(new ClientError('authorization_denied', 'Access was denied.'));
      },
    });
    const responses = createInterface({ input: output })[Symbol.asyncIterator]();
    const say = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    say({ id: 1, method: 'initialize', params: {} });
    await responses.next();
    say({ method: 'notifications/initialized' });
    await expect.poll(() => streams).toBe(1);
    say({ id: 2, method: 'ping' });
    await responses.next();
    expect(streams).toBe(2);
    input.end();
    await ended;
  });

  it('opens no browser for the stream of the server after a sign-out elsewhere, and one for the next request of the host', async () => {
    const world = await createWorld();
    const store = createMemoryStore();
    const challenge = { 'www-authenticate': 'Bearer realm="test"' };
    world.server.on('/mcp', ({ method, headers, body }) => {
      const { id } = method === 'POST' ? (JSON.parse(body) as { id?: number }) : {};
      // Notifications need no token.
      if (method === 'POST' && id === undefined) return { status: 202 };
      const token = headers.get('authorization')?.replace('Bearer ', '') ?? '';
      if (!world.tokens.has(token)) return { status: 401, headers: challenge };
      return method === 'POST' ? { body: { jsonrpc: '2.0', id, result: {} } } : { status: 405 };
    });
    const input = new PassThrough();
    const output = new PassThrough();
    const told: string[] = [];
    const { server: url, fetch, fetchInBackground } = world.client({ store });
    const ended = bridge({
      ...{ url, fetch, fetchInBackground, input, output, signal: new AbortController().signal },
      tell: (line) => void told.push(line),
    });
    const responses = createInterface({ input: output })[Symbol.asyncIterator]();
    const say = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    say({ id: 1, method: 'initialize', params: {} });
    await responses.next();

    await world.client({ store }).signOut();
    world.tokens.clear();
    say({ method: 'notifications/initialized' });
    await expect.poll(() => told).toHaveLength(1);
    expect(told[0]).toContain('requires a sign-in, which begins with the next request');
    expect(world.user.opened).toHaveLength(1);

    say({ id: 2, method: 'ping' });
    expect(JSON.parse(String((await responses.next()).value))).toMatchObject({ id: 2, result: {} });
    expect(world.user.opened).toHaveLength(2);
    input.end();
    await ended;
  });

  it.each([
    [404, {}],
    [400, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'No valid session ID provided' } }],
  ])(
    'starts a new session, unnoticed by the client, when the server has lost the old one: %i',
    async (status, body) => {
      let live = 's1';
      const { url } = await script((seen, response) => {
        const { message, method, headers } = seen;
        if (message['method'] === 'initialize') return begin(seen, response, live);
        if (method !== 'POST') return response.writeHead(405).end();
        if (headers['mcp-session-id'] !== live)
          return response.writeHead(status, json).end(JSON.stringify(body));
        if (message['id'] === undefined) return response.writeHead(202).end();
        return response
          .writeHead(200, json)
          .end(JSON.stringify({ jsonrpc: '2.0', id: message['id'], result: { tools: [] } }));
      });
      const client = new Client(info);
      await client.connect(bridgeTransport(url));
      await client.listTools();
      live = 's2';
      expect((await client.listTools()).tools).toEqual([]);
      await client.close();
    },
  );

  it('passes a cancellation on to the server and ends the request', async () => {
    const { url, all } = await script((seen, response) => {
      const { message, method } = seen;
      if (message['method'] === 'initialize') return begin(seen, response, 's1');
      if (message['method'] === 'tools/call') return response.writeHead(200, stream).flushHeaders();
      return response.writeHead(method === 'GET' ? 405 : 202).end();
    });
    const client = new Client(info);
    await client.connect(bridgeTransport(url));
    const impatient = new AbortController();
    const call = client.callTool({ name: 'slow', arguments: {} }, undefined, { signal: impatient.signal });
    const outcome = call.catch(() => 'gave up');
    await expect.poll(() => all.some(({ message }) => message['method'] === 'tools/call')).toBe(true);
    impatient.abort('no longer');
    expect(await outcome).toBe('gave up');
    await expect
      .poll(() => all.map(({ message }) => message))
      .toContainEqual(expect.objectContaining({ method: 'notifications/cancelled' }));
    await client.close();
  });

  it('ends the stream on cancellation in the stateless transport, and sends the parameters marked x-mcp-header as headers', async () => {
    const ended = Promise.withResolvers<void>();
    const { url, all } = await script(({ message }, response) => {
      if (message['method'] === 'tools/call') {
        response.writeHead(200, stream).flushHeaders();
        return void response.once('close', () => ended.resolve());
      }
      const inputSchema = {
        type: 'object',
        properties: { city: { type: 'string', 'x-mcp-header': 'City' } },
      };
      const result = { tools: [{ name: 'wéather', inputSchema }] };
      return void response
        .writeHead(200, json)
        .end(JSON.stringify({ jsonrpc: '2.0', id: message['id'], result }));
    });
    const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
    const bridge = startBridge(url);
    const say = (message: object) =>
      bridge.input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    let output = '';
    bridge.output.on('data', (chunk) => {
      output += chunk;
    });
    say({ id: 1, method: 'tools/list', params: meta });
    await expect.poll(() => output).toContain('"id":1');
    say({ id: 2, method: 'tools/call', params: { ...meta, name: 'wéather', arguments: { city: 'Łódź' } } });
    await expect.poll(() => all.length).toBe(2);
    say({ method: 'notifications/cancelled', params: { requestId: 2 } });
    await ended.promise;
    bridge.input.end();
    await bridge.ended;
    const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
    expect(all[1]?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': encoded('wéather'),
      'mcp-param-city': encoded('Łódź'),
    });
    expect(all).toHaveLength(2);
    expect(output.trim().split('\n')).toHaveLength(1);
  });

  it('passes numbers on as they are written', async () => {
    const { url, all } = await script(({ body }, response) =>
      response
        .writeHead(200, json)
        .end(`{"jsonrpc":"2.0","id":1,"result":${/"arguments":(\{.*?\})/.exec(body)?.[1]}}`),
    );
    const bridge = startBridge(url);
    const given = '{"n":[9007199254740993,1.50,-0]}';
    bridge.input.end(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":${given}}}\n`,
    );
    expect(await text(bridge.output.on('data', () => bridge.output.end()))).toBe(
      `{"jsonrpc":"2.0","id":1,"result":${given}}\n`,
    );
    await bridge.ended;
    expect(all[0]?.body).toContain(`"arguments":${given}`);
  });

  it('passes messages that contain line separators of Unicode on as they are', async () => {
    const { url, all } = await script(({ message }, response) =>
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: message['id'], result: {} })),
    );
    const bridge = startBridge(url);
    const call = (id: number, text: string) =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'save', text } });
    // Without a line break at the end, and with one of Windows.
    bridge.input.end(`${call(1, 'one\u2028two')}\r\n${call(2, 'one\u2029two\u0085three')}`);
    await bridge.ended;
    expect(
      all
        .map(({ message }) => message['params'])
        .toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
    ).toEqual([
      { name: 'save', text: 'one\u2028two' },
      { name: 'save', text: 'one\u2029two\u0085three' },
    ]);
    expect(bridge.errors).toEqual([]);
  });

  it('responds with a JSON-RPC error to a line that is not a message, and goes on', async () => {
    const { url, all } = await script(({ message }, response) =>
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: message['id'], result: {} })),
    );
    const bridge = startBridge(url);
    bridge.input.write('{"jsonrpc":\n\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n[]\n[1]\n');
    bridge.input.end('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}\n');
    await bridge.ended;
    const output = String(bridge.output.read()).trim().split('\n');
    const reason = 'A line on standard input is not an MCP message.';
    const refusal = (code: number) => ({ jsonrpc: '2.0', id: null, error: { code, message: reason } });
    const [exact] = output.splice(3, 1);
    expect(exact).toContain('"id":9007199254740993,"error":{"code":-32600,');
    expect(output.map((line) => JSON.parse(line))).toEqual([
      refusal(-32_700),
      refusal(-32_600),
      refusal(-32_600),
      { jsonrpc: '2.0', id: 2, result: {} },
    ]);
    expect(bridge.errors).toEqual([reason, reason, reason, reason]);
    expect(all.map(({ message }) => message['method'])).toEqual(['ping']);
  });

  it('responds with a JSON-RPC error naming the status when the server fails', async () => {
    const { url } = await script((_seen, response) => response.writeHead(500).end('<h1>down</h1>'));
    const computer = newComputer();
    const { output, errors } = await computer.run(['connect', url], {
      input: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n',
    });
    expect(JSON.parse(output)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32000, message: 'The server answered with status 500' },
    });
    expect(errors).toBe('portcullis: The server answered with status 500\n');
  });
});
