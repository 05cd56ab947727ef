/** Clients that begin a sign-in from the result of a call, as ChatGPT does. */
import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend } from './support/backend.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const TOOLS = [
  { name: 'search', inputSchema: { type: 'object' } },
  {
    name: 'order',
    inputSchema: { type: 'object' },
    securitySchemes: [{ type: 'noauth' }],
    _meta: { own: 1 },
  },
  { name: 'wipe', inputSchema: { type: 'object' } },
];

async function behind(more: Partial<GatewayServerOptions> = { toolChallenges: ['openai-mcp'] }) {
  const backend = await startBackend(({ body }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    json(response, {
      jsonrpc: '2.0',
      id,
      result: method === 'tools/list' ? { tools: TOOLS } : { content: [] },
    });
  });
  const gateway = await startGateway([
    {
      path: '/mcp',
      backend: { url: backend.url },
      scopes: { 'mcp:read': 'Read', 'mcp:order': 'Order' },
      tools: { search: { public: true }, order: ['mcp:order'], wipe: false },
      review: 'auto',
      ...more,
    },
  ]);
  closing.push(backend.close, gateway.close);
  return { gateway, backend };
}

const CHATGPT = { 'user-agent': 'openai-mcp/1.0.0' };
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const call = (name: string) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: {} },
});
const send = (gateway: TestGateway, user: string | null, message: unknown, headers = CHATGPT) =>
  gateway.send(user, { message, headers });

describe('a server with toolChallenges', () => {
  it.each([
    { description: 'without a token', user: null, error: 'invalid_token', scope: 'mcp:read mcp:order' },
    {
      description: 'with too few scopes',
      user: 'alice_app_mcp.read',
      error: 'insufficient_scope',
      scope: 'mcp:read mcp:order',
    },
  ])('answers a call $description by a result with the challenge', async ({ user, error, scope }) => {
    const { gateway, backend } = await behind();
    const response = await send(gateway, user, call('order'));
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([200, null]);
    const challenge = `Bearer error="${error}", error_description="[^"]+", resource_metadata="${gateway.origin}/.well-known/oauth-protected-resource/mcp", scope="${scope}"`;
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        content: [{ type: 'text', text: expect.stringMatching(/access token/) }],
        isError: true,
        _meta: { 'mcp/www_authenticate': [expect.stringMatching(new RegExp(`^${challenge}$`))] },
      },
    });
    expect(backend.received).toEqual([]);
    expect(gateway.calls.at(-1)).toMatchObject({
      decision: user === null ? 'challenged' : 'insufficient_scope',
      because: { rule: expect.stringMatching(/^servers\[0\]/) },
    });
  });

  it('passes a call with the scopes that it needs, and one of a public tool', async () => {
    const { gateway } = await behind();
    for (const [user, tool] of [
      ['alice_app_mcp.order', 'order'],
      [null, 'search'],
    ] as const)
      expect(await (await send(gateway, user, call(tool))).json()).toMatchObject({ result: { content: [] } });
  });

  it('says in lists what each tool needs, also of those that need a token, and hides what is forbidden', async () => {
    const { gateway } = await behind();
    const { result } = JSON.parse(await (await send(gateway, null, list)).text());
    const order = [{ type: 'oauth2', scopes: ['mcp:order'] }];
    expect(result.tools).toEqual([
      {
        ...TOOLS[0],
        securitySchemes: [{ type: 'noauth' }],
        _meta: { securitySchemes: [{ type: 'noauth' }] },
      },
      { ...TOOLS[1], securitySchemes: order, _meta: { own: 1, securitySchemes: order } },
    ]);
  });

  it('marks the result as complete in the revision without sessions', async () => {
    const { gateway } = await behind();
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const message = { ...call('order'), params: { ...call('order').params, _meta } };
    const headers = {
      ...CHATGPT,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'order',
    };
    const response = await send(gateway, null, message, headers);
    expect(await response.json()).toMatchObject({ result: { resultType: 'complete', isError: true } });
  });

  it.each([
    ['another client', { 'user-agent': 'claude/1' }, call('order'), 401],
    ['a client whose name begins alike', { 'user-agent': 'openai-mcp-two/1' }, call('order'), 401],
    ['a method that is no call', CHATGPT, { jsonrpc: '2.0', id: 1, method: 'prompts/list' }, 401],
    [
      'a batch',
      { ...CHATGPT, 'mcp-protocol-version': '2025-03-26' },
      [{ ...call('search'), id: 8 }, call('order')],
      401,
    ],
  ])('challenges %s with a response', async (_what, headers, message, status) => {
    const { gateway } = await behind();
    const response = await gateway.send(null, { message, headers });
    expect(response.status).toBe(status);
    expect(response.headers.get('www-authenticate')).toContain('resource_metadata=');
  });

  it('refuses an invalid token with a response: it is never taken for none', async () => {
    const { gateway } = await behind();
    expect((await send(gateway, 'alice@/other', call('search'))).status).toBe(401);
  });
});

it('a server without toolChallenges challenges all clients alike, and lists only what they can call', async () => {
  const { gateway } = await behind({});
  expect((await send(gateway, null, call('order'))).status).toBe(401);
  const { result } = JSON.parse(await (await send(gateway, null, list)).text());
  expect(result.tools).toEqual([TOOLS[0]]);
});
