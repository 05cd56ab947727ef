/** The client credentials grant: applications that act on their own behalf, never as a user. */
import { describe, expect, it } from 'vitest';
import { basic, CLIENTS, claimsOf, FILES, ISSUER, NOTES, startServer } from './server-under-test.ts';

const GRANT = { grant_type: 'client_credentials' };
const NIGHTLY = basic('nightly', 'nightly-secret');

/** `nightly` with the registered scope. */
const scoped = (scope: string) => ({
  clients: [
    { client_id: 'nightly', client_secret: 'nightly-secret', grant_types: ['client_credentials'], scope },
  ],
  resources: [
    {
      resource: NOTES,
      name: 'Notes',
      scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
      hierarchy: { 'notes:write': ['notes:read'] },
    },
    { resource: FILES, name: 'Files', scopes: { 'files:read': 'Read' } },
  ],
});

describe('the client credentials grant', () => {
  it('[AS-GRANT-3 AS-JWT-64 X-CC-4 X-CC-12 AS-AUTH-60] an application gets a token in its own name, and no refresh token', async () => {
    const { post, clock, server } = await startServer(scoped('notes:read files:read'));
    const { status, body } = await post('/token', GRANT, NIGHTLY);
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'notes:read',
    });
    const claims = claimsOf(body['access_token']);
    expect(claims).toEqual({
      iss: ISSUER,
      sub: 'nightly',
      aud: NOTES,
      client_id: 'nightly',
      iat: clock.now,
      exp: clock.now + 600,
      jti: expect.any(String),
      scope: 'notes:read',
    });
    expect(await server.isLive(claims as never)).toBe(true);
  });

  it.each([
    ['no scope: all that it registered there', {}, NOTES, 'notes:read notes:write'],
    ['a scope', { scope: 'notes:write' }, NOTES, 'notes:write'],
    ['another resource, all of it by default', { resource: FILES }, FILES, 'files:read'],
    ['both', { resource: FILES, scope: 'files:read' }, FILES, 'files:read'],
    ['scopes that it does not know', { scope: 'openid notes:read files:read' }, NOTES, 'notes:read'],
  ])('[AS-JWT-63 AS-TOK-66] an application may request %s', async (_what, wanted, audience, scope) => {
    const { post } = await startServer(scoped('notes:read notes:write files:read'));
    const { status, body } = await post('/token', { ...GRANT, ...wanted }, NIGHTLY);
    expect([status, body['scope'], claimsOf(body['access_token'])['aud']]).toEqual([200, scope, audience]);
  });

  it.each([
    ['all that it registered', 'notes:write', {}, 'notes:write'],
    ['what means something there', 'notes:write files:read', { resource: FILES }, 'files:read'],
    ['less', 'notes:write notes:read', { scope: 'notes:read' }, 'notes:read'],
    ['what is implied', 'notes:write', { scope: 'notes:read' }, 'notes:read'],
  ])('an application with registered scopes gets %s', async (_what, registered, wanted, scope) => {
    const { post } = await startServer(scoped(registered));
    const { status, body } = await post('/token', { ...GRANT, ...wanted }, NIGHTLY);
    expect([status, body['scope']]).toEqual([200, scope]);
  });

  it.each([
    ['an unknown scope', {}, { scope: 'admin' }, 'invalid_scope'],
    [
      'an unknown scope beside one that it has not registered',
      scoped('notes:read'),
      { scope: 'openid notes:write' },
      'invalid_scope',
    ],
    ['a scope of another resource', {}, { scope: 'files:read' }, 'invalid_scope'],
    ['a scope that it has not registered', scoped('notes:read'), { scope: 'notes:write' }, 'invalid_scope'],
    [
      'a resource of which it registered no scope',
      scoped('notes:read'),
      { resource: FILES },
      'invalid_scope',
    ],
    ['a scope without having registered any', {}, { scope: 'notes:read' }, 'invalid_scope'],
    ['an unknown resource', {}, { resource: 'https://evil.example' }, 'invalid_target'],
    ['a resource that is no URI', {}, { resource: 'notes' }, 'invalid_target'],
  ])(
    '[AS-TOK-70 AS-TOK-71 ALL-RES-11] rejects a client credentials request for %s',
    async (_what, options, wanted, error) => {
      const { post, snapshot } = await startServer(options);
      const before = snapshot();
      const { status, body } = await post('/token', { ...GRANT, ...wanted }, NIGHTLY);
      expect([status, body['error']]).toEqual([400, error]);
      expect(snapshot()).toBe(before);
      expect((await post('/token', GRANT, NIGHTLY)).status).toBe(200);
    },
  );

  it('an application that registered no scope gets none', async () => {
    const { post } = await startServer();
    for (const resource of [NOTES, FILES]) {
      const { status, body } = await post('/token', { ...GRANT, resource }, NIGHTLY);
      const claims = claimsOf(body['access_token']);
      expect([status, body['scope'], claims['scope'], claims['aud']]).toEqual([
        200,
        undefined,
        undefined,
        resource,
      ]);
    }
  });

  it('a client without grant types introspects for its resource, and gets no token', async () => {
    const guard = { client_id: 'notes-server', client_secret: 'notes-server-secret', grant_types: [] };
    const t = await startServer({ clients: [...CLIENTS.slice(0, 3), guard] });
    const { body } = await t.signIn();
    const own = basic('notes-server', 'notes-server-secret');
    const before = t.snapshot();
    for (const form of [
      GRANT,
      { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) },
    ]) {
      const refused = await t.post('/token', form, own);
      expect([refused.status, refused.body['error']]).toEqual([400, 'unauthorized_client']);
    }
    expect(t.snapshot()).toBe(before);
    const described = await t.post('/introspect', { token: String(body['access_token']) }, own);
    expect(described.body).toMatchObject({ active: true, aud: NOTES, client_id: 'desktop' });
  });

  it('a client without grant types may be registered if it authenticates', async () => {
    const t = await startServer();
    const { status, body } = await t.register({ grant_types: [] });
    expect([status, body['grant_types'], body['response_types'], typeof body['client_secret']]).toEqual([
      201,
      [],
      [],
      'string',
    ]);
    const own = basic(String(body['client_id']), String(body['client_secret']));
    expect((await t.post('/token', GRANT, own)).body['error']).toBe('unauthorized_client');
    const before = t.snapshot();
    const open = await t.register({ grant_types: [], token_endpoint_auth_method: 'none' });
    expect([open.status, open.body['error']]).toEqual([400, 'invalid_client_metadata']);
    expect(t.snapshot()).toBe(before);
  });

  it('rejects a client credentials request for two resources', async () => {
    const { post } = await startServer();
    const form = [
      ['grant_type', 'client_credentials'],
      ['resource', NOTES],
      ['resource', FILES],
    ] as const;
    expect((await post('/token', form, NIGHTLY)).body['error']).toBe('invalid_target');
  });

  it.each([
    ['a public client', { ...GRANT, client_id: 'desktop' }, {}, 400, 'unauthorized_client'],
    [
      'a confidential client without the grant',
      { ...GRANT, client_id: 'web', client_secret: 'web-secret' },
      {},
      400,
      'unauthorized_client',
    ],
    ['a wrong secret', GRANT, basic('nightly', 'x'), 401, 'invalid_client'],
    ['no client', GRANT, {}, 401, 'invalid_client'],
  ])(
    '[X-CC-11 AS-AUTH-68 AS-TOK-68] issues no client credentials token to %s',
    async (_what, form, headers, status, error) => {
      const { post } = await startServer();
      const answer = await post('/token', form, headers);
      expect([answer.status, answer.body['error']]).toEqual([status, error]);
    },
  );
});
