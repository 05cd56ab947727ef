/** The guard in frameworks and runtimes that install from npm, by the programs of docs/frameworks.md. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPackages } from '../../support/install.ts';
import { installGuard, type Recipe, recipes, type Server, startRecipe } from './recipes.ts';

const { modules, missing } = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
if (missing === undefined) await installGuard(modules);
else console.warn(`skipped: ${missing}`);

const keys = await generateKeyPair('ES256');
const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'key-1', alg: 'ES256', use: 'sig' };

let issuer = '';
const authorizationServer = createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  const metadata = { issuer, jwks_uri: `${issuer}/jwks`, response_types_supported: ['code'] };
  response.end(JSON.stringify(request.url === '/jwks' ? { keys: [jwk] } : metadata));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => authorizationServer.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(authorizationServer.address() as AddressInfo).port}`;
});

afterAll(() => void authorizationServer.close());

describe.skipIf(missing).each(recipes)('the guard in $name', (recipe: Recipe) => {
  let server: Server;

  beforeAll(async () => {
    server = await startRecipe(recipe, modules, issuer);
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
  });

  const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const ADD = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'add_note' } };

  /** A token of the issuer for the resource that expires in ten minutes, unless claims say otherwise. */
  async function sign(claims: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const good = { iss: issuer, sub: 'alice', aud: `${server.origin}/mcp`, client_id: 'app', jti: 'one' };
    const all = { ...good, scope: 'notes:read', iat: now, exp: now + 600, ...claims };
    return new SignJWT(all)
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'key-1' })
      .sign(keys.privateKey);
  }

  /** Posts a message; `token` as bearer token. */
  function post(
    body: object,
    token?: string,
    path = '/mcp',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const all = new Headers(headers);
    all.set('content-type', 'application/json');
    if (token !== undefined) all.set('authorization', `Bearer ${token}`);
    return fetch(server.origin + path, { method: 'POST', headers: all, body: JSON.stringify(body) });
  }

  it('serves the metadata of the resource', async () => {
    const response = await fetch(`${server.origin}/.well-known/oauth-protected-resource/mcp`);
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ resource: `${server.origin}/mcp`, authorization_servers: [issuer] }),
    ]);
  });

  it('challenges a request without a token', async () => {
    const response = await post(LIST);
    const challenge = response.headers.get('www-authenticate');
    const metadata = `${server.origin}/.well-known/oauth-protected-resource/mcp`;
    expect([response.status, challenge]).toEqual([401, expect.stringContaining(metadata)]);
  });

  it('passes the principal and the unread body to the handler', async () => {
    const response = await post(LIST, await sign());
    expect(response.ok).toBe(true);
    expect(await response.json()).toEqual({ subject: 'alice', body: LIST });
  });

  it.each([
    ['of another resource', { aud: 'https://other.example/mcp' }],
    ['of another issuer', { iss: 'https://other.example' }],
    ['that has expired', { iat: 1, exp: 2 }],
  ])('rejects a token %s', async (_which, claims) => {
    const response = await post(LIST, await sign(claims));
    const challenge = response.headers.get('www-authenticate');
    expect([response.status, challenge]).toEqual([401, expect.stringContaining('invalid_token')]);
  });

  it('rejects a token with a forged signature', async () => {
    const token = await sign();
    const [header, , signature] = (await sign({ sub: 'mallory' })).split('.');
    const forged = [header, token.split('.')[1], signature].join('.');
    expect((await post(LIST, forged)).status).toBe(401);
  });

  it('rejects a token in the query', async () => {
    expect((await post(LIST, undefined, `/mcp?access_token=${await sign()}`)).status).toBe(401);
  });

  it('asks for the scope of the operation that the body names', async () => {
    const response = await post(ADD, await sign());
    const challenge = response.headers.get('www-authenticate') ?? '';
    expect([response.status, challenge]).toEqual([
      403,
      expect.stringContaining('scope="notes:read notes:write"'),
    ]);
    const allowed = await post(ADD, await sign({ scope: 'notes:read notes:write' }));
    expect([allowed.ok, await allowed.json()]).toEqual([true, { subject: 'alice', body: ADD }]);
  });

  it('rejects duplicate members of the message', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}';
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${await sign()}` };
    const response = await fetch(`${server.origin}/mcp`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
  });

  it('rejects the origin of another web site', async () => {
    const response = await post(LIST, await sign(), '/mcp', { origin: 'https://attacker.example' });
    expect(response.status).toBe(403);
  });
});
