/** Pushed authorization requests (RFC 9126) and signed ones (JAR by value, RFC 9101). */
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createProofHolder } from './proofs.ts';
import { basic, CALLBACK, CLIENTS, claimsOf, ISSUER, redemption } from './server-under-test.ts';
import { CHALLENGE, createVisitor, decide, requestOf, type Scene, setScene, VERIFIER } from './visitor.ts';

const NOW = 1_800_000_000;
const SECRET = { client_id: 'web', client_secret: 'web-secret' };
const REQUEST = {
  response_type: 'code',
  redirect_uri: CALLBACK,
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  scope: 'notes:read',
  state: 'xyz',
};

type Changes = Readonly<Record<string, string>>;

const push = (t: Scene, changes: Changes = {}, headers: Changes = {}) =>
  t.post('/par', { ...SECRET, ...REQUEST, ...changes }, headers);

/** The URL that the browser opens. */
const opening = (requestUri: unknown, more: Changes = {}) =>
  `/authorize?${new URLSearchParams({ client_id: 'web', request_uri: String(requestUri), ...more })}`;

/** A refused push that changed nothing. */
async function expectRefused(t: Scene, sending: () => ReturnType<typeof push>, error: string, status = 400) {
  const before = t.snapshot();
  const { body, status: got } = await sending();
  expect([got, body['error']]).toEqual([status, error]);
  expect(t.snapshot()).toBe(before);
}

/** An opened URL that shows an error, or redirects with one, and starts nothing. */
async function expectNotOpened(t: Scene, path: string, error: string | null) {
  const before = t.snapshot();
  const { status, left } = await t.newVisitor().open(path);
  expect([left?.searchParams.get('error') ?? null, left === null ? status : 400]).toEqual([error, 400]);
  expect(t.snapshot()).toBe(before);
}

describe('a pushed request', () => {
  it('is not used up by HEAD, which link scanners send', async () => {
    const t = await setScene();
    const url = opening((await push(t)).body['request_uri']);
    const before = t.snapshot();
    expect((await t.newVisitor().open(url, { method: 'HEAD' })).status).toBe(405);
    expect(t.snapshot()).toBe(before);
    expect((await decide(t.visitor, url)).left?.searchParams.has('code')).toBe(true);
  });

  it('[AS-PAR-60] is pushed by an authenticated client, opened by its request_uri, and ends in tokens', async () => {
    const t = await setScene();
    const { status, body, headers } = await push(t);
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect(body).toEqual({
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]{100,}$/),
      expires_in: 600,
    });
    const { left } = await decide(t.visitor, opening(body['request_uri']));
    expect([left?.searchParams.get('state'), left?.searchParams.get('iss')]).toEqual(['xyz', ISSUER]);
    const code = left?.searchParams.get('code') ?? '';
    const redeemed = await t.post('/token', {
      ...redemption(code, VERIFIER, 'web'),
      ...SECRET,
      redirect_uri: CALLBACK,
    });
    expect(redeemed.body['scope']).toBe('notes:read');
  });

  it('[AS-PAR-60] its request_uri works once, also between two servers that share a store, and expires', async () => {
    const t = await setScene();
    const { request_uri: uri } = (await push(t)).body;
    expect((await t.visitor.open(opening(uri))).path).toMatch(/^\/login/);
    await expectNotOpened(t, opening(uri), 'invalid_request_uri');
    const { request_uri: late } = (await push(t)).body;
    t.clock.now += 600;
    await expectNotOpened(t, opening(late), null);
    expect((await t.visitor.open(opening((await push(t)).body['request_uri']))).path).toMatch(/^\/login/);
  });

  it('[AS-PAR-60] its request_uri cannot be guessed, changed, or used by another client', async () => {
    const t = await setScene();
    const uri = String((await push(t)).body['request_uri']);
    await expectNotOpened(t, opening(`${uri.slice(0, -4)}AAAA`), null);
    await expectNotOpened(t, opening('urn:ietf:params:oauth:request_uri:guessed'), null);
    await expectNotOpened(t, opening('urn:ietf:params:oauth:request_uri:'), null);
    await expectNotOpened(t, opening(uri, { client_id: 'desktop' }), null);
    expect((await t.visitor.open(opening(uri))).path).toMatch(/^\/login/);
  });

  it('[AS-PAR-60] parameters beside the request_uri have no effect', async () => {
    const t = await setScene();
    const { request_uri: uri } = (await push(t)).body;
    const more = { scope: 'notes:write', redirect_uri: 'https://evil.example/', state: 'evil' };
    const { left } = await decide(t.visitor, opening(uri, more));
    expect([left?.origin, left?.searchParams.get('state')]).toEqual(['https://app.example', 'xyz']);
  });

  it.each<[string, Changes, string, number]>([
    ['with a wrong secret', { client_secret: 'wrong' }, 'invalid_client', 401],
    ['with a request_uri', { request_uri: 'https://app.example/request' }, 'invalid_request', 400],
    [
      'for a redirect URI that is not registered',
      { redirect_uri: 'https://evil.example/' },
      'invalid_request',
      400,
    ],
    ['without PKCE', { code_challenge: '' }, 'invalid_request', 400],
    ['for an unknown scope', { scope: 'nothing' }, 'invalid_scope', 400],
    ['for an unknown resource', { resource: 'https://evil.example/' }, 'invalid_target', 400],
    ['of another response type', { response_type: 'token' }, 'unsupported_response_type', 400],
    ['that is too long', { state: 'x'.repeat(4096) }, 'invalid_request', 413],
  ])('[AS-PAR-60] refuses a push %s, and changes nothing', async (_what, changes, error, status) => {
    const t = await setScene();
    await expectRefused(t, () => push(t, changes), error, status);
    expect((await push(t)).status).toBe(201);
  });

  it('[AS-PAR-60] is refused without client_id, although Basic credentials name the client', async () => {
    const [desktop, web, ...others] = CLIENTS;
    const clients = [desktop, { ...web, token_endpoint_auth_method: 'client_secret_basic' }, ...others];
    const t = await setScene({ clients: clients as object[] });
    const headers = basic('web', 'web-secret');
    await expectRefused(t, () => t.post('/par', REQUEST, headers), 'invalid_request');
    expect((await t.post('/par', { ...REQUEST, client_id: 'web' }, headers)).status).toBe(201);
  });

  it.each(['https://app.example/request', 'urn:example:request'])(
    'the request_uri %s, which is not of a pushed request, is not supported',
    async (uri) => {
      const t = await setScene();
      await expectNotOpened(t, requestOf({ request_uri: uri }), 'request_uri_not_supported');
      expect((await t.newVisitor().open(requestOf())).path).toMatch(/^\/login/);
    },
  );

  it('[AS-PAR-60] is pushed by POST only, and named in the metadata', async () => {
    const t = await setScene();
    expect((await t.send('/par')).status).toBe(405);
    const { body } = await t.send('/.well-known/oauth-authorization-server');
    expect(body['pushed_authorization_request_endpoint']).toBe(`${ISSUER}/par`);
  });

  it('[AS-PAR-60] a client that registered require_pushed_authorization_requests cannot do without', async () => {
    const [desktop, web, ...others] = CLIENTS;
    const clients = [desktop, { ...web, require_pushed_authorization_requests: true }, ...others] as object[];
    const t = await setScene({ clients });
    await expectNotOpened(t, requestOf(), 'invalid_request');
    const { left } = await decide(t.visitor, opening((await push(t)).body['request_uri']));
    expect(left?.searchParams.has('code')).toBe(true);
    const registered = await t.register({
      redirect_uris: [CALLBACK],
      require_pushed_authorization_requests: true,
    });
    expect(registered.body['require_pushed_authorization_requests']).toBe(true);
  });

  it('[X-DPOP-16] a push with a DPoP proof binds the code to its key, and stores nothing', async () => {
    const t = await setScene();
    const [holder, thief] = [await createProofHolder(), await createProofHolder()];
    const claims = { htu: `${ISSUER}/par` };
    const other = { dpop_jkt: thief.thumbprint };
    const proof = await holder.prove(NOW, { claims });
    await expectRefused(t, () => push(t, other, proof), 'invalid_dpop_proof');
    const before = t.snapshot();
    const pushed = await push(t, {}, proof);
    expect([pushed.status, pushed.headers.get('dpop-nonce')]).toEqual([201, expect.any(String)]);
    expect(t.snapshot()).toBe(before);
    const { left } = await decide(t.visitor, opening(pushed.body['request_uri']));
    const form = { ...redemption(left?.searchParams.get('code') ?? '', VERIFIER, 'web'), ...SECRET };
    const refused = await t.post('/token', form, await thief.prove(NOW));
    expect(refused.body['error']).toBe('invalid_dpop_proof');
    const { body } = await t.post('/token', form, await holder.prove(NOW));
    expect(claimsOf(body['access_token'])).toMatchObject({ cnf: { jkt: holder.thumbprint } });
  });
});

describe('a signed request', async () => {
  const pair = await generateKeyPair('ES256', { extractable: true });
  const other = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'one' };
  const signer = {
    client_id: 'signer',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [jwk] },
  };
  const start = (more: object = {}) => setScene({ clients: [...CLIENTS, { ...signer, ...more }] });

  const sign = (claims: object = {}, header: object = {}, key = pair.privateKey) =>
    new SignJWT({ iss: 'signer', aud: ISSUER, exp: NOW + 60, client_id: 'signer', ...REQUEST, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'oauth-authz-req+jwt', ...header })
      .sign(key);
  const asking = (request: string, more: Changes = {}) =>
    `/authorize?${new URLSearchParams({ client_id: 'signer', request, ...more })}`;

  it('takes all parameters from the signed request, and none from beside it', async () => {
    const t = await start();
    const more = { scope: 'notes:write', state: 'evil', redirect_uri: 'https://evil.example/' };
    const { left } = await decide(t.visitor, asking(await sign(), more));
    expect([left?.origin, left?.searchParams.get('state')]).toEqual(['https://app.example', 'xyz']);
    expect(left?.searchParams.has('code')).toBe(true);
    const partial = await t
      .newVisitor()
      .open(asking(await sign({ code_challenge: undefined }), { code_challenge: CHALLENGE }));
    expect(partial.left?.searchParams.get('error')).toBe('invalid_request');
  });

  it.each<[string, object, object]>([
    ['for another audience', { aud: 'https://other.example' }, {}],
    ['for two audiences', { aud: [ISSUER, 'https://other.example'] }, {}],
    ['that has expired', { exp: NOW - 60 }, {}],
    ['without an expiry', { exp: undefined }, {}],
    ['that lives too long', { exp: NOW + 7200 }, {}],
    ['of another issuer', { iss: 'web' }, {}],
    ['for another client', { client_id: 'web' }, {}],
    ['without a client', { client_id: undefined }, {}],
    ['that could be a client assertion', { sub: 'signer' }, {}],
    ['that contains another request', { request_uri: 'https://app.example/request' }, {}],
    ['of another type', {}, { typ: 'at+jwt' }],
  ])('refuses a signed request %s, and starts nothing', async (_what, claims, header) => {
    const t = await start();
    await expectNotOpened(t, asking(await sign(claims, header)), null);
    expect((await t.newVisitor().open(asking(await sign()))).path).toMatch(/^\/login/);
  });

  it('refuses a request without a signature, or signed by HMAC or another key', async () => {
    const t = await start();
    await expectNotOpened(t, asking(await sign({}, {}, other.privateKey)), null);
    const [, claims] = (await sign()).split('.');
    const header = Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');
    await expectNotOpened(t, asking(`${header}.${claims}.`), null);
    const hmac = new SignJWT({ iss: 'signer', aud: ISSUER, exp: NOW + 60, client_id: 'signer', ...REQUEST });
    const key = new TextEncoder().encode(JSON.stringify(jwk));
    await expectNotOpened(t, asking(await hmac.setProtectedHeader({ alg: 'HS256' }).sign(key)), null);
  });

  it('refuses a signed request of a client without keys as an invalid request object', async () => {
    const t = await start();
    const before = t.snapshot();
    const request = await sign({ iss: 'web', client_id: 'web' });
    const { body, status } = await t.post('/par', { ...SECRET, request });
    expect([status, body['error']]).toEqual([400, 'invalid_request_object']);
    await expectNotOpened(t, requestOf({ client_id: 'web', request }), null);
    expect(t.snapshot()).toBe(before);
    expect((await t.newVisitor().open(asking(await sign()))).path).toMatch(/^\/login/);
  });

  it('refuses request and request_uri together, also of a pushed request', async () => {
    const t = await start();
    const { request_uri: pushed } = (await push(t)).body;
    const request = await sign();
    for (const uri of ['urn:example:request', String(pushed)]) {
      await expectNotOpened(t, asking(request, { request_uri: uri }), null);
    }
    await expectNotOpened(t, opening(pushed, { request }), null);
    expect((await t.newVisitor().open(asking(request))).path).toMatch(/^\/login/);
    expect((await t.newVisitor().open(opening(pushed))).path).toMatch(/^\/login/);
  });

  it('a client that registered require_signed_request_object cannot do without, nor use another algorithm than its own', async () => {
    const t = await start({ require_signed_request_object: true, request_object_signing_alg: 'ES256' });
    // Its redirect URI is known, as that of a request that was not pushed.
    await expectNotOpened(t, requestOf({ client_id: 'signer' }), 'invalid_request');
    const elsewhere = requestOf({ client_id: 'signer', redirect_uri: 'https://evil.example/' });
    await expectNotOpened(t, elsewhere, null);
    expect((await t.newVisitor().open(asking(await sign()))).path).toMatch(/^\/login/);
    const pushing = await start({
      require_signed_request_object: true,
      token_endpoint_auth_method: 'client_secret_post',
      client_secret: 'signer-secret',
    });
    const credentials = { client_id: 'signer', client_secret: 'signer-secret' };
    const pushUnsigned = () => pushing.post('/par', { ...credentials, ...REQUEST });
    await expectRefused(pushing, pushUnsigned, 'invalid_request');
    const pushed = await pushing.post('/par', { ...credentials, request: await sign() });
    const signed = opening(pushed.body['request_uri'], { client_id: 'signer' });
    expect((await pushing.newVisitor().open(signed)).path).toMatch(/^\/login/);
    const strict = await start({ request_object_signing_alg: 'ES384' });
    await expectNotOpened(strict, asking(await sign()), null);
  });

  it('[AS-PAR-60] is pushed without client_id beside it', async () => {
    const t = await start({
      token_endpoint_auth_method: 'client_secret_basic',
      client_secret: 'signer-secret',
    });
    const pushed = await t.post('/par', { request: await sign() }, basic('signer', 'signer-secret'));
    expect(pushed.status).toBe(201);
    const { left } = await decide(
      t.visitor,
      `/authorize?${new URLSearchParams({ client_id: 'signer', request_uri: String(pushed.body['request_uri']) })}`,
    );
    expect(left?.searchParams.has('code')).toBe(true);
  });

  it('[AS-PAR-60] a signed request can be pushed', async () => {
    const [desktop, web, ...others] = CLIENTS;
    const keyed = { ...web, jwks: { keys: [jwk] } };
    const t = await setScene({ clients: [desktop, keyed, ...others] as object[] });
    const request = await sign({ iss: 'web', client_id: 'web' });
    const { body } = await t.post('/par', { ...SECRET, request });
    const sight = await decide(createVisitor(t.server), opening(body['request_uri']));
    expect(sight.left?.searchParams.get('state')).toBe('xyz');
  });
});
