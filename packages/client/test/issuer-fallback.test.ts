/** A server that hides its metadata during a session: the client does not fall back to the server's own origin by itself. */
import { describe, expect, it } from 'vitest';
import { createMemoryStore } from '../src/index.ts';
import { createMcpProvider } from '../src/mcp.ts';
import { codeOf, createWorld, refusal, type World, type WorldSettings } from './support/world.ts';

/** The server answers with a bare challenge, all metadata is gone, its own origin offers an authorization server. */
function hideMetadata({ server, as, serverUrl }: World): void {
  const { pathname } = new URL(serverUrl);
  server.on(pathname, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
  server.on(`GET /.well-known/oauth-protected-resource${pathname}`, { status: 404 });
  server.on('POST /register', { status: 201, body: { client_id: 'caught' } });
  server.on('GET /authorize', ({ query }) => {
    const location = new URL(query.get('redirect_uri') ?? '');
    location.searchParams.set('code', 'caught');
    location.searchParams.set('state', query.get('state') ?? '');
    return { status: 302, headers: { location: location.href } };
  });
  server.on('POST /token', { body: { access_token: 'caught', token_type: 'Bearer' } });
  as.on('POST /token', refusal('invalid_request'));
}

/** Paths at the server's own origin that receive client registrations, users or codes. */
const ownEndpoints = ({ server }: World) =>
  server.log.map(({ path }) => path).filter((path) => ['/register', '/authorize', '/token'].includes(path));

async function signedIn(settings: WorldSettings = {}) {
  const world = await createWorld(settings);
  const store = createMemoryStore();
  const client = world.client({ store, limits: { retryDelays: [], cooldown: 0 } });
  await client.signIn();
  const records = () => store.list(client.server, 'default');
  return { world, store, client, records };
}

describe('a server that hides its metadata while its session is with another issuer', () => {
  it('gets neither a registration nor a code, and the session is kept', async () => {
    const { world, client, records } = await signedIn();
    const before = await records();
    hideMetadata(world);
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('metadata_missing');
    expect(ownEndpoints(world)).toEqual([]);
    expect(await records()).toEqual(before);
    expect(world.user.opened).toHaveLength(1);
  });

  it('says which issuer the session is with and what to do', async () => {
    const { world, client } = await signedIn();
    hideMetadata(world);
    await expect(client.fetch(world.serverUrl)).rejects.toThrow(world.issuer);
    await expect(client.fetch(world.serverUrl)).rejects.toThrow(/sign in again/);
  });

  it('gets nothing after the session has ended at its issuer either', async () => {
    const { world, client, records } = await signedIn();
    hideMetadata(world);
    world.as.on('POST /token', refusal('invalid_grant'));
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('metadata_missing');
    expect(ownEndpoints(world)).toEqual([]);
    expect((await records()).map(({ key, registration }) => [key.issuer, registration?.method])).toEqual([
      [world.issuer, 'dynamic'],
    ]);
  });

  it('gets nothing from a step-up', async () => {
    const { world, client } = await signedIn();
    hideMetadata(world);
    world.server.on('/mcp', {
      status: 403,
      headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="more"' },
    });
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('metadata_missing');
    expect(await codeOf(client.signIn({ scopes: ['more'] }))).toBe('metadata_missing');
    expect(ownEndpoints(world)).toEqual([]);
  });

  it('gets no credentials of an application', async () => {
    const world = await createWorld({ refresh: false });
    const registration = { preregistered: [{ clientId: 'batch', clientSecret: 'secret' }] };
    const client = world.client({ grant: { kind: 'application' }, registration, limits: { cooldown: 0 } });
    await client.fetch(world.serverUrl);
    hideMetadata(world);
    world.advance(3_600_000);
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('metadata_missing');
    expect(ownEndpoints(world)).toEqual([]);
  });

  it('gets nothing through the provider for the MCP SDK', async () => {
    const { world, client } = await signedIn();
    hideMetadata(world);
    await client.signOut();
    expect(await codeOf(createMcpProvider(client).tokens())).toBe('metadata_missing');
    expect(ownEndpoints(world)).toEqual([]);
  });

  it('keeps the session usable once the metadata is back', async () => {
    const { world, client } = await signedIn();
    hideMetadata(world);
    await codeOf(client.fetch(world.serverUrl));
    world.server.on('/mcp', ({ headers }) =>
      world.tokens.has((headers.get('authorization') ?? '').slice(7)) ? { body: 'ok' } : { status: 401 },
    );
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(1);
  });
});

describe('a new sign-in of the user', () => {
  it('accepts that the server has become its own authorization server', async () => {
    const { world, client } = await signedIn();
    hideMetadata(world);
    const session = await client.signIn();
    expect(session.issuer).toBe(world.server.origin);
    expect(ownEndpoints(world)).toContain('/register');
    world.server.on('/mcp', ({ headers }) => ({
      status: headers.get('authorization') === 'Bearer caught' ? 200 : 401,
    }));
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
  });

  it('accepts it in two steps too', async () => {
    const { world, client } = await signedIn();
    hideMetadata(world);
    const url = await client.begin({ redirectUri: world.user.redirectUri });
    expect(new URL(url).origin).toBe(world.server.origin);
  });

  it('makes the fallback the session, which the client renews by itself', async () => {
    const { world, client } = await signedIn();
    hideMetadata(world);
    await client.signIn();
    expect((await client.fetch(world.serverUrl)).status).toBe(401);
    expect(ownEndpoints(world).filter((path) => path === '/token')).toHaveLength(2);
  });
});

describe('without credentials of another issuer', () => {
  it('falls back to the server’s own origin for a server without metadata', async () => {
    const world = await createWorld({ oneOrigin: true, resourceMetadata: false, serverMetadata: false });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
  });

  it('follows a revision that the options pin', async () => {
    const { world, store } = await signedIn();
    hideMetadata(world);
    const pinned = world.client({ store, revision: '2025-03-26' });
    expect(await codeOf(pinned.fetch(world.serverUrl))).toBe('no error');
    expect(ownEndpoints(world)).toContain('/register');
  });
});
