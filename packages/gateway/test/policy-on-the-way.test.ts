/** Policy on the pass-through path: what is refused before anything reaches the backend, and what lists show. */
import { afterEach, describe, expect, it } from 'vitest';
import { createHolder } from '../../resource-server/test/support/holder.ts';
import { answerAll, json, startBackend } from './support/backend.ts';
import { startGateway } from './support/gateway.ts';

const open: { close(): Promise<void> }[] = [];

async function started<A extends { close(): Promise<void> }>(starting: Promise<A>): Promise<A> {
  const one = await starting;
  open.push(one);
  return one;
}

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

type Respond = Parameters<typeof startBackend>[0];

const tools = ['read_file', 'write_file', 'delete_file'].map((name) => ({
  name,
  inputSchema: { type: 'object' },
}));

const listed = (id: unknown) => ({ jsonrpc: '2.0', id, result: { tools, nextCursor: 'c1' } });

async function withRules(respond: Respond = answerAll, options: Parameters<typeof startGateway>[1] = {}) {
  const backend = await started(startBackend(respond));
  const gateway = await started(
    startGateway(
      [
        {
          path: '/mcp',
          backend: { url: backend.url },
          review: 'auto',
          scopes: { 'mcp:read': 'Read', 'mcp:write': 'Write' },
          tools: { 'read_*': ['mcp:read'], 'delete_*': false, '*': ['mcp:write'] },
        },
      ],
      options,
    ),
  );
  return { backend, gateway };
}

const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });

describe('a call of a tool', () => {
  it('that a rule never allows is 403, and nothing reaches the backend', async () => {
    const { backend, gateway } = await withRules();
    expect((await gateway.send('alice', { message: call('delete_file') })).status).toBe(403);
    expect(backend.received).toEqual([]);
    expect((await gateway.send('alice', { message: call('write_file') })).status).toBe(200);
    await expect.poll(() => gateway.calls.map(({ decision }) => decision)).toEqual(['denied', 'allowed']);
  });

  it('without its scope is challenged for it, so that clients step up', async () => {
    const { backend, gateway } = await withRules();
    const reader = 'alice_inspector_mcp.read';
    const response = await gateway.send(reader, { message: call('write_file') });
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toMatch(/insufficient_scope.*mcp:write/);
    expect(backend.received).toEqual([]);
    expect((await gateway.send(reader, { message: call('read_file') })).status).toBe(200);
  });

  it('without its scope gets a challenge of the scheme of its token', async () => {
    const { backend, gateway } = await withRules(answerAll, { dpop: {} });
    const holder = await createHolder();
    const token = `alice_inspector_mcp.read~${holder.thumbprint}`;
    const send = async (name: string) => {
      const claims = { htu: `${gateway.origin}/mcp`, iat: Math.floor(Date.now() / 1000) };
      const headers = { authorization: `DPoP ${token}`, dpop: await holder.prove(token, claims) };
      return gateway.send(null, { message: call(name), headers });
    };
    const bound = await send('write_file');
    expect([bound.status, bound.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringMatching(/^DPoP error="insufficient_scope".*mcp:write/),
    ]);
    const bearer = await gateway.send('alice_inspector_mcp.read', { message: call('write_file') });
    expect(bearer.headers.get('www-authenticate')).toMatch(/^Bearer error="insufficient_scope"/);
    expect(backend.received).toEqual([]);
    expect((await send('read_file')).status).toBe(200);
  });

  it('whose scope the client can never be granted is refused for good: no challenge leads to a loop', async () => {
    const backend = await started(startBackend(answerAll));
    const write = { description: 'Write', clients: ['desktop'] };
    const gateway = await started(
      startGateway([
        {
          path: '/mcp',
          backend: { url: backend.url },
          review: 'auto',
          scopes: { 'mcp:read': 'Read', 'mcp:write': write },
          tools: { 'read_*': ['mcp:read'], '*': ['mcp:write'] },
        },
      ]),
    );
    const refused = await gateway.send('alice_inspector_mcp.read', { message: call('write_file') });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([403, null]);
    expect(await refused.json()).toMatchObject({ error: { code: -32003 } });
    expect(backend.received.filter(({ body }) => body.includes('tools/call'))).toEqual([]);
    const desktop = await gateway.send('alice_desktop_mcp.read', { message: call('write_file') });
    expect([desktop.status, desktop.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringContaining('mcp:write'),
    ]);
  });

  it('in a batch with a forbidden one is refused with it', async () => {
    const { backend, gateway } = await withRules();
    const message = [call('read_file'), { ...call('delete_file'), id: 2 }];
    expect((await gateway.send('alice', { message })).status).toBe(403);
    expect(backend.received).toEqual([]);
  });

  it('with its name twice, or another name in the header, is refused', async () => {
    const { backend, gateway } = await withRules();
    const twice =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","name":"delete_file"}}';
    expect((await gateway.send('alice', { message: twice })).status).toBe(400);
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': 'read_file' };
    expect((await gateway.send('alice', { message: call('write_file'), headers })).status).toBe(400);
    expect(backend.received).toEqual([]);
  });
});

describe('a list of tools', () => {
  const list = { jsonrpc: '2.0', id: 5, method: 'tools/list' };
  const namesIn = (result: { readonly tools: readonly { readonly name: string }[] }) =>
    result.tools.map(({ name }) => name);

  it('in a JSON response shows what this token may call, and keeps other members', async () => {
    const { gateway } = await withRules((_received, response) => json(response, listed(5)));
    const { result } = (await (await gateway.send('alice', { message: list })).json()) as ReturnType<
      typeof listed
    >;
    expect(namesIn(result)).toEqual(['read_file', 'write_file']);
    expect(result.nextCursor).toBe('c1');
    const reader = await gateway.send('alice_inspector_mcp.read', { message: list });
    expect(namesIn(((await reader.json()) as ReturnType<typeof listed>).result)).toEqual(['read_file']);
  });

  it('in an event stream shows the same, between events that pass as they are', async () => {
    const { gateway } = await withRules((_received, response) => {
      const text = `: ping\n\nevent: message\nid: e1\ndata: ${JSON.stringify(listed(5))}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(text.slice(0, 40));
      setTimeout(() => response.end(text.slice(40)), 10);
    });
    const text = await (await gateway.send('alice', { message: list })).text();
    expect(text).toMatch(/^: ping\n\nevent: message\nid: \S+\ndata: .*\n\n$/);
    const data = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '') as ReturnType<typeof listed>;
    expect(namesIn(data.result)).toEqual(['read_file', 'write_file']);
    expect(text).not.toContain('id: e1');
  });
});
