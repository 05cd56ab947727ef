/** `Mcp-Param-*` headers at a backend of revision 2026-07-28: those that its tools declare reach it as the body has them. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { BackendSession } from '../src/backends/backend.ts';
import { checkParameterHeaders } from '../src/backends/clients/parameter-headers.ts';
import { HEADER_LIST_AGE } from '../src/limits.ts';
import { json, startBackend } from './support/backend.ts';
import { callOf, lastMessage, startSession } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const PROPERTIES = {
  amount: { type: 'integer', 'x-mcp-header': 'Amount' },
  to: { type: 'string', 'x-mcp-header': 'To' },
};
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
/** Written by `JSON.stringify` as it is. */
const written = (text: string) => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
const LONG = 'x'.repeat(300_000);

async function start() {
  let properties: object | null = PROPERTIES;
  const backend = await startBackend(({ body }, response) => {
    const { id, method, params } = JSON.parse(body || '{}');
    if (method === 'tools/list' && properties === null) return void response.writeHead(500).end();
    const isLast = params?.cursor === 'next';
    const tools = isLast ? [{ name: 'pay', inputSchema: { type: 'object', properties } }] : [];
    const results: Record<string, object> = {
      'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
      'tools/list': { tools, ...(!isLast && { nextCursor: 'next' }) },
      'tools/call': { content: [] },
    };
    json(response, { jsonrpc: '2.0', id, result: results[method] });
  });
  onTestFinished(() => backend.close());
  const gateway = await startGateway([
    { path: '/mcp', name: 'Bank', backend: { url: backend.url }, review: 'auto' },
  ]);
  onTestFinished(() => gateway.close());
  return {
    /** @param others `null`: the backend does not list them */
    declare(others: object | null): void {
      properties = others;
    },
    /** Lists are old now. */
    pass(milliseconds: number): void {
      const now = performance.now.bind(performance);
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + milliseconds);
      onTestFinished(() => clock.mockRestore());
    },
    call: (given: object, headers: Record<string, string>, method = 'tools/call') =>
      gateway.send('alice', {
        message: { jsonrpc: '2.0', id: 7, method, params: { name: 'pay', arguments: given, _meta: META } },
        headers: {
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          ...(method === 'tools/call' && { 'mcp-name': 'pay' }),
          ...headers,
        },
      }),
    /** The headers of the calls that reached the backend. */
    reached: (method = 'tools/call') =>
      backend.received
        .filter(({ headers }) => headers['mcp-method'] === method)
        .map(({ headers }) =>
          Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-'))),
        ),
  };
}

describe('a header that repeats an argument', () => {
  it('reaches the backend as the body has it', async () => {
    const { call, reached } = await start();
    expect((await call({ amount: 5 }, { 'mcp-param-amount': '5' })).status).toBe(200);
    const headers = { 'mcp-param-amount': '5', 'mcp-param-to': `=?base64?${btoa('bob')}?=` };
    expect((await call({ amount: 5, to: 'bob', note: LONG }, headers)).status).toBe(200);
    expect(reached()).toEqual([
      { 'mcp-param-amount': '5' },
      { 'mcp-param-amount': '5', 'mcp-param-to': 'bob' },
    ]);
  });

  it.each([
    ['contradicts it', { amount: 5 }, { 'mcp-param-amount': '999999' }],
    ['contradicts it before a long body', { amount: 5, note: LONG }, { 'mcp-param-amount': '999999' }],
    ['repeats another argument', { amount: 5, note: 9 }, { 'mcp-param-amount': '9' }],
    ['is not encoded correctly', { amount: 5 }, { 'mcp-param-amount': '=?base64?!?=' }],
    ['is there for one of two', { amount: 5, to: 'bob' }, { 'mcp-param-amount': '5' }],
  ])('is refused if it %s, and nothing reaches the backend', async (_what, given, headers) => {
    const { call, reached } = await start();
    const response = await call(given, headers);
    expect([response.status, await lastMessage(response)]).toMatchObject([
      400,
      { id: 7, error: { code: -32_020 } },
    ]);
    expect(reached()).toEqual([]);
  });

  it.each([
    ['5', 5],
    ['5.0', 5],
    ['-5.00', -5],
    ['05', 5],
    ['5e0', 5],
    ['0.5E+1', 5],
  ])('may write the integer %s in another form', async (header, amount) => {
    const { call, reached } = await start();
    expect((await call({ amount }, { 'mcp-param-amount': header })).status).toBe(200);
    expect(reached()).toEqual([{ 'mcp-param-amount': String(amount) }]);
  });

  it.each(['9007199254740993', '-9007199254740993'])(
    'repeats the digits of %s, which is no double',
    async (digits) => {
      const { call, reached } = await start();
      expect((await call({ amount: written(digits) }, { 'mcp-param-amount': digits })).status).toBe(200);
      expect(reached()).toEqual([{ 'mcp-param-amount': digits }]);
    },
  );

  it('is that of an integer which the body writes in another form', async () => {
    const { call, reached } = await start();
    expect((await call({ amount: written('5.0') }, { 'mcp-param-amount': '5' })).status).toBe(200);
    expect(reached()).toEqual([{ 'mcp-param-amount': '5' }]);
  });

  it.each([
    ['5.5', 'mcp-param-amount', { amount: 5 }],
    ['0x5', 'mcp-param-amount', { amount: 5 }],
    ['', 'mcp-param-amount', { amount: 0 }],
    ['9007199254740993', 'mcp-param-amount', { amount: 9_007_199_254_740_992 }],
    ['9007199254740992', 'mcp-param-amount', { amount: written('9007199254740993') }],
    ['42.0', 'mcp-param-to', { to: '42' }],
  ])('is refused if it is %s in %s, which is another value', async (header, name, given) => {
    const { call, reached } = await start();
    expect((await call(given, { [name]: header })).status).toBe(400);
    expect(reached()).toEqual([]);
  });

  it('does not reach the backend if its argument is missing, or in another request', async () => {
    const { call, reached } = await start();
    const headers = { 'mcp-param-amount': '5', 'mcp-param-to': 'mallory' };
    expect((await call({ amount: 5 }, headers)).status).toBe(200);
    expect((await call({}, headers, 'tools/list')).status).toBe(200);
    expect([reached(), reached('tools/list').at(-1)]).toEqual([[{ 'mcp-param-amount': '5' }], {}]);
  });

  it('reaches the backend as it is if no tool declares it, also with other requests', async () => {
    const { call, reached } = await start();
    const headers = { 'mcp-param-amount': '5', 'mcp-param-tenant': '=?base64?YQ==?=' };
    const [amount, tenant] = Object.entries(headers).map((entry) => Object.fromEntries([entry]));
    expect((await call({ amount: 5 }, headers)).status).toBe(200);
    expect((await call({}, headers, 'tools/list')).status).toBe(200);
    expect([reached(), reached('tools/list').at(-1)]).toEqual([[{ ...amount, ...tenant }], tenant]);
  });

  it('does not reach the backend while its tools are not listed, since it may be declared', async () => {
    const { call, declare, pass, reached } = await start();
    declare(null);
    expect((await call({ amount: 5 }, { 'mcp-param-amount': '999999' })).status).toBe(200);
    declare(PROPERTIES);
    pass(HEADER_LIST_AGE);
    expect((await call({ amount: 5 }, { 'mcp-param-amount': '999999' })).status).toBe(400);
    expect(reached()).toEqual([{}]);
  });

  it('is compared with the definition that the backend has now', async () => {
    const { call, declare, pass, reached } = await start();
    expect((await call({ amount: 5 }, { 'mcp-param-amount': '5' })).status).toBe(200);
    declare({ amount: { type: 'integer', 'x-mcp-header': 'Sum' } });
    pass(HEADER_LIST_AGE);
    expect((await call({ amount: 5 }, { 'mcp-param-sum': '5' })).status).toBe(200);
    expect(reached()).toEqual([{ 'mcp-param-amount': '5' }, { 'mcp-param-sum': '5' }]);
  });

  it('does not make the gateway list the tools again and again', async () => {
    const { call, pass, reached } = await start();
    const wrong = async () => {
      const headers = [{ 'mcp-param-amount': '6' }, { 'mcp-param-amount': '5', 'mcp-param-tenant': 'a' }];
      return [await call({ amount: 5 }, headers[0] ?? {}), await call({ amount: 5 }, headers[1] ?? {})];
    };
    for (let count = 0; count < 5; count += 1)
      expect((await wrong()).map(({ status }) => status)).toEqual([400, 200]);
    // Two pages.
    expect(reached('tools/list')).toHaveLength(2);
    pass(HEADER_LIST_AGE);
    await wrong();
    expect(reached('tools/list')).toHaveLength(4);
  });
});

describe('an argument that a backend wants in a header', () => {
  /** Refuses calls without the header, and lists the tool on its second page. */
  async function startStrict() {
    const backend = await startBackend(({ body, headers }, response) => {
      const { id, method, params } = JSON.parse(body || '{}');
      if (method === 'initialize') return void response.writeHead(400).end();
      if (method === 'tools/call' && headers['mcp-param-amount'] !== String(params.arguments.amount)) {
        response.writeHead(400, { 'content-type': 'application/json' });
        const error = { code: -32_020, message: 'Mcp-Param-Amount is missing' };
        return void response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      }
      const isLast = params?.cursor === 'next';
      const inputSchema = { type: 'object', properties: isLast ? PROPERTIES : {} };
      const tools = [{ name: isLast ? 'pay' : 'other', inputSchema }];
      const results: Record<string, object> = {
        'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        'tools/list': { tools, ...(!isLast && { nextCursor: 'next' }) },
      };
      json(response, { jsonrpc: '2.0', id, result: results[method] ?? { content: [] } });
    });
    onTestFinished(() => backend.close());
    const gateway = await startGateway([
      { path: '/mcp', backend: { url: backend.url }, review: 'auto' },
      { path: '/all', merges: { bank: '/mcp' } },
    ]);
    onTestFinished(() => gateway.close());
    return { backend, gateway };
  }

  it.each([
    ['/mcp', 'pay'],
    ['/all', 'bank__pay'],
  ])('reaches it from a session at %s, whichever page declares it', async (path, name) => {
    const { backend, gateway } = await startStrict();
    const { post } = await startSession(gateway, 'alice_app_mcp.write', path);
    const call = async (amount: number) => lastMessage(await post(callOf(name, { amount })));
    expect(await call(5)).toMatchObject({ result: { content: [] } });
    const before = backend.received.length;
    expect(await call(6)).toMatchObject({ result: { content: [] } });
    // It is known now.
    expect(backend.received.length - before).toBe(1);
  });
});

describe('a backend without headers, for which the gateway checks them', () => {
  function openSession() {
    let header = 'Amount';
    const request = vi.fn(async () => {
      const properties = { amount: { type: 'integer', 'x-mcp-header': header } };
      return { result: { tools: [{ name: 'pay', inputSchema: { type: 'object', properties } }] } };
    });
    const session = { request } as unknown as BackendSession;
    const params = { name: 'pay', arguments: { amount: 5 } };
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params } as const;
    return {
      request,
      call: (name: string) => checkParameterHeaders(session, message, { [name]: '5' }),
      rename(other: string): void {
        header = other;
      },
    };
  }

  it('compares them with the definition that the backend has now, listed again after five seconds', async () => {
    let now = 1000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const { request, call, rename } = openSession();
    await call('mcp-param-amount');
    rename('Sum');
    await expect(call('mcp-param-sum')).rejects.toMatchObject({ code: -32_020 });
    expect(request).toHaveBeenCalledOnce();
    now += HEADER_LIST_AGE;
    await call('mcp-param-sum');
    expect(request).toHaveBeenCalledTimes(2);
    await expect(call('mcp-param-amount')).rejects.toMatchObject({ code: -32_020 });
    expect(request).toHaveBeenCalledTimes(2);
  });
});
