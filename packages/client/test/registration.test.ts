/** Registration: order of the methods, dynamic registration, deleted clients, and issuer binding. */
import { describe, expect, it } from 'vitest';
import {
  type CredentialStore,
  createMemoryStore,
  type ManualRegistration,
  type PendingAuthorization,
  type RegistrationSettings,
} from '../src/index.ts';
import { codeOf, createWorld, openParty, refusal, type World, type WorldSettings } from './support/world.ts';

const DOCUMENT = 'https://app.example/client.json';

const withoutRegistration: WorldSettings = { metadata: { registration_endpoint: undefined } };

/** Signs in and tells by which identity. */
async function identity(registration: RegistrationSettings, settings: WorldSettings = {}, revision?: string) {
  const world = await createWorld(settings);
  const client = world.client({ registration, ...(revision !== undefined && { revision }) });
  expect((await client.fetch(world.serverUrl)).status).toBe(200);
  const clientId = world.user.opened[0]?.searchParams.get('client_id') ?? '';
  const body = world.as.asked('/register')[0]?.body;
  return { world, clientId, request: body === undefined ? null : JSON.parse(body) };
}

describe('order of the registration methods', () => {
  const supported = { client_id_metadata_document_supported: true };
  const preregistered = [{ clientId: 'mine' }];

  it('[C-REG-20 C-REG-21] prefers a pre-registered client', async () => {
    const { clientId, request } = await identity(
      { preregistered, metadataDocumentUrl: DOCUMENT },
      { metadata: supported },
    );
    expect(clientId).toBe('mine');
    expect(request).toBeNull();
  });

  it('[C-REG-20 C-CIMD-20] prefers a client ID metadata document over dynamic registration where it is supported', async () => {
    const { clientId, request } = await identity({ metadataDocumentUrl: DOCUMENT }, { metadata: supported });
    expect(clientId).toBe(DOCUMENT);
    expect(request).toBeNull();
  });

  it.each([[undefined], [false]])(
    '[C-CIMD-26 C-CIMD-27 C-REG-20] then dynamic registration, when the flag is %j',
    async (flag) => {
      const { clientId, request } = await identity(
        { metadataDocumentUrl: DOCUMENT },
        { metadata: { client_id_metadata_document_supported: flag } },
      );
      expect(clientId).toMatch(/^client-/);
      expect(request).not.toBeNull();
    },
  );

  it('[C-DCR-20] uses a metadata document where dynamic registration is not supported', async () => {
    const { clientId } = await identity(
      { metadataDocumentUrl: DOCUMENT },
      { metadata: { ...supported, registration_endpoint: undefined } },
    );
    expect(clientId).toBe(DOCUMENT);
  });

  it('uses no metadata document in revisions without them', async () => {
    const { clientId } = await identity(
      { metadataDocumentUrl: DOCUMENT },
      { metadata: supported },
      '2025-06-18',
    );
    expect(clientId).toMatch(/^client-/);
  });

  it('[C-REG-1 C-REG-20] asks the user for a client last, with the metadata to register', async () => {
    const questions: ManualRegistration[] = [];
    const ask = async (question: ManualRegistration) => {
      questions.push(question);
      return { clientId: 'typed', clientSecret: 'typed too' };
    };
    const { clientId, world } = await identity({ ask }, withoutRegistration);
    expect(clientId).toBe('typed');
    expect(questions).toEqual([
      {
        issuer: world.issuer,
        server: world.serverUrl,
        redirectUris: [world.user.redirectUri],
        grantTypes: ['authorization_code', 'refresh_token'],
        applicationType: 'native',
        authenticationMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
      },
    ]);
    expect(world.as.asked('/token')[0]?.headers.get('authorization')).toBe(
      `Basic ${btoa('typed:typed+too')}`,
    );
  });

  it('[C-REG-1 C-REG-30] names the client to register when no method works, and opens no browser', async () => {
    for (const settings of [{}, { ask: async () => null }]) {
      const world = await createWorld(withoutRegistration);
      const failure = world.client({ registration: settings }).fetch(world.serverUrl);
      await expect(failure).rejects.toMatchObject({ code: 'registration_needed' });
      await expect(failure).rejects.toThrow(redirectUriOf(world.user.redirectUri));
      expect(world.user.opened).toEqual([]);
    }
  });
});

/** As it is registered manually: the port is another one each time. */
function redirectUriOf(uri: string): string {
  return `${uri.replace(/:\d+\//, '/')} with any port`;
}

describe('dynamic registration', () => {
  it('[C-DCR-1 C-DCR-30 C-DCR-31 C-REFRESH-31] registers a native public client with the refresh token grant', async () => {
    const { request, world } = await identity({
      clientName: 'Notes',
      clientUri: 'https://notes.example',
      softwareId: 'notes',
    });
    expect(request).toEqual({
      client_name: 'Notes',
      client_uri: 'https://notes.example',
      software_id: 'notes',
      redirect_uris: [world.user.redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    });
  });

  it('[C-DCR-32] registers a page on a remote host as a web application', async () => {
    const world = await createWorld();
    await world.client().begin({ redirectUri: 'https://app.example/callback' });
    expect(JSON.parse(world.as.asked('/register')[0]?.body ?? '{}').application_type).toBe('web');
  });

  it.each([
    [['none', 'client_secret_post'], 'none'],
    [['client_secret_post'], 'client_secret_post'],
    [['private_key_jwt', 'client_secret_basic'], 'client_secret_basic'],
    [undefined, 'none'],
  ])('registers with a client authentication method that the server lists: %j', async (listed, expected) => {
    const world = await createWorld({ metadata: { token_endpoint_auth_methods_supported: listed } });
    await world.client().begin({ redirectUri: world.user.redirectUri });
    expect(JSON.parse(world.as.asked('/register')[0]?.body ?? '{}').token_endpoint_auth_method).toBe(
      expected,
    );
  });

  it.each([
    ['basic', { client_secret: 's', token_endpoint_auth_method: 'client_secret_basic' }, undefined, 'basic'],
    ['post', { client_secret: 's', token_endpoint_auth_method: 'client_secret_post' }, undefined, 'post'],
    [
      'none although it gives a secret',
      { client_secret: 's', token_endpoint_auth_method: 'none' },
      undefined,
      'none',
    ],
    [
      'nothing, with a secret and no list',
      { client_secret: 's', token_endpoint_auth_method: null },
      null,
      'basic',
    ],
    [
      'nothing, with a secret and a list',
      { client_secret: 's', token_endpoint_auth_method: null },
      ['client_secret_post'],
      'post',
    ],
    [
      'nothing, with a secret and a list of none',
      { client_secret: 's', token_endpoint_auth_method: null },
      ['none'],
      'none',
    ],
    ['nothing at all', { token_endpoint_auth_method: null }, null, 'none'],
  ])(
    '[C-DCR-60 C-AUTH-60] the answer says %s: that is done, and one method only',
    async (_what, registration, listed, expected) => {
      const { world } = await identity(
        {},
        {
          registration,
          ...(listed !== undefined && {
            metadata: { token_endpoint_auth_methods_supported: listed ?? undefined },
          }),
        },
      );
      const [asked] = world.as.asked('/token');
      const basic = asked?.headers.get('authorization')?.startsWith('Basic ') === true;
      const post = asked?.form.has('client_secret') === true;
      expect([basic, post]).toEqual([expected === 'basic', expected === 'post']);
      expect(asked?.form.has('client_id')).toBe(!basic);
    },
  );

  it.each([
    ['a method that needs a secret without one', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['a method that is not spoken', { client_secret: 's', token_endpoint_auth_method: 'tls_client_auth' }],
    ['other redirect URIs', { redirect_uris: ['https://elsewhere.example/callback'] }],
    ['no client_id', { client_id: null }],
  ])('rejects a registration response with %s before the browser opens', async (_what, registration) => {
    const world = await createWorld({ registration });
    expect(await codeOf(world.client().fetch(world.serverUrl))).toBe('registration_refused');
    expect(world.user.opened).toEqual([]);
  });

  it('[C-DCR-33 C-DCR-34] reports the error of a refused registration without a retry', async () => {
    const world = await createWorld();
    world.as.on('POST /register', {
      status: 400,
      body: { error: 'invalid_redirect_uri', error_description: 'loopback\u001b[31m is not allowed' },
    });
    const failure = world.client().fetch(world.serverUrl);
    await expect(failure).rejects.toMatchObject({
      code: 'registration_refused',
      oauthError: 'invalid_redirect_uri',
      status: 400,
    });
    await expect(failure).rejects.toThrow('loopback [31m is not allowed');
    expect(world.as.asked('/register')).toHaveLength(1);
    expect(world.user.opened).toEqual([]);
  });

  it('[C-DCR-60] registers again when the client secret has expired', async () => {
    const store = createMemoryStore();
    const expires = Math.floor(Date.now() / 1000) + 3600;
    const world = await createWorld({
      refresh: false,
      registration: {
        client_secret: 's',
        client_secret_expires_at: expires,
        token_endpoint_auth_method: 'client_secret_post',
      },
    });
    const client = world.client({ store });
    await client.fetch(world.serverUrl);
    world.tokens.clear();
    await client.fetch(world.serverUrl);
    expect(world.as.asked('/register')).toHaveLength(1);
    world.advance(3_601_000);
    world.tokens.clear();
    await client.fetch(world.serverUrl);
    expect(world.as.asked('/register')).toHaveLength(2);
  });

  it('[C-REDIR-1] uses a registration only for the redirect URIs that it lists', async () => {
    const world = await createWorld();
    const client = world.client();
    await client.begin({ redirectUri: 'http://127.0.0.1:40001/callback' });
    await client.begin({ redirectUri: 'http://127.0.0.1:40001/callback' });
    expect(world.as.asked('/register')).toHaveLength(1);
    await client.begin({ redirectUri: 'http://127.0.0.1:40002/callback' });
    expect(world.as.asked('/register')).toHaveLength(2);
  });
});

describe('a client that the authorization server has deleted', () => {
  const URI = 'http://127.0.0.1:40001/callback';
  const events = ({ events: all }: World) =>
    all.flatMap((event) => (event.type.startsWith('client.') ? [event.type] : []));

  /** A registration is kept, and the server is told what it says from now on. */
  async function forgotten(change: (world: World) => void, prepare: typeof change = () => undefined) {
    const world = await createWorld();
    prepare(world);
    const client = world.client();
    await client.begin({ redirectUri: URI });
    change(world);
    return { world, client };
  }

  const page = (status: number) => (world: World) => {
    const usual = { status: 302, headers: { location: '/login' } };
    let asked = 0;
    world.as.on('GET /authorize', () => (asked++ === 0 ? { status, body: '<h1>Error</h1>' } : usual));
  };

  it.each([400, 401])(
    'detects a deleted client by a page with status %s before the browser opens',
    async (status) => {
      const { world, client } = await forgotten(page(status));
      await client.begin({ redirectUri: URI });
      expect(world.as.asked('/register')).toHaveLength(2);
      expect(events(world)).toEqual([
        'client.registered',
        'client.registration_discarded',
        'client.registered',
      ]);
      expect(world.user.opened).toEqual([]);
    },
  );

  it.each([200, 302, 403, 404, 429, 500])('keeps a client after a page with status %s', async (status) => {
    const { world, client } = await forgotten(page(status));
    await client.begin({ redirectUri: URI });
    expect(world.as.asked('/register')).toHaveLength(1);
    expect(events(world)).toEqual(['client.registered']);
  });

  it.each(['invalid_client', 'unauthorized_client'])(
    'detects a deleted client by a redirect with %s',
    async (error) => {
      const { world, client } = await forgotten(({ as }) =>
        as.on('GET /authorize', { status: 302, headers: { location: `${URI}?error=${error}` } }),
      );
      await client.begin({ redirectUri: URI });
      expect(world.as.asked('/register')).toHaveLength(2);
    },
  );

  it('detects a deleted client by reading its registration with the registration access token', async () => {
    const { world, client } = await forgotten(
      ({ as }) => as.on('GET /register/mine', { status: 401 }),
      managed,
    );
    world.as.on('POST /register', { status: 201, body: { client_id: 'second' } });
    await client.begin({ redirectUri: URI });
    const [read] = world.as.asked('/register/mine');
    expect([read?.method, read?.headers.get('authorization')]).toEqual(['GET', 'Bearer manage-me']);
    expect(world.as.asked('/authorize')).toEqual([]);
    expect(world.as.asked('/register')).toHaveLength(2);
  });

  it('keeps a client whose registration can be read', async () => {
    const { world, client } = await forgotten(
      ({ as }) => as.on('GET /register/mine', { body: { client_id: 'mine' } }),
      managed,
    );
    await client.begin({ redirectUri: URI });
    expect(world.as.asked('/register')).toHaveLength(1);
    expect(world.as.asked('/authorize')).toEqual([]);
  });

  it('sends the registration access token to no other origin', async () => {
    const other = await openParty();
    const { client } = await forgotten(
      () => undefined,
      ({ as }) => answerRegistration(as, `${other.origin}/mine`),
    );
    await client.begin({ redirectUri: URI });
    expect(other.log).toEqual([]);
  });

  it('detects a deleted client by the authorization response and keeps the tokens', async () => {
    const world = await createWorld();
    const client = world.client();
    await client.fetch(world.serverUrl);
    const before = await client.session();
    let refused = 0;
    world.user.divert((arrived) => {
      if (refused++ > 0) return arrived;
      arrived.searchParams.delete('code');
      arrived.searchParams.set('error', 'unauthorized_client');
      return arrived;
    });
    await client.signIn();
    expect(world.as.asked('/register')).toHaveLength(2);

    const url = new URL(await client.begin({ redirectUri: world.user.redirectUri }));
    const answer = new URL(world.user.redirectUri);
    answer.search = new URLSearchParams({
      ...{ error: 'invalid_client', state: url.searchParams.get('state') ?? '', iss: world.issuer },
    }).toString();
    expect(await codeOf(client.complete(answer.href))).toBe('authorization_failed');
    expect(await client.session()).not.toBeNull();
    expect(before).not.toBeNull();
    await client.begin({ redirectUri: world.user.redirectUri });
    expect(world.as.asked('/register')).toHaveLength(3);
  });

  it('registers again with newRegistration, after a page reported an unknown client', async () => {
    const world = await createWorld();
    const client = world.client();
    await client.signIn();
    await client.signIn();
    expect(world.as.asked('/register')).toHaveLength(1);
    await client.signIn({ newRegistration: true });
    expect(world.as.asked('/register')).toHaveLength(2);
  });

  it.each([
    ['one hour after it obtained tokens', 3_600_000],
    ['that obtained tokens while the clock was ahead', -7_200_000],
  ])('checks a client again %s', async (_when, later) => {
    const world = await createWorld();
    const client = world.client();
    const pages = () => world.as.asked('/authorize').length;
    await client.signIn();
    await client.begin({ redirectUri: world.user.redirectUri });
    expect(pages()).toBe(1);
    world.advance(later);
    await client.begin({ redirectUri: world.user.redirectUri });
    expect(pages()).toBe(2);
  });

  describe('by an authorization server that requires pushed requests', () => {
    /** The clients that it knows are those that it registered; the authorization endpoint refuses all other requests. */
    async function pushingWorld() {
      const world = await createWorld();
      const { as, issuer } = world;
      as.on('GET /.well-known/oauth-authorization-server', {
        body: {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          registration_endpoint: `${issuer}/register`,
          pushed_authorization_request_endpoint: `${issuer}/par`,
          require_pushed_authorization_requests: true,
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        },
      });
      const clients = new Set<string | null>();
      as.on('POST /register', () => {
        const id = `client-${as.asked('/register').length}`;
        clients.add(id);
        return { status: 201, body: { client_id: id } };
      });
      as.on('POST /par', ({ form }) =>
        clients.has(form.get('client_id'))
          ? { status: 201, body: { request_uri: `urn:pushed:${form.get('state')}`, expires_in: 60 } }
          : refusal('invalid_client', 401),
      );
      as.on('GET /authorize', ({ query }) => {
        const state = query.get('request_uri')?.replace('urn:pushed:', '');
        if (state === undefined) return { status: 400, body: 'Only pushed requests are accepted.' };
        const location = new URL(world.user.redirectUri);
        for (const [name, value] of Object.entries({ code: 'code', state, iss: issuer }))
          location.searchParams.set(name, value);
        return { status: 302, headers: { location: location.href } };
      });
      as.on('POST /token', () => ({ body: { access_token: world.issue(''), token_type: 'Bearer' } }));
      const client = world.client();
      await client.signIn();
      world.advance(2 * 3_600_000);
      const deleteClients = () => clients.clear();
      return { world, client, deleteClients, registrations: () => as.asked('/register').length };
    }

    it('is not registered again while the server knows it', async () => {
      const { client, registrations } = await pushingWorld();
      await client.signIn();
      await client.begin({ redirectUri: 'http://127.0.0.1:49152/callback' });
      expect(registrations()).toBe(1);
    });

    it.each(['signIn', 'begin'] as const)('is registered again by %s once it is deleted', async (how) => {
      const { world, client, deleteClients, registrations } = await pushingWorld();
      deleteClients();
      const { redirectUri } = world.user;
      await (how === 'signIn' ? client.signIn() : client.begin({ redirectUri }));
      expect(registrations()).toBe(2);
    });
  });

  it('does not check a pre-registered client or a metadata document', async () => {
    const metadata = { client_id_metadata_document_supported: true };
    for (const registration of [
      { metadataDocumentUrl: DOCUMENT },
      { preregistered: [{ clientId: 'mine' }] },
    ]) {
      const world = await createWorld({ metadata });
      const client = world.client({ registration });
      await client.begin({ redirectUri: URI });
      await client.begin({ redirectUri: URI });
      expect(world.as.asked('/authorize')).toEqual([]);
    }
  });

  it('reads a registration with the registration access token, and authenticates with the secret, of the response before', async () => {
    const world = await createWorld({ refresh: false });
    const uri = `${world.as.origin}/register/mine`;
    let reads = 0;
    const describe = () => ({
      ...{ client_id: 'mine', client_secret: `secret ${reads}`, registration_client_uri: uri },
      ...{ registration_access_token: `read-${reads}`, token_endpoint_auth_method: 'client_secret_post' },
    });
    world.as.on('POST /register', () => ({ status: 201, body: describe() }));
    world.as.on('GET /register/mine', ({ headers }) => {
      if (headers.get('authorization') !== `Bearer read-${reads}`) return { status: 401 };
      reads += 1;
      return { body: describe() };
    });
    const client = world.client();
    for (let signIn = 0; signIn < 3; signIn += 1) {
      world.advance(7_200_000);
      await client.signIn();
    }
    expect([reads, world.as.asked('/register').length]).toEqual([2, 1]);
    expect(world.as.asked('/token').map(({ form }) => form.get('client_secret'))).toEqual([
      'secret 0',
      'secret 1',
      'secret 2',
    ]);
  });

  it.each([
    ['of another client', { client_id: 'yours' }],
    ['with an endpoint at another origin', { registration_client_uri: 'https://elsewhere.example/mine' }],
    ['that is no JSON', 'mine'],
  ])('keeps the registration access token after a response %s', async (_what, more) => {
    const { world, client } = await forgotten(({ as }) => {
      const body = { client_id: 'mine', registration_access_token: 'other' };
      as.on('GET /register/mine', { body: typeof more === 'string' ? more : { ...body, ...more } });
    }, managed);
    for (let times = 0; times < 2; times += 1) await client.begin({ redirectUri: URI });
    const reads = world.as.asked('/register/mine').map(({ headers }) => headers.get('authorization'));
    expect(reads).toEqual(['Bearer manage-me', 'Bearer manage-me']);
  });

  function managed({ as }: World): void {
    answerRegistration(as, `${as.origin}/register/mine`);
  }

  function answerRegistration(as: World['as'], uri: string): void {
    const access = { registration_client_uri: uri, registration_access_token: 'manage-me' };
    as.on('POST /register', { status: 201, body: { client_id: 'mine', ...access } });
  }
});

describe('issuer binding of a client', () => {
  it('[C-BIND-33] sends a client configured for one issuer to no other issuer', async () => {
    const world = await createWorld();
    const preregistered = [{ issuer: 'https://as.example', clientId: 'mine', clientSecret: 'secret' }];
    const failure = world.client({ registration: { preregistered } }).fetch(world.serverUrl);
    await expect(failure).rejects.toMatchObject({ code: 'registration_issuer_mismatch' });
    expect([...world.as.log].map(({ path }) => path)).toEqual(['/.well-known/oauth-authorization-server']);
    expect(world.user.opened).toEqual([]);
  });

  it('[C-BIND-33 C-MULTI-31] binds a client configured without an issuer to the first issuer', async () => {
    const world = await createWorld();
    const other = await createWorld();
    const client = world.client({
      registration: { preregistered: [{ clientId: 'mine', clientSecret: 'secret' }] },
    });
    await client.fetch(world.serverUrl);
    world.server.on('GET /.well-known/oauth-protected-resource/mcp', {
      body: { resource: world.serverUrl, authorization_servers: [other.issuer] },
    });
    world.tokens.clear();
    world.refreshTokens.clear();
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('registration_issuer_mismatch');
    expect(other.as.asked('/token')).toEqual([]);
    expect(world.user.opened).toHaveLength(1);
  });

  it('[C-BIND-33 C-MULTI-31] T107 binds it in its own account with a store that lists nothing without one', async () => {
    const world = await createWorld();
    const other = await createWorld();
    const memory = createMemoryStore();
    const list = async (server: string, account?: string) =>
      account === undefined ? [] : memory.list(server, account);
    const registration = { preregistered: [{ clientId: 'mine', clientSecret: 'secret' }] };
    const client = world.client({ store: { ...memory, list }, registration });
    await client.fetch(world.serverUrl);
    world.server.on('GET /.well-known/oauth-protected-resource/mcp', {
      body: { resource: world.serverUrl, authorization_servers: [other.issuer] },
    });
    world.tokens.clear();
    world.refreshTokens.clear();
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('registration_issuer_mismatch');
    expect(other.as.asked('/token')).toEqual([]);
  });

  it('[C-BIND-33 C-MULTI-31] T107 binds a client configured without an issuer in every account of the server', async () => {
    const world = await createWorld();
    const other = await createWorld();
    const store = createMemoryStore();
    const registration = { preregistered: [{ clientId: 'mine', clientSecret: 'secret' }] };
    const clientOf = (account: string) => world.client({ account, store, registration });
    await clientOf('first').fetch(world.serverUrl);
    // In another account, at the same issuer.
    await clientOf('second').fetch(world.serverUrl);
    world.server.on('GET /.well-known/oauth-protected-resource/mcp', {
      body: { resource: world.serverUrl, authorization_servers: [other.issuer] },
    });
    const before = await store.list(world.serverUrl);
    expect(before.map(({ key }) => key.account)).toEqual(['first', 'second']);
    expect(await codeOf(clientOf('third').fetch(world.serverUrl))).toBe('registration_issuer_mismatch');
    expect(other.as.log.map(({ path }) => path)).toEqual(['/.well-known/oauth-authorization-server']);
    expect(world.user.opened).toHaveLength(2);
    expect(await store.list(world.serverUrl)).toEqual(before);
  });

  it('[C-BIND-33 C-MULTI-31] T107 stays after another client signed in at the same issuer', async () => {
    const world = await createWorld();
    const other = await createWorld();
    const store = createMemoryStore();
    const clientOf = (clientId?: string) => {
      const preregistered =
        clientId === undefined ? [] : [{ clientId, clientSecret: `secret of ${clientId}` }];
      return world.client({ store, registration: { preregistered } });
    };
    for (const clientId of ['mine', 'yours', undefined]) await clientOf(clientId).signIn();
    // The same client again, at the same issuer.
    await clientOf('mine').signIn();
    await clientOf().signIn();
    world.server.on('GET /.well-known/oauth-protected-resource/mcp', {
      body: { resource: world.serverUrl, authorization_servers: [other.issuer] },
    });
    const before = await store.list(world.serverUrl);
    for (const clientId of ['mine', 'yours'])
      expect(await codeOf(clientOf(clientId).signIn())).toBe('registration_issuer_mismatch');
    expect(other.as.asked('/token')).toEqual([]);
    expect(await store.list(world.serverUrl)).toEqual(before);
    // A client that was used at no other issuer.
    await clientOf('new').signIn();
    expect(other.as.asked('/token')).toHaveLength(1);
    await clientOf().signIn();
    expect(await codeOf(clientOf('mine').signIn())).toBe('registration_issuer_mismatch');
  });

  it('[C-BIND-34] uses the same metadata document at every issuer', async () => {
    const metadata = { client_id_metadata_document_supported: true };
    for (const world of [await createWorld({ metadata }), await createWorld({ metadata })]) {
      await world.client({ registration: { metadataDocumentUrl: DOCUMENT } }).fetch(world.serverUrl);
      expect(world.user.opened[0]?.searchParams.get('client_id')).toBe(DOCUMENT);
    }
  });

  it('[C-STORE-1] does not copy a configured secret into the store', async () => {
    const store = createMemoryStore();
    const world = await createWorld();
    const preregistered = [{ clientId: 'mine', clientSecret: 'canary' }];
    const client = world.client({ store, registration: { preregistered } });
    await client.fetch(world.serverUrl);
    expect(JSON.stringify(await store.list(client.server, 'default'))).not.toContain('canary');
    world.advance(590_000);
    await client.fetch(world.serverUrl);
    expect(world.as.asked('/token')[1]?.headers.get('authorization')).toBe(`Basic ${btoa('mine:canary')}`);
  });

  it('[C-STORE-1] does not copy a configured secret into a pending sign-in', async () => {
    const world = await createWorld();
    const memory = createMemoryStore();
    const saved: PendingAuthorization[] = [];
    const store: CredentialStore = {
      ...memory,
      async savePending(pending) {
        saved.push(pending);
        await memory.savePending(pending);
      },
    };
    const { issuer } = world;
    const registration = { preregistered: [{ issuer, clientId: 'mine', clientSecret: 'canary' }] };
    const client = world.client({ store, registration });
    const begin = async () => {
      const page = await fetch(await client.begin({ redirectUri: world.user.redirectUri }), {
        redirect: 'manual',
      });
      return page.headers.get('location') ?? '';
    };
    await client.complete(await begin());
    expect(saved).toMatchObject([{ registration: { clientId: 'mine', clientSecret: null } }]);
    expect(JSON.stringify(saved)).not.toContain('canary');
    expect(world.as.asked('/token')[0]?.headers.get('authorization')).toBe(`Basic ${btoa('mine:canary')}`);

    const before = await store.list(world.serverUrl);
    const redirected = await begin();
    expect(await codeOf(world.client({ store }).complete(redirected))).toBe('configuration_invalid');
    expect(world.as.asked('/token')).toHaveLength(1);
    expect(await store.list(world.serverUrl)).toEqual(before);
  });

  it('[C-BIND-33] sends each issuer its own secret of clients with the same identifier', async () => {
    const world = await createWorld();
    const preregistered = ['https://as.example', world.issuer].map((issuer) => {
      return { issuer, clientId: 'mine', clientSecret: `secret for ${issuer}` };
    });
    const client = world.client({ registration: { preregistered } });
    await client.fetch(world.serverUrl);
    world.advance(590_000);
    await client.fetch(world.serverUrl);
    const own = `Basic ${btoa(`mine:${encodeURIComponent(`secret for ${world.issuer}`).replaceAll('%20', '+')}`)}`;
    const sent = world.as.asked('/token').map(({ headers }) => headers.get('authorization'));
    expect(sent).toEqual([own, own]);
  });
});

it.each([
  ['a:b', 'c%d', 'a%3Ab:c%25d'],
  ['a b', 'c+d', 'a+b:c%2Bd'],
  ['plain-id_1.0', 'plain~secret', 'plain-id_1.0:plain%7Esecret'],
  ['ü', '/?&=', '%C3%BC:%2F%3F%26%3D'],
])(
  '[C-AUTH-61] %j and %j are form-encoded before they are joined',
  async (clientId, clientSecret, joined) => {
    const { world } = await identity({
      preregistered: [{ clientId, clientSecret, authentication: 'client_secret_basic' }],
    });
    expect(world.as.asked('/token')[0]?.headers.get('authorization')).toBe(`Basic ${btoa(joined)}`);
  },
);

it.each([
  'http://app.example/client.json',
  'https://app.example',
  'https://app.example/',
  'app.example/x',
  'https://app.example/x#y',
])('[C-CIMD-22] refuses %s as the URL of a metadata document', async (metadataDocumentUrl) => {
  const world = await createWorld();
  expect(() => world.client({ registration: { metadataDocumentUrl } })).toThrowError(
    expect.objectContaining({ code: 'configuration_invalid' }),
  );
});

it('reports all issues of the options together', async () => {
  const world = await createWorld();
  expect(() =>
    world.client({
      revision: '2020-01-01',
      grant: { kind: 'application' },
      registration: { metadataDocumentUrl: 'x' },
    }),
  ).toThrow(/application.*revision.*metadataDocumentUrl/);
});
