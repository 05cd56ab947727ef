/** The grant type authorization_code: one code, one client, one PKCE verifier, one redemption. */
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  ACCOUNT,
  CALLBACK,
  claimsOf,
  FILES,
  ISSUER,
  NOTES,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const other = 'w'.repeat(43);

/** Sends the form; expects a rejection after which the code still works: nothing was consumed. */
async function expectHarmless(
  t: ServerUnderTest,
  form: Record<string, string> | [string, string][],
  error: string,
  good: Record<string, string>,
): Promise<void> {
  const before = t.snapshot();
  const { status, body } = await t.post('/token', form);
  expect([status, body['error']]).toEqual([400, error]);
  expect(t.snapshot()).toBe(before);
  expect((await t.post('/token', good)).status).toBe(200);
}

describe('a redeemed authorization code', () => {
  it('[AS-TOK-1 AS-TOK-2 AS-FLOW-A7 AS-TOK-64 AS-TOK-65 AS-TTL-2 AS-TTL-3 AS-GRANT-2] a code is redeemed for an access token and a refresh token', async () => {
    const { signIn } = await startServer();
    const { status, headers, body } = await signIn();
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      refresh_token: expect.stringMatching(/^[\w-]{20,40}~[0-9a-z]+~[\w-]{43}$/),
      scope: 'notes:read notes:write',
    });
    expect(claimsOf(body['access_token'])['sub']).toBe(ACCOUNT);
  });

  it('[AS-JWT-60 AS-JWT-61 AS-JWT-62 AS-JWT-63 AS-JWT-64 AS-RES-60] issues a JWT access token in the format of RFC 9068', async () => {
    const { signIn, clock } = await startServer();
    const token = String((await signIn()).body['access_token']);
    const header = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString());
    expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.stringMatching(/^key_/) });
    expect(claimsOf(token)).toEqual({
      iss: ISSUER,
      sub: ACCOUNT,
      aud: NOTES,
      client_id: 'desktop',
      iat: clock.now,
      exp: clock.now + 600,
      jti: expect.stringMatching(/^token_/),
      scope: 'notes:read notes:write',
      grant_id: expect.stringMatching(/^grant_/),
    });
    expect(claimsOf((await signIn()).body['access_token'])['jti']).not.toBe(claimsOf(token)['jti']);
  });

  it('[AS-O21-1 ALL-O21-1] redeems codes of public and confidential clients', async () => {
    const { signIn, issueCode, post } = await startServer();
    expect((await signIn()).status).toBe(200);
    const { code, verifier } = await issueCode({ clientId: 'web', redirectUri: CALLBACK });
    const form = { ...redemption(code, verifier, 'web'), client_secret: 'web-secret' };
    expect((await post('/token', form)).status).toBe(200);
  });

  it('[AS-REF-70] issues a refresh token exactly if the client registered the grant type', async () => {
    const t = await startServer();
    for (const grantTypes of [['authorization_code'], ['authorization_code', 'refresh_token']]) {
      const { body } = await t.register({
        redirect_uris: [CALLBACK],
        grant_types: grantTypes,
        token_endpoint_auth_method: 'none',
      });
      const answer = await t.signIn({ clientId: String(body['client_id']), redirectUri: CALLBACK });
      expect([answer.status, 'refresh_token' in answer.body]).toEqual([200, grantTypes.length === 2]);
    }
  });

  it('[S-STORE-1 AS-CODE-72] stores and logs no code, verifier or token in plain text', async () => {
    const { issueCode, post, snapshot, events } = await startServer();
    const { code, verifier } = await issueCode();
    const { body } = await post('/token', redemption(code, verifier));
    const { body: second } = await post('/token', refreshing(body['refresh_token']));
    const kept = snapshot() + JSON.stringify(events);
    for (const secret of [
      code,
      verifier,
      body['access_token'],
      body['refresh_token'],
      second['access_token'],
      second['refresh_token'],
    ]) {
      expect(kept).not.toContain(secret);
    }
    expect(kept).toContain('token.issued');
  });
});

describe('reuse of an authorization code', () => {
  it('[AS-CODE-61 AS-CODE-62] T018 reuse by the right client with the right verifier ends the grant', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    const { body } = await t.post('/token', redemption(code, verifier));
    const bystander = await t.signIn();
    const claims = claimsOf(body['access_token']) as never;
    expect(await t.server.isLive(claims)).toBe(true);

    const again = await t.post('/token', redemption(code, verifier));
    expect([again.status, again.body['error']]).toEqual([400, 'invalid_grant']);
    expect(await t.server.isLive(claims)).toBe(false);
    expect((await t.post('/token', refreshing(body['refresh_token']))).body['error']).toBe('invalid_grant');
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'authorization_code.replayed', clientId: 'desktop' }),
    );
    expect((await t.post('/token', refreshing(bystander.body['refresh_token']))).status).toBe(200);
  });

  it.each([
    ['another verifier', { code_verifier: other }],
    ['another client', { client_id: 'other' }],
    ['no verifier', { code_verifier: '' }],
  ])('[AS-CODE-63 AS-CODE-65] T019 reuse with %s leaves the grant alone', async (_what, change) => {
    const other = { client_id: 'other', redirect_uris: [CALLBACK] };
    const desktop = {
      client_id: 'desktop',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
    };
    const t = await startServer({
      clients: [other, desktop],
      resources: [{ resource: NOTES, name: 'Notes', scopes: { 'notes:read': 'Read' } }],
    });
    const { code, verifier } = await t.issueCode({ scopes: ['notes:read'] });
    const { body } = await t.post('/token', redemption(code, verifier));
    const before = t.snapshot();
    expect((await t.post('/token', { ...redemption(code, verifier), ...change })).status).toBe(400);
    expect(t.snapshot()).toBe(before);
    expect((await t.post('/token', refreshing(body['refresh_token']))).status).toBe(200);
  });

  it('[AS-CODE-64] concurrent redemption succeeds once', async () => {
    const { issueCode, post, snapshot } = await startServer();
    const { code, verifier } = await issueCode();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => post('/token', redemption(code, verifier))),
    );
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    for (const { body } of answers.filter(({ status }) => status !== 200))
      expect(body['error']).toBe('invalid_grant');
    expect(snapshot().match(/"id":"grant_/g)).toHaveLength(1);
    const winner = answers.find(({ status }) => status === 200);
    expect((await post('/token', refreshing(winner?.body['refresh_token']))).status).toBe(200);
  });
});

describe('a rejected authorization code', () => {
  it('[AS-CODE-60] rejects an expired code', async () => {
    const { issueCode, post, clock } = await startServer();
    const [late, inTime] = [await issueCode(), await issueCode()];
    clock.now += 59;
    expect((await post('/token', redemption(inTime.code, inTime.verifier))).status).toBe(200);
    clock.now += 1;
    const { status, body } = await post('/token', redemption(late.code, late.verifier));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('[AS-CODE-65] T019 rejects a code issued to another client, and keeps it usable for its own', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    const good = redemption(code, verifier);
    const { body } = await t.register({ redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' });
    await expectHarmless(t, { ...good, client_id: String(body['client_id']) }, 'invalid_grant', good);
  });

  it.each([
    ['wrong', other, 'invalid_grant'],
    ['missing', '', 'invalid_request'],
    ['42 characters long', 'a'.repeat(42), 'invalid_grant'],
    ['129 characters long', 'a'.repeat(129), 'invalid_grant'],
    ['of characters that are not allowed', `${'a'.repeat(42)}+`, 'invalid_grant'],
    ['the challenge itself', 'challenge', 'invalid_grant'],
  ])(
    '[AS-CODE-67 AS-CODE-68 AS-CODE-70] T020 rejects a code_verifier that is %s, and allows no second guess',
    async (_what, code_verifier, error) => {
      const { issueCode, post, snapshot } = await startServer();
      const { code, verifier } = await issueCode();
      const challenge = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(verifier))).toString(
        'base64url',
      );
      const wrong = {
        ...redemption(code, verifier),
        code_verifier: code_verifier === 'challenge' ? challenge : code_verifier,
      };
      const first = await post('/token', wrong);
      expect([first.status, first.body['error']]).toEqual([400, error]);
      const second = await post('/token', redemption(code, verifier));
      expect([second.status, second.body['error']]).toEqual([400, 'invalid_grant']);
      expect(snapshot()).not.toContain('"id":"grant_');
      const fresh = await issueCode();
      expect((await post('/token', redemption(fresh.code, fresh.verifier))).status).toBe(200);
    },
  );

  it('[AS-TOK-69] rejects a missing and an unknown code', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    const good = redemption(code, verifier);
    await expectHarmless(t, { ...good, code: '' }, 'invalid_request', good);
    const again = await t.issueCode();
    const goodAgain = redemption(again.code, again.verifier);
    await expectHarmless(t, { ...goodAgain, code: `${again.code}x` }, 'invalid_grant', goodAgain);
  });

  it.each([
    ['other than the requested one', 'http://127.0.0.1:3001/callback'],
    ['that is not registered', 'https://evil.example/cb'],
  ])(
    '[AS-REDIR-25] T022 rejects a redirect_uri %s without consuming the code, and accepts none',
    async (_what, redirect_uri) => {
      const t = await startServer();
      const { code, verifier, redirectUri } = await t.issueCode();
      const good = { ...redemption(code, verifier), redirect_uri: String(redirectUri) };
      await expectHarmless(t, { ...good, redirect_uri }, 'invalid_grant', good);
      const other = await t.issueCode();
      expect((await t.post('/token', redemption(other.code, other.verifier))).status).toBe(200);
    },
  );

  it('T022 rejects an unregistered redirect_uri if the authorization request had none', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode({ redirectUri: null });
    const good = { ...redemption(code, verifier), redirect_uri: 'http://127.0.0.1/callback' };
    await expectHarmless(t, { ...good, redirect_uri: 'http://127.0.0.1/other' }, 'invalid_grant', good);
  });

  it('T036 answers with the same error, whatever was wrong with the code', async () => {
    const { issueCode, post, clock } = await startServer();
    const late = await issueCode();
    clock.now += 100;
    const [wrong, used] = [await issueCode(), await issueCode()];
    await post('/token', redemption(used.code, used.verifier));
    const answers = [
      await post('/token', redemption(late.code, late.verifier)),
      await post('/token', redemption(wrong.code, other)),
      await post('/token', redemption(used.code, used.verifier)),
      await post('/token', redemption('unknown', other)),
    ];
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  });
});

describe('a token request', () => {
  it.each([
    ['no grant_type', { grant_type: '' }, 'invalid_request'],
    ['password', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['implicit', { grant_type: 'implicit' }, 'unsupported_grant_type'],
    ['another case', { grant_type: 'AUTHORIZATION_CODE' }, 'unsupported_grant_type'],
    ['a property name of objects', { grant_type: 'constructor' }, 'unsupported_grant_type'],
    ['a grant that it has not registered', { grant_type: 'client_credentials' }, 'unauthorized_client'],
  ])(
    '[AS-TOK-68 AS-TOK-75 AS-GRANT-1] T022 rejects a token request with %s',
    async (_what, change, error) => {
      const t = await startServer();
      const { code, verifier } = await t.issueCode();
      const good = redemption(code, verifier);
      await expectHarmless(t, { ...good, ...change }, error, good);
    },
  );

  it.each(['grant_type', 'code', 'code_verifier', 'client_id', 'redirect_uri'])(
    '[AS-TOK-63] rejects a token request with two of %s',
    async (name) => {
      const t = await startServer();
      const { code, verifier, redirectUri } = await t.issueCode();
      const good = { ...redemption(code, verifier), redirect_uri: String(redirectUri) };
      const twice = [...Object.entries(good), [name, Reflect.get(good, name)]] as [string, string][];
      await expectHarmless(t, twice, 'invalid_request', good);
    },
  );

  it('[AS-TOK-63] ignores unknown parameters of a token request', async () => {
    const { issueCode, post } = await startServer();
    const { code, verifier } = await issueCode();
    expect(
      (await post('/token', { ...redemption(code, verifier), audience: 'x', foo: 'bar', resource: '' }))
        .status,
    ).toBe(200);
  });

  it('[AS-TOK-62 C-TOK-3] T024 does not read token parameters from the query', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    const good = redemption(code, verifier);
    const before = t.snapshot();
    const inQuery = await t.post(`/token?${new URLSearchParams(good)}`, {});
    expect([inQuery.status, inQuery.body['error']]).toEqual([401, 'invalid_client']);
    expect((await t.send(`/token?${new URLSearchParams(good)}`)).status).toBe(405);
    expect(t.snapshot()).toBe(before);
    expect((await t.post('/token', good)).status).toBe(200);
  });

  it.each([
    'application/json',
    'multipart/form-data; boundary=x',
    'text/plain',
    'application/x-www-form-urlencoded; charset=utf-7',
  ])('[AS-TOK-61] T024 rejects a token request as %s', async (type) => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode();
    const good = redemption(code, verifier);
    const before = t.snapshot();
    const body = type === 'application/json' ? JSON.stringify(good) : String(new URLSearchParams(good));
    const { status, body: answer } = await t.send('/token', {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    expect([status, answer['error']]).toEqual([400, 'invalid_request']);
    expect(t.snapshot()).toBe(before);
    expect((await t.post('/token', good)).status).toBe(200);
  });

  it('T022 accepts no token in place of another credential', async () => {
    const { issueCode, signIn, post } = await startServer();
    const { code, verifier } = await issueCode();
    const { body } = await signIn();
    for (const wrong of [body['refresh_token'], body['access_token']]) {
      expect((await post('/token', redemption(String(wrong), other))).body['error']).toBe('invalid_grant');
    }
    for (const wrong of [code, body['access_token']]) {
      expect((await post('/token', refreshing(wrong))).body['error']).toBe('invalid_grant');
    }
    expect((await post('/token', redemption(code, verifier))).status).toBe(200);
    expect((await post('/token', refreshing(body['refresh_token']))).status).toBe(200);
  });
});

describe('resources of a token request', () => {
  const both = { resources: [NOTES, FILES], scopes: ['notes:read', 'files:read'] };

  it.each([
    ['the granted resource', { resources: [NOTES] }, [NOTES], NOTES],
    ['no resource: the granted one', { resources: [FILES], scopes: ['files:read'] }, [], FILES],
    ['no resource of two: the first', both, [], NOTES],
    ['the second of two', both, [FILES], FILES],
    ['one resource twice', both, [FILES, FILES], FILES],
    ['a resource in upper case', { resources: [NOTES] }, ['HTTPS://MCP.EXAMPLE/notes'], NOTES],
    ['a resource with a trailing slash', { resources: [NOTES] }, [`${NOTES}/`], NOTES],
  ])(
    '[AS-RES-62 AS-RES-63 AS-JWT-63 AS-JWT-65 ALL-RES-9] the token request may name %s',
    async (_what, granted, named, audience) => {
      const { issueCode, post } = await startServer();
      const { code, verifier } = await issueCode(granted);
      const { status, body } = await post('/token', [
        ...Object.entries(redemption(code, verifier)),
        ...named.map((resource) => ['resource', resource] as const),
      ]);
      expect(status).toBe(200);
      expect(claimsOf(body['access_token'])['aud']).toBe(audience);
    },
  );

  it('[AS-JWT-62 AS-TOK-66] a token carries only scopes of its resource', async () => {
    const { issueCode, post } = await startServer();
    const { code, verifier } = await issueCode(both);
    const { body } = await post('/token', { ...redemption(code, verifier), resource: FILES });
    expect([body['scope'], claimsOf(body['access_token'])['scope']]).toEqual(['files:read', 'files:read']);
  });

  it.each([
    ['not granted', [FILES]],
    ['unknown', ['https://evil.example']],
    ['relative', ['/notes']],
    ['without a scheme', ['mcp.example/notes']],
    ['with a fragment', [`${NOTES}#x`]],
    ['with user information', ['https://mcp.example@evil.example/notes']],
    ['a script', ['javascript:alert(1)']],
    ['below the granted one', [`${NOTES}/deeper`]],
    ['granted, and another that is not', [NOTES, FILES]],
  ])(
    '[AS-TOK-71 AS-RES-61 AS-RES-62 ALL-RES-11] T014 rejects a resource that is %s',
    async (_what, named) => {
      const t = await startServer();
      const { code, verifier } = await t.issueCode();
      const good = redemption(code, verifier);
      const form = [
        ...Object.entries(good),
        ...named.map((resource): [string, string] => ['resource', resource]),
      ];
      await expectHarmless(t, form as [string, string][], 'invalid_target', good);
    },
  );

  it('[AS-RES-61] rejects two granted resources at once: a token has one audience', async () => {
    const t = await startServer();
    const { code, verifier } = await t.issueCode(both);
    const good = redemption(code, verifier);
    const form = [...Object.entries(good), ['resource', NOTES], ['resource', FILES]] as [string, string][];
    await expectHarmless(t, form, 'invalid_target', good);
  });
});

it('[AS-CODE-71] a code reveals nothing: neither the code_challenge nor anything else of its request', async () => {
  const t = await startServer();
  const { code, verifier } = await t.issueCode();
  const challenge = hash('sha256', verifier, 'base64url');
  const readings = ['utf8', 'latin1', 'hex'].map((encoding) =>
    Buffer.from(code, 'base64url').toString(encoding as BufferEncoding),
  );
  for (const reading of [code, ...readings]) {
    for (const word of [challenge, verifier, 'desktop', 'notes', 'callback']) {
      expect(reading).not.toContain(word);
    }
  }
  expect(readings[2]).not.toContain(Buffer.from(challenge, 'base64url').toString('hex'));
});
