/** A new sign-in revokes the session that it replaces, where the authorization server keeps other grants. */
import { describe, expect, it } from 'vitest';
import { ClientError, type CredentialStore, createMemoryStore } from '../src/index.ts';
import { keyText } from '../src/storage/credential-store.ts';
import type { Registration, Tokens } from '../src/storage/credentials.ts';
import { codeOf, createWorld, refusal, type World } from './support/world.ts';

/** A world whose server revokes; `metadata` is what it says beside that. */
async function revokingWorld(metadata: Readonly<Record<string, unknown>>): Promise<World> {
  const world = await createWorld();
  const { origin } = world.as;
  world.as.on('GET /.well-known/oauth-authorization-server', {
    body: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      revocation_endpoint: `${origin}/revoke`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      ...metadata,
    },
  });
  world.as.on('POST /revoke', ({ form }) => {
    world.refreshTokens.delete(form.get('token') ?? '');
    return { body: '' };
  });
  return world;
}

const SEPARATE = { revocation_leaves_other_grants: true };

describe('a second sign-in', () => {
  it('revokes the replaced tokens after the new ones are stored', async () => {
    const world = await revokingWorld(SEPARATE);
    const store = createMemoryStore();
    const client = world.client({ store });
    await client.signIn();
    const [first = ''] = world.refreshTokens;
    expect(world.as.asked('/revoke')).toEqual([]);
    await client.signIn();
    expect(world.as.log.map(({ path }) => path).slice(-3)).toEqual(['/token', '/revoke', '/revoke']);
    expect(world.as.asked('/revoke')[0]?.form.get('token')).toBe(first);
    expect([...world.refreshTokens]).toHaveLength(1);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    world.advance(3_600_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(2);
  });

  it('revokes with the client that the replaced tokens were issued to', async () => {
    const world = await revokingWorld(SEPARATE);
    const store = createMemoryStore();
    const client = world.client({ store });
    const { clientId } = await client.signIn();
    const redirectUri = 'http://127.0.0.1:50000/callback';
    const elsewhere = world.client({
      store,
      receiver: {
        listen: async (known) => ({ ...(await world.user.receiver.listen(known)), redirectUri }),
      },
    });
    const { clientId: later } = await elsewhere.signIn();
    expect(later).not.toBe(clientId);
    expect(world.as.asked('/revoke')[0]?.form.get('client_id')).toBe(clientId);
    expect(world.refreshTokens.size).toBe(1);
  });

  it('does not revoke the replaced tokens where that might revoke the new ones', async () => {
    const world = await revokingWorld({});
    const client = world.client();
    await client.signIn();
    await client.signIn();
    expect(world.as.asked('/revoke')).toEqual([]);
    expect(world.refreshTokens.size).toBe(2);
  });

  it('reports a failed revocation and keeps the new session', async () => {
    const world = await revokingWorld(SEPARATE);
    world.as.on('POST /revoke', { status: 400, body: { error: 'invalid_client' } });
    const client = world.client();
    await client.signIn();
    await client.signIn();
    expect(world.events.at(-1)).toMatchObject({ type: 'session.revocation_failed', issuer: world.issuer });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(2);
  });

  it('revokes the replaced tokens after begin and complete', async () => {
    const world = await revokingWorld(SEPARATE);
    const client = world.client();
    for (let round = 0; round < 2; round += 1) {
      const url = await client.begin({ redirectUri: world.user.redirectUri });
      const arrived = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
      await client.complete(arrived);
    }
    expect(world.refreshTokens.size).toBe(1);
    expect((await client.session())?.issuer).toBe(world.issuer);
  });

  it('reports that it waits for the sign-in of another process', async () => {
    const world = await revokingWorld({});
    const store = createMemoryStore();
    const release = await store.lock(`sign in ${world.serverUrl} default`);
    const waits = Promise.withResolvers<void>();
    const client = world.client({
      store,
      onEvent: (event) => event.type === 'sign_in.waiting' && waits.resolve(),
    });
    const signing = client.signIn();
    await waits.promise;
    expect(world.user.opened).toEqual([]);
    await release();
    expect((await signing).issuer).toBe(world.issuer);
  });
});

it('gives the end of the session as the reason of the next sign-in', async () => {
  const world = await createWorld();
  const client = world.client();
  await client.fetch(world.serverUrl);
  world.refreshTokens.clear();
  world.tokens.clear();
  world.advance(3_600_000);
  expect((await client.fetch(world.serverUrl)).status).toBe(200);
  const told = world.events.flatMap((event) => (event.type === 'sign_in.started' ? [event.reason] : []));
  expect(told).toEqual(['no_tokens', 'session_ended']);
});

describe('a sign-in at another authorization server than before', () => {
  const OLD = 'https://old.example';

  /** What was got there; the token says when. */
  function got(accessToken: string): Tokens {
    return {
      accessToken,
      scheme: 'Bearer',
      expiresAt: null,
      obtainedAt: Date.now(),
      refreshToken: `${accessToken} again`,
      scopes: [],
      requestedScopes: [],
      resource: null,
      tokenEndpoint: `${OLD}/token`,
      clientId: 'before',
      dpopKey: null,
    };
  }

  it('deletes the tokens of the previous authorization server after a pending refresh, and keeps its registration', async () => {
    const world = await createWorld();
    const store = createMemoryStore();
    const key = { server: world.serverUrl, issuer: OLD, account: 'default', kind: 'user' } as const;
    await store.save({ key, registration: null, tokens: got('before'), since: 1 });
    const client = world.client({ store });
    // Another client on the same store refreshes them, and has registered again.
    const release = await store.lock(`refresh ${keyText(key)}`);
    const signing = client.signIn();
    const isKept = async () => (await store.find({ ...key, issuer: world.issuer }))?.tokens != null;
    await expect.poll(isKept).toBe(true);
    const registration: Registration = {
      method: 'dynamic',
      clientId: 'before',
      clientSecret: null,
      authentication: 'none',
      redirectUris: [],
      secretExpiresAt: null,
    };
    await store.save({ key, registration, tokens: got('after'), since: 1 });
    await release();
    expect((await signing).issuer).toBe(world.issuer);
    expect(await store.find(key)).toEqual({ key, registration, tokens: null, since: 1 });
    expect(world.events).toContainEqual(expect.objectContaining({ type: 'session.ended', issuer: OLD }));
    expect((await client.session())?.issuer).toBe(world.issuer);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(1);
  });
});

describe('a sign-in that was cancelled after it replaced the registration', () => {
  const redirectUri = 'http://127.0.0.1:50000/other';
  const replacements: [string, (world: World, store: CredentialStore) => Promise<unknown>][] = [
    ['at another redirect URI', (world, store) => world.client({ store }).begin({ redirectUri })],
    [
      'with a configured client',
      (world, store) =>
        world
          .client({ store, registration: { preregistered: [{ clientId: 'mine' }] } })
          .begin({ redirectUri }),
    ],
    [
      'with a new registration',
      async (world, store) => {
        const open = () => Promise.reject(new ClientError('cancelled', 'no'));
        const cancelling = world.client({ store, browser: { open } });
        expect(await codeOf(cancelling.signIn({ newRegistration: true }))).toBe('cancelled');
      },
    ],
  ];

  it.each(replacements)('%s leaves the session, with its own client', async (_how, replace) => {
    const world = await revokingWorld({});
    const store = createMemoryStore();
    const client = world.client({ store });
    const { clientId } = await client.signIn();
    const session = await client.session();
    await replace(world, store);
    expect(await client.session()).toEqual(session);
    for (const refreshes of [1, 2]) {
      world.advance(3_600_000);
      expect((await world.client({ store }).fetch(world.serverUrl)).status).toBe(200);
      expect(world.as.asked('/token').slice(1)).toHaveLength(refreshes);
    }
    expect(await client.signOut()).toBe('revoked');
    const own = [...world.as.asked('/token').slice(1), ...world.as.asked('/revoke')];
    expect(own.map(({ form }) => form.get('client_id'))).toEqual(own.map(() => clientId));
    expect(world.user.opened).toHaveLength(1);
  });

  it('completes another one, begun before it, whose tokens are refreshed with their own client', async () => {
    const world = await revokingWorld({});
    const client = world.client();
    const url = await client.begin({ redirectUri: world.user.redirectUri });
    await client.begin({ redirectUri });
    const arrived = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
    const { clientId } = await client.complete(arrived);
    world.advance(3_600_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.as.asked('/token').map(({ form }) => form.get('client_id'))).toEqual([clientId, clientId]);
    expect(world.user.opened).toHaveLength(0);
  });

  it('leaves the new registration to the next sign-in when the authorization server no longer knows the old one', async () => {
    const world = await revokingWorld({});
    const store = createMemoryStore();
    await world.client({ store }).signIn();
    const open = () => Promise.reject(new ClientError('cancelled', 'no'));
    const cancelling = () => world.client({ store, browser: { open } });
    expect(await codeOf(cancelling().signIn({ newRegistration: true }))).toBe('cancelled');
    world.as.on('POST /token', refusal('invalid_client', 401));
    world.tokens.clear();
    world.advance(3_600_000);
    for (let command = 0; command < 2; command += 1)
      expect(await codeOf(cancelling().fetch(world.serverUrl))).toBe('cancelled');
    // The old one was tried once.
    expect(world.as.asked('/token').slice(1)).toHaveLength(1);
    expect(world.as.asked('/register')).toHaveLength(2);
  });
});
