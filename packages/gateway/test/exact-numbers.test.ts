/** Numbers in whole messages: rules and approvers decide about them as they are written, and backends and clients receive them so. */
import { loadConditions } from '@portcullis/policy';
import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { startBackend } from './support/backend.ts';
import { callOf, lastMessage, sendStateless, startSession, textOf } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server that writes every number as `1.0`, and the arguments of a call as they were written. `null` for a notification. */
function answer(text: string): string | null {
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return null;
  const [, given = '{}'] = /"arguments":(\{[^}]*\})/.exec(text) ?? [];
  const written = typeof id === 'number' ? `${id}.0` : JSON.stringify(id);
  const { protocolVersion } = params ?? {};
  const initialized = {
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'x', version: '1' },
  };
  const results: Record<string, string> = {
    initialize: JSON.stringify(initialized),
    'tools/list': '{"tools":[{"name":"echo","inputSchema":{"type":"object","maximum":9007199254740993}}]}',
    'tools/call': `{"content":[],"structuredContent":${given}}`,
  };
  const result = results[method];
  return result === undefined
    ? `{"jsonrpc":"2.0","id":${written},"error":{"code":-32601.0,"message":"Method not found"}}`
    : `{"jsonrpc":"2.0","id":${written},"result":${result}}`;
}

const PROCESS = [
  process.execPath,
  '-e',
  `const answer = ${answer};
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const token = JSON.parse(line).params?._meta?.progressToken;
    if (token) console.log('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":' + token + '.0,"progress":1.50}}');
    const answered = answer(line);
    if (answered !== null) console.log(answered);
  });`,
] as const;

async function open(
  servers: readonly object[],
  options: Parameters<typeof startGateway>[1] = {},
): Promise<TestGateway> {
  const gateway = await startGateway(servers as readonly GatewayServerOptions[], options);
  closing.push(gateway.close);
  return gateway;
}

async function startHttp(): Promise<string> {
  const backend = await startBackend(({ method, body }, response) => {
    const answered = method === 'POST' ? answer(body) : null;
    if (answered === null) return void response.writeHead(method === 'POST' ? 202 : 405).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(answered);
  });
  closing.push(backend.close);
  return backend.url;
}

/** HTTP+SSE. */
async function startSse(): Promise<string> {
  let write = (_event: string): unknown => undefined;
  const backend = await startBackend(({ method, body }, response) => {
    if (method === 'GET') {
      write = (event) => response.write(event);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void write('event: endpoint\ndata: /mcp\n\n');
    }
    const answered = answer(body);
    if (answered !== null) write(`data: ${answered}\n\n`);
    response.writeHead(202).end();
  });
  closing.push(backend.close);
  return backend.url;
}

/** Sends a call in a session, with arguments as they are written. */
async function callInSession(
  gateway: TestGateway,
  given: string,
  { id = '7', name = 'echo', user = 'alice' } = {},
) {
  const { session } = await startSession(gateway, user);
  const params = `{"name":"${name}","arguments":${given},"_meta":{"progressToken":"mine"}}`;
  const message = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
  return gateway.send(user, { message, headers: { 'mcp-session-id': session } });
}

/** Written by `JSON.stringify` as it is. */
const written = (text: string) => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

/** Servers of whole messages, and how a call is sent to them. */
const SERVERS: Record<string, () => Promise<(given: string) => Promise<Response>>> = {
  'a process': async () => {
    const gateway = await open([{ path: '/mcp', backend: { command: PROCESS } }]);
    return (given) => callInSession(gateway, given);
  },
  'a server over HTTP+SSE': async () => {
    const gateway = await open([{ path: '/mcp', backend: { url: await startSse(), transport: 'sse' } }]);
    return (given) => callInSession(gateway, given);
  },
  'a server with sessions, for a client without': async () => {
    const gateway = await open([{ path: '/mcp', backend: { url: await startHttp() } }]);
    return (given) => {
      const [, name = '', number = ''] = /"(\w+)":(.*)}/.exec(given) ?? [];
      const parameters = { name: 'echo', arguments: { [name]: written(number) } };
      return sendStateless(gateway, 'alice', 'tools/call', parameters);
    };
  },
  'a merged server': async () => {
    const member = { path: '/one', backend: { command: PROCESS }, review: 'auto' };
    const gateway = await open([member, { path: '/mcp', merges: { one: '/one' } }]);
    return (given) =>
      callInSession(gateway, given, { name: 'one__echo', user: 'alice_inspector_one.read_one.write' });
  },
};

const FORMS = ['9007199254740993', '-0', '1.0', '1.50', '1e400', '0.1234567890123456789'];

describe.each(Object.entries(SERVERS))('%s', (_server, start) => {
  it('receives numbers as the client wrote them, and its result reaches the client in the same way', async () => {
    const call = await start();
    for (const form of FORMS) {
      const response = await call(`{"n":${form}}`);
      expect(await response.text()).toContain(`"structuredContent":{"n":${form}}`);
    }
  });
});

it('the code of an error is read in another form: a method that the server does not know is a 404', async () => {
  const gateway = await open([{ path: '/mcp', backend: { command: PROCESS } }]);
  const response = await sendStateless(gateway, 'alice', 'prompts/list');
  expect([response.status, await lastMessage(response)]).toMatchObject([404, { error: { code: -32_601 } }]);
});

it('the data of an error of a server without sessions keeps its digits', async () => {
  const discovered = '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}';
  const backend = await startBackend(({ body }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    const end = (status: number, content: string) =>
      void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id ?? null)},${content}}`);
    if (method === 'server/discover') return end(200, `"result":${discovered}`);
    if (method === 'tools/list') return end(200, '"result":{"resultType":"complete","tools":[]}');
    const data = '{"account":9007199254740993}';
    end(
      400,
      `"error":{"code":${method === 'tools/call' ? '-32602.0' : '-32022'},"message":"Unknown","data":${data}}`,
    );
  });
  closing.push(backend.close);
  const gateway = await open([{ path: '/mcp', backend: { url: backend.url }, review: 'auto' }]);
  const response = await callInSession(gateway, '{}');
  const text = await response.text();
  expect(text).toContain('"code":-32602,');
  expect(text).toContain('"data":{"account":9007199254740993}');
});

it('a process receives the number that a condition has compared', async () => {
  const gateway = await open(
    [
      {
        path: '/mcp',
        backend: { command: PROCESS },
        tools: { '*': { when: 'call.arguments.n != 9007199254740992' } },
      },
    ],
    { conditions: await loadConditions() },
  );
  const allowed = await callInSession(gateway, '{"n":9007199254740993}');
  expect(await allowed.text()).toContain('"structuredContent":{"n":9007199254740993}');
  expect((await callInSession(gateway, '{"n":9007199254740992}')).status).toBe(403);
});

it('a request whose id cannot be repeated is refused, and one with an integer in another form is not', async () => {
  const gateway = await open([{ path: '/mcp', backend: { command: PROCESS } }]);
  for (const id of ['9007199254740993', '1e400', '-9007199254740993']) {
    const refused = await callInSession(gateway, '{}', { id });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(`"id":${id}`)]);
  }
  const response = await callInSession(gateway, '{}', { id: '7.0' });
  expect([response.status, await lastMessage(response)]).toMatchObject([200, { id: 7 }]);
});

it('progress is reported by its token, which the process writes in another form', async () => {
  const gateway = await open([{ path: '/mcp', backend: { command: PROCESS } }]);
  const text = await (await callInSession(gateway, '{}')).text();
  expect(text).toContain('"progress":1.50');
  expect(text).toContain('"progressToken":"mine"');
});

it('a request is cancelled by its id, also in another form', async () => {
  const gateway = await open([{ path: '/mcp', backend: { command: [...TINY] } }]);
  const { session, post, call } = await startSession(gateway, 'alice');
  const pending = post({ ...callOf('hang'), id: 70 });
  await expect.poll(() => call('pid')).not.toBe('');
  const cancelled = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":70.0}}';
  const sent = await gateway.send('alice', { message: cancelled, headers: { 'mcp-session-id': session } });
  expect(sent.status).toBe(202);
  expect(await (await pending).text()).not.toContain('"id":70');
});

it('a call that waits for input is continued by one with the same number only', async () => {
  const gateway = await open([{ path: '/mcp', backend: { command: [...TINY] } }]);
  const send = (number: string, more: object = {}) =>
    sendStateless(gateway, 'alice', 'tools/call', {
      name: 'ask',
      arguments: { n: written(number) },
      ...more,
    });
  const { result } = (await lastMessage(await send('9007199254740993'))) as {
    readonly result: { readonly requestState: string; readonly inputRequests: object };
  };
  const { requestState, inputRequests } = result;
  const accepted = { action: 'accept', content: { name: 'Ada' } };
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accepted]));
  const other = await lastMessage(await send('9007199254740994', { requestState, inputResponses }));
  expect(other).toMatchObject({ error: { code: -32_602 } });
  const same = await send('9007199254740993', { requestState, inputResponses });
  expect(await textOf(same)).toBe('Ada');
});

/** What a client gets from a server that passes through, and responds to everything else with this. */
async function respondWith(written: string, type: string): Promise<string> {
  const backend = await startBackend((_received, response) => {
    response.writeHead(200, { 'content-type': type });
    response.end(type === 'application/json' ? written : `data: ${written}\n\n`);
  });
  closing.push(backend.close);
  const rules = {
    tools: { hidden: false, '*': [] },
    resources: { 'wiki://hidden': false, '*': [] },
  } as const;
  const gateway = await open([{ path: '/mcp', backend: { url: backend.url }, ...rules }]);
  const response = await gateway.send('alice', { message: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  return response.text().catch(() => 'broken off');
}

it.each(['application/json', 'text/event-stream'])(
  'a list that is filtered keeps its numbers in %s',
  async (type) => {
    const tools = FORMS.map(
      (form, at) => `{"name":"t${at}","inputSchema":{"type":"object","maximum":${form}}}`,
    );
    const text = await respondWith(
      `{"jsonrpc":"2.0","id":1.0,"result":{"tools":[{"name":"hidden"},${tools.join(',')}],"ttlMs":1.0}}`,
      type,
    );
    expect(text).toContain(`{"jsonrpc":"2.0","id":1.0,"result":{"tools":[${tools.join(',')}],"ttlMs":1.0}}`);
  },
);

it('a notification that nests too deep to be edited does not pass, whatever its numbers are', async () => {
  const notification = (uri: string, depth: number) =>
    `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}","x":${'['.repeat(depth)}1.0${']'.repeat(depth)}}}`;
  expect(await respondWith(notification('wiki://hidden', 20_000), 'text/event-stream')).not.toContain(
    'hidden',
  );
  expect(await respondWith(notification('wiki://shown', 20), 'text/event-stream')).toContain('wiki://shown');
});
