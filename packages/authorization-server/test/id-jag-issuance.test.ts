/** Issuing ID-JAGs: this server as the identity provider of an organization, and another server that accepts them. */
import { decodeProtectedHeader, importJWK, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { startAssertionIssuer } from './assertion-issuer.ts';
import { createProofHolder } from './proofs.ts';
import { connectService } from './scim-scene.ts';
import { ACCOUNT, basic, CLIENTS, claimsOf, ISSUER, startServer } from './server-under-test.ts';

const DAY = 86_400;
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TYPE = 'urn:ietf:params:oauth:token-type:';
const ELSEWHERE = 'https://chat.example';
const RESOURCE = 'https://chat.example/mcp';

const clients = [
  ...CLIENTS,
  {
    client_id: 'agent',
    client_secret: 'agent-secret',
    redirect_uris: ['https://agent.example/callback'],
    grant_types: ['authorization_code', 'refresh_token', EXCHANGE],
  },
  { client_id: 'other', client_secret: 'other-secret', grant_types: [EXCHANGE] },
];

const assertionAudiences = [
  {
    audience: ELSEWHERE,
    clients: { agent: 'agent-there' },
    scopes: ['chat.read', 'chat.history'],
    resources: [RESOURCE],
  },
];

async function setScene(options: object = {}) {
  const t = await startServer({ clients, assertionAudiences, ...options });
  const issued = await t.issueCode({ clientId: 'agent', redirectUri: 'https://agent.example/callback' });
  const headers = basic('agent', 'agent-secret');
  const { body } = await t.post(
    '/token',
    { grant_type: 'authorization_code', code: issued.code, code_verifier: issued.verifier },
    headers,
  );
  const exchange = (form: Record<string, string> = {}, as: Record<string, string> = headers) =>
    t.post(
      '/token',
      {
        grant_type: EXCHANGE,
        requested_token_type: `${TYPE}id-jag`,
        audience: ELSEWHERE,
        resource: RESOURCE,
        subject_token: String(body['refresh_token']),
        subject_token_type: `${TYPE}refresh_token`,
        ...form,
      },
      as,
    );
  return { ...t, tokens: body, exchange };
}

describe('issuing an ID-JAG', () => {
  it('[X-EMA-8 X-EMA-10] a client exchanges its refresh token for an assertion about its user', async () => {
    const t = await setScene();
    const before = t.snapshot();
    const { status, body, headers } = await t.exchange({ scope: 'chat.read' });
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toEqual({
      issued_token_type: `${TYPE}id-jag`,
      access_token: expect.any(String),
      token_type: 'N_A',
      expires_in: 300,
      scope: 'chat.read',
      resource: RESOURCE,
    });
    const assertion = String(body['access_token']);
    expect(decodeProtectedHeader(assertion).typ).toBe('oauth-id-jag+jwt');
    const [key] = (await t.server.jwks()).keys;
    const { payload } = await jwtVerify(assertion, await importJWK(key as never), {
      currentDate: new Date(t.clock.now * 1000),
    });
    expect(payload).toEqual({
      iss: ISSUER,
      sub: ACCOUNT,
      aud: ELSEWHERE,
      client_id: 'agent-there',
      resource: RESOURCE,
      scope: 'chat.read',
      jti: expect.any(String),
      iat: t.clock.now,
      exp: t.clock.now + 300,
    });
    // The refresh token is not used up.
    expect(t.snapshot()).toBe(before);
  });

  it('assertions are rate-limited per client and account', async () => {
    const t = await setScene({ rateLimits: { exchanges: { burst: 1, perMinute: 1 } } });
    expect((await t.exchange()).status).toBe(200);
    const refused = await t.exchange();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    t.clock.now += 60;
    expect((await t.exchange()).status).toBe(200);
  });

  it('a refresh token whose successor is in use is reuse here as well, and revokes its grant', async () => {
    const t = await setScene();
    const refresh = async (token: unknown) =>
      t.post(
        '/token',
        { grant_type: 'refresh_token', refresh_token: String(token) },
        basic('agent', 'agent-secret'),
      );
    const second = await refresh(t.tokens['refresh_token']);
    // The response may have been lost.
    expect((await t.exchange()).status).toBe(200);
    const third = await refresh(second.body['refresh_token']);
    const refused = await t.exchange();
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant']);
    expect(t.events.filter(({ type }) => type === 'refresh_token.reuse_detected')).toMatchObject([
      { clientId: 'agent', accountId: ACCOUNT },
    ]);
    expect((await refresh(third.body['refresh_token'])).body['error']).toBe('invalid_grant');
  });

  it('a refresh token ahead of a restored store is active wherever it can be used, and one that was idle for too long nowhere', async () => {
    const t = await setScene();
    const headers = basic('agent', 'agent-secret');
    const refresh = (token: unknown) =>
      t.post('/token', { grant_type: 'refresh_token', refresh_token: String(token) }, headers);
    /** Whether each endpoint accepts the token; the refresh comes last, since it rotates it. */
    const use = async (token: unknown) => [
      (await t.exchange({ subject_token: String(token) })).status,
      (await t.post('/introspect', { token: String(token) }, headers)).body['active'],
      (await refresh(token)).status,
    ];
    t.execute('CREATE TABLE backup AS SELECT * FROM grants');
    t.clock.now += 20 * DAY;
    const ahead = (await refresh(t.tokens['refresh_token'])).body['refresh_token'];
    const columns = ['hash', 'generation', 'issued_at', 'expires_at', 'rotations'];
    const names = columns.map((column) => `refresh_token_${column}`).join();
    t.execute(`UPDATE grants SET (${names}) = (SELECT ${names} FROM backup)`, 'DROP TABLE backup');
    t.clock.now += 20 * DAY;
    const before = t.snapshot();
    expect(await use(t.tokens['refresh_token'])).toEqual([400, false, 400]);
    expect(t.snapshot()).toBe(before);
    expect(await use(ahead)).toEqual([200, true, 200]);
  });

  it('[X-EMA-8] an access token of the client serves as well, and no scope means all that is allowed', async () => {
    const t = await setScene();
    const { body } = await t.exchange({
      subject_token: String(t.tokens['access_token']),
      subject_token_type: `${TYPE}access_token`,
    });
    expect(body['scope']).toBe('chat.read chat.history');
  });

  it('[X-EMA-10] the assertion says how its user signed in, and is bound to the key of a DPoP proof', async () => {
    const [t, holder] = [await setScene(), await createProofHolder()];
    t.execute(`UPDATE grants SET authentication = '{"time":1799999000,"methods":["pwd","otp","mfa"]}'`);
    const proof = await holder.prove(t.clock.now);
    const { body } = await t.exchange({}, { ...basic('agent', 'agent-secret'), ...proof });
    expect([body['token_type'], claimsOf(body['access_token'])]).toMatchObject([
      'N_A',
      {
        cnf: { jkt: holder.thumbprint },
        auth_time: 1_799_999_000,
        acr: '2fa',
        amr: ['pwd', 'otp', 'mfa'],
      },
    ]);
    const replayed = await t.exchange({}, { ...basic('agent', 'agent-secret'), ...proof });
    expect(replayed.body['error']).toBe('invalid_dpop_proof');
  });

  it('an access token that is bound to a key is exchanged with a DPoP proof of that key only', async () => {
    const [t, holder, other] = [await setScene(), await createProofHolder(), await createProofHolder()];
    const agent = basic('agent', 'agent-secret');
    const refresh = { grant_type: 'refresh_token', refresh_token: String(t.tokens['refresh_token']) };
    const { body } = await t.post('/token', refresh, { ...agent, ...(await holder.prove(t.clock.now)) });
    const form = {
      subject_token: String(body['access_token']),
      subject_token_type: `${TYPE}access_token`,
    };
    const before = t.snapshot();
    for (const headers of [{}, await other.prove(t.clock.now)]) {
      const refused = await t.exchange(form, { ...agent, ...headers });
      expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_dpop_proof']);
    }
    expect(t.snapshot()).toBe(before);
    const issued = await t.exchange(form, { ...agent, ...(await holder.prove(t.clock.now)) });
    expect(issued.status).toBe(200);
  });

  it('[X-EMA-7] without configured resources, only those at the origin of the audience are allowed', async () => {
    const [{ resources: _any, ...entry }] = assertionAudiences as [(typeof assertionAudiences)[0]];
    const t = await setScene({ assertionAudiences: [entry] });
    expect((await t.exchange()).status).toBe(200);
    const { body } = await t.exchange({ resource: 'https://bank.example/mcp' });
    expect(body['error']).toBe('invalid_target');
  });

  it('[X-EMA-7] a resource in another spelling is the configured one', async () => {
    const t = await setScene();
    const { host, pathname } = new URL(RESOURCE);
    const { status, body } = await t.exchange({ resource: `HTTPS://${host.toUpperCase()}:443${pathname}/` });
    expect([status, body['resource']]).toEqual([200, RESOURCE]);
    const other = await t.exchange({ resource: `${RESOURCE}/more` });
    expect([other.status, other.body['error']]).toEqual([400, 'invalid_target']);
  });

  it('[X-EMA-8] the metadata says that ID-JAGs are issued', async () => {
    const t = await setScene();
    const { body } = await t.send('/.well-known/oauth-authorization-server');
    expect(body['identity_chaining_requested_token_types_supported']).toEqual([`${TYPE}id-jag`]);
    const other = await startServer();
    const none = await other.send('/.well-known/oauth-authorization-server');
    expect(none.body).not.toHaveProperty('identity_chaining_requested_token_types_supported');
  });

  it.each<[string, Record<string, string>, string]>([
    ['an unknown audience', { audience: 'https://evil.example' }, 'invalid_target'],
    ['no audience', { audience: '' }, 'invalid_request'],
    ['another resource', { resource: 'https://chat.example/admin' }, 'invalid_target'],
    ['more scope than allowed', { scope: 'chat.admin' }, 'invalid_scope'],
    ['a made-up token', { subject_token: 'x' }, 'invalid_grant'],
    ['another type of token', { subject_token_type: `${TYPE}saml2` }, 'invalid_request'],
    ['details beyond scopes', { authorization_details: '[{"type":"one_chat"}]' }, 'invalid_request'],
    ['an actor', { actor_token: 'x', actor_token_type: `${TYPE}jwt` }, 'invalid_request'],
  ])('[X-EMA-7 X-EMA-9] rejects %s', async (_what, form, error) => {
    const t = await setScene();
    const { status, body } = await t.exchange(form);
    expect([status, body['error']]).toEqual([400, error]);
    expect(body).not.toHaveProperty('access_token');
  });

  it('[X-EMA-7] a client that the organization does not list gets none', async () => {
    const t = await setScene();
    const { status, body } = await t.exchange({}, basic('other', 'other-secret'));
    expect([status, body['error']]).toEqual([400, 'unauthorized_client']);
  });

  it('[X-EMA-6] a revoked grant or a disabled account ends it', async () => {
    const t = await setScene();
    await t.store.disableAccount(ACCOUNT, t.clock.now);
    expect((await t.exchange()).body['error']).toBe('invalid_grant');
  });
});

describe('an ID token of a federated login', () => {
  async function setFederatedScene(...entries: readonly object[]) {
    const idp = await startAssertionIssuer();
    const evil = await startAssertionIssuer();
    const acme = {
      id: 'acme',
      name: 'Acme',
      clientId: 'portcullis',
      clientSecret: 's',
      scopes: ['openid'],
      kind: { issuer: idp.issuer },
    };
    const identityProviders = entries.map((changes) => ({ ...acme, ...changes }));
    const t = await setScene({ identityProviders });
    await t.store.linkIdentity(
      { issuer: idp.issuer, subject: 'ada-at-acme', accountId: 'user_acme' },
      {
        id: 'user_acme',
        email: 'a',
        emailKey: 'federated:a',
        passwordHash: '$argon2id$not-used-here',
        createdAt: t.clock.now,
        disabledAt: null,
        role: null,
      },
    );
    const exchange = (token: string) =>
      t.exchange({ subject_token: token, subject_token_type: `${TYPE}id_token` });
    return { ...t, idp, evil, exchange };
  }
  const own = { sub: 'ada-at-acme', aud: 'agent' };
  const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout';

  it('[X-EMA-8] a client exchanges its ID token of an identity provider', async () => {
    const t = await setFederatedScene({});
    const { status, body } = await t.exchange(await t.idp.workload(own));
    expect([status, body['issued_token_type']]).toEqual([200, `${TYPE}id-jag`]);
  });

  it.each<[string, object, object]>([
    ['of another client', { aud: 'other' }, {}],
    ['of several clients', { aud: ['agent', 'other'] }, {}],
    ['that has expired', { iat: 1, exp: 2 }, {}],
    ['of an unknown user', { sub: 'eve' }, {}],
    ['that is an assertion', {}, { typ: 'oauth-id-jag+jwt' }],
    ['that is a logout token', {}, { typ: 'logout+jwt' }],
    ['that is a logout token without a typ', { events: { [LOGOUT]: {} } }, { typ: undefined }],
    ['of the future', { iat: 1_800_000_060 }, {}],
    ['whose subject is a number', { sub: 7 }, {}],
    ['whose subject is empty', { sub: '' }, {}],
    ['whose subject PostgreSQL cannot store', { sub: 'ada\0' }, {}],
  ])('[X-EMA-6] rejects an ID token %s', async (_what, claims, header) => {
    const t = await setFederatedScene({});
    const before = t.snapshot();
    const { status, body } = await t.exchange(await t.idp.workload({ ...own, ...claims }, { ...header }));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    expect(t.snapshot()).toBe(before);
    expect((await t.exchange(await t.idp.workload(own))).status).toBe(200);
  });

  it('[X-EMA-6] rejects an ID token of a user who may no longer log in here', async () => {
    const t = await setFederatedScene({ allowedUsers: { emailDomains: ['acme.example'] } });
    const before = t.snapshot();
    const email = { email: 'ada@acme.example', email_verified: true };
    for (const claims of [{}, { ...email, email: 'ada@evil.example' }, { ...email, email_verified: false }]) {
      const { status, body } = await t.exchange(await t.idp.workload({ ...own, ...claims }));
      expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    }
    expect(t.snapshot()).toBe(before);
    expect((await t.exchange(await t.idp.workload({ ...own, ...email }))).status).toBe(200);
  });

  it('[X-EMA-6] rejects an ID token of a user whom neither of two entries with its issuer allows', async () => {
    const usersOf = (subject: string) => ({ allowedUsers: { subjects: [subject] } });
    const partners = { ...usersOf('bob-at-acme'), id: 'partners' };
    const t = await setFederatedScene(partners, usersOf('eve-at-acme'));
    const before = t.snapshot();
    const { status, body } = await t.exchange(await t.idp.workload(own));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    expect(t.snapshot()).toBe(before);
    const allowing = await setFederatedScene(partners, usersOf('ada-at-acme'));
    expect((await allowing.exchange(await allowing.idp.workload(own))).status).toBe(200);
  });

  it.each<[string, readonly object[]]>([
    ['by its entry', []],
    ['by the second entry with its issuer', [{ id: 'partners' }]],
  ])(
    '[X-EMA-6] rejects an ID token of a user whom the provider deactivated, or does not provision, %s',
    async (_by, others) => {
      const t = await setFederatedScene(...others, { scim: { provisionedOnly: true } });
      const service = await connectService(t, 'acme');
      const refused = async () => {
        const before = t.snapshot();
        const { status, body } = await t.exchange(await t.idp.workload(own));
        expect([status, body['error']]).toEqual([400, 'invalid_grant']);
        expect(t.snapshot()).toBe(before);
      };
      await refused();
      const id = await service.addUser('ada', { externalId: 'ada-at-acme', active: false });
      // As an operator may have enabled it.
      await t.store.enableAccount('user_acme');
      await refused();
      await service.patch(`/Users/${id}`, { op: 'replace', path: 'active', value: true });
      expect((await t.exchange(await t.idp.workload(own))).status).toBe(200);
    },
  );

  it('[X-EMA-6] rejects an ID token that another issuer signed', async () => {
    const t = await setFederatedScene({});
    for (const claims of [own, { ...own, iss: t.idp.issuer }]) {
      expect((await t.exchange(await t.evil.workload(claims))).body['error']).toBe('invalid_grant');
    }
  });
});
