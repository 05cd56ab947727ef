/** A server without resource metadata whose authorization server is at another origin: which server is the token for? */
import { describe, expect, it } from 'vitest';
import { type ClientOptions, createMemoryStore } from '../src/index.ts';
import type { Party } from './support/stub-server.ts';
import { codeOf, createWorld, openParty, refusal, type World, type WorldSettings } from './support/world.ts';

const ASM = 'GET /.well-known/oauth-authorization-server';

/** The server has no resource metadata, and its own metadata names the endpoints of another origin. */
async function worldElsewhere(settings: WorldSettings = {}): Promise<World> {
  const world = await createWorld({ resourceMetadata: false, ...settings });
  const { as, server } = world;
  server.on(ASM, {
    body: {
      issuer: as.origin,
      authorization_endpoint: `${as.origin}/authorize`,
      token_endpoint: `${as.origin}/token`,
      registration_endpoint: `${as.origin}/register`,
      ...settings.metadata,
    },
  });
  return world;
}

/** An authorization server that protects another server: the request of a token for this one is refused. */
function protectOtherServer({ as, serverUrl }: World): void {
  as.on('GET /authorize', ({ query }) => {
    const location = new URL(query.get('redirect_uri') ?? '');
    const outcome =
      query.get('resource') === serverUrl ? ['error', 'invalid_target'] : ['code', 'for-another'];
    location.searchParams.set(outcome[0] ?? '', outcome[1] ?? '');
    location.searchParams.set('state', query.get('state') ?? '');
    return { status: 302, headers: { location: location.href } };
  });
}

describe('endpoints of a server without resource metadata on another origin', () => {
  it('T106 get the server as the resource in authorization, token and refresh requests', async () => {
    const world = await worldElsewhere();
    const client = world.client();
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    world.advance(590_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened[0]?.searchParams.getAll('resource')).toEqual([world.serverUrl]);
    const forms = world.as.asked('/token').map(({ form }) => [form.get('grant_type'), form.get('resource')]);
    expect(forms).toEqual([
      ['authorization_code', world.serverUrl],
      ['refresh_token', world.serverUrl],
    ]);
    expect(world.events.find(({ type }) => type === 'discovery.completed')).toMatchObject({
      revision: '2025-03-26',
      resource: world.serverUrl,
    });
  });

  it('T106 get the server as the resource in device requests', async () => {
    const world = await createWorld({ resourceMetadata: false });
    const { origin } = world.as;
    world.server.on(ASM, {
      body: {
        issuer: origin,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        device_authorization_endpoint: `${origin}/device`,
      },
    });
    world.as.on('POST /device', {
      body: { device_code: 'dc', user_code: 'WDJB-MJHT', verification_uri: 'https://as.example/device' },
    });
    const sleep = async () => undefined;
    const client = world.client({ grant: { kind: 'device', show: () => undefined }, sleep });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    for (const path of ['/device', '/token'])
      expect(world.as.asked(path).map(({ form }) => form.get('resource'))).toEqual([world.serverUrl]);
  });

  it('T106 give a server no token of an authorization server that protects another one', async () => {
    const world = await worldElsewhere();
    protectOtherServer(world);
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('authorization_failed');
    expect(world.as.asked('/token')).toEqual([]);
    expect(world.server.log.filter(({ headers }) => headers.has('authorization'))).toEqual([]);
    expect(await world.client().session()).toBeNull();
  });

  it('T106 get another resource, or none, where resourceIndicators says so', async () => {
    for (const wanted of ['https://resource.example', null]) {
      const world = await worldElsewhere();
      const resourceIndicators = { [world.as.origin]: wanted };
      await world.client({ resourceIndicators }).fetch(world.serverUrl);
      expect(world.user.opened[0]?.searchParams.get('resource')).toBe(wanted);
    }
  });

  it.each([
    { given: 'the issuer of the metadata', iss: undefined, advertised: true, expected: 'no error' },
    { given: 'no issuer', iss: null, advertised: undefined, expected: 'no error' },
    { given: 'no issuer, though announced', iss: null, advertised: true, expected: 'response_rejected' },
    {
      given: 'another issuer',
      iss: 'https://a.example',
      advertised: undefined,
      expected: 'response_rejected',
    },
  ])(
    'T116 an authorization response from there with $given ends with: $expected',
    async ({ iss, advertised, expected }) => {
      const world = await worldElsewhere({
        metadata: { authorization_response_iss_parameter_supported: advertised },
        ...(iss !== undefined && { responseIssuer: iss }),
      });
      expect(await codeOf(world.client().fetch(world.serverUrl))).toBe(expected);
      expect(world.as.asked('/token')).toHaveLength(expected === 'no error' ? 1 : 0);
    },
  );

  it.each([
    ['another origin', false],
    ['the origin of the server', true],
  ])(
    'the event of a sign-in names the origin of the authorization endpoint: %s',
    async (_where, oneOrigin) => {
      const world = oneOrigin
        ? await createWorld({ resourceMetadata: false, oneOrigin })
        : await worldElsewhere();
      await world.client().fetch(world.serverUrl);
      expect(world.events.find(({ type }) => type === 'sign_in.started')).toMatchObject({
        issuer: world.as.origin,
        location: world.as.origin,
      });
      expect(world.user.opened[0]?.searchParams.has('resource')).toBe(!oneOrigin);
    },
  );
});

/** The user has signed in; then the server names the endpoints of another origin. */
async function movedWorld(options: Partial<ClientOptions> = {}) {
  const world = await createWorld({ resourceMetadata: false });
  nameEndpoints(world, world.as);
  world.as.on('POST /revoke', { body: {} });
  const store = createMemoryStore();
  const limits = { retryDelays: [], cooldown: 0 };
  const client = world.client({ store, limits, ...options });
  await client.signIn();
  const next = await createWorld({ resourceMetadata: false });
  return { world, store, client, next: next.as, move: () => nameEndpoints(world, next.as) };
}

function nameEndpoints({ server }: World, { origin }: Party): void {
  server.on(ASM, {
    body: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      revocation_endpoint: `${origin}/revoke`,
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    },
  });
}

describe('a server without resource metadata that names the endpoints of another origin later', () => {
  it('[C-BIND-33] T107 gets neither tokens nor the registration revoked there on sign-out', async () => {
    const { client, next, move } = await movedWorld();
    move();
    expect(await client.signOut()).toBe('forgotten');
    expect(next.log).toEqual([]);
  });

  it('has the tokens revoked on sign-out while it names the same origin', async () => {
    const { world, client } = await movedWorld();
    expect(await client.signOut()).toBe('revoked');
    expect(world.as.asked('/revoke')).toHaveLength(2);
  });

  it.each<[string, Partial<ClientOptions>]>([
    ['without a pinned revision', {}],
    ['with a pinned revision', { revision: '2025-03-26' }],
  ])('[C-BIND-33] T107 gets no sign-in there that the user did not start: %s', async (_case, options) => {
    const { world, store, client, next, move } = await movedWorld(options);
    const before = await store.list(client.server);
    move();
    world.tokens.clear();
    world.as.on('POST /token', refusal('invalid_request'));
    await expect(client.fetch(world.serverUrl)).rejects.toThrow(
      `publishes no protected resource metadata, but its authorization server was ${world.as.origin}`,
    );
    expect(next.log).toEqual([]);
    expect(await store.list(client.server)).toEqual(before);
    expect(world.user.opened).toHaveLength(1);
  });

  it('[C-BIND-33] T107 has a sign-in of the user there register a client of its own', async () => {
    const { world, client, next, move } = await movedWorld();
    const [first] = world.as.asked('/token');
    move();
    expect((await client.signIn()).issuer).toBe(next.origin);
    expect(next.asked('/register')).toHaveLength(1);
    const [second] = next.asked('/token');
    for (const name of ['client_id', 'client_secret'])
      expect(second?.form.get(name)).not.toBe(first?.form.get(name));
  });

  it.each(['user', 'application'] as const)(
    '[C-BIND-33] T107 gets the secret of a configured client in no sign-in there: %s',
    async (kind) => {
      const preregistered = [{ clientId: 'ci', clientSecret: 'configured' }];
      const options = { grant: { kind }, registration: { preregistered } };
      const { world, store, client, next, move } = await movedWorld(options);
      const before = await store.list(client.server);
      move();
      expect(await codeOf(client.signIn())).toBe('registration_issuer_mismatch');
      world.advance(590_000);
      world.as.on('POST /token', refusal('invalid_request'));
      if (kind === 'application')
        expect(await codeOf(client.fetch(world.serverUrl))).toBe('metadata_missing');
      expect(next.log).toEqual([]);
      expect(await store.list(client.server)).toEqual(before);
    },
  );

  it('[C-BIND-33] T107 gets the secret of a client configured for the origin of its endpoints there only', async () => {
    const world = await createWorld({ resourceMetadata: false });
    nameEndpoints(world, world.as);
    const preregistered = [{ issuer: world.as.origin, clientId: 'ci', clientSecret: 'configured' }];
    const client = world.client({ grant: { kind: 'application' }, registration: { preregistered } });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    const next = await openParty();
    nameEndpoints(world, next);
    expect(await codeOf(client.signIn())).toBe('registration_issuer_mismatch');
    expect(next.log).toEqual([]);
  });

  it('may move from its own origin in an automatic sign-in, which registers a client there', async () => {
    const world = await createWorld({ resourceMetadata: false, oneOrigin: true });
    const client = world.client();
    await client.fetch(world.serverUrl);
    const next = await createWorld();
    nameEndpoints(world, next.as);
    world.tokens.clear();
    world.refreshTokens.clear();
    expect((await client.fetch(world.serverUrl)).status).toBe(401);
    expect(next.as.asked('/register')).toHaveLength(1);
    expect((await client.session())?.issuer).toBe(next.as.origin);
  });
});
