/** Tokens: single-flight refresh ahead of expiry, outages, token responses, and sign-out. */
import { describe, expect, it } from 'vitest';
import { type CredentialStore, createMemoryStore } from '../src/index.ts';
import { createFailingStore } from './support/failing-store.ts';
import { calls, codeOf, createWorld, grant, refusal, type World } from './support/world.ts';

const refreshes = ({ as }: World) =>
  as.asked('/token').filter(({ form }) => form.get('grant_type') === 'refresh_token');

/** A client with a session, and the user's part behind it. */
async function signedIn(
  settings: Parameters<typeof createWorld>[0] = {},
  store: CredentialStore = createMemoryStore(),
) {
  const world = await createWorld(settings);
  const client = world.client({ store });
  await client.fetch(world.serverUrl);
  return { world, client, store };
}

/** Lets refreshes fail, in this order, before they work again. */
function failRefreshes(world: World, failures: readonly (() => ReturnType<typeof refusal> | null)[]): void {
  const waiting = [...failures];
  world.as.on('POST /token', ({ form }) => {
    const failure = form.get('grant_type') === 'refresh_token' ? waiting.shift() : undefined;
    if (failure !== undefined) return failure();
    world.refreshTokens.delete(form.get('refresh_token') ?? '');
    return grant(world, {}, '');
  });
}

/** A world whose server revokes. */
async function revokingWorld(metadata: Readonly<Record<string, unknown>> = {}): Promise<World> {
  const world = await createWorld();
  world.as.on('GET /.well-known/oauth-authorization-server', {
    body: {
      issuer: world.issuer,
      authorization_endpoint: `${world.issuer}/authorize`,
      token_endpoint: `${world.issuer}/token`,
      registration_endpoint: `${world.issuer}/register`,
      revocation_endpoint: `${world.issuer}/revoke`,
      code_challenge_methods_supported: ['S256'],
      ...metadata,
    },
  });
  world.as.on('POST /revoke', { body: '' });
  return world;
}

describe('refreshing', () => {
  it('[C-REF-61] T124 refreshes an expired token once for fifty concurrent calls (single flight)', async () => {
    const { world, client } = await signedIn();
    world.advance(3_600_000);
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.fetch(world.serverUrl)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(refreshes(world)).toHaveLength(1);
    expect(world.user.opened).toHaveLength(1);
  });

  it('[C-REF-61] fifty concurrent calls join one refresh, which locks the shared store once', async () => {
    const store = createMemoryStore();
    const locks: string[] = [];
    const counting: CredentialStore = {
      ...store,
      lock: (name) => {
        locks.push(name);
        return store.lock(name);
      },
    };
    const { world, client } = await signedIn({}, counting);
    world.advance(3_600_000);
    locks.length = 0;
    await Promise.all(Array.from({ length: 50 }, () => client.fetch(world.serverUrl)));
    expect(locks.filter((name) => name.startsWith('refresh '))).toHaveLength(1);
  });

  it('[C-REF-61] T124 refreshes once for fifty concurrent calls that are rejected', async () => {
    const { world, client } = await signedIn();
    world.tokens.clear();
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.fetch(world.serverUrl)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(refreshes(world)).toHaveLength(1);
  });

  it('T120 refreshes once for two clients that share a store', async () => {
    const { world, client, store } = await signedIn();
    const other = world.client({ store });
    world.advance(3_600_000);
    await Promise.all([
      client.fetch(world.serverUrl),
      other.fetch(world.serverUrl),
      client.fetch(world.serverUrl),
    ]);
    expect(refreshes(world)).toHaveLength(1);
    expect(world.user.opened).toHaveLength(1);
  });

  it('T120 signs in once for two clients that share a store without a session', async () => {
    const world = await createWorld();
    const store = createMemoryStore();
    const clients = [world.client({ store }), world.client({ store })];
    const answers = await Promise.all(clients.map((client) => client.fetch(world.serverUrl)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(world.user.opened).toHaveLength(1);
  });

  it('refreshes ahead of expiry', async () => {
    const { world, client } = await signedIn();
    world.advance(545_000);
    await client.fetch(world.serverUrl);
    expect(refreshes(world)).toHaveLength(1);
    expect(
      calls(world)
        .slice(1)
        .every(({ headers }) => headers.has('authorization')),
    ).toBe(true);
    world.advance(100_000);
    await client.fetch(world.serverUrl);
    expect(refreshes(world)).toHaveLength(1);
  });

  it('[C-REF-60] stores the new refresh token at once', async () => {
    const { world, client } = await signedIn();
    world.advance(590_000);
    await client.fetch(world.serverUrl);
    world.advance(590_000);
    await client.fetch(world.serverUrl);
    const [first, second] = refreshes(world).map(({ form }) => form.get('refresh_token'));
    expect(first).not.toBe(second);
    expect(world.user.opened).toHaveLength(1);
  });

  it('[C-REF-60] keeps the old refresh token when the response has none', async () => {
    const { world, client } = await signedIn();
    world.as.on('POST /token', () => grant(world, { refresh: false }, ''));
    for (let round = 0; round < 2; round += 1) {
      world.advance(590_000);
      await client.fetch(world.serverUrl);
    }
    const [first, second] = refreshes(world).map(({ form }) => form.get('refresh_token'));
    expect(first).toBe(second);
  });

  /** A client whose tokens were refreshed, but not saved, because the store failed. */
  async function refreshedUnsaved() {
    const store = createFailingStore();
    const { world, client } = await signedIn({}, store);
    const records = () => store.list(client.server, 'default');
    const before = await records();
    world.advance(590_000);
    store.failures = Number.POSITIVE_INFINITY;
    await expect(client.fetch(world.serverUrl)).rejects.toThrow('database is locked');
    expect(await records()).toEqual(before);
    return { world, client, store, records, repair: () => (store.failures = 0) };
  }

  it('[C-REF-60] keeps a new refresh token that could not be saved, and saves it at the next use', async () => {
    const { world, client, records, repair } = await refreshedUnsaved();
    await expect(client.fetch(world.serverUrl)).rejects.toThrow('database is locked');
    repair();
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    const [saved] = await records();
    expect(world.refreshTokens).toEqual(new Set([saved?.tokens?.refreshToken]));
    expect(refreshes(world)).toHaveLength(1);
    expect(world.user.opened).toHaveLength(1);
  });

  it('does not save refreshed tokens after another process has signed out', async () => {
    const { world, client, store, records, repair } = await refreshedUnsaved();
    repair();
    await world.client({ store }).signOut();
    const after = await records();
    expect(after).toMatchObject([{ tokens: null }]);
    expect(await client.accessToken()).toBeNull();
    expect(await records()).toEqual(after);
  });

  /** The store of a process that is suspended during a refresh until its lock has expired. */
  const withExpiredLocks = (store: CredentialStore): CredentialStore => ({
    ...store,
    lock: async () => async () => undefined,
  });

  it.each([
    { outcome: 'succeeds', what: 'a sign-out', revoked: 1 },
    { outcome: 'is refused', what: 'a sign-out', revoked: 0 },
    { outcome: 'succeeds', what: 'a sign-in', revoked: 1 },
    { outcome: 'is refused', what: 'a sign-in', revoked: 0 },
  ])('a refresh of a suspended process that $outcome leaves $what made meanwhile', async (given) => {
    const { outcome, what, revoked } = given;
    const world = await revokingWorld({ revocation_leaves_other_grants: true });
    const store = createMemoryStore();
    const terminal = world.client({ store });
    const suspended = world.client({ store: withExpiredLocks(store) });
    await suspended.signIn();
    world.advance(590_000);
    const [requested, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let received: unknown = null;
    world.as.on('POST /token', async ({ form }) => {
      if (form.get('grant_type') !== 'refresh_token') return grant(world, {}, '');
      requested.resolve();
      await resumed.promise;
      if (outcome === 'is refused') return refusal('invalid_grant');
      const response = grant(world, {}, '');
      received = (response.body as Readonly<Record<string, unknown>>)['refresh_token'];
      return response;
    });
    const refreshing = suspended.accessToken();
    await requested.promise;
    await (what === 'a sign-out' ? terminal.signOut() : terminal.signIn());
    const after = await store.list(world.serverUrl);
    const before = world.as.asked('/revoke').length;
    resumed.resolve();
    expect(await refreshing).toBe(after[0]?.tokens?.accessToken ?? null);
    expect(await store.list(world.serverUrl)).toEqual(after);
    const later = world.as.asked('/revoke').slice(before);
    expect(later.filter(({ form }) => form.get('token') === received)).toHaveLength(revoked);
  });

  it('two refreshes of one session, the first by a process that was suspended, revoke nothing', async () => {
    const world = await revokingWorld({ revocation_leaves_other_grants: true });
    const store = createMemoryStore();
    const suspended = world.client({ store: withExpiredLocks(store) });
    await suspended.signIn();
    world.advance(590_000);
    const [requested, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let refreshed = 0;
    world.as.on('POST /token', async () => {
      refreshed += 1;
      if (refreshed > 1) return grant(world, {}, '');
      requested.resolve();
      await resumed.promise;
      return grant(world, {}, '');
    });
    const refreshing = suspended.accessToken();
    await requested.promise;
    const newest = await world.client({ store }).accessToken();
    resumed.resolve();
    expect(await refreshing).toBe(newest);
    expect(world.as.asked('/revoke')).toEqual([]);
    expect(await store.list(world.serverUrl)).toMatchObject([{ tokens: { accessToken: newest } }]);
  });

  it.each([
    ['500', () => ({ status: 500 })],
    ['503 with Retry-After', () => ({ status: 503, headers: { 'retry-after': '0' } })],
    ['429', () => ({ status: 429, headers: { 'retry-after': '0' } })],
    ['a lost answer', () => null],
    ['temporarily_unavailable', () => refusal('temporarily_unavailable')],
  ])('T124 retries with the same refresh token after %s and keeps the session', async (_what, failure) => {
    const { world, client } = await signedIn();
    failRefreshes(world, [failure]);
    world.advance(3_600_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(new Set(refreshes(world).map(({ form }) => form.get('refresh_token'))).size).toBe(1);
    expect(refreshes(world)).toHaveLength(2);
    expect(world.user.opened).toHaveLength(1);
  });

  it('T124 uses the access token until it expires during an outage, then fails, and keeps the session', async () => {
    const { world, client } = await signedIn();
    failRefreshes(
      world,
      Array.from({ length: 6 }, () => () => ({ status: 500 })),
    );
    world.advance(560_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.events.at(-1)).toMatchObject({ type: 'tokens.refresh_deferred' });
    world.advance(60_000);
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('temporarily_unavailable');
    expect(await client.session()).not.toBeNull();
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(1);
  });

  it('[C-TOK-62] T124 ends the session on invalid_grant and starts a new sign-in', async () => {
    const { world, client, store } = await signedIn();
    const [record] = await store.list(client.server, 'default');
    world.refreshTokens.clear();
    world.advance(3_600_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(refreshes(world)).toHaveLength(1);
    expect(world.user.opened).toHaveLength(2);
    // The registration outlives the session.
    expect(world.as.asked('/register')).toHaveLength(1);
    expect((await store.list(client.server, 'default'))[0]?.registration).toEqual(record?.registration);
  });

  it.each(['invalid_request', 'invalid_scope', 'invalid_target', 'server_error', 'something_new'])(
    'T124 %s does not end the session',
    async (error) => {
      const { world, client } = await signedIn();
      world.as.on('POST /token', () => refusal(error));
      world.advance(560_000);
      expect((await client.fetch(world.serverUrl)).status).toBe(200);
      expect((await client.session())?.refreshable).toBe(true);
      expect(world.user.opened).toHaveLength(1);
    },
  );

  const html = (status: number) => ({
    status,
    headers: { 'content-type': 'text/html' },
    body: '<h1>Oops</h1>',
  });

  it.each([
    { description: '503 temporarily_unavailable', failure: refusal('temporarily_unavailable', 503) },
    { description: '400 temporarily_unavailable', failure: refusal('temporarily_unavailable') },
    { description: '400 server_error', failure: refusal('server_error') },
    { description: '401 invalid_client of a configured client', failure: refusal('invalid_client', 401) },
    { description: '429', failure: html(429) },
    { description: '502', failure: html(502) },
    { description: 'a page of a gateway, 400', failure: html(400) },
    { description: 'a page of a gateway, 403', failure: html(403) },
    { description: 'a page of a gateway, 404', failure: html(404) },
    { description: 'a page of a gateway, 200', failure: html(200) },
    {
      description: 'a problem of a gateway',
      failure: { status: 403, body: { status: 403, error: 'Forbidden' } },
    },
    { description: 'no token endpoint, as JSON', failure: refusal('not_found', 404) },
    { description: 'a redirect', failure: { status: 302, headers: { location: '/maintenance' } } },
    { description: 'a reset connection', failure: null },
  ])(
    '[C-BEAR-61] T124 an outage at the refresh after a 401 neither signs in nor replaces the session: $description',
    async ({ failure }) => {
      const world = await createWorld();
      const store = createMemoryStore();
      const preregistered = [{ issuer: world.issuer, clientId: 'known' }];
      const client = world.client({ store, registration: { preregistered } });
      await client.fetch(world.serverUrl);
      const before = await store.list(client.server, 'default');
      failRefreshes(
        world,
        Array.from({ length: 3 }, () => () => failure),
      );
      const accepted = [...world.tokens];
      world.tokens.clear();
      expect(await codeOf(client.fetch(world.serverUrl))).not.toBe('no error');
      expect(await store.list(client.server, 'default')).toEqual(before);
      expect(world.user.opened).toHaveLength(1);
      // The session is usable again after the outage.
      for (const [token, scope] of accepted) world.tokens.set(token, scope);
      expect((await client.fetch(world.serverUrl)).status).toBe(200);
      expect(world.user.opened).toHaveLength(1);
    },
  );

  it.each([
    { description: '400 invalid_request', failure: refusal('invalid_request') },
    { description: '401 invalid_token', failure: refusal('invalid_token', 401) },
    { description: '400 expired_token', failure: refusal('expired_token') },
    { description: '403 access_denied', failure: refusal('access_denied', 403) },
    { description: '400 invalid_target', failure: refusal('invalid_target') },
    { description: '400 interaction_required', failure: refusal('interaction_required') },
    { description: '200 bad_refresh_token', failure: refusal('bad_refresh_token', 200) },
  ])(
    '[C-ERR-401 C-BEAR-61] signs in again once the access token is expired or rejected and its refresh is refused: $description',
    async ({ failure }) => {
      const { world, client } = await signedIn();
      failRefreshes(world, [() => failure]);
      world.advance(3_600_000);
      expect((await client.fetch(world.serverUrl)).status).toBe(200);
      expect(world.events).toContainEqual(expect.objectContaining({ type: 'session.ended' }));
      expect(refreshes(world)).toHaveLength(1);
      expect(world.user.opened).toHaveLength(2);
      failRefreshes(world, [() => failure]);
      world.tokens.clear();
      expect((await client.fetch(world.serverUrl)).status).toBe(200);
      expect(refreshes(world)).toHaveLength(2);
      expect(world.user.opened).toHaveLength(3);
    },
  );

  it('[C-REFRESH-33 C-TOK-61] starts a sign-in when the server rejects a token without expiry and refresh token', async () => {
    const { world, client } = await signedIn({ refresh: false, lifetime: null });
    world.advance(86_400_000);
    await client.fetch(world.serverUrl);
    expect(world.user.opened).toHaveLength(1);
    world.tokens.clear();
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(2);
  });

  it('[C-REFRESH-30] sends no refresh token to an insecure URL', async () => {
    const { world, client, store } = await signedIn();
    const [record] = await store.list(client.server, 'default');
    if (record === undefined || record.tokens === null) throw new Error('There should be a session.');
    await store.save({ ...record, tokens: { ...record.tokens, tokenEndpoint: 'http://as.example/token' } });
    world.advance(3_600_000);
    const asked: string[] = [];
    const later = world.client({
      store,
      oauthFetch: (input, init) => {
        asked.push(String(input));
        return fetch(input, init);
      },
    });
    expect(await codeOf(later.fetch(world.serverUrl))).toBe('insecure_url');
    expect(asked).toEqual([]);
  });
});

describe('the token response', () => {
  const honest = { access_token: 'opaque', token_type: 'Bearer' };

  it.each([
    ['another type', { ...honest, token_type: 'mac' }, 'token_response_invalid'],
    ['a key-bound type that was not asked for', { ...honest, token_type: 'DPoP' }, 'token_response_invalid'],
    ['no token', { token_type: 'Bearer' }, 'token_response_invalid'],
    ['no type', { access_token: 'x' }, 'token_response_invalid'],
    [
      'a token that would inject a header',
      { ...honest, access_token: 'a\r\nx: y' },
      'token_response_invalid',
    ],
    ['no object', [honest], 'token_response_invalid'],
    ['unknown members', { ...honest, future: { a: 1 }, id_token: 'x' }, 'no error'],
    ['a type in capitals', { ...honest, token_type: 'BEARER' }, 'no error'],
    ['a lifetime as text', { ...honest, expires_in: '60' }, 'no error'],
    [
      'an empty refresh token and a negative lifetime',
      { ...honest, refresh_token: '', expires_in: -1 },
      'no error',
    ],
    ['members that are null', { ...honest, refresh_token: null, scope: null, expires_in: null }, 'no error'],
  ])('[C-TOK-60 C-TOK-4] handles a token response with %s', async (_what, body, expected) => {
    const world = await createWorld();
    world.as.on('POST /token', { body });
    world.tokens.set('opaque', '');
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe(expected);
    const sent = calls(world)
      .map(({ headers }) => headers.get('authorization'))
      .filter((value) => value !== null);
    expect(sent).toEqual(expected === 'no error' ? ['Bearer opaque'] : []);
  });

  it('does not send an authorization code again after an outage', async () => {
    const world = await createWorld();
    world.as.on('POST /token', { status: 503 });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('temporarily_unavailable');
    expect(world.as.asked('/token')).toHaveLength(1);
  });

  it('[C-TOK-62] registers a deleted client again, once', async () => {
    const world = await createWorld();
    let refused = 0;
    const honestToken = grant(world, {}, '');
    world.as.on('POST /token', () => {
      refused += 1;
      return refused === 1 ? refusal('invalid_client', 401) : honestToken;
    });
    expect((await world.client().fetch(world.serverUrl)).status).toBe(200);
    expect(world.as.asked('/register')).toHaveLength(2);

    const stubborn = await createWorld();
    stubborn.as.on('POST /token', refusal('invalid_client', 401));
    expect(await codeOf(stubborn.client().fetch(stubborn.serverUrl))).toBe('token_refused');
    expect(stubborn.as.asked('/register')).toHaveLength(2);
  });

  it('[C-TOK-62] replaces a client deleted between two refreshes and keeps the access token', async () => {
    const { world, client } = await signedIn();
    const usual = grant(world, {}, '');
    world.as.on('POST /token', ({ form }) =>
      form.get('grant_type') === 'refresh_token' ? refusal('invalid_client', 401) : usual,
    );
    world.advance(560_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.events.map(({ type }) => type)).toContain('client.registration_discarded');
    world.tokens.clear();
    world.tokens.set((usual.body as { access_token: string }).access_token, '');
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.as.asked('/register')).toHaveLength(2);
  });
});

describe('signing out', () => {
  it('signing out revokes and deletes the tokens', async () => {
    const world = await revokingWorld();
    const client = world.client();
    await client.fetch(world.serverUrl);
    const accessToken = await client.accessToken();
    expect(await client.signOut()).toBe('revoked');
    expect(world.as.asked('/revoke').map(({ form }) => form.get('token_type_hint'))).toEqual([
      'refresh_token',
      'access_token',
    ]);
    expect(world.as.asked('/revoke')[1]?.form.get('token')).toBe(accessToken);
    expect(await client.session()).toBeNull();
    expect(await client.accessToken()).toBeNull();
    expect(await client.signOut()).toBe('no_session');
  });

  it('signing out waits for a pending refresh of any client that shares the store', async () => {
    const { world, client, store } = await signedIn();
    const other = world.client({ store });
    world.advance(3_600_000);
    const [asked, may] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.as.on('POST /token', async () => {
      asked.resolve();
      await may.promise;
      return grant(world, {}, '');
    });
    const calling = other.fetch(world.serverUrl);
    await asked.promise;
    const leaving = client.signOut();
    may.resolve();
    expect((await calling).status).toBe(200);
    expect(await leaving).toBe('forgotten');
    expect(await store.list(world.serverUrl, 'default')).toMatchObject([{ tokens: null }]);
    expect([await client.session(), await client.accessToken()]).toEqual([null, null]);
  });

  it('signing out revokes the tokens that a pending refresh could not save', async () => {
    const world = await revokingWorld();
    const store = createFailingStore();
    const client = world.client({ store });
    await client.fetch(world.serverUrl);
    world.advance(590_000);
    store.failures = 1;
    const calling = client.fetch(world.serverUrl);
    const leaving = client.signOut();
    await expect(calling).rejects.toThrow('database is locked');
    expect(await leaving).toBe('revoked');
    expect(refreshes(world)).toHaveLength(1);
    expect(world.refreshTokens).toEqual(new Set([world.as.asked('/revoke')[0]?.form.get('token')]));
    expect(await store.list(world.serverUrl, 'default')).toMatchObject([{ tokens: null }]);
    expect([await client.session(), await client.accessToken()]).toEqual([null, null]);
  });

  it.each([
    { kind: 'a public client', clientSecret: undefined, outcome: 'revoked', requests: 2 },
    { kind: 'a client with a secret', clientSecret: 'secret', outcome: 'forgotten', requests: 0 },
  ])('signing out without the configuration of $kind ends with: $outcome', async (given) => {
    const world = await revokingWorld();
    const store = createMemoryStore();
    const { clientSecret } = given;
    const preregistered = [{ clientId: 'app', ...(clientSecret !== undefined && { clientSecret }) }];
    await world.client({ store, registration: { preregistered } }).signIn();
    expect(await world.client({ store }).signOut()).toBe(given.outcome);
    expect(world.as.asked('/revoke')).toHaveLength(given.requests);
    expect(await store.list(world.serverUrl)).toMatchObject([{ tokens: null }]);
  });

  it('signing out deletes a token that has expired by itself, and asks no server', async () => {
    const { world, client } = await signedIn({ refresh: false });
    world.advance(600_001);
    await world.as.close();
    expect(await client.signOut()).toBe('expired');
    expect(await client.session()).toBeNull();
  });

  it('signing out deletes the tokens even when revocation fails', async () => {
    const { world, client } = await signedIn();
    await world.as.close();
    expect(await client.signOut()).toBe('forgotten');
    expect(await client.session()).toBeNull();
  });
});

describe('stored sessions', () => {
  it('[C-STORE-1 C-BIND-30 C-MULTI-30] T148 stores a session by server, issuer and account, and reads no other', async () => {
    const store = createMemoryStore();
    const { world, client } = await signedIn({}, store);
    const [record] = await store.list(client.server, 'default');
    expect(record?.key).toMatchObject({ server: world.serverUrl, issuer: world.issuer, account: 'default' });

    const other = await createWorld();
    const otherAccount = other.client({ store });
    expect(await otherAccount.session()).toBeNull();
    const second = world.client({ store, account: 'work' });
    expect(await second.session()).toBeNull();
    await second.fetch(world.serverUrl);
    expect(await second.accessToken()).not.toBe(await client.accessToken());
  });

  it('[C-TOK-5] sends a server only the token of its own issuer', async () => {
    const store = createMemoryStore();
    const first = await signedIn({}, store);
    const second = await signedIn({}, store);
    const token = await first.client.accessToken();
    await second.client.fetch(second.world.serverUrl);
    const sent = [...second.world.server.log, ...second.world.as.log].map(
      ({ headers, body }) => `${headers.get('authorization')} ${body}`,
    );
    expect(sent.join()).not.toContain(token ?? 'none');
  });

  it('continues the session of an earlier run without a sign-in', async () => {
    const { world, store } = await signedIn();
    const later = world.client({ store });
    expect((await later.fetch(world.serverUrl)).status).toBe(200);
    expect(world.user.opened).toHaveLength(1);
    expect(world.server.asked('/.well-known/oauth-protected-resource/mcp')).toHaveLength(1);
  });
});
