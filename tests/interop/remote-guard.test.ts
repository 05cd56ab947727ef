/** How soon guards reject a revoked token: in the same process, and in others. */
import { type AuthorizationServer, createAuthorizationServer } from '@portcullis/authorization-server';
import {
  createGuard,
  introspectionVerifier,
  jwtVerifier,
  type TokenVerifier,
} from '@portcullis/resource-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEmptyStore } from '../support/migrated-store.ts';

const ISSUER = 'https://as.example';
const RESOURCE = 'https://api.example/mcp';
const START = 1_900_000_000;

let now = START;
let server: AuthorizationServer;
/** Paths that a remote guard has requested at the authorization server. */
let asked: string[] = [];
let stop: () => Promise<void>;

beforeEach(async () => {
  now = START;
  asked = [];
  const store = await openEmptyStore();
  server = await createAuthorizationServer({
    issuer: ISSUER,
    store,
    masterKey: new Uint8Array(32).fill(1),
    resources: [
      { resource: RESOURCE, name: 'Notes', scopes: { read: 'Read' }, introspectionClients: ['guard'] },
    ],
    statusLists: true,
    clients: ['machine', 'guard'].map((id) => ({
      client_id: id,
      client_secret: `${id}-secret`,
      grant_types: ['client_credentials'],
      scope: 'read',
    })),
    clock: () => now,
  });
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

/** Requests of the guard that have no response yet. */
let pending = 0;

/** The authorization server as seen by a remote guard. */
const reach = (url: string, init: RequestInit): Promise<Response> => {
  asked.push(new URL(url).pathname);
  const { signal: _signal, ...rest } = init;
  pending += 1;
  return server.handle(new Request(url, rest)).finally(() => {
    pending -= 1;
  });
};

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
    const ask = guardWith(
      introspectionVerifier({
        issuer: ISSUER,
        endpoint: `${ISSUER}/introspect`,
        clientId: 'guard',
        clientSecret: 'guard-secret',
        fetch: reach,
      }),
    );
    const [token, other] = [await issue(), await issue()];
    expect([await ask(token), await ask(other)]).toEqual([200, 200]);
    await revoke(token);
    now = START + 10;
    expect([await ask(token), await ask(other)]).toEqual([401, 200]);
    expect(asked).toEqual(Array.from({ length: 4 }, () => '/introspect'));
  });

  it('T095 a remote guard that polls the status list rejects a revoked token within ten seconds', async () => {
    const clock = () => now;
    const ask = guardWith(jwtVerifier({ issuer: ISSUER, fetch: reach, statusList: { clock } }));
    const [token, other] = [await issue(), await issue()];
    expect([await ask(token), await ask(other)]).toEqual([200, 200]);
    await revoke(token);
    for (now = START + 1; now < START + 10; now += 1) {
      await ask(token);
      expect(await ask(other)).toBe(200);
      await expect.poll(() => pending).toBe(0);
    }
    expect([await ask(token), await ask(other)]).toEqual([401, 200]);
    const lists = asked.filter((path) => path === '/status-lists/0');
    expect(lists.length).toBeLessThanOrEqual(3);
    expect(asked).toEqual(['/.well-known/oauth-authorization-server', '/jwks', ...lists].toSorted(() => 0));
  });

  it('T095 a remote guard that has seen the status list rejects the revoked token through an outage, and accepts others for a minute', async () => {
    const clock = () => now;
    let isDown = false;
    const fetch = (url: string, init: RequestInit) =>
      isDown ? Promise.reject(new TypeError('fetch failed')) : reach(url, init);
    const ask = guardWith(jwtVerifier({ issuer: ISSUER, fetch, statusList: { clock } }));
    const [token, other] = [await issue(), await issue()];
    await revoke(token);
    now += 1;
    expect([await ask(token), await ask(other)]).toEqual([401, 200]);
    isDown = true;
    for (; now < START + 71; now += 10) expect([await ask(token), await ask(other)]).toEqual([401, 200]);
    now = START + 71;
    expect([await ask(token), await ask(other)]).toEqual([503, 503]);
    isDown = false;
    now += 1;
    expect([await ask(token), await ask(other)]).toEqual([401, 200]);
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
