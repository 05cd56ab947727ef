/** Machine grants (client credentials, workload identity, enterprise identity assertions) and DPoP-bound tokens. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import {
  calculateJwkThumbprint,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  importJWK,
  type JWK,
  jwtVerify,
} from 'jose';
import { describe, expect, it } from 'vitest';
import { type ClientOptions, createMemoryStore, readSigningKey } from '../src/index.ts';
import { createFailingStore } from './support/failing-store.ts';
import type { Asked } from './support/stub-server.ts';
import {
  calls,
  codeOf,
  createWorld,
  grant,
  refusal,
  type World,
  type WorldSettings,
} from './support/world.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const application: Partial<ClientOptions> = {
  grant: { kind: 'application' },
  registration: { preregistered: [{ clientId: 'robot', clientSecret: 'secret' }] },
};

/** A user's part never happened. */
function expectNoSignIn({ as, user }: World): void {
  expect(user.opened).toEqual([]);
  expect(as.asked('/register')).toEqual([]);
  expect(as.asked('/authorize')).toEqual([]);
}

describe('the application itself', () => {
  it('[X-CC-2 X-CC-6 X-CC-8 X-CC-13 X-CC-16] an application obtains tokens with its secret and renews them in time', async () => {
    const world = await createWorld({ challengeScopes: 'jobs' });
    const client = world.client(application);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    world.advance(590_000);
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    const asked = world.as.asked('/token');
    expect(asked.map(({ form }) => Object.fromEntries(form))).toEqual(
      Array(2).fill({ grant_type: 'client_credentials', scope: 'jobs', resource: world.serverUrl }),
    );
    expect(asked[0]?.headers.get('authorization')).toBe(`Basic ${btoa('robot:secret')}`);
    expect(world.server.log[1]?.path).toBe('/.well-known/oauth-protected-resource/mcp');
    expectNoSignIn(world);
  });

  it('an application with the same identifier at two issuers authenticates with the key for each', async () => {
    const world = await createWorld();
    const configured = async (issuer: string, keyId: string) => {
      return { issuer, clientId: 'robot', signingKey: await readSigningKey(pem, 'ES256', keyId) };
    };
    const preregistered = [
      await configured('https://as.example', 'first'),
      await configured(world.issuer, 'second'),
    ];
    await world.client({ ...application, registration: { preregistered } }).fetch(world.serverUrl);
    const [assertion = ''] = world.as.asked('/token').map(({ form }) => form.get('client_assertion') ?? '');
    expect(decodeProtectedHeader(assertion).kid).toBe('second');
  });

  it.each(['pem', 'jwk'])(
    '[X-CC-3 X-CC-7 X-CC-9 ALL-SEC-1] T125 an application authenticates with a key in %s: one audience, one minute, once',
    async (form) => {
      const world = await createWorld();
      const jwk = (await exportJWK(privateKey)) as Readonly<Record<string, unknown>>;
      const signingKey = await readSigningKey(form === 'pem' ? pem : jwk, 'ES256', 'k1');
      const client = world.client({
        ...application,
        registration: { preregistered: [{ clientId: 'robot', signingKey }] },
      });
      await client.fetch(world.serverUrl);
      world.tokens.clear();
      await client.fetch(world.serverUrl);

      const assertions = world.as.asked('/token').map(({ form: sent }) => sent.get('client_assertion') ?? '');
      expect(world.as.asked('/token')[0]?.form.get('client_assertion_type')).toBe(
        'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      );
      for (const assertion of assertions) {
        const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, {
          audience: world.issuer,
        });
        expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'k1' });
        expect(payload).toMatchObject({ iss: 'robot', sub: 'robot', aud: world.issuer });
        expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60);
      }
      expect(new Set(assertions.map((assertion) => decodeJwt(assertion).jti)).size).toBe(2);
    },
  );

  const onlyNone = { metadata: { token_endpoint_auth_methods_supported: ['none'] } };

  it('[X-CC-3 C-AUTH-60] an application uses its secret where the metadata lists only none', async () => {
    const world = await createWorld(onlyNone);
    expect((await world.client(application).fetch(world.serverUrl)).status).toBe(200);
    const [asked] = world.as.asked('/token');
    expect(asked?.headers.get('authorization')).toBe(`Basic ${btoa('robot:secret')}`);
    expect(asked?.form.has('client_id')).toBe(false);
  });

  it.each([
    { description: 'nothing', credentials: {} },
    { description: 'a key that the server does not support', credentials: { signingKey: true } },
    {
      description: 'a secret that is not to be used',
      credentials: { clientSecret: 's', authentication: 'none' },
    },
  ])(
    '[X-CC-3] an application without usable credentials sends no request: $description',
    async ({ credentials }) => {
      const world = await createWorld(onlyNone);
      const signingKey = await readSigningKey(pem, 'ES256', 'key-1');
      const client = {
        clientId: 'robot',
        ...credentials,
        ...('signingKey' in credentials && { signingKey }),
      };
      const registration = { preregistered: [client] } as ClientOptions['registration'] & object;
      const work = world.client({ ...application, registration }).fetch(world.serverUrl);
      expect(await codeOf(work)).toBe('configuration_invalid');
      expect(world.as.asked('/token')).toEqual([]);
      expectNoSignIn(world);
    },
  );

  it('[C-STEP-22] an application requests missing scopes once', async () => {
    const world = await createWorld({ challengeScopes: 'jobs' });
    const client = world.client(application);
    await client.fetch(world.serverUrl);
    world.server.on('/mcp', ({ headers }) => {
      const granted = world.tokens.get(headers.get('authorization')?.replace('Bearer ', '') ?? '') ?? '';
      if (granted.includes('admin')) return { body: 'done' };
      return {
        status: 403,
        headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="admin"' },
      };
    });
    expect(await (await client.fetch(world.serverUrl)).text()).toBe('done');
    expect(world.as.asked('/token').map(({ form }) => form.get('scope'))).toEqual(['jobs', 'jobs admin']);
    expectNoSignIn(world);
  });

  describe('that may not have all that the server names', () => {
    const narrow = async () => {
      const world = await createWorld({ challengeScopes: 'jobs admin' });
      world.as.on('POST /token', ({ form }) =>
        form.has('scope')
          ? { status: 400, body: { error: 'invalid_scope' } }
          : { body: { access_token: 'at', token_type: 'Bearer', expires_in: 600, scope: 'jobs' } },
      );
      return world;
    };
    const askedScopes = ({ as }: World) => as.asked('/token').map(({ form }) => form.get('scope'));

    it('an application gets the scopes of its registration by requesting none', async () => {
      const world = await narrow();
      expect((await world.client(application).signIn()).scopes).toEqual(['jobs']);
      expect(askedScopes(world)).toEqual(['jobs admin', null]);
    });

    it('an application gets an error when its configured scopes are refused', async () => {
      const world = await narrow();
      const client = world.client({ ...application, scopes: { only: ['admin'] } });
      await expect(client.signIn()).rejects.toMatchObject({ oauthError: 'invalid_scope' });
      expect(askedScopes(world)).toEqual(['admin']);
      expect(await client.session()).toBeNull();
    });
  });

  it('T125 creates no client assertion for an issuer that only its own metadata names', async () => {
    const world = await createWorld({ resourceMetadata: false, oneOrigin: true });
    world.as.on('GET /.well-known/oauth-authorization-server', {
      body: { issuer: 'https://honest.example', token_endpoint: `${world.issuer}/token` },
    });
    const signingKey = await readSigningKey(pem, 'ES256');
    const client = world.client({
      ...application,
      registration: { preregistered: [{ clientId: 'robot', signingKey }] },
    });
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('issuer_mismatch');
    expect(world.as.asked('/token')).toEqual([]);
  });

  it('reports a signing key that does not match its algorithm', async () => {
    await expect(
      readSigningKey('-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', 'ES256'),
    ).rejects.toMatchObject({ code: 'configuration_invalid' });
    await expect(readSigningKey(pem, 'HS256')).rejects.toMatchObject({ code: 'configuration_invalid' });
    await expect(readSigningKey(pem, 'RS256')).rejects.toMatchObject({ code: 'configuration_invalid' });
  });
});

describe('a workload', () => {
  function workload(assertion: (audience: string) => Promise<string>): Partial<ClientOptions> {
    return { grant: { kind: 'workload', assertion }, registration: { preregistered: [{ clientId: 'pod' }] } };
  }

  it('[X-WIF-1] a workload presents the token of its platform, issued for the authorization server', async () => {
    const world = await createWorld({ challengeScopes: 'a' });
    const audiences: string[] = [];
    const client = world.client(
      workload(async (audience) => {
        audiences.push(audience);
        return 'platform.token.jwt';
      }),
    );
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(audiences).toEqual([world.issuer]);
    expect(Object.fromEntries(world.as.asked('/token')[0]?.form ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'platform.token.jwt',
      client_id: 'pod',
      scope: 'a',
      resource: world.serverUrl,
    });
    expectNoSignIn(world);
  });

  it.each(['invalid_grant', 'invalid_scope', 'unauthorized_client'])(
    '[X-WIF-3 X-WIF-4 X-WIF-5] reports %s, and does not ask again',
    async (error) => {
      const world = await createWorld();
      world.as.on('POST /token', refusal(error));
      const client = world.client(workload(async () => 'x.y.z'));
      for (let round = 0; round < 2; round += 1) {
        await expect(client.fetch(world.serverUrl)).rejects.toMatchObject({
          code: 'token_refused',
          oauthError: error,
        });
      }
      expect(world.as.asked('/token')).toHaveLength(1);
      expectNoSignIn(world);
    },
  );
});

it('[X-NEG-1] names the protocol extension of each grant, and none for users', async () => {
  const world = await createWorld();
  const names = (options: Partial<ClientOptions>) => Object.entries(world.client(options).extensions);
  expect(names({})).toEqual([]);
  expect(names(application)).toEqual([['io.modelcontextprotocol/oauth-client-credentials', {}]]);
  const grant = { kind: 'workload', assertion: async () => 'x' } as const;
  expect(names({ ...application, grant })).toEqual([['io.modelcontextprotocol/auth/wif', {}]]);
});

describe('an enterprise user', () => {
  it('[X-EMA-1 X-EMA-2 X-EMA-3 X-EMA-4 X-EMA-5 X-EMA-11 X-EMA-12] exchanges the identity assertion and presents the grant to the authorization server', async () => {
    const world = await createWorld();
    const provider = await createWorld();
    provider.as.on('POST /token', {
      body: {
        access_token: 'id.jag.jwt',
        issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
        token_type: 'N_A',
      },
    });
    const client = world.client({
      grant: {
        kind: 'enterprise',
        identityProvider: {
          tokenEndpoint: `${provider.issuer}/token`,
          clientId: 'at-idp',
          clientSecret: 'idp-secret',
        },
        subjectToken: async () => 'id.token.jwt',
      },
      registration: { preregistered: [{ clientId: 'at-as', clientSecret: 'as-secret' }] },
    });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    const [exchange] = provider.as.asked('/token');
    expect(Object.fromEntries(exchange?.form ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: world.issuer,
      resource: world.serverUrl,
      subject_token: 'id.token.jwt',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    });
    expect(exchange?.headers.get('authorization')).toBe(`Basic ${btoa('at-idp:idp-secret')}`);
    const [bearer] = world.as.asked('/token');
    expect(Object.fromEntries(bearer?.form ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'id.jag.jwt',
      resource: world.serverUrl,
    });
    expect(bearer?.headers.get('authorization')).toBe(`Basic ${btoa('at-as:as-secret')}`);
    expectNoSignIn(world);
  });

  it('[X-EMA-23] follows the organization to another provider, and accepts the granted scopes where its scopes are unknown', async () => {
    const world = await createWorld({ challengeScopes: 'unheard-of' });
    const answer = {
      access_token: 'id.jag.jwt',
      issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      token_type: 'N_A',
    };
    const providers = [await createWorld(), await createWorld()];
    for (const { as } of providers)
      as.on('POST /token', ({ form }) => (form.has('scope') ? refusal('invalid_scope') : { body: answer }));
    let current = 0;
    const client = world.client({
      grant: {
        kind: 'enterprise',
        identityProvider: () => ({
          tokenEndpoint: `${providers[current]?.issuer}/token`,
          clientId: `at-${current}`,
        }),
        subjectToken: async () => 'id.token.jwt',
      },
      registration: { preregistered: [{ clientId: 'at-as', clientSecret: 's' }] },
    });
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    current = 1;
    world.tokens.clear();
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    const asked = providers.map(({ as }) =>
      as.asked('/token').map(({ form }) => [form.get('client_id'), form.get('scope')]),
    );
    expect(asked).toEqual([
      [
        ['at-0', 'unheard-of'],
        ['at-0', null],
      ],
      [
        ['at-1', 'unheard-of'],
        ['at-1', null],
      ],
    ]);
    expectNoSignIn(world);
  });

  it('[X-EMA-23] ends with an error, not in a loop, when a scope is always refused', async () => {
    const world = await createWorld({ challengeScopes: 'unheard-of' });
    const provider = await createWorld();
    provider.as.on('POST /token', refusal('invalid_scope'));
    const client = world.client({
      grant: {
        kind: 'enterprise',
        identityProvider: { tokenEndpoint: `${provider.issuer}/token`, clientId: 'at-idp' },
        subjectToken: async () => 'id.token.jwt',
      },
      registration: { preregistered: [{ clientId: 'at-as', clientSecret: 's' }] },
    });
    await expect(client.fetch(world.serverUrl)).rejects.toMatchObject({ oauthError: 'invalid_scope' });
    expect(provider.as.asked('/token')).toHaveLength(2);
  });

  it.each<[string, (server: string) => unknown, boolean]>([
    ['of the resource', (server) => server, true],
    ['of a list with the resource alone', (server) => [server], true],
    ['of another resource', () => 'https://evil.example/mcp', false],
    ['of two resources', (server) => [server, 'https://evil.example/mcp'], false],
    ['of no resource', () => [], false],
  ])('uses a token only if the response, where it says so, is %s', async (_what, resourceOf, isUsed) => {
    const world = await createWorld();
    const provider = await createWorld();
    provider.as.on('POST /token', {
      body: {
        access_token: 'id.jag.jwt',
        issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
        token_type: 'N_A',
      },
    });
    world.as.on('POST /token', () => {
      const { body } = grant(world, {}, '');
      return { body: { ...(body as object), resource: resourceOf(world.serverUrl) } };
    });
    const client = world.client({
      grant: {
        kind: 'enterprise',
        identityProvider: { tokenEndpoint: `${provider.issuer}/token`, clientId: 'at-idp' },
        subjectToken: async () => 'refresh-token',
        subjectTokenType: 'refresh_token',
      },
      registration: { preregistered: [{ clientId: 'at-as', clientSecret: 's' }] },
    });
    const sent = client.fetch(world.serverUrl);
    if (isUsed) expect((await sent).status).toBe(200);
    else expect(await codeOf(sent)).toBe('token_response_invalid');
    const [exchange] = provider.as.asked('/token');
    expect(exchange?.form.get('subject_token_type')).toBe('urn:ietf:params:oauth:token-type:refresh_token');
  });

  it('rejects any other token type in place of the identity assertion grant', async () => {
    const world = await createWorld();
    const provider = await createWorld();
    provider.as.on('POST /token', { body: { access_token: 'an access token', token_type: 'Bearer' } });
    const client = world.client({
      grant: {
        kind: 'enterprise',
        identityProvider: { tokenEndpoint: `${provider.issuer}/token`, clientId: 'at-idp' },
        subjectToken: async () => 'id.token.jwt',
      },
      registration: { preregistered: [{ clientId: 'at-as', clientSecret: 's' }] },
    });
    expect(await codeOf(client.fetch(world.serverUrl))).toBe('token_response_invalid');
    expect(world.as.asked('/token')).toEqual([]);
  });
});

describe('DPoP-bound tokens', () => {
  /** Checks a proof as a server does, and tells its claims and the thumbprint of its key. */
  async function readProof(asked: Asked | undefined) {
    const proof = asked?.headers.get('dpop') ?? '';
    const header = decodeProtectedHeader(proof);
    expect(header).toMatchObject({ typ: 'dpop+jwt', alg: 'ES256' });
    const jwk = header.jwk as JWK;
    expect(Object.keys(jwk).toSorted()).toEqual(['crv', 'kty', 'x', 'y']);
    const { payload } = await jwtVerify(proof, await importJWK(jwk, 'ES256'));
    return {
      claims: payload as Readonly<Record<string, unknown>>,
      thumbprint: await calculateJwkThumbprint(jwk),
    };
  }

  /** A world whose server asks for bound tokens; nonces are demanded where they are given. */
  async function boundWorld(nonces: { as?: string; server?: string } = {}, settings: WorldSettings = {}) {
    const world = await createWorld({
      metadata: { dpop_signing_alg_values_supported: ['RS256', 'ES256'] },
      ...settings,
    });
    const nonceOf = (asked: Asked) => decodeJwt(asked.headers.get('dpop') ?? '')['nonce'];
    world.as.on('POST /token', (asked) => {
      if (nonces.as !== undefined && nonceOf(asked) !== nonces.as) {
        return { ...refusal('use_dpop_nonce'), headers: { 'dpop-nonce': nonces.as } };
      }
      const token = world.issue('');
      const type = asked.headers.has('dpop') ? 'DPoP' : 'Bearer';
      return { body: { access_token: token, token_type: type, expires_in: 600, refresh_token: 'rt' } };
    });
    world.server.on('/mcp', (asked) => {
      const [scheme, token = ''] = (asked.headers.get('authorization') ?? '').split(' ');
      if (!world.tokens.has(token))
        return { status: 401, headers: { 'www-authenticate': 'Bearer, DPoP algs="ES256"' } };
      if (scheme === 'DPoP' && nonces.server !== undefined && nonceOf(asked) !== nonces.server) {
        return {
          status: 401,
          headers: { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': nonces.server },
        };
      }
      return { body: scheme };
    });
    return world;
  }

  it('[X-DPOP-1 X-DPOP-2 X-DPOP-3 C-401-20] requests DPoP-bound tokens where the server requires them, and sends a proof with every request', async () => {
    const world = await boundWorld();
    const client = world.client();
    expect(await (await client.fetch(`${world.serverUrl}?a=b`, { method: 'POST' })).text()).toBe('DPoP');
    await client.fetch(world.serverUrl);

    const token = await readProof(world.as.asked('/token')[0]);
    expect(token.claims).toMatchObject({
      htm: 'POST',
      htu: `${world.issuer}/token`,
      iat: expect.any(Number),
      jti: expect.any(String),
    });
    const [, first, second] = calls(world);
    const used = await readProof(first);
    const accessToken = first?.headers.get('authorization')?.replace('DPoP ', '') ?? '';
    expect(used.claims).toMatchObject({
      htm: 'POST',
      htu: world.serverUrl,
      ath: createHash('sha256').update(accessToken).digest('base64url'),
    });
    expect(used.thumbprint).toBe(token.thumbprint);
    const identifiers = [token, used, await readProof(second)].map(({ claims }) => claims['jti']);
    expect(new Set(identifiers).size).toBe(3);
  });

  it('[X-DPOP-3 X-DPOP-4 X-DPOP-5] sends the DPoP nonces of both servers and keeps them', async () => {
    const nonces = { as: 'as-1', server: 'rs-1' };
    const world = await boundWorld(nonces);
    const client = world.client();
    expect((await client.fetch(world.serverUrl)).status).toBe(200);
    expect(world.as.asked('/token')).toHaveLength(2);
    expect(calls(world)).toHaveLength(3);
    await client.fetch(world.serverUrl);
    expect(calls(world)).toHaveLength(4);
    nonces.server = 'rs-2';
    await client.fetch(world.serverUrl);
    expect(calls(world)).toHaveLength(6);
    expect((await readProof(calls(world).at(-1))).claims['nonce']).toBe('rs-2');
    expect(world.user.opened).toHaveLength(1);
  });

  it('refreshes DPoP-bound tokens with the same key', async () => {
    const world = await boundWorld();
    const client = world.client();
    await client.fetch(world.serverUrl);
    world.advance(590_000);
    await client.fetch(world.serverUrl);
    const [first, second] = await Promise.all(world.as.asked('/token').map(readProof));
    expect(first?.thumbprint).toBe(second?.thumbprint);
  });

  /** A client with bound, stale tokens, whose server issues bearer tokens to hosts that send the token themselves. */
  async function staleBoundClient() {
    const world = await boundWorld();
    const store = createFailingStore();
    const client = world.client({ store });
    await client.fetch(world.serverUrl);
    let issued = 0;
    world.as.on('POST /token', ({ form }) => {
      const type = form.get('token_type') ?? 'DPoP';
      issued += 1;
      return {
        body: {
          access_token: world.issue(type),
          token_type: type,
          expires_in: 600,
          refresh_token: `rt-${issued}`,
        },
      };
    });
    world.advance(590_000);
    client.preferBearer();
    const refreshed = () =>
      world.as
        .asked('/token')
        .slice(1)
        .map(({ form }) => [form.get('refresh_token'), form.get('token_type')]);
    return { world, client, store, refreshed };
  }

  it('replaces a stale bound token by a bearer token with one refresh', async () => {
    const { world, client, refreshed } = await staleBoundClient();
    const token = await client.accessToken();
    expect(world.tokens.get(token ?? '')).toBe('Bearer');
    expect(refreshed()).toEqual([['rt', 'Bearer']]);
    expect(await client.accessToken()).toBe(token);
    expect(refreshed()).toHaveLength(1);
  });

  it('obtains a bearer token also while the bound one is being refreshed', async () => {
    const { world, client, refreshed } = await staleBoundClient();
    const [response, token] = await Promise.all([client.fetch(world.serverUrl), client.accessToken()]);
    expect(await response.text()).toBe('DPoP');
    expect(world.tokens.get(token ?? '')).toBe('Bearer');
    expect(refreshed()).toEqual([
      ['rt', null],
      ['rt-1', 'Bearer'],
    ]);
  });

  it('sends a refresh token once whose replacement could not be saved, also while a bearer token is requested', async () => {
    const { world, client, store, refreshed } = await staleBoundClient();
    store.failures = 1;
    const calling = client.fetch(world.serverUrl);
    const token = client.accessToken();
    await expect(calling).rejects.toThrow('database is locked');
    expect(world.tokens.get((await token) ?? '')).toBe('Bearer');
    expect(refreshed()).toEqual([
      ['rt', null],
      ['rt-1', 'Bearer'],
    ]);
    expect(await store.list(client.server, 'default')).toMatchObject([{ tokens: { refreshToken: 'rt-2' } }]);
  });

  it('uses a token without key binding as a bearer token', async () => {
    const world = await boundWorld();
    world.as.on('POST /token', () => ({ body: { access_token: world.issue(''), token_type: 'Bearer' } }));
    expect(await (await world.client().fetch(world.serverUrl)).text()).toBe('Bearer');
    expect(calls(world)[1]?.headers.has('dpop')).toBe(false);
  });

  it.each<[string, Partial<ClientOptions>]>([
    ['a user', {}],
    ['an application', application],
  ])(
    '[X-DPOP-1] sends no bearer token of %s where the server requires bound ones',
    async (_whose, options) => {
      const world = await boundWorld({}, { resource: { dpop_bound_access_tokens_required: true } });
      const issue = (token_type: string) =>
        world.as.on('POST /token', () => ({ body: { access_token: world.issue(''), token_type } }));
      issue('Bearer');
      const store = createMemoryStore();
      const client = world.client({ ...options, store });
      expect(await codeOf(client.fetch(world.serverUrl))).toBe('token_response_invalid');
      expect(calls(world).filter(({ headers }) => headers.has('authorization'))).toEqual([]);
      expect((await store.list(client.server, 'default')).filter(({ tokens }) => tokens !== null)).toEqual(
        [],
      );
      issue('DPoP');
      expect(await (await world.client(options).fetch(world.serverUrl)).text()).toBe('DPoP');
    },
  );

  it('[X-DPOP-1] keeps a bound session bound: a refresh that returns a bearer token is refused', async () => {
    const world = await boundWorld();
    const store = createMemoryStore();
    const client = world.client({ store });
    await client.fetch(world.serverUrl);
    const before = await store.list(client.server, 'default');
    world.as.on('POST /token', () => ({
      body: { access_token: world.issue(''), token_type: 'Bearer', refresh_token: 'rt-2' },
    }));
    world.advance(590_000);
    expect(await (await client.fetch(world.serverUrl)).text()).toBe('DPoP');
    world.advance(3_600_000);
    await expect(client.fetch(world.serverUrl)).rejects.toMatchObject({ code: 'token_response_invalid' });
    expect(await store.list(client.server, 'default')).toEqual(before);
    world.as.on('POST /token', () => ({ body: { access_token: world.issue(''), token_type: 'DPoP' } }));
    expect(await (await client.fetch(world.serverUrl)).text()).toBe('DPoP');
  });

  it('sends nothing where the server requires bound tokens and its authorization server does not offer them', async () => {
    const metadata = { dpop_signing_alg_values_supported: undefined };
    const world = await boundWorld({}, { metadata, resource: { dpop_bound_access_tokens_required: true } });
    const work = world.client().fetch(world.serverUrl);
    await expect(work).rejects.toMatchObject({
      code: 'metadata_invalid',
      message: expect.stringContaining(world.issuer),
    });
    expectNoSignIn(world);
    expect(world.as.asked('/token')).toEqual([]);
    const bearer = await boundWorld({}, { metadata });
    expect(await (await bearer.client().fetch(bearer.serverUrl)).text()).toBe('Bearer');
  });

  const offer = { dpop_signing_alg_values_supported: ['ES256'] };
  it.each([
    ['when-required', 'Bearer', {}, false],
    ['when-required', 'Bearer', offer, false],
    ['when-required', 'Bearer, DPoP', {}, true],
    ['when-required', 'Bearer', { dpop_bound_access_tokens_required: true }, true],
    ['when-offered', 'Bearer', {}, false],
    ['when-offered', 'Bearer', { dpop_signing_alg_values_supported: ['RS256'] }, false],
    ['when-offered', 'Bearer', offer, true],
    ['when-offered', 'Bearer, DPoP', {}, true],
    ['never', 'Bearer, DPoP', offer, false],
  ] as const)(
    'dpop %s with a challenge of %s and the metadata %j: bound %j',
    async (dpop, challenge, resource, bound) => {
      const world = await boundWorld({}, { resource });
      world.server.on('/mcp', ({ headers }) =>
        headers.has('authorization')
          ? { body: 'in' }
          : { status: 401, headers: { 'www-authenticate': challenge } },
      );
      await world.client({ dpop }).fetch(world.serverUrl);
      expect(world.as.asked('/token')[0]?.headers.has('dpop')).toBe(bound);
    },
  );
});
