/** Dynamic client registration (RFC 7591): what a client can register, and the response. */
import { describe, expect, it } from 'vitest';
import {
  CALLBACK,
  CLIENTS,
  ISSUER,
  redemption,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const LOOPBACK = 'http://localhost:3118/callback';

/** Expects a refusal that leaves the store as it was, and that a good registration still passes afterwards. */
async function expectRefused(t: ServerUnderTest, metadata: object, error: string): Promise<void> {
  const before = t.snapshot();
  const { status, body } = await t.register(metadata);
  expect([status, body['error']]).toEqual([400, error]);
  expect(body['error_description']).toMatch(/\S/);
  expect(t.snapshot()).toBe(before);
}

describe('the registration response', () => {
  it('[AS-DCR-2 AS-DCR-60 AS-DCR-61 AS-DCR-62 AS-DCR-71 AS-META-66 ALL-DCR-1] responds 201 with the client identifier and all registered metadata', async () => {
    const { register, clock } = await startServer();
    const { status, headers, body } = await register({
      redirect_uris: [LOOPBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      client_name: 'Claude Code (notes)',
      scope: 'notes:read notes:write',
      client_uri: 'https://app.example',
    });
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      201,
      'application/json',
      'no-store',
    ]);
    expect(body).toEqual({
      client_id: expect.stringMatching(/^client_[A-Za-z0-9_-]{25}$/),
      client_id_issued_at: clock.now,
      registration_client_uri: `${ISSUER}/register/${body['client_id']}`,
      registration_access_token: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      redirect_uris: [LOOPBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      client_name: 'Claude Code (notes)',
      scope: 'notes:read notes:write',
      client_uri: 'https://app.example',
    });
  });

  it('[AS-DCR-63 AS-DCR-61] registers the defaults of RFC 7591 for a client that requests nothing', async () => {
    const { register } = await startServer();
    const { status, body } = await register({ redirect_uris: [CALLBACK] });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      application_type: 'web',
      client_secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      client_secret_expires_at: 0,
    });
  });

  it('[AS-DCR-69 AS-CODE-72] issues a secret to a confidential client only, a new one to each', async () => {
    const { register } = await startServer();
    const bodies = await Promise.all([
      register({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'client_secret_post' }),
      register({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'client_secret_post' }),
      register({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' }),
    ]);
    const [first, second, none] = bodies.map(({ body }) => body);
    expect(first?.['client_secret']).not.toBe(second?.['client_secret']);
    expect(first?.['client_id']).not.toBe(second?.['client_id']);
    expect(none).not.toHaveProperty('client_secret');
    expect(none).not.toHaveProperty('client_secret_expires_at');
  });

  it('[S-STORE-1] the client secret appears neither in the store nor in audit events', async () => {
    const { register, snapshot, events } = await startServer();
    const { body } = await register({ redirect_uris: [CALLBACK] });
    const kept = snapshot() + JSON.stringify(events);
    expect(kept).toContain(body['client_id']);
    expect(kept).not.toContain(body['client_secret']);
    expect(events).toContainEqual({ type: 'client.registered', clientId: body['client_id'] });
  });

  it('[AS-DCR-2 AS-O21-1] a registered client completes the authorization code flow, with and without a secret', async () => {
    const t = await startServer();
    const secret = await t.register({
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: 'client_secret_post',
    });
    const open = await t.register({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' });
    for (const { body } of [secret, open]) {
      const { client_id, client_secret } = body as Record<string, string>;
      const { code, verifier } = await t.issueCode({ clientId: String(client_id), redirectUri: CALLBACK });
      const form = {
        ...redemption(code, verifier, client_id),
        ...(client_secret !== undefined && { client_secret }),
      };
      expect((await t.post('/token', form)).status).toBe(200);
    }
  });
});

describe('what anybody may not have', () => {
  it('T043: limits the metadata of a client to 16 KiB, at registration and at updates', async () => {
    const t = await startServer();
    const uris = (length: number) =>
      Array.from({ length }, (_, index) => `https://app.example/${index}/${'x'.repeat(480)}`);
    await expectRefused(t, { redirect_uris: uris(40) }, 'invalid_client_metadata');
    const { status, body } = await t.register({ redirect_uris: uris(20) });
    expect(status).toBe(201);
    const before = t.snapshot();
    const change = await t.server.handle(
      new Request(String(body['registration_client_uri']), {
        method: 'PUT',
        headers: {
          authorization: `Bearer ${body['registration_access_token']}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ client_id: body['client_id'], redirect_uris: uris(40) }),
      }),
    );
    expect([change.status, ((await change.json()) as { error: string }).error]).toEqual([
      400,
      'invalid_client_metadata',
    ]);
    expect(t.snapshot()).toBe(before);
  });

  it('[AS-GRANT-3] T040: a client gains no privileges by registration: internal members are dropped, client_credentials is left out', async () => {
    const t = await startServer();
    const { status, body, text } = await t.register({
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'client_credentials', 'password'],
      client_id: 'admin',
      client_secret: 'chosen',
      trusted: true,
      skip_consent: true,
      require_pkce: false,
      userId: 'user_ada',
      ['__proto__x']: 1,
    });
    expect(status).toBe(201);
    expect(body['grant_types']).toEqual(['authorization_code']);
    for (const word of [
      'admin',
      'chosen',
      'trusted',
      'skip_consent',
      'require_pkce',
      'user_ada',
      '__proto__',
    ]) {
      expect(text + t.snapshot().replace(/^accounts\n.*$/m, '')).not.toContain(word);
    }
    const { client_id: clientId, client_secret: clientSecret } = body as Record<string, string>;
    const asked = await t.post(
      '/token',
      { grant_type: 'client_credentials' },
      {
        authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}`,
      },
    );
    expect([asked.status, asked.body['error']]).toEqual([400, 'unauthorized_client']);
  });

  it('T040: rejects a registration for client_credentials alone', async () => {
    const t = await startServer();
    await expectRefused(t, { grant_types: ['client_credentials'] }, 'invalid_client_metadata');
  });

  it('T040: a registration cannot pollute prototypes', async () => {
    const { send } = await startServer();
    const { status, text } = await send('/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"redirect_uris":["${CALLBACK}"],"__proto__":{"scope":"admin"},"constructor":{"prototype":{"scope":"admin"}}}`,
    });
    expect(status).toBe(201);
    expect(text).not.toContain('admin');
    expect(Reflect.get({}, 'scope')).toBeUndefined();
  });
});

describe('redirect URIs', () => {
  it.each([
    'javascript:alert(1)', 'JaVaScRiPt:alert(1)', ' javascript:alert(1)', 'java\tscript:alert(1)', 'java\nscript:alert(1)',
    'data:text/html,x', 'vbscript:x', 'blob:https://app.example/1', 'file:///etc/passwd', 'view-source:https://app.example',
    'about:blank',
  ])('[AS-REDIR-5 AS-DCR-64] T037: rejects a registration with a script as redirect URI: %j', async (uri) => {
    const t = await startServer();
    await expectRefused(t, { redirect_uris: [uri] }, 'invalid_redirect_uri');
    await expectRefused(t, { redirect_uris: [CALLBACK, uri] }, 'invalid_redirect_uri');
  }); // biome-ignore format: one list

  it.each([
    ['missing', undefined],
    ['none', []],
    ['a string', CALLBACK],
    ['null inside', [null]],
    ['1,000 of them', Array.from({ length: 1000 }, (_, index) => `https://app.example/${index}`)],
    ['10 KB long', [`https://app.example/${'a'.repeat(10_000)}`]],
    ['a fragment', ['https://app.example/cb#x']],
    ['user information', ['https://user@app.example/cb']],
    ['a wildcard', ['https://*.app.example/cb']],
    ['plain http', ['http://app.example/cb']],
    ['relative', ['/callback']],
    ['a private-use scheme', ['myapp://callback']],
  ])(
    '[AS-REDIR-5 AS-DCR-64] T038: rejects a registration with invalid redirect URIs: %s',
    async (_what, redirect_uris) => {
      const t = await startServer();
      await expectRefused(t, { redirect_uris }, 'invalid_redirect_uri');
      expect((await t.register({ redirect_uris: [CALLBACK, LOOPBACK] })).status).toBe(201);
    },
  );

  it('[AS-REDIR-5] rejects a redirect URI on the origin of this server, where no client can be', async () => {
    const t = await startServer();
    for (const uri of [`${ISSUER}/callback`, `${ISSUER}:443/login`, ISSUER])
      await expectRefused(t, { redirect_uris: [CALLBACK, uri] }, 'invalid_redirect_uri');
    expect((await t.register({ redirect_uris: [`${ISSUER}:8443/callback`] })).status).toBe(201);
  });

  it('drops redirect URIs of a private-use scheme that is not allowed, says so in response and event, and keeps those that are', async () => {
    const uris = ['myapp://callback', LOOPBACK];
    const strict = await startServer();
    const { body } = await strict.register({ redirect_uris: uris });
    expect([body['redirect_uris'], body['dropped_redirect_uris']]).toEqual([
      [LOOPBACK],
      ['myapp://callback'],
    ]);
    expect(strict.events.findLast(({ type }) => type === 'client.registered')).toMatchObject({
      clientId: body['client_id'],
      droppedRedirectUris: ['myapp://callback'],
    });
    const open = await startServer({ privateUseSchemes: ['myapp'] });
    const kept = (await open.register({ redirect_uris: uris })).body;
    expect(kept['redirect_uris']).toEqual(uris);
    expect(kept).not.toHaveProperty('dropped_redirect_uris');
    expect(open.events.findLast(({ type }) => type === 'client.registered')).not.toHaveProperty(
      'droppedRedirectUris',
    );
  });

  it('names the setting when it refuses a redirect URI of a private-use scheme', async () => {
    const t = await startServer();
    const before = t.snapshot();
    const { status, body } = await t.register({ redirect_uris: ['myapp://callback'] });
    expect([status, body['error_description']]).toEqual([400, expect.stringContaining('privateUseSchemes')]);
    expect(t.snapshot()).toBe(before);
  });

  it('rejects a pre-registered client with a redirect URI of a private-use scheme, instead of dropping it', async () => {
    const client = { client_id: 'app', redirect_uris: ['myapp://callback', LOOPBACK] };
    await expect(startServer({ clients: [...CLIENTS, client] })).rejects.toThrow(
      /redirect_uris\.0.*privateUseSchemes/,
    );
    await startServer({ clients: [...CLIENTS, client], privateUseSchemes: ['myapp'] });
  });
});

describe('other metadata', () => {
  it.each([
    ['a script as client_uri', { client_uri: 'javascript:alert(1)' }],
    ['data as logo_uri', { logo_uri: 'data:image/svg+xml,x' }],
    ['a script as tos_uri', { tos_uri: 'javascript:alert(1)' }],
    ['a file as policy_uri', { policy_uri: 'file:///x' }],
    ['a file as jwks_uri', { jwks_uri: 'file:///x' }],
    ['plain http as jwks_uri', { jwks_uri: 'http://169.254.169.254/' }],
  ])('[AS-DCR-65] T039: rejects a registration with bad URLs: %s', async (_what, metadata) => {
    const t = await startServer();
    await expectRefused(t, { redirect_uris: [CALLBACK], ...metadata }, 'invalid_client_metadata');
  });

  const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };

  it.each([
    ['a private key', { jwks: { keys: [{ ...key, d: 'd' }] } }],
    ['a symmetric key', { jwks: { keys: [{ kty: 'oct', k: 'k' }] } }],
    ['both ways to name keys', { jwks: { keys: [key] }, jwks_uri: 'https://app.example/jwks' }],
    ['a method that is not offered', { token_endpoint_auth_method: 'tls_client_auth' }],
    ['the implicit response type', { response_types: ['token'] }],
    ['grants that are not offered', { grant_types: ['implicit'] }],
    ['a number as a name', { client_name: 7 }],
    ['a scope that is none', { scope: 'a"b' }],
  ])('[AS-DCR-65] T041: rejects a registration that contradicts itself: %s', async (_what, metadata) => {
    const t = await startServer();
    await expectRefused(t, { redirect_uris: [CALLBACK], ...metadata }, 'invalid_client_metadata');
  });

  it.each(['tls_client_certificate_bound_access_tokens'])(
    'rejects a registration that demands protection this server does not offer: %s',
    async (member) => {
      const t = await startServer();
      const metadata = { redirect_uris: [CALLBACK] };
      await expectRefused(t, { ...metadata, [member]: true }, 'invalid_client_metadata');
      await expectRefused(t, { ...metadata, [member]: 'true' }, 'invalid_client_metadata');
      const { status, body } = await t.register({ ...metadata, [member]: false });
      expect([status, body[member]]).toEqual([201, undefined]);
    },
  );

  it('rejects a registration that names an algorithm for request objects that this server does not accept', async () => {
    const t = await startServer();
    const metadata = { redirect_uris: [CALLBACK], request_object_signing_alg: 'HS256' };
    await expectRefused(t, metadata, 'invalid_client_metadata');
    const { status, body } = await t.register({ ...metadata, request_object_signing_alg: 'ES256' });
    expect([status, body['request_object_signing_alg']]).toEqual([201, 'ES256']);
  });

  it.each([
    ['is no JWT', 'trust me', 'invalid_software_statement'],
    ['has only two parts', 'eyJhbGciOiJub25lIn0.e30', 'invalid_software_statement'],
    [
      'has no issuer that this server trusts',
      'eyJhbGciOiJFUzI1NiJ9.e30.c2ln',
      'unapproved_software_statement',
    ],
  ])('[AS-DCR-70] rejects a software statement that %s', async (_what, software_statement, error) => {
    const t = await startServer();
    await expectRefused(t, { redirect_uris: [CALLBACK], software_statement }, error);
    expect((await t.register({ redirect_uris: [CALLBACK] })).status).toBe(201);
  });

  it('[AS-DCR-66] ignores unknown and language-tagged metadata of a registration', async () => {
    const { register } = await startServer();
    const { status, body } = await register({
      redirect_uris: [CALLBACK],
      'client_name#de': 'Notizen',
      client_name: 'Notes',
      future_member: { a: 1 },
      logo_uri: null,
    });
    expect(status).toBe(201);
    expect(body['client_name']).toBe('Notes');
    expect(body).not.toHaveProperty('future_member');
  });
});

describe('registration request bodies', () => {
  it.each([
    ['no JSON', 'application/json', '{', 400],
    ['an array', 'application/json', '[]', 400],
    ['null', 'application/json', 'null', 400],
    [
      'a repeated member',
      'application/json',
      `{"redirect_uris":["${CALLBACK}"],"redirect_uris":["https://b.example"]}`,
      400,
    ],
    ['deep nesting', 'application/json', `{"redirect_uris":${'['.repeat(9000)}${']'.repeat(9000)}}`, 400],
    ['text', 'text/plain', `{"redirect_uris":["${CALLBACK}"]}`, 400],
    ['a form', 'application/x-www-form-urlencoded', 'redirect_uris=x', 400],
    [
      '100 KB',
      'application/json',
      JSON.stringify({ redirect_uris: [`https://app.example/${'a'.repeat(100_000)}`] }),
      413,
    ],
  ])(
    '[AS-DCR-60] T044: rejects a registration body and stores nothing: %s',
    async (_what, type, body, status) => {
      const { send, snapshot } = await startServer();
      const before = snapshot();
      const answer = await send('/register', {
        method: 'POST',
        headers: { 'content-type': type, origin: 'null' },
        body,
      });
      expect([answer.status, answer.body['error']]).toEqual([status, 'invalid_client_metadata']);
      expect(snapshot()).toBe(before);
    },
  );
});

describe('a server without dynamic registration', () => {
  it('[AS-REG-1] uses clients configured with identifier and secret', async () => {
    const { issueCode, post } = await startServer({ registration: false });
    const { code, verifier } = await issueCode({ clientId: 'web', redirectUri: CALLBACK });
    const form = redemption(code, verifier, 'web');
    expect((await post('/token', { ...form, client_secret: 'web-secret' })).status).toBe(200);
  });
});
