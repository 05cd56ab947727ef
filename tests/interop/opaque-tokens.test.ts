/** Opaque access tokens of our authorization server at our guard, which introspects them. */
import { createAuthorizationServer } from '@portcullis/authorization-server';
import {
  createGuard,
  introspectionVerifier,
  jwtVerifier,
  type TokenVerifier,
} from '@portcullis/resource-server';
import { openStore } from '@portcullis/store';
import { expect, it, onTestFinished } from 'vitest';

const ISSUER = 'https://as.example';
const RESOURCE = 'https://api.example/mcp';
const START = 1_900_000_000;

async function start() {
  const clock = { now: START };
  const store = await openStore(':memory:');
  const server = await createAuthorizationServer({
    issuer: ISSUER,
    store,
    masterKey: new Uint8Array(32).fill(1),
    resources: [
      {
        resource: RESOURCE,
        name: 'Notes',
        scopes: { read: 'Read' },
        accessTokens: 'opaque',
        introspectionClients: ['guard'],
      },
    ],
    clients: ['machine', 'guard'].map((id) => ({
      client_id: id,
      client_secret: `${id}-secret`,
      grant_types: ['client_credentials'],
      scope: 'read',
    })),
    clock: () => clock.now,
  });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  const post = async (path: string, form: Record<string, string>) => {
    const headers = { authorization: `Basic ${btoa('machine:machine-secret')}` };
    const body = new URLSearchParams(form);
    return server.handle(new Request(`${ISSUER}${path}`, { method: 'POST', headers, body }));
  };
  const reach = (url: string, { signal: _signal, ...init }: RequestInit) =>
    server.handle(new Request(url, init));
  const admit = async (verifier: TokenVerifier, token: string) => {
    const guard = createGuard({ resource: RESOURCE, verifier, clock: () => clock.now, events: () => {} });
    const decision = await guard.authorize({ method: 'GET', url: '/mcp', authorization: `Bearer ${token}` });
    return decision.authorized ? decision.principal : decision.response.status;
  };
  const asking = introspectionVerifier({
    issuer: ISSUER,
    endpoint: `${ISSUER}/introspect`,
    clientId: 'guard',
    clientSecret: 'guard-secret',
    fetch: reach,
  });
  return { clock, post, reach, admit, asking };
}

it('[S-VAL-3] T095 accepts opaque tokens at an introspecting guard until they end, and at no guard that only verifies', async () => {
  const { clock, post, reach, admit, asking } = await start();
  const form = { grant_type: 'client_credentials', resource: RESOURCE, scope: 'read' };
  const { access_token: token } = (await (await post('/token', form)).json()) as { access_token: string };
  expect(token).toMatch(/^opaque\./);
  expect(await admit(asking, token)).toMatchObject({
    subject: 'machine',
    clientId: 'machine',
    scopes: ['read'],
  });
  expect(await admit(asking, `${token}A`)).toBe(401);
  expect(await admit(jwtVerifier({ issuer: ISSUER, fetch: reach }), token)).toBe(401);
  await post('/revoke', { token });
  clock.now += 10;
  expect(await admit(asking, token)).toBe(401);
});
