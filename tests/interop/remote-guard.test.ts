/** How soon guards reject a revoked token: in the same process, and in others. */
import { type AuthorizationServer, createAuthorizationServer } from '@portcullis/authorization-server';
import type { AccessTokenClaims } from '@portcullis/protocol';
import {
  createGuard,
  introspectionVerifier,
  jwtVerifier,
  type TokenVerifier,
} from '@portcullis/resource-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAccessTokenFormat } from '../../packages/authorization-server/src/keys/access-token-format.ts';
import { loadKeyRing } from '../../packages/authorization-server/src/keys/key-ring.ts';
import { createServerContext } from '../../packages/authorization-server/src/server.ts';
import { openEmptyStore } from '../support/migrated-store.ts';

const ISSUER = 'https://as.example';
const RESOURCE = 'https://api.example/mcp';
const START = 1_900_000_000;

let now = START;
let server: AuthorizationServer;
/** Signs with the key of the server. */
let sign: (claims: AccessTokenClaims) => Promise<string>;
/** Paths that a remote guard has requested at the authorization server. */
let asked: string[] = [];
let stop: () => Promise<void>;

beforeEach(async () => {
  now = START;
  asked = [];
  const store = await openEmptyStore();
  const options = {
    issuer: ISSUER,
    store,
    masterKey: new Uint8Array(32).fill(1),
    resources: [
      { resource: RESOURCE, name: 'Notes', scopes: { read: 'Read' }, introspectionClients: ['guard'] },
    ],
    clients: ['machine', 'guard'].map((id) => ({
      client_id: id,
      client_secret: `${id}-secret`,
      grant_types: ['client_credentials'],
      scope: 'read',
    })),
    clock: () => now,
  };
  server = await createAuthorizationServer(options);
  const context = createServerContext(options);
  ({ sign } = createAccessTokenFormat(await loadKeyRing(context), context.options));
  stop = async () => {
    await server.close();
    await store.close();
  };
});

afterEach(() => stop());

function post(path: string, form: Record<string, string>): Promise<Response> {
  const headers = { authorization: `Basic ${btoa('machine:machine-secret')}` };
  return server.handle(
    new Request(`${ISSUER}${path}`, { method: 'POST', headers, body: new URLSearchParams(form) }),
  );
}

async function issue(): Promise<string> {
  const form = { grant_type: 'client_credentials', resource: RESOURCE, scope: 'read' };
  return ((await (await post('/token', form)).json()) as { access_token: string }).access_token;
}

const revoke = (token: string): Promise<Response> => post('/revoke', { token });

/** The authorization server as seen by a remote guard. */
const reach = (url: string, init: RequestInit): Promise<Response> => {
  asked.push(new URL(url).pathname);
  const { signal: _signal, ...rest } = init;
  return server.handle(new Request(url, rest));
};

const introspecting = (): TokenVerifier =>
  introspectionVerifier({
    issuer: ISSUER,
    endpoint: `${ISSUER}/introspect`,
    clientId: 'guard',
    clientSecret: 'guard-secret',
    fetch: reach,
  });

function guardWith(verifier: TokenVerifier): (token: string) => Promise<number> {
  const guard = createGuard({ resource: RESOURCE, verifier, clock: () => now, events: () => {} });
  return async (token) => {
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    return decision.authorized ? 200 : decision.response.status;
  };
}

describe('a revoked token', () => {
  it('[S-VAL-3] T095 a guard in the authorization server’s process rejects a revoked token at the next request', async () => {
    const ask = guardWith(jwtVerifier({ issuer: ISSUER, jwks: server.jwks, isLive: server.isLive }));
    const [token, other] = [await issue(), await issue()];
    expect([await ask(token), await ask(other)]).toEqual([200, 200]);
    await revoke(token);
    expect([await ask(token), await ask(other)]).toEqual([401, 200]);
  });

  it('T095 a remote guard that introspects rejects a revoked token within ten seconds', async () => {
    const ask = guardWith(introspecting());
    const [token, other] = [await issue(), await issue()];
    expect([await ask(token), await ask(other)]).toEqual([200, 200]);
    await revoke(token);
    now = START + 10;
    expect([await ask(token), await ask(other)]).toEqual([401, 200]);
    expect(asked).toEqual(Array.from({ length: 4 }, () => '/introspect'));
  });

  it('T095 a remote guard that only verifies rejects a revoked token once it has expired', async () => {
    const ask = guardWith(jwtVerifier({ issuer: ISSUER, fetch: reach }));
    const token = await issue();
    expect(await ask(token)).toBe(200);
    await revoke(token);
    expect(await ask(token)).toBe(200);
    now = START + 605;
    expect(await ask(token)).toBe(401);
    expect(asked).toEqual(['/.well-known/oauth-authorization-server', '/jwks']);
  });
});

/** Earlier versions published token status lists, to which their tokens refer. */
describe('a token with a status claim', () => {
  async function issueWithStatus(): Promise<string> {
    const [, payload = ''] = (await issue()).split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as AccessTokenClaims;
    const status = { status_list: { idx: 5, uri: `${ISSUER}/status-lists/0` } };
    return sign({ ...claims, jti: `${claims.jti}5`, ...{ status } });
  }

  it.each<[string, () => TokenVerifier, readonly string[]]>([
    ['only verifies', () => jwtVerifier({ issuer: ISSUER, fetch: reach }), ['/.well-known/oauth-authorization-server', '/jwks']],
    ['introspects', introspecting, ['/introspect']],
    ['is in the authorization server’s process', () => jwtVerifier({ issuer: ISSUER, jwks: server.jwks, isLive: server.isLive }), []],
  ])('a guard that %s accepts a token with a status claim, and requests no status list', async (_what, verifier, paths) => {
    expect(await guardWith(verifier())(await issueWithStatus())).toBe(200);
    expect(asked).toEqual(paths);
  }); // biome-ignore format: a table

  it('T095 a token with a status claim can be revoked and introspected as any other', async () => {
    const ask = guardWith(introspecting());
    const [token, other] = [await issueWithStatus(), await issueWithStatus()];
    expect([await ask(token), await ask(other)]).toEqual([200, 200]);
    await revoke(token);
    now = START + 10;
    expect([await ask(token), await ask(other)]).toEqual([401, 200]);
    const list = await server.handle(new Request(`${ISSUER}/status-lists/0`));
    expect(list.status).toBe(404);
  });
});
