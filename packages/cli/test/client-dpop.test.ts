/** DPoP-bound tokens in the client commands: issued by oidc-provider, with a guard that requires a proof for each request. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createGuard, jwtVerifier, type KeySet } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { decodeJwt } from 'jose';
import { afterEach, expect, it } from 'vitest';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { visit } from '../../../tests/support/visit.ts';
import { openStage } from '../../client/test/support/oidc-provider.ts';
import type { Asked, Told } from '../../client/test/support/stub-server.ts';
import { type Computer, createComputer, main } from './support/command.ts';

const computers: Computer[] = [];
afterEach(() => {
  for (const computer of computers.splice(0)) computer.close();
});

/** Starts oidc-provider with DPoP nonces, and a guard with its own nonces in front of one tool. */
async function open(required: boolean) {
  const nonceSecret = Buffer.alloc(32, 1);
  const stage = await openStage({ dPoP: { enabled: true, nonceSecret, requireNonce: () => true } });
  const { mcp, serverUrl, origin } = stage;
  const guard = createGuard({
    resource: serverUrl,
    authorizationServers: [origin],
    scopes: ['notes:read'],
    defaultScopes: ['notes:read'],
    verifier: jwtVerifier({
      issuer: origin,
      jwks: async () => (await (await fetch(`${origin}/jwks`)).json()) as KeySet,
    }),
    dpop: { required, nonces: { secret: Buffer.alloc(32, 2) } },
    events: () => undefined,
  });
  const [accepted, proofs]: [string[], string[]] = [[], []];
  const handle = protect(guard, async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    return Response.json(answerTo((await request.json()) as Parameters<typeof answerTo>[0]) ?? null, {
      status: 200,
    });
  });
  const route = async (asked: Asked): Promise<Told> => {
    const body = asked.method === 'POST' ? { body: asked.body } : {};
    const request = new Request(mcp.origin + asked.target, {
      method: asked.method,
      headers: asked.headers,
      ...body,
    });
    const response = await handle(request);
    const text = await response.text();
    if (response.ok && asked.path === '/mcp') {
      const proof = decodeJwt(asked.headers.get('dpop') ?? '');
      accepted.push(`${asked.headers.get('authorization')?.split(' ')[0]} ${proof['htu']}`);
      proofs.push(String(proof.jti));
    }
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: text === '' ? null : JSON.parse(text),
    };
  };
  mcp.on('/mcp', route);
  mcp.on('/.well-known/oauth-protected-resource/mcp', route);
  mcp.on('GET /.well-known/oauth-protected-resource/mcp', route);
  const computer = createComputer({
    authorize: async (url) => new URL(await visit(url.toString(), { answers: { login: 'ada' } })),
  });
  computers.push(computer);
  return { ...stage, accepted, proofs, computer };
}

function answerTo({ id, method }: { id?: unknown; method?: string }): object | undefined {
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' },
    },
    'tools/list': { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'hello' }] },
  };
  const result = results[method ?? ''];
  if (id === undefined) return undefined;
  const error = { code: -32601, message: 'unknown' };
  return { jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) };
}

it('[X-DPOP-1] login, call and connect send DPoP proofs where the server requires them, and token refuses to print the token', async () => {
  const { serverUrl, computer, accepted, proofs } = await open(true);
  const login = await computer.run(['login', serverUrl, '--json']);
  expect([login.code, login.errors]).toEqual([0, expect.any(String)]);
  expect(JSON.parse(login.output)).toMatchObject({ scheme: 'DPoP' });

  const call = await computer.run(['call', serverUrl, 'hello']);
  expect([call.code, call.output], call.errors).toEqual([0, 'hello\n']);

  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...sourceFlags(), main, 'connect', serverUrl],
      env: { ...computer.environment },
      cwd: computer.folder,
      stderr: 'pipe',
    }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['hello']);
  await client.close();
  expect(new Set(accepted)).toEqual(new Set([`DPoP ${serverUrl}`]));
  expect(new Set(proofs).size).toBe(accepted.length);
  expect(computer.opened()).toHaveLength(1);

  const token = await computer.run(['token', serverUrl]);
  expect([token.code, token.output]).toEqual([5, '']);
  expect(token.errors).toContain('bound to a key on this computer');
  expect((await computer.run(['logout', serverUrl])).code).toBe(0);
});

it('[X-DPOP-1] login --dpop chooses between DPoP and bearer tokens where the server allows both', async () => {
  const { serverUrl, computer } = await open(false);
  const scheme = async (...words: string[]) => {
    const { output } = await computer.run(['login', serverUrl, '--json', ...words]);
    return JSON.parse(output).scheme;
  };
  expect(await scheme('--dpop', 'when-offered')).toBe('DPoP');
  expect(await scheme('--dpop', 'never')).toBe('Bearer');
});
