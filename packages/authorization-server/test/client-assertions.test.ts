/** Client assertions (`private_key_jwt`): signature, audience, expiry, replay, and keys at a `jwks_uri`. */
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import type { AuthorizationServerOptions } from '../src/index.ts';
import { APP, createDocumentHost, type DocumentHost, documentOf, respond } from './document-host.ts';
import {
  CLIENTS,
  claimsOf,
  ISSUER,
  redemption,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const NOW = 1_800_000_000;

type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

/** A key pair of a client. */
interface Pair {
  readonly privateKey: Key;
  readonly jwk: JWK;
  readonly alg: string;
}

async function makePair(alg: string, kid?: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), ...(kid !== undefined && { kid }) };
  return { privateKey, jwk, alg };
}

const pair = await makePair('ES256', 'one');
const other = await makePair('ES256', 'two');

type Changes = Readonly<Record<string, unknown>>;

/** An assertion of the client `signer`, right unless told otherwise. */
async function assertionOf(claims: Changes = {}, header: Changes = {}, by: Pair = pair): Promise<string> {
  const all = {
    iss: 'signer',
    sub: 'signer',
    aud: ISSUER,
    iat: NOW,
    exp: NOW + 60,
    jti: crypto.randomUUID(),
    ...claims,
  };
  return new SignJWT(all)
    .setProtectedHeader({
      alg: by.alg,
      typ: 'JWT',
      ...(by.jwk.kid !== undefined && { kid: by.jwk.kid }),
      ...header,
    })
    .sign(by.privateKey);
}

const signer = (more: Changes = {}) => ({
  client_id: 'signer',
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'private_key_jwt',
  ...('jwks_uri' in more ? {} : { jwks: { keys: [pair.jwk] } }),
  ...more,
});

const start = (more: Changes = {}, options: Partial<AuthorizationServerOptions> = {}) =>
  startServer({ clients: [...CLIENTS, signer(more)], ...options });

const formOf = (assertion: string, more: Record<string, string> = {}) => ({
  grant_type: 'client_credentials',
  client_assertion_type: TYPE,
  client_assertion: assertion,
  ...more,
});

async function expectRefused(t: ServerUnderTest, form: Record<string, string>): Promise<void> {
  const before = t.snapshot();
  const { status, body } = await t.post('/token', form);
  expect([status, body['error']]).toEqual([401, 'invalid_client']);
  expect(t.snapshot()).toBe(before);
}

async function expectProven(t: ServerUnderTest, form?: Record<string, string>): Promise<void> {
  const { status, body } = await t.post('/token', form ?? formOf(await assertionOf()));
  expect([status, body['error']]).toEqual([200, undefined]);
}

describe('client assertions', () => {
  it('[AS-AUTH-66 X-CC-10] a client assertion authenticates its client, whether or not the form names it too', async () => {
    const t = await start();
    const { status, body } = await t.post('/token', formOf(await assertionOf()));
    expect(status).toBe(200);
    expect(claimsOf(body['access_token'])).toMatchObject({ sub: 'signer', client_id: 'signer' });
    expect(body).not.toHaveProperty('refresh_token');
    await expectProven(t, formOf(await assertionOf(), { client_id: 'signer' }));
  });

  it.each(['ES256', 'ES384', 'EdDSA', 'Ed25519', 'PS256', 'RS256'])(
    '[X-CC-5] accepts a client assertion signed with %s, and the metadata lists the algorithm',
    async (alg) => {
      const signing = await makePair(alg);
      const t = await start({ jwks: { keys: [signing.jwk] } });
      await expectProven(t, formOf(await assertionOf({}, {}, signing)));
      const { body } = await t.send('/.well-known/oauth-authorization-server');
      expect(body['token_endpoint_auth_signing_alg_values_supported']).toContain(alg);
    },
  );

  it.each(['jwt', 'JWT', 'client-authentication+jwt', 'application/client-authentication+jwt', undefined])(
    'accepts a client assertion of the type %s',
    async (typ) => {
      await expectProven(await start(), formOf(await assertionOf({}, { typ })));
    },
  );

  // biome-ignore format: a table
  const refused: readonly { what: string; claims: Changes; header: Changes }[] = ([
    ['for another server', { aud: 'https://other.example' }],
    ['for the token endpoint of another server', { aud: 'https://other.example/token' }],
    ['for our token endpoint', { aud: `${ISSUER}/token` }],
    ['for us in capitals', { aud: ISSUER.toUpperCase() }],
    ['for us with a slash', { aud: `${ISSUER}/` }],
    ['for us and another', { aud: [ISSUER, 'https://evil.example'] }],
    ['for a list with us alone', { aud: [ISSUER] }],
    ['without an audience', { aud: undefined }],
    ['for an empty audience', { aud: '' }],
    ['without an identifier', { jti: undefined }],
    ['with an empty identifier', { jti: '' }],
    ['with a number as identifier', { jti: 7 }],
    ['without an expiry', { exp: undefined }],
    ['that has expired', { exp: NOW - 31 }],
    ['valid for more than an hour', { exp: NOW + 3631 }],
    ['valid for ever', { exp: Number.MAX_SAFE_INTEGER }],
    ['with an expiry that is not a number', { exp: '2100000000' }],
    ['issued in the future', { iat: NOW + 31 }],
    ['with an iat that is not a number', { iat: 'now' }],
    ['that is not valid yet', { nbf: NOW + 31 }],
    ['by another issuer', { iss: 'desktop' }],
    ['without an issuer', { iss: undefined }],
    ['about another client', { sub: 'web' }],
    ['without a subject', { sub: undefined }],
    ['about a user', { iss: 'user_ada', sub: 'user_ada' }],
    ['with an unknown extension', {}, { crit: ['x'], x: 1 }],
    ['that is an access token', {}, { typ: 'at+jwt' }],
    ['that is a logout token', {}, { typ: 'logout+jwt' }],
    ['with a typ that is a number', {}, { typ: 5 }],
    ['with an almost correct typ', {}, { typ: 'jwtapplication/' }],
    ['by an unknown key', {}, { kid: 'three' }],
  ] as readonly (readonly [string, Changes, Changes?])[]).map(([what, claims, header = {}]) => ({ what, claims, header }));

  it.each(refused)(
    '[AS-AUTH-66 AS-AUTH-67 X-CC-10] T030 T031: rejects a client assertion $what',
    async ({ claims, header }) => {
      const t = await start();
      const extension = 'crit' in header ? { crit: { x: true } } : undefined;
      const all = {
        iss: 'signer',
        sub: 'signer',
        aud: ISSUER,
        iat: NOW,
        exp: NOW + 60,
        jti: crypto.randomUUID(),
        ...claims,
      };
      const protectedHeader = { alg: 'ES256', typ: 'JWT', kid: 'one', ...header };
      const assertion = await new SignJWT(all as never)
        .setProtectedHeader(protectedHeader)
        .sign(pair.privateKey, extension);
      await expectRefused(t, formOf(assertion));
      await expectRefused(t, formOf(assertion, { client_id: 'signer' }));
      await expectProven(t);
    },
  );

  it.each([
    ['the last second', { exp: NOW - 29 }],
    ['an hour', { exp: NOW + 3600 }],
    ['a clock that runs before ours', { iat: NOW + 30, nbf: NOW + 30 }],
    ['no time of issue', { iat: undefined }],
  ])('[AS-AUTH-66] accepts a client assertion at the limit: %s', async (_what, claims) => {
    await expectProven(await start(), formOf(await assertionOf(claims)));
  });

  it('[AS-AUTH-66] T031: rejects a client assertion that is unsigned, signed with a public key as HMAC secret, or by another key', async () => {
    // More wrong ones than a client may send in a row.
    const t = await start({}, { rateLimits: false });
    const good = await assertionOf();
    const [header = '', payload = '', signature = ''] = good.split('.');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const secret = new TextEncoder().encode(JSON.stringify(pair.jwk));
    const symmetric = await new SignJWT({
      iss: 'signer',
      sub: 'signer',
      aud: ISSUER,
      exp: NOW + 60,
      jti: 'x',
    })
      .setProtectedHeader({ alg: 'HS256', kid: 'one' })
      .sign(secret);
    const forged = [
      `${encode({ alg: 'none' })}.${payload}.`,
      `${encode({ alg: 'None', kid: 'one' })}.${payload}.${signature}`,
      symmetric,
      await assertionOf({}, { kid: 'one' }, other),
      await assertionOf({}, { kid: 'two' }, other),
      await assertionOf({}, { jwk: other.jwk, kid: undefined }, other),
      await assertionOf({}, { jku: 'https://evil.example/jwks', kid: 'two' }, other),
      `${header}.${payload}.${signature.slice(0, -4)}AAAA`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${encode({ ...claimsOf(good), exp: NOW + 600 })}.${signature}`,
      'x',
      '...',
      'x'.repeat(20_000),
    ];
    for (const assertion of forged) await expectRefused(t, formOf(assertion, { client_id: 'signer' }));
    await expectProven(t, formOf(good));
  });

  it('T031: rejects our own access token as a client assertion, even if its client has our keys', async () => {
    const { body } = await (await start()).send('/jwks');
    const t = await start({ jwks: body });
    const own = await t.post('/token', formOf(await assertionOf()));
    await expectRefused(t, formOf(String(own.body['access_token']), { client_id: 'signer' }));
  });

  it('[AS-AUTH-67] T031: accepts a client assertion once', async () => {
    const t = await start();
    const assertion = await assertionOf();
    await expectProven(t, formOf(assertion));
    await expectRefused(t, formOf(assertion));
    t.clock.now += 89;
    // The clock of another process is ahead.
    await t.store.sweep(t.clock.now + 90, 100);
    await expectRefused(t, formOf(assertion));
    await expectProven(t, formOf(await assertionOf({ exp: t.clock.now + 60 })));
  });

  it('[AS-AUTH-67] T031: of twenty concurrent uses of a client assertion in two processes, one succeeds', async () => {
    const store = await openEmptyStore();
    const [one, two] = [
      await start({}, { store }),
      await start({}, { store: { ...store, close: async () => {} } }),
    ];
    const assertion = await assertionOf();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? one : two).post('/token', formOf(assertion)),
      ),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, ...new Array(19).fill(401)]);
  });

  it('two clients may use the same jti in their assertions', async () => {
    const t = await startServer({ clients: [...CLIENTS, signer(), signer({ client_id: 'signer-2' })] });
    await expectProven(t, formOf(await assertionOf({ jti: 'same' })));
    await expectProven(t, formOf(await assertionOf({ iss: 'signer-2', sub: 'signer-2', jti: 'same' })));
  });

  it('the jti of an assertion is stored for ten minutes more than the assertion is valid', async () => {
    const t = await start();
    const before = t.snapshot();
    await expectProven(t);
    t.clock.now += 690;
    await t.store.sweep(t.clock.now, 100);
    expect(t.snapshot()).toBe(before);
  });

  it('[AS-AUTH-67] T031: an assertion whose expiry has a fraction of a second is accepted once', async () => {
    const t = await start();
    const form = formOf(await assertionOf({ exp: t.clock.now + 60.5 }));
    await expectProven(t, form);
    await expectRefused(t, form);
  });

  it('[AS-TOK-71] why an assertion was rejected is in the audit log only', async () => {
    const t = await start();
    await expectRefused(t, formOf(await assertionOf({ aud: 'https://other.example' })));
    expect(t.events).toContainEqual(
      expect.objectContaining({
        type: 'request.rejected',
        reason: expect.stringContaining('assertion: unexpected "aud"'),
      }),
    );
  });
});

it.each([
  ['EdDSA', 'Ed25519'],
  ['Ed25519', 'EdDSA'],
])('an assertion of %s is verified by a key whose alg is %s', async (algorithm, alg) => {
  const own = await makePair(algorithm, 'ed');
  const more = { jwks: { keys: [{ ...own.jwk, alg }] }, token_endpoint_auth_signing_alg: alg };
  const t = await startServer({ clients: [...CLIENTS, signer(more)] });
  expect((await t.post('/token', formOf(await assertionOf({}, {}, own)))).status).toBe(200);
  const foreign = await makePair(algorithm, 'ed');
  expect((await t.post('/token', formOf(await assertionOf({}, {}, foreign)))).status).toBe(401);
});

it('an assertion for the token endpoint is refused with a description that names the right audience', async () => {
  const t = await startServer({ clients: [...CLIENTS, signer()] });
  const before = t.snapshot();
  const { status, body } = await t.post(
    '/token',
    formOf(await assertionOf({ aud: 'https://as.example/token' })),
  );
  expect([status, body['error'], t.snapshot()]).toEqual([401, 'invalid_client', before]);
  expect(body['error_description']).toContain(
    'the audience of the assertion must be the issuer identifier, https://as.example,',
  );
});

describe('hostile client keys', () => {
  const bytes = (length: number) => {
    const made = crypto.getRandomValues(new Uint8Array(length));
    made[0] = (made[0] ?? 0) | 0x80;
    made[length - 1] = (made[length - 1] ?? 0) | 1;
    return Buffer.from(made).toString('base64url');
  };
  const rsa = (modulusBytes: number, e: string) => ({ kty: 'RSA', n: bytes(modulusBytes), e });
  const many = (make: () => Changes) => Array.from({ length: 20 }, make);

  it.each<[string, readonly Changes[], string, number]>([
    ['with exponents that take long', many(() => rsa(384, bytes(383))), 'RS256', 384],
    ['that are longer than any', many(() => rsa(2048, bytes(8))), 'RS256', 2048],
    ['that are shorter than is safe', [rsa(128, 'AQAB')], 'RS256', 128],
    ['that are no numbers', [{ kty: 'RSA', n: '!', e: {} }], 'RS256', 256],
    ['that are on no curve', [{ kty: 'EC', crv: 'P-256', x: 'a', y: [] }], 'ES256', 64],
  ])(
    'T031: rejects an assertion without costly work if the client has keys %s',
    async (_what, keys, alg, size) => {
      const t = await start({ jwks: { keys } });
      const [header, payload] = [
        { alg, typ: 'JWT' },
        { iss: 'signer', sub: 'signer', aud: ISSUER, exp: NOW + 60, jti: 'x' },
      ];
      const parts = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
      // As long as the modulus and smaller, or nothing would be computed.
      const signature = alg === 'ES256' ? bytes(64) : `A${bytes(size).slice(1)}`;
      const form = formOf([...parts, signature].join('.'));
      const verify = vi.spyOn(crypto.subtle, 'verify');
      onTestFinished(() => verify.mockRestore());
      await expectRefused(t, form);
      expect(verify).not.toHaveBeenCalled();
    },
  );

  it('unusable keys do not prevent the use of a valid one beside them', async () => {
    const signing = await makePair('RS256');
    const t = await start({ jwks: { keys: [rsa(128, 'AQAB'), rsa(384, bytes(383)), signing.jwk] } });
    await expectProven(t, formOf(await assertionOf({}, {}, signing)));
  });
});

describe('only the registered authentication method', () => {
  const assertion = () => assertionOf();

  type Way = readonly [string, number, (assertion: string) => Record<string, string>, string?];
  // biome-ignore format: a table
  const ways = ([
    ['no type of assertion', 401, (client_assertion) => ({ client_assertion })],
    ['another type of assertion', 401, (client_assertion) => ({ client_assertion, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' })],
    ['the type in capitals', 401, (client_assertion) => ({ client_assertion, client_assertion_type: TYPE.toUpperCase() })],
    ['a type and no assertion', 401, () => ({ client_id: 'signer', client_assertion_type: TYPE })],
    ['its name only', 401, () => ({ client_id: 'signer' })],
    ['a secret', 401, () => ({ client_id: 'signer', client_secret: 'x' })],
    ['an assertion and a secret', 400, (client_assertion) => ({ client_assertion, client_assertion_type: TYPE, client_secret: 'x' })],
    ['an assertion for another client_id', 401, (client_assertion) => ({ client_assertion, client_assertion_type: TYPE, client_id: 'nightly' })],
    ['an assertion and Basic', 400, (client_assertion) => ({ client_assertion, client_assertion_type: TYPE }), `Basic ${btoa('signer:x')}`],
  ] as readonly Way[]).map(([what, status, form, authorization]) => ({ what, status, form, authorization }));

  it.each(ways)(
    '[AS-AUTH-63 AS-AUTH-66 X-CC-11] T026: rejects $what',
    async ({ status, form, authorization }) => {
      const t = await start();
      const before = t.snapshot();
      const sent = { grant_type: 'client_credentials', ...form(await assertion()) };
      const answer = await t.post('/token', sent, authorization === undefined ? {} : { authorization });
      expect(answer.status).toBe(status);
      expect(answer.body['error']).toBe(status === 401 ? 'invalid_client' : 'invalid_request');
      expect(t.snapshot()).toBe(before);
      await expectProven(t);
    },
  );

  it('[AS-AUTH-63] T026: rejects an assertion of a client that registered a secret or no authentication', async () => {
    const t = await start();
    for (const id of ['web', 'nightly', 'desktop']) {
      await expectRefused(t, formOf(await assertionOf({ iss: id, sub: id })));
    }
  });

  it('an assertion authenticates a client at introspection and revocation too', async () => {
    const resources = [
      { resource: 'https://mcp.example/notes', name: 'Notes', scopes: {}, introspectionClients: ['signer'] },
    ];
    const t = await startServer({ clients: [signer()], resources });
    const { body } = await t.post('/token', formOf(await assertionOf()));
    const token = String(body['access_token']);
    const ask = async () => {
      const { client_assertion, client_assertion_type } = formOf(await assertionOf());
      return { token, client_assertion, client_assertion_type };
    };
    expect((await t.post('/introspect', await ask())).body['active']).toBe(true);
    expect((await t.post('/revoke', await ask())).status).toBe(200);
    expect((await t.post('/introspect', await ask())).body['active']).toBe(false);
  });

  it('rejects an assertion by another algorithm than the registered one', async () => {
    const registered = await makePair('ES384', 'registered');
    const jwks = { keys: [pair.jwk, registered.jwk] };
    const t = await start({ jwks, token_endpoint_auth_signing_alg: 'ES384' });
    await expectRefused(t, formOf(await assertionOf()));
    await expectProven(t, formOf(await assertionOf({}, {}, registered)));
    await expectProven(await start({ token_endpoint_auth_signing_alg: 'ES256' }));
  });

  it('a client can register for private_key_jwt with its keys', async () => {
    const t = await startServer();
    const asked = {
      redirect_uris: ['https://app.example/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [pair.jwk] },
    };
    const { status, body } = await t.register(asked);
    expect([status, body['client_secret']]).toEqual([201, undefined]);
    const clientId = String(body['client_id']);
    const proof = async () => {
      const { client_assertion, client_assertion_type } = formOf(
        await assertionOf({ iss: clientId, sub: clientId }),
      );
      return { client_assertion, client_assertion_type };
    };
    const { code, verifier } = await t.issueCode({ clientId, redirectUri: 'https://app.example/callback' });
    const form = redemption(code, verifier, clientId);
    await expectRefused(t, form);
    const tokens = await t.post('/token', { ...form, ...(await proof()) });
    expect(tokens.status).toBe(200);
    const refresh = refreshing(tokens.body['refresh_token'], clientId);
    await expectRefused(t, refresh);
    expect((await t.post('/token', { ...refresh, ...(await proof()) })).status).toBe(200);
    expect(
      (await t.post('/token', { ...formOf(await assertionOf({ iss: clientId, sub: clientId })) })).body[
        'error'
      ],
    ).toBe('unauthorized_client');
  });

  it.each([
    ['no keys', {}],
    ['a symmetric algorithm', { jwks: { keys: [pair.jwk] }, token_endpoint_auth_signing_alg: 'HS256' }],
    ['no algorithm at all', { jwks: { keys: [pair.jwk] }, token_endpoint_auth_signing_alg: 'none' }],
    ['a private key', { jwks: { keys: [{ ...pair.jwk, d: 'x' }] } }],
    ['keys at an inner address', { jwks_uri: 'https://169.254.169.254/jwks' }],
  ])('T041: rejects a registration for private_key_jwt with %s', async (_what, more) => {
    const t = await startServer();
    const before = t.snapshot();
    const asked = {
      redirect_uris: ['https://app.example/cb'],
      token_endpoint_auth_method: 'private_key_jwt',
      ...more,
    };
    const { status, body } = await t.register(asked);
    expect([status, body['error']]).toEqual([400, 'invalid_client_metadata']);
    expect(t.snapshot()).toBe(before);
  });
});

/** Nothing is known about the proof, and nothing is said about the host of the keys. */
async function expectUnavailable(t: ServerUnderTest): Promise<void> {
  const { status, body, headers } = await t.post('/token', formOf(await assertionOf()));
  expect([status, body['error'], headers.get('retry-after')]).toEqual([503, 'temporarily_unavailable', '5']);
  expect(body['error_description']).toBe(
    'This server found no key set at the jwks_uri: it must respond within seconds, with status 200, as application/json.',
  );
}

describe('keys at a jwks_uri', () => {
  const KEYS = 'https://keys.example/jwks';

  async function startWithKeys(
    page: object | (() => Response),
  ): Promise<{ t: ServerUnderTest; host: DocumentHost }> {
    const host = createDocumentHost({ [KEYS]: page });
    const t = await start({ jwks_uri: KEYS }, { outbound: { fetch: host.fetch, timeout: 200 } });
    return { t, host };
  }

  it('fetches the keys of a client when needed, and caches them as long as their host allows', async () => {
    const { t, host } = await startWithKeys(() =>
      respond({ keys: [pair.jwk] }, { 'cache-control': 'max-age=100' }),
    );
    expect(host.asked).toEqual([]);
    const later = async () => formOf(await assertionOf({ iat: t.clock.now, exp: t.clock.now + 60 }));
    await expectProven(t);
    await expectProven(t);
    t.clock.now += 99;
    await expectProven(t, await later());
    expect(host.asked).toEqual([KEYS]);
    t.clock.now += 1;
    await expectProven(t, await later());
    expect(host.asked).toHaveLength(2);
  });

  it('a key that was withdrawn verifies nothing, although it was fetched while the clock was ahead', async () => {
    const { t, host } = await startWithKeys(() => respond({ keys: [pair.jwk] }));
    const signed = async () => formOf(await assertionOf({ iat: t.clock.now, exp: t.clock.now + 60 }));
    t.clock.now += 7200;
    await expectProven(t, await signed());
    host.pages.set(KEYS, () => respond({ keys: [other.jwk] }));
    t.clock.now -= 7200 - 60;
    await expectRefused(t, await signed());
    expect(host.asked).toHaveLength(2);
    host.pages.set(KEYS, () => respond({ keys: [pair.jwk] }));
    t.clock.now += 300;
    await expectProven(t, await signed());
  });

  it('T056: does not fetch keys again for an assertion that no other key could verify', async () => {
    const { t, host } = await startWithKeys(() =>
      respond({ keys: [pair.jwk, other.jwk] }, { 'cache-control': 'max-age=1000' }),
    );
    await expectProven(t);
    t.clock.now += 500;
    const now = t.clock.now;
    for (const claims of [{ exp: now - 60 }, { aud: 'https://other.example' }, { sub: 'web' }]) {
      const wrong = { iat: now, exp: now + 60, ...claims };
      await expectRefused(t, formOf(await assertionOf(wrong), { client_id: 'signer' }));
      await expectRefused(t, formOf(await assertionOf(wrong, { kid: undefined }), { client_id: 'signer' }));
    }
    expect(host.asked).toHaveLength(1);
    // One that another key might make good is another matter.
    const forged = await assertionOf({ iat: now, exp: now + 60 }, {}, await makePair('ES256'));
    await expectRefused(t, formOf(forged, { client_id: 'signer' }));
    expect(host.asked).toHaveLength(2);
    await expectProven(t, formOf(await assertionOf({ iat: now, exp: now + 60 })));
  });

  it('refuses an algorithm that is not allowed before it fetches keys', async () => {
    const { t, host } = await startWithKeys({ keys: [pair.jwk] });
    await expectRefused(t, formOf(await assertionOf({}, {}, await makePair('ES512', 'one'))));
    expect(host.asked).toEqual([]);
    await expectProven(t);
    expect(host.asked).toEqual([KEYS]);
  });

  it('fetches the keys again for an unknown kid, but not at each attempt', async () => {
    const { t, host } = await startWithKeys({ keys: [pair.jwk] });
    await expectProven(t);
    host.pages.set(KEYS, { keys: [other.jwk] });
    for (let round = 0; round < 5; round += 1)
      await expectRefused(t, formOf(await assertionOf({}, {}, other)));
    expect(host.asked).toHaveLength(1);
    t.clock.now += 30;
    await expectProven(t, formOf(await assertionOf({}, {}, other)));
    expect(host.asked).toHaveLength(2);
    await expectRefused(t, formOf(await assertionOf()));
  });

  it('finds the matching key among several without a kid', async () => {
    const nameless = ({ jwk: { kid: _kid, ...jwk } }: Pair) => jwk;
    const rsa = await makePair('RS256');
    const keys = [{ kty: 'unknown' }, 'no key', rsa.jwk, nameless(other), nameless(pair)];
    const { t } = await startWithKeys({ keys });
    await expectProven(t, formOf(await assertionOf({}, { kid: undefined })));
    await expectRefused(t, formOf(await assertionOf({}, { kid: undefined }, await makePair('ES256'))));
  });

  it('tries four keys for an assertion without a kid, and any for one with it', async () => {
    const nameless = ({ jwk: { kid: _kid, ...jwk } }: Pair) => jwk;
    const others = await Promise.all([1, 2, 3].map(() => makePair('ES256')));
    const { t, host } = await startWithKeys({ keys: [...others.map(nameless), nameless(pair)] });
    await expectProven(t, formOf(await assertionOf({}, { kid: undefined })));
    host.pages.set(KEYS, { keys: [...others.map(nameless), nameless(other), pair.jwk] });
    t.clock.now += 300;
    const later = { iat: t.clock.now, exp: t.clock.now + 60 };
    await expectRefused(t, formOf(await assertionOf(later, { kid: undefined })));
    await expectProven(t, formOf(await assertionOf(later)));
  });

  it('unavailable keys are an outage, not a failed authentication; cached keys are used for an hour', async () => {
    const { t, host } = await startWithKeys({ keys: [pair.jwk] });
    const later = () => assertionOf({ iat: t.clock.now, exp: t.clock.now + 60 });
    await expectProven(t);
    host.pages.set(KEYS, () => new Response(null, { status: 502 }));
    t.clock.now += 3599;
    await expectProven(t, formOf(await later()));
    t.clock.now += 1;
    const { status, body, headers } = await t.post('/token', formOf(await later()));
    expect([status, body['error'], headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '5',
    ]);
    host.pages.set(KEYS, { keys: [pair.jwk] });
    await expectProven(t, formOf(await later()));
  });

  it.each([
    ['no key set', () => respond({ error: 'x' })],
    ['a list', () => respond([pair.jwk])],
    ['HTML', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: 'https://evil.example' } })],
    ['too many keys', () => respond({ keys: new Array(51).fill(pair.jwk) })],
    ['64 KiB and more', () => respond({ keys: [{ ...pair.jwk, x5c: ['x'.repeat(65_536)] }] })],
    ['404', () => new Response(null, { status: 404 })],
    ['410', () => new Response(null, { status: 410 })],
    ['500', () => new Response(null, { status: 500 })],
  ])(
    '[AS-CIMD-66] one error for all keys that are unavailable: the jwks_uri returns %s',
    async (_what, page) => {
      const { t, host } = await startWithKeys(page);
      await expectUnavailable(t);
      host.pages.set(KEYS, { keys: [pair.jwk] });
      t.clock.now += 30;
      await expectProven(t);
    },
  );

  it('T056: concurrent assertions cause one fetch of the keys (single flight)', async () => {
    const { t, host } = await startWithKeys({ keys: [pair.jwk] });
    const assertions = await Promise.all(Array.from({ length: 50 }, () => assertionOf()));
    await Promise.all(assertions.map((assertion) => expectProven(t, formOf(assertion))));
    expect(host.asked).toHaveLength(1);
  });

  it('T056: fetches keys even when unauthenticated requests have used up the rate limit of document fetches', async () => {
    const { t, host } = await startWithKeys({ keys: [pair.jwk] });
    for (let index = 0; index < 150; index += 1) {
      const query = new URLSearchParams({ client_id: `https://h${index}.example/c` });
      await t.server.handle(new Request(`${ISSUER}/authorize?${query}`));
    }
    expect(host.asked).toHaveLength(120);
    await expectProven(t);
    expect(host.asked.at(-1)).toBe(KEYS);
  });

  it('T056: fetches keys even when clients of another network have used up their rate limit', async () => {
    const host = createDocumentHost({ [KEYS]: { keys: [pair.jwk] } });
    const limits = { networkFailures: { burst: 1000, perMinute: 1000 } };
    const t = await start({ jwks_uri: KEYS }, { outbound: { fetch: host.fetch }, rateLimits: limits });
    const prove = async (address: string, form: Record<string, string>) => {
      const request = new Request(`${ISSUER}/token`, { method: 'POST', body: new URLSearchParams(form) });
      return (await t.server.handle(request, { address })).status;
    };
    const greedy = async (index: number) => {
      const { body } = await t.register({
        redirect_uris: ['https://app.example/callback'],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks_uri: `https://k${index}.example/jwks`,
      });
      const id = String(body['client_id']);
      expect(id).toMatch(/^client_/);
      return prove('203.0.113.1', formOf(await assertionOf({ iss: id, sub: id })));
    };
    const statuses: number[] = [];
    for (let index = 0; index < 60; index += 1) statuses.push(await greedy(index));
    expect([statuses[0], statuses.at(-1)]).toEqual([503, 503]);
    expect(host.asked).toHaveLength(24);
    expect(await prove('198.51.100.1', formOf(await assertionOf()))).toBe(200);
  });

  it('[AS-CIMD-31] T048: does not fetch keys from private addresses (SSRF)', async () => {
    const t = await start({ jwks_uri: 'https://127.0.0.1:1/jwks' }, { outbound: {} });
    await expectUnavailable(t);
  });
});

describe('a client of a metadata document', () => {
  const JWKS = 'https://app.example/jwks.json';
  const claims = { iss: APP, sub: APP };

  async function startWithDocument(changes: object) {
    const host = createDocumentHost({ [APP]: documentOf(APP, changes), [JWKS]: { keys: [pair.jwk] } });
    const t = await startServer({ outbound: { fetch: host.fetch } });
    const issued = () => t.issueCode({ clientId: APP, redirectUri: 'https://app.example/callback' });
    return { t, host, issued };
  }

  it('[AS-CIMD-66 C-CIMD-25] a client of a metadata document with keys authenticates by them only', async () => {
    const { t, issued } = await startWithDocument({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: JWKS,
    });
    const { code, verifier } = await issued();
    const form = redemption(code, verifier, APP);
    const proof = async (changes: Changes = {}) => {
      const { client_assertion, client_assertion_type } = formOf(
        await assertionOf({ ...claims, ...changes }),
      );
      return { client_assertion, client_assertion_type };
    };
    // The document is kept from the first request on; what is refused changes nothing after that.
    await t.post('/token', refreshing('x', APP));
    await expectRefused(t, form);
    await expectRefused(t, { ...form, ...(await proof({ aud: `${ISSUER}/token` })) });
    expect((await t.post('/token', { ...form, ...(await proof()) })).status).toBe(200);
  });

  it('[AS-CIMD-66] a client of a metadata document with several methods uses any of them, as ChatGPT does', async () => {
    const { t, issued } = await startWithDocument({
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt', 'client_secret_post'],
      token_endpoint_auth_signing_alg: 'ES256',
      jwks_uri: JWKS,
    });
    const [first, second] = [await issued(), await issued()];
    expect((await t.post('/token', redemption(first.code, first.verifier, APP))).status).toBe(200);
    const { client_assertion, client_assertion_type } = formOf(await assertionOf(claims));
    const form = {
      ...redemption(second.code, second.verifier, APP),
      client_assertion,
      client_assertion_type,
    };
    expect((await t.post('/token', form)).status).toBe(200);
    await expectRefused(t, { ...redemption('x', 'x', APP), client_secret: 'x' });
  });
});
