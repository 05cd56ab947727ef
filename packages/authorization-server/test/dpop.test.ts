/** DPoP at the token endpoint (RFC 9449): bound tokens, proofs that are refused, nonces, and keys of grants. */
import { openStore } from '@portcullis/store';
import { exportJWK, generateKeyPair } from 'jose';
import { describe, expect, it } from 'vitest';
import { createProofHolder, type ProofHolder } from './proofs.ts';
import {
  basic,
  CALLBACK,
  CLIENTS,
  claimsOf,
  FILES,
  ISSUER,
  MASTER_KEY,
  RESOURCES,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

type Options = Parameters<typeof startServer>[0];

async function started(options?: Options) {
  const t = await startServer(options);
  const holder = await createProofHolder();
  return { t, holder };
}

async function redeem(
  t: ServerUnderTest,
  holder: ProofHolder,
  changes?: Parameters<ProofHolder['prove']>[1],
) {
  const { code, verifier } = await t.issueCode();
  return t.post('/token', redemption(code, verifier), await holder.prove(t.clock.now, changes));
}

/** Sends a request that must be refused with this error, and leave the store as it was. */
async function expectRefused(
  t: ServerUnderTest,
  form: Record<string, string>,
  headers: Record<string, string>,
  error = 'invalid_dpop_proof',
) {
  const before = t.snapshot();
  const { status, body } = await t.post('/token', form, headers);
  expect([status, body['error']]).toEqual([400, error]);
  expect(t.snapshot()).toBe(before);
}

describe('bound tokens', () => {
  it.each(['ES256', 'EdDSA', 'RS256', 'PS256'])(
    '[X-DPOP-12] a token request with a proof gets a DPoP token bound to the key of the proof: %s',
    async (algorithm) => {
      const t = await startServer();
      const holder = await createProofHolder(algorithm);
      const { status, body, headers } = await redeem(t, holder);
      expect([status, body['token_type']]).toEqual([200, 'DPoP']);
      expect(claimsOf(body['access_token'])).toMatchObject({ cnf: { jkt: holder.thumbprint } });
      expect(headers.get('dpop-nonce')).toMatch(/^[\w-]{32}$/);
    },
  );

  it('[X-DPOP-12] a token request without a proof still gets a bearer token', async () => {
    const { t } = await started();
    const { body, headers } = await t.signIn();
    expect(body['token_type']).toBe('Bearer');
    expect(claimsOf(body['access_token'])).not.toHaveProperty('cnf');
    expect(headers.get('dpop-nonce')).toBeNull();
  });

  it('[X-DPOP-12] the client credentials grant binds tokens too', async () => {
    const { t, holder } = await started({
      clients: [...CLIENTS, { ...CLIENTS[2], client_id: 'job', scope: 'notes:read' }],
    });
    const proof = await holder.prove(t.clock.now);
    const form = { grant_type: 'client_credentials' };
    const { body } = await t.post('/token', form, { ...basic('job', 'nightly-secret'), ...proof });
    expect(body['token_type']).toBe('DPoP');
    expect(claimsOf(body['access_token'])).toMatchObject({ cnf: { jkt: holder.thumbprint } });
  });

  it('[X-DPOP-11] the metadata names asymmetric algorithms for proofs', async () => {
    const { t } = await started();
    const { body } = await t.send('/.well-known/oauth-authorization-server');
    expect(body['dpop_signing_alg_values_supported']).toEqual([
      'ES256',
      'EdDSA',
      'Ed25519',
      'RS256',
      'PS256',
    ]);
  });

  it.each([['jwt'], ['opaque']] as const)(
    '[X-DPOP-12] introspection names the key of a bound token and its type: %s',
    async (accessTokens) => {
      const resources = RESOURCES.slice(0, 1).map((resource) => ({ ...resource, accessTokens }));
      const { t, holder } = await started({ resources });
      const { body: tokens } = await redeem(t, holder);
      const ask = async (token: unknown, caller: Record<string, string>) =>
        (await t.post('/introspect', { token: String(token) }, caller)).body;
      const caller = basic('notes-server', 'notes-server-secret');
      const cnf = { jkt: holder.thumbprint };
      expect(await ask(tokens['access_token'], caller)).toMatchObject({
        active: true,
        token_type: 'DPoP',
        cnf,
      });
    },
  );

  it('[X-DPOP-12] a client that introspects its own opaque token learns the key that it is bound to, and no user', async () => {
    const resources = RESOURCES.slice(0, 1).map((resource) => ({
      ...resource,
      accessTokens: 'opaque' as const,
    }));
    const { t, holder } = await started({ resources });
    const { code, verifier } = await t.issueCode({ clientId: 'web', redirectUri: CALLBACK });
    const secret = { client_id: 'web', client_secret: 'web-secret' };
    const form = { ...redemption(code, verifier, 'web'), ...secret };
    const { body: bound } = await t.post('/token', form, await holder.prove(t.clock.now));
    const ask = async (token: unknown) =>
      (await t.post('/introspect', { token: String(token), ...secret })).body;
    const described = await ask(bound['access_token']);
    expect(described).toMatchObject({
      active: true,
      token_type: 'DPoP',
      cnf: { jkt: holder.thumbprint },
      client_id: 'web',
    });
    expect(described).not.toHaveProperty('sub');
    const { body: plain } = await t.post('/token', {
      ...refreshing(bound['refresh_token'], 'web'),
      ...secret,
    });
    const bearer = await ask(plain['access_token']);
    expect(bearer).toMatchObject({ active: true, token_type: 'Bearer' });
    expect(bearer).not.toHaveProperty('cnf');
  });
});

describe('a proof', () => {
  it.each<[string, Parameters<ProofHolder['prove']>[1] & object]>([
    ['for another method', { claims: { htm: 'GET' } }],
    ['for another URL', { claims: { htu: 'https://as.example/par' } }],
    ['for another host', { claims: { htu: 'https://other.example/token' } }],
    ['that is too old', { claims: { iat: 1_800_000_000 - 301 } }],
    ['from the future', { claims: { iat: 1_800_000_000 + 301 } }],
    ['without a time', { claims: { iat: undefined } }],
    ['whose lifetime is over', { claims: { exp: 1_800_000_000 - 30 } }],
    ['whose lifetime has not begun', { claims: { nbf: 1_800_000_000 + 31 } }],
    ['without an identifier', { claims: { jti: undefined } }],
    ['with an identifier that is a number', { claims: { jti: 7 } }],
    ['of another type', { header: { typ: 'jwt' } }],
    ['without a key', { header: { jwk: undefined } }],
    ['with a critical extension', { header: { crit: ['exp'], exp: 1 } }],
  ])('[X-DPOP-14] refuses a proof %s, and changes nothing', async (_what, changes) => {
    const { t, holder } = await started();
    const { code, verifier } = await t.issueCode();
    await expectRefused(
      t,
      redemption(code, verifier),
      await holder.prove(t.clock.now, changes).catch(() => ({ dpop: 'unsigned' })),
    );
    const good = await t.post('/token', redemption(code, verifier), await holder.prove(t.clock.now));
    expect(good.status).toBe(200);
  });

  it('[X-DPOP-14] refuses a proof that another key has signed, with alg none, by HMAC, or with the private key in it', async () => {
    const { t, holder } = await started();
    const { code, verifier } = await t.issueCode();
    const form = redemption(code, verifier);
    const other = await generateKeyPair('ES256');
    await expectRefused(t, form, await holder.prove(t.clock.now, { privateKey: other.privateKey }));
    const jwk = await exportJWK(holder.privateKey);
    await expectRefused(t, form, await holder.prove(t.clock.now, { header: { jwk } }));
    const [, payload] = (await holder.prove(t.clock.now)).dpop.split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const { d: _private, ...publicJwk } = jwk;
    for (const alg of ['none', 'HS256']) {
      const header = encode({ alg, typ: 'dpop+jwt', jwk: publicJwk });
      await expectRefused(t, form, { dpop: `${header}.${payload}.AAAA` });
    }
    await expectRefused(t, form, { dpop: 'no proof' });
    await expectRefused(t, form, { dpop: '' });
    const { dpop } = await holder.prove(t.clock.now);
    await expectRefused(t, form, { dpop: `${dpop}, ${dpop}` });
    expect((await t.post('/token', form, { dpop })).status).toBe(200);
  });

  it('[X-DPOP-14] refuses a proof with any part of an RSA private key in it', async () => {
    const t = await startServer();
    const holder = await createProofHolder('RS256');
    const { code, verifier } = await t.issueCode();
    const form = redemption(code, verifier);
    const { kty, n, e, ...secrets } = await exportJWK(holder.privateKey);
    const [jwk, members] = [{ kty, n, e }, Object.entries({ ...secrets, oth: [] })];
    expect(members.map(([name]) => name)).toEqual(expect.arrayContaining(['d', 'p', 'q', 'dp', 'dq', 'qi']));
    for (const [name, value] of members) {
      const header = { jwk: { ...jwk, [name]: value } };
      await expectRefused(t, form, await holder.prove(t.clock.now, { header }));
    }
    const good = await holder.prove(t.clock.now, { header: { jwk } });
    expect((await t.post('/token', form, good)).status).toBe(200);
  });

  it('[X-DPOP-12 X-DPOP-14] a proof whose time has a fraction of a second is accepted once', async () => {
    const { t, holder } = await started();
    const proof = await holder.prove(t.clock.now + 0.5);
    const [first, second] = [await t.issueCode(), await t.issueCode()];
    const { status, body } = await t.post('/token', redemption(first.code, first.verifier), proof);
    expect([status, body['token_type']]).toEqual([200, 'DPoP']);
    await expectRefused(t, redemption(second.code, second.verifier), proof);
  });

  it('[X-DPOP-14] refuses a proof that was used before, and issues nothing', async () => {
    const { t, holder } = await started();
    const proof = await holder.prove(t.clock.now);
    const [first, second] = [await t.issueCode(), await t.issueCode()];
    expect((await t.post('/token', redemption(first.code, first.verifier), proof)).status).toBe(200);
    await expectRefused(t, redemption(second.code, second.verifier), proof);
    const fresh = await holder.prove(t.clock.now);
    expect((await t.post('/token', redemption(second.code, second.verifier), fresh)).status).toBe(200);
  });

  it('of many requests with one proof at once, one gets a token', async () => {
    const { t, holder } = await started();
    const proof = await holder.prove(t.clock.now);
    const codes = await Promise.all(Array.from({ length: 8 }, () => t.issueCode()));
    const outcomes = await Promise.all(
      codes.map(({ code, verifier }) => t.post('/token', redemption(code, verifier), proof)),
    );
    expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(outcomes.filter(({ body }) => body['error'] === 'invalid_dpop_proof')).toHaveLength(7);
  });

  it('[X-DPOP-14] of three servers that share a store, one accepts a proof', async () => {
    const { t, holder } = await started();
    const others = await Promise.all(
      [1, 2].map(async () => (await startServer({ store: await openStore(t.file) })).server),
    );
    const proof = await holder.prove(t.clock.now);
    const codes = await Promise.all([t.server, ...others].map(() => t.issueCode()));
    const outcomes = await Promise.all(
      [t.server, ...others].map(async (server, index) => {
        const { code = '', verifier = '' } = codes[index] ?? {};
        const body = new URLSearchParams(redemption(code, verifier));
        const request = new Request(`${ISSUER}/token`, { method: 'POST', headers: proof, body });
        return (await (await server.handle(request)).json()) as Record<string, unknown>;
      }),
    );
    expect(outcomes.map(({ error = 'none' }) => error).sort()).toEqual([
      'invalid_dpop_proof',
      'invalid_dpop_proof',
      'none',
    ]);
  });

  it('refuses RSA keys whose verification takes long', async () => {
    const { t, holder } = await started();
    const { code, verifier } = await t.issueCode();
    const n = Buffer.alloc(1024, 0xff).toString('base64url');
    const jwk = { kty: 'RSA', n, e: 'AQAB' };
    const [, payload, signature] = (await holder.prove(t.clock.now)).dpop.split('.');
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'dpop+jwt', jwk })).toString('base64url');
    await expectRefused(t, redemption(code, verifier), { dpop: `${header}.${payload}.${signature}` });
  });
});

describe('nonces', () => {
  it('[X-DPOP-14] with requireDpopNonces, a proof without a nonce is refused with the one to use, which works', async () => {
    const { t, holder } = await started({ requireDpopNonces: true });
    const { code, verifier } = await t.issueCode();
    const form = redemption(code, verifier);
    const before = t.snapshot();
    const refused = await t.post('/token', form, await holder.prove(t.clock.now));
    expect([refused.status, refused.body['error']]).toEqual([400, 'use_dpop_nonce']);
    expect(t.snapshot()).toBe(before);
    const nonce = refused.headers.get('dpop-nonce');
    expect(refused.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce');
    const answered = await t.post('/token', form, await holder.prove(t.clock.now, { claims: { nonce } }));
    expect(answered.status).toBe(200);
  });

  it('an outdated or invented nonce is refused, even where none is required', async () => {
    const { t, holder } = await started();
    const nonce = (await redeem(t, holder)).headers.get('dpop-nonce');
    t.clock.now += 150;
    expect((await redeem(t, holder, { claims: { nonce } })).status).toBe(200);
    t.clock.now += 150;
    const { code, verifier } = await t.issueCode();
    const old = await holder.prove(t.clock.now, { claims: { nonce } });
    await expectRefused(t, redemption(code, verifier), old, 'use_dpop_nonce');
    const invented = await holder.prove(t.clock.now, { claims: { nonce: 'A'.repeat(32) } });
    await expectRefused(t, redemption(code, verifier), invented, 'use_dpop_nonce');
  });

  it('a process with the same master key accepts the nonce, and one with another does not', async () => {
    const { t, holder } = await started();
    const nonce = (await redeem(t, holder)).headers.get('dpop-nonce');
    const same = await startServer({ requireDpopNonces: true });
    expect((await redeem(same, holder, { claims: { nonce } })).status).toBe(200);
    const masterKey = MASTER_KEY.map((byte) => byte + 1);
    const other = await startServer({ requireDpopNonces: true, masterKey });
    expect((await redeem(other, holder, { claims: { nonce } })).body['error']).toBe('use_dpop_nonce');
  });
});

describe('the key of a grant', () => {
  it('[X-DPOP-15] a public client refreshes with its key only: another key or none changes nothing', async () => {
    const { t, holder } = await started();
    const thief = await createProofHolder();
    const { body } = await redeem(t, holder);
    const form = refreshing(body['refresh_token']);
    await expectRefused(t, form, await thief.prove(t.clock.now));
    await expectRefused(t, form, {});
    const refreshed = await t.post('/token', form, await holder.prove(t.clock.now));
    expect([refreshed.status, refreshed.body['token_type']]).toEqual([200, 'DPoP']);
    expect(claimsOf(refreshed.body['access_token'])).toMatchObject({ cnf: { jkt: holder.thumbprint } });
  });

  it('[X-DPOP-15] a used refresh token that is sent without its key does not end the grant, and with it does', async () => {
    const { t, holder } = await started();
    const thief = await createProofHolder();
    const first = (await redeem(t, holder)).body['refresh_token'];
    const refresh = async (token: unknown, by: ProofHolder) =>
      t.post('/token', refreshing(token), await by.prove(t.clock.now));
    const second = (await refresh(first, holder)).body['refresh_token'];
    const third = (await refresh(second, holder)).body['refresh_token'];
    await expectRefused(t, refreshing(first), await thief.prove(t.clock.now));
    expect((await refresh(third, holder)).status).toBe(200);
    expect((await refresh(first, holder)).body['error']).toBe('invalid_grant');
    expect((await refresh(third, holder)).body['error']).toBe('invalid_grant');
  });

  it('[X-DPOP-15] a refresh with a proof binds the refresh tokens of a public client from then on', async () => {
    const { t, holder } = await started();
    const thief = await createProofHolder();
    const first = (await t.signIn()).body['refresh_token'];
    const refresh = async (token: unknown, by: ProofHolder) =>
      t.post('/token', refreshing(token), await by.prove(t.clock.now));
    const bound = await refresh(first, holder);
    expect(bound.body['token_type']).toBe('DPoP');
    // The response may have been lost.
    expect((await refresh(first, holder)).body['refresh_token']).toBe(bound.body['refresh_token']);
    const form = refreshing(bound.body['refresh_token']);
    await expectRefused(t, form, {});
    await expectRefused(t, form, await thief.prove(t.clock.now));
    const { body } = await t.post('/token', form, await holder.prove(t.clock.now));
    expect(claimsOf(body['access_token'])).toMatchObject({ cnf: { jkt: holder.thumbprint } });
  });

  it.each([0, 1])(
    'a thief who binds a stolen refresh token does not escape reuse detection, after %i more refreshes',
    async (more) => {
      const { t, holder: thief } = await started();
      const stolen = (await t.signIn()).body['refresh_token'];
      const refresh = async (token: unknown) =>
        (await t.post('/token', refreshing(token), await thief.prove(t.clock.now))).body['refresh_token'];
      let latest = await refresh(stolen);
      for (let times = 0; times < more; times += 1) latest = await refresh(latest);
      // The user's client has no key.
      expect((await t.post('/token', refreshing(stolen))).body['error']).toBe('invalid_grant');
      expect(t.events).toContainEqual(expect.objectContaining({ type: 'refresh_token.reuse_detected' }));
      expect(await refresh(latest)).toBeUndefined();
    },
  );

  it('[X-DPOP-15] of two refreshes at once with different keys, one gets tokens, which end with the grant', async () => {
    const { t, holder } = await started();
    const other = await createProofHolder();
    const token = (await t.signIn()).body['refresh_token'];
    const both = await Promise.all(
      [holder, other].map(async (by) => t.post('/token', refreshing(token), await by.prove(t.clock.now))),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    // One of the two has stolen the token.
    expect(t.events).toContainEqual(expect.objectContaining({ type: 'refresh_token.reuse_detected' }));
    const [by, won] = both[0]?.status === 200 ? [holder, both[0]] : [other, both[1]];
    const next = refreshing(won?.body['refresh_token']);
    await expectRefused(t, next, await by.prove(t.clock.now), 'invalid_grant');
  });

  it('a client that proves its key may ask for a bearer token at a refresh, and another key gets none', async () => {
    const { t, holder } = await started();
    const thief = await createProofHolder();
    const { body } = await redeem(t, holder);
    const form = { ...refreshing(body['refresh_token']), token_type: 'Bearer' };
    await expectRefused(t, form, {});
    await expectRefused(t, form, await thief.prove(t.clock.now));
    const proof = await holder.prove(t.clock.now);
    const bearer = await t.post('/token', form, proof);
    expect(bearer.body['token_type']).toBe('Bearer');
    expect(claimsOf(bearer.body['access_token'])).not.toHaveProperty('cnf');
    await expectRefused(t, refreshing(bearer.body['refresh_token']), proof);
    const bound = await t.post(
      '/token',
      refreshing(bearer.body['refresh_token']),
      await holder.prove(t.clock.now),
    );
    expect(bound.body['token_type']).toBe('DPoP');
  });

  it('a client without a key may name the type of its token, a bearer token, at a refresh', async () => {
    const { t } = await started();
    const { body } = await t.signIn();
    const refreshed = await t.post('/token', { ...refreshing(body['refresh_token']), token_type: 'bearer' });
    expect([refreshed.status, refreshed.body['token_type']]).toEqual([200, 'Bearer']);
  });

  it('a confidential client may refresh with another key each time: it authenticates', async () => {
    const { t, holder } = await started();
    const { code, verifier } = await t.issueCode({ clientId: 'web', redirectUri: CALLBACK });
    const secret = { client_secret: 'web-secret' };
    const form = { ...redemption(code, verifier, 'web'), ...secret };
    let { body } = await t.post('/token', form, await holder.prove(t.clock.now));
    for (const next of [await createProofHolder(), await createProofHolder(), holder]) {
      const refresh = { ...refreshing(body['refresh_token'], 'web'), ...secret };
      body = (await t.post('/token', refresh, await next.prove(t.clock.now))).body;
      expect(claimsOf(body['access_token'])).toMatchObject({ cnf: { jkt: next.thumbprint } });
    }
  });

  it('[X-DPOP-16] a code whose request named a key is redeemed with that key only', async () => {
    const { t, holder } = await started();
    const thief = await createProofHolder();
    const { code, verifier } = await t.issueCode({ keyThumbprint: holder.thumbprint });
    const form = redemption(code, verifier);
    await expectRefused(t, form, await thief.prove(t.clock.now));
    await expectRefused(t, form, {});
    expect((await t.post('/token', form, await holder.prove(t.clock.now))).status).toBe(200);
  });
});

describe('clients that registered for bound tokens', () => {
  it('[X-DPOP-13] a client with dpop_bound_access_tokens gets no bearer token', async () => {
    const { t, holder } = await started();
    const metadata = { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' };
    const registered = await t.register({ ...metadata, dpop_bound_access_tokens: true });
    expect([registered.status, registered.body['dpop_bound_access_tokens']]).toEqual([201, true]);
    const clientId = String(registered.body['client_id']);
    const { code, verifier } = await t.issueCode({
      clientId,
      redirectUri: CALLBACK,
      resources: [FILES],
      scopes: ['files:read'],
    });
    const form = redemption(code, verifier, clientId);
    await expectRefused(t, form, {});
    const { body } = await t.post('/token', form, await holder.prove(t.clock.now));
    expect(body['token_type']).toBe('DPoP');
  });

  it('[X-DPOP-13] a client with dpop_bound_access_tokens gets no bearer token at a refresh either, although it asks for one', async () => {
    const [desktop, ...others] = CLIENTS;
    const { t, holder } = await started({
      clients: [{ ...desktop, dpop_bound_access_tokens: true }, ...others],
    });
    const form = refreshing((await redeem(t, holder)).body['refresh_token']);
    const asking = { ...form, token_type: 'bearer' };
    await expectRefused(t, asking, await holder.prove(t.clock.now), 'invalid_request');
    const { body } = await t.post('/token', form, await holder.prove(t.clock.now));
    expect(body['token_type']).toBe('DPoP');
  });

  it('[X-DPOP-13] a configured client can be limited to bound tokens', async () => {
    const [desktop, ...others] = CLIENTS;
    const { t } = await started({ clients: [{ ...desktop, dpop_bound_access_tokens: true }, ...others] });
    const { code, verifier } = await t.issueCode();
    await expectRefused(t, redemption(code, verifier), {});
  });
});
