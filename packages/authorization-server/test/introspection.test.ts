/** Introspection (RFC 7662): protected resources introspect their tokens, clients their own, and no others. */
import { readScopes } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import {
  ACCOUNT,
  basic,
  CALLBACK,
  claimsOf,
  FILES,
  ISSUER,
  NOTES,
  RESOURCES,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const NOTES_SERVER = basic('notes-server', 'notes-server-secret');
const NIGHTLY = basic('nightly', 'nightly-secret');
const INACTIVE = '{"active":false}';

const ask = (t: ServerUnderTest, token: unknown, headers: Record<string, string> = NOTES_SERVER) =>
  t.post('/introspect', { token: String(token) }, headers);

describe('an active token', () => {
  it('[AS-INTRO-61 AS-INTRO-64] introspection describes an active token to its resource', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const { status, headers, body: answer } = await ask(t, body['access_token']);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(answer).toEqual({ active: true, token_type: 'Bearer', ...claimsOf(body['access_token']) });
    expect((await ask(t, body['access_token'])).body).toEqual(answer);
    expect(answer).toMatchObject({
      iss: ISSUER,
      sub: ACCOUNT,
      aud: NOTES,
      client_id: 'desktop',
      scope: 'notes:read notes:write',
    });
  });

  it('[AS-INTRO-61] introspection knows a token with the longest scope that a request may name', async () => {
    const scopes = Array.from({ length: 1000 }, (_, index) => `scope-${String(index).padStart(3, '0')}`);
    const described = Object.fromEntries(scopes.map((scope) => [scope, 'Read']));
    const notes = { resource: NOTES, name: 'Notes', introspectionClients: ['notes-server'] };
    const t = await startServer({ resources: [{ ...notes, scopes: described }] });
    const { body } = await t.signIn({ scopes });
    const scope = String((await ask(t, body['access_token'])).body['scope']);
    expect([scope.length, readScopes(scope)]).toEqual([9999, scopes]);
  });

  it('[AS-INTRO-61] introspection describes an active token to its client', async () => {
    const t = await startServer();
    const { body } = await t.post('/token', { grant_type: 'client_credentials' }, NIGHTLY);
    expect((await ask(t, body['access_token'], NIGHTLY)).body).toMatchObject({
      active: true,
      sub: 'nightly',
      client_id: 'nightly',
    });
  });

  it('[AS-INTRO-61] a client may introspect its own refresh token', async () => {
    const t = await startServer();
    const { body: client } = await t.register({
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
    });
    const { client_id, client_secret } = client as Record<string, string>;
    const secret = basic(String(client_id), String(client_secret));
    const { code, verifier } = await t.issueCode({ clientId: String(client_id), redirectUri: CALLBACK });
    const form = { grant_type: 'authorization_code', code, code_verifier: verifier };
    const { body } = await t.post('/token', form, secret);
    expect((await ask(t, body['refresh_token'], secret)).body).toEqual({
      active: true,
      iss: ISSUER,
      sub: ACCOUNT,
      aud: [NOTES],
      client_id,
      scope: 'notes:read notes:write',
      iat: t.clock.now,
      exp: t.clock.now + 30 * 86_400,
    });
    expect((await ask(t, body['refresh_token'])).text).toBe(INACTIVE);
    t.execute(`UPDATE grants SET workspace = 'w1'`);
    expect((await ask(t, body['refresh_token'], secret)).body).toMatchObject({ workspace: 'w1' });
    await t.post(
      '/token',
      { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) },
      secret,
    );
    expect((await ask(t, body['refresh_token'], secret)).text).toBe(INACTIVE);
  });

  it('[AS-INTRO-61] introspection reports no times of a refresh token that is newer than a restored store', async () => {
    const t = await startServer();
    const { body: client } = await t.register({
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
    });
    const { client_id, client_secret } = client as Record<string, string>;
    const secret = basic(String(client_id), String(client_secret));
    const { code, verifier } = await t.issueCode({ clientId: String(client_id), redirectUri: CALLBACK });
    const { body } = await t.post(
      '/token',
      { grant_type: 'authorization_code', code, code_verifier: verifier },
      secret,
    );
    t.execute('CREATE TABLE backup AS SELECT * FROM grants');
    const form = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
    const { refresh_token: newer } = (await t.post('/token', form, secret)).body;
    expect((await ask(t, newer, secret)).body).toMatchObject({ active: true, iat: t.clock.now });
    const columns = 'refresh_token_hash, refresh_token_generation, refresh_token_rotations';
    t.execute(`UPDATE grants SET (${columns}) = (SELECT ${columns} FROM backup)`, 'DROP TABLE backup');
    const { body: described } = await ask(t, newer, secret);
    expect(described).toMatchObject({ active: true, client_id });
    expect(Object.keys(described)).not.toEqual(expect.arrayContaining(['iat']));
    expect(Object.keys(described)).not.toEqual(expect.arrayContaining(['exp']));
  });
});

describe('an inactive token', () => {
  it('[AS-INTRO-62 AS-INTRO-63] introspection reports only active=false for invalid tokens', async () => {
    const t = await startServer();
    const token = String((await t.signIn()).body['access_token']);
    const forged = [
      'x',
      'a.b.c',
      'x'.repeat(43),
      `${token}x`,
      token.slice(0, -1),
      token.replace(/[^.]*$/, 'A'.repeat(86)),
      token.replace(/^[^.]*/, Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')),
      `${token}.${token}`,
      // Other spellings of the signature.
      `${token}=`,
      `${token}==`,
      ` ${token}`,
      `${token}\n`,
      token.replace(/.$/, (last) => (last === 'A' ? 'B' : String.fromCharCode(last.charCodeAt(0) + 1))),
      `${token.slice(0, token.lastIndexOf('.') + 4)} ${token.slice(token.lastIndexOf('.') + 4)}`,
    ];
    for (const text of forged) expect((await ask(t, text)).text).toBe(INACTIVE);
    expect((await ask(t, token)).body['active']).toBe(true);
  });

  it('[AS-INTRO-63] introspection reports a token as inactive from the second it expires', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    t.clock.now += 599;
    expect((await ask(t, body['access_token'])).body['active']).toBe(true);
    t.clock.now += 1;
    expect((await ask(t, body['access_token'])).text).toBe(INACTIVE);
  });

  it.each(['access_token', 'refresh_token'])(
    '[AS-INTRO-63] introspection reports a token as inactive after its %s was revoked',
    async (name) => {
      const t = await startServer();
      const { body } = await t.signIn();
      await t.post('/revoke', { token: String(body[name]), client_id: 'desktop' });
      expect((await ask(t, body['access_token'])).text).toBe(INACTIVE);
    },
  );

  it.each<[string, (t: ServerUnderTest, token: string) => unknown, object?]>([
    [
      'that was revoked',
      (t, token) => t.post('/revoke', { token, client_id: 'web', client_secret: 'web-secret' }),
    ],
    ['that was idle for too long', (t) => (t.clock.now += 1000), { refreshIdle: 1000 }],
    ['whose grant has ended', (t) => (t.clock.now += 500), { refreshIdle: 1000, grant: 500 }],
    ['of a disabled account', (t) => t.store.disableAccount(ACCOUNT, t.clock.now)],
    [
      'that the user revoked on the connections page',
      (t) => t.store.revokeAccountGrants(ACCOUNT, null, t.clock.now),
    ],
  ])(
    '[AS-INTRO-63] introspection reports as inactive a refresh token %s',
    async (_what, end, lifetimes = {}) => {
      const t = await startServer({ lifetimes });
      const own = { client_id: 'web', client_secret: 'web-secret' };
      const { code, verifier } = await t.issueCode({ clientId: 'web', redirectUri: CALLBACK });
      const { body } = await t.post('/token', { ...redemption(code, verifier, 'web'), ...own });
      const token = String(body['refresh_token']);
      const asked = () => t.post('/introspect', { token, ...own });
      expect((await asked()).body['active']).toBe(true);
      await end(t, token);
      expect((await asked()).text).toBe(INACTIVE);
    },
  );

  it('[AS-INTRO-63] introspection reports a refresh token as inactive from the second it ends', async () => {
    const t = await startServer({ lifetimes: { refreshIdle: 1000 } });
    const own = { client_id: 'web', client_secret: 'web-secret' };
    const { code, verifier } = await t.issueCode({ clientId: 'web', redirectUri: CALLBACK });
    const { body } = await t.post('/token', { ...redemption(code, verifier, 'web'), ...own });
    const asked = () => t.post('/introspect', { token: String(body['refresh_token']), ...own });
    t.clock.now += 999;
    expect((await asked()).body['active']).toBe(true);
    t.clock.now += 1;
    expect((await asked()).text).toBe(INACTIVE);
  });

  it('[AS-INTRO-63] introspection reports tokens of a reused family as inactive', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const successor = await t.post('/token', refreshing(body['refresh_token']));
    await t.post('/token', refreshing(successor.body['refresh_token']));
    await t.post('/token', refreshing(body['refresh_token']));
    expect((await ask(t, body['access_token'])).text).toBe(INACTIVE);
  });

  it('[AS-INTRO-62 AS-INTRO-63] introspection reports tokens of another resource or client as inactive', async () => {
    const t = await startServer();
    const { body: files } = await t.signIn({ resources: [FILES], scopes: ['files:read'] });
    const { body: notes } = await t.signIn();
    expect((await ask(t, files['access_token'])).text).toBe(INACTIVE);
    expect((await ask(t, notes['access_token'], NIGHTLY)).text).toBe(INACTIVE);
    expect((await ask(t, notes['refresh_token'], NIGHTLY)).text).toBe(INACTIVE);
    expect((await ask(t, notes['access_token'])).body['active']).toBe(true);
  });

  it('[AS-INTRO-63] introspection reports a token of a removed resource as inactive', async () => {
    const t = await startServer();
    const { body: files } = await t.signIn({ resources: [FILES], scopes: ['files:read'] });
    const { body: notes } = await t.signIn();
    const smaller = await startServer({
      store: { ...t.store, close: async () => {} },
      resources: RESOURCES.filter(({ resource }) => resource === NOTES),
    });
    expect((await ask(smaller, files['access_token'])).text).toBe(INACTIVE);
    expect((await ask(smaller, notes['access_token'])).body['active']).toBe(true);
  });

  it('[AS-META-60 AS-INTRO-63] introspection reports a token of another issuer with the same keys as inactive', async () => {
    const t = await startServer();
    const moved = await startServer({
      store: { ...t.store, close: async () => {} },
      issuer: 'https://other.example',
    });
    const { body } = await moved.signIn();
    expect((await ask(moved, body['access_token'])).body['active']).toBe(true);
    expect((await ask(t, body['access_token'])).text).toBe(INACTIVE);
  });
});

describe('a caller', () => {
  it.each([
    ['no credentials', {}, {}, 401, 'invalid_client'],
    ['a wrong secret', {}, basic('notes-server', 'x'), 401, 'invalid_client'],
    ['a public client', { client_id: 'desktop' }, {}, 401, 'invalid_client'],
    ['a bearer token', {}, { authorization: 'Bearer x' }, 401, 'invalid_client'],
    ['no token', { token: '' }, NOTES_SERVER, 400, 'invalid_request'],
  ])(
    '[AS-INTRO-60 AS-INTRO-64] introspection rejects a caller with %s',
    async (_what, form, headers, status, error) => {
      const t = await startServer();
      const { body } = await t.signIn();
      const answer = await t.post(
        '/introspect',
        { token: String(body['access_token']), ...form },
        headers as Record<string, string>,
      );
      expect([answer.status, answer.body['error']]).toEqual([status, error]);
      expect(answer.body).not.toHaveProperty('active');
    },
  );

  it('[AS-AUD-1] introspection rejects an access token as the caller’s credential', async () => {
    const t = await startServer();
    const { body } = await t.signIn();
    const bearer = { authorization: `Bearer ${body['access_token']}` };
    for (const path of ['/introspect', '/revoke']) {
      const answer = await t.post(path, { token: String(body['access_token']) }, bearer);
      expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_client']);
    }
    expect((await ask(t, body['access_token'])).body['active']).toBe(true);
  });
});
