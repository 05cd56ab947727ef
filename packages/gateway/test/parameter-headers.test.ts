/** `Mcp-Param-*` headers at a backend of revision 2026-07-28: they reach it as its tools declare and the body has them, or not at all. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { json, startBackend } from './support/backend.ts';
import { lastMessage } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const PROPERTIES = {
  amount: { type: 'integer', 'x-mcp-header': 'Amount' },
  to: { type: 'string', 'x-mcp-header': 'To' },
};
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const LONG = 'x'.repeat(300_000);

async function start() {
  let properties: object = PROPERTIES;
  const backend = await startBackend(({ body }, response) => {
    const { id, method, params } = JSON.parse(body);
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
    declare(others: object): void {
      properties = others;
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

  it('does not reach the backend if no argument declares it', async () => {
    const { call, reached } = await start();
    const headers = { 'mcp-param-amount': '5', 'mcp-param-tenant': 'other' };
    expect((await call({ amount: 5 }, headers)).status).toBe(200);
    expect((await call({}, headers, 'tools/list')).status).toBe(200);
    expect([reached(), reached('tools/list').at(-1)]).toEqual([[{ 'mcp-param-amount': '5' }], {}]);
  });

  it('is compared with the definition that the backend has now', async () => {
    const { call, declare, reached } = await start();
    expect((await call({ amount: 5 }, { 'mcp-param-amount': '5' })).status).toBe(200);
    declare({ amount: { type: 'integer', 'x-mcp-header': 'Sum' } });
    expect((await call({ amount: 5 }, { 'mcp-param-sum': '5' })).status).toBe(200);
    expect(reached()).toEqual([{ 'mcp-param-amount': '5' }, { 'mcp-param-sum': '5' }]);
  });
});
