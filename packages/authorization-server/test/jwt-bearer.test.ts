/** The JWT bearer grant: ID-JAGs of identity providers (enterprise-managed authorization) and tokens of workloads. */
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { openStore } from '@portcullis/store';
import { describe, expect, it } from 'vitest';
import type { AuthorizationServerOptions } from '../src/index.ts';
import { type AssertionIssuerUnderTest, type IssuerPaths, startAssertionIssuer } from './assertion-issuer.ts';
import { createProofHolder } from './proofs.ts';
import {
  ACCOUNT,
  basic,
  CLIENTS,
  claimsOf,
  FILES,
  ISSUER,
  MASTER_KEY,
  NOTES,
  RESOURCES,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const AGENT = basic('agent', 'agent-secret');
const NOW = 1_800_000_000;

const clients = [
  ...CLIENTS,
  { client_id: 'agent', client_secret: 'agent-secret', grant_types: [GRANT] },
  { client_id: 'other', client_secret: 'other-secret', grant_types: [GRANT] },
  { client_id: 'deploy', grant_types: [GRANT], token_endpoint_auth_method: 'none' },
];

type Entry = NonNullable<AuthorizationServerOptions['assertionIssuers']>[number];

interface Scene extends ServerUnderTest {
  readonly idp: AssertionIssuerUnderTest;
  redeem(
    assertion: string,
    form?: Record<string, string>,
    headers?: Record<string, string>,
  ): ReturnType<ServerUnderTest['post']>;
}

async function setScene(
  changes: Partial<Entry> = {},
  options: Partial<AuthorizationServerOptions> = {},
): Promise<Scene> {
  const idp = await startAssertionIssuer();
  const entry: Entry = {
    issuer: idp.issuer,
    use: 'id-jag',
    clients: ['agent'],
    scopes: ['notes:read'],
    ...changes,
  };
  const t = await startServer({ clients, assertionIssuers: [entry], ...options });
  return {
    ...t,
    idp,
    redeem: (assertion, form = {}, headers = AGENT) =>
      t.post('/token', { grant_type: GRANT, assertion, ...form }, headers),
  };
}

/** A scene with a workload entry for `deploy`, whose token is redeemed without a secret. */
async function setWorkloadScene(
  changes: Partial<Entry> = {},
  options: Partial<AuthorizationServerOptions> = {},
  paths: IssuerPaths = {},
) {
  const idp = await startAssertionIssuer(undefined, undefined, paths);
  const entry: Entry = {
    issuer: idp.issuer,
    use: 'workload',
    match: { sub: 'repo:acme/*:ref:refs/heads/main' },
    client: 'deploy',
    scopes: ['notes:read'],
    ...changes,
  };
  const t = await startServer({ clients, assertionIssuers: [entry], ...options });
  const redeem = (assertion: string, form: Record<string, string> = {}) =>
    t.post('/token', { grant_type: GRANT, assertion, client_id: 'deploy', ...form });
  return { ...t, idp, redeem };
}

/** The same token with bits in the last character of its signature that decode to nothing. */
function withUnusedBits(jwt: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return jwt.slice(0, -1) + alphabet[alphabet.indexOf(jwt.slice(-1)) + 1];
}

const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The same token with the other ECDSA signature of its key: `n - s` in place of `s`. */
function withNegatedSignature(jwt: string): string {
  const [header, payload, signature = ''] = jwt.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  const negated = Buffer.from((P256_ORDER - s).toString(16).padStart(64, '0'), 'hex');
  return `${header}.${payload}.${Buffer.concat([bytes.subarray(0, 32), negated]).toString('base64url')}`;
}

function actorsInChain(count: number): object {
  return { sub: `agent-${count}`, ...(count > 1 && { act: actorsInChain(count - 1) }) };
}

describe('an ID-JAG of an identity provider', () => {
  it('[X-EMA-17 X-EMA-18] an ID-JAG yields a token of its user for its resource and scope, and no refresh token', async () => {
    const t = await setScene();
    const assertion = await t.idp.idJag({ resource: NOTES, scope: 'notes:read notes:write' });
    const { status, body } = await t.redeem(assertion);
    expect([status, body['scope'], body['refresh_token']]).toEqual([200, 'notes:read', undefined]);
    expect(body['resource']).toBe(NOTES);
    expect(claimsOf(body['access_token'])).toMatchObject({
      aud: NOTES,
      client_id: 'agent',
      sub: expect.stringMatching(/^user_/),
      scope: 'notes:read',
      grant_id: expect.any(String),
    });
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'token.issued', managedBy: t.idp.issuer, subject: 'ada-at-acme' }),
    );
  });

  it.each([`${NOTES}/`, [NOTES, `${NOTES}/`], NOTES.replace('https:', 'HTTPS:')])(
    '[X-EMA-17 AS-RES-63] an ID-JAG names its resource as every request may: %j',
    async (resource) => {
      const t = await setScene();
      const { body } = await t.redeem(await t.idp.idJag({ resource }));
      expect([body['resource'], claimsOf(body['access_token'])['aud']]).toEqual([NOTES, NOTES]);
    },
  );

  it('[X-EMA-16 X-EMA-17] an ID-JAG whose times have fractions of seconds is accepted once', async () => {
    const t = await setScene();
    const assertion = await t.idp.idJag({ iat: NOW - 0.5, exp: NOW + 100.5 });
    expect((await t.redeem(assertion)).status).toBe(200);
    const before = t.snapshot();
    expect((await t.redeem(assertion)).body['error']).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
  });

  it('[X-EMA-19] the metadata lists the grant type and the profile', async () => {
    const t = await setScene();
    const { body } = await t.send('/.well-known/oauth-authorization-server');
    expect(body['grant_types_supported']).toContain(GRANT);
    expect(body['authorization_grant_profiles_supported']).toEqual([
      'urn:ietf:params:oauth:grant-profile:id-jag',
    ]);
  });

  it.each<[string, object, object]>([
    ['of another audience', { aud: 'https://other.example' }, {}],
    ['with several audiences', { aud: [ISSUER, 'https://other.example'] }, {}],
    ['for the token endpoint', { aud: `${ISSUER}/token` }, {}],
    ['of another client', { client_id: 'other' }, {}],
    ['without a client', { client_id: undefined }, {}],
    ['that has expired', { iat: NOW - 600, exp: NOW - 60 }, {}],
    ['from the future', { iat: NOW + 600 }, {}],
    ['that is not yet valid', { nbf: NOW + 600 }, {}],
    ['that lives for a day', { exp: NOW + 86_400 }, {}],
    ['without an expiry', { exp: undefined }, {}],
    ['without an iat', { iat: undefined }, {}],
    ['without a jti', { jti: undefined }, {}],
    ['without a subject', { sub: undefined }, {}],
    ['whose subject PostgreSQL cannot store', { sub: 'ada\0' }, {}],
    ['for another resource', { resource: 'https://other.example/mcp' }, {}],
    ['for a resource of this server and another', { resource: [NOTES, 'https://other.example/mcp'] }, {}],
    ['with restrictions beyond scopes', { authorization_details: [{ type: 'one_note' }] }, {}],
    ['whose scopes are a list', { scope: ['notes:read'] }, {}],
    ['whose scope is null', { scope: null }, {}],
    ['of a tenant that is not configured', { tenant: 'umbrella' }, {}],
    ['whose actor has no name', { act: { iss: ISSUER } }, {}],
    ['whose actor is no object', { act: 'agent' }, {}],
    ['whose actor has a name without end', { act: { sub: 'a'.repeat(256) } }, {}],
    ['whose actor is of no issuer', { act: { sub: 'agent', iss: '' } }, {}],
    ['with six actors', { act: actorsInChain(6) }, {}],
    ['for a tenant that is not configured', { aud_tenant: 'umbrella' }, {}],
    ['that is bound to a key, without a proof of it', { cnf: { jkt: 'x'.repeat(43) } }, {}],
    ['that is bound to a certificate', { cnf: { 'x5t#S256': 'x'.repeat(43) } }, {}],
    ['with a confirmation that is no object', { cnf: 'key' }, {}],
    ['of an unknown issuer', { iss: 'https://evil.example' }, {}],
    ['that this server issued itself', { iss: ISSUER }, {}],
    ['with the typ JWT', {}, { typ: 'JWT' }],
    ['without a typ', {}, { typ: undefined }],
    ['with the typ of an access token', {}, { typ: 'at+jwt' }],
    ['with an unknown key', {}, { kid: 'two' }],
  ])(
    '[X-EMA-13 X-EMA-14 X-EMA-15 X-EMA-16 X-EMA-21 X-EMA-24 X-EMA-25 X-EMA-26] rejects an ID-JAG %s, and changes nothing',
    async (_what, claims, header) => {
      const t = await setScene();
      const before = t.snapshot();
      const { status, body } = await t.redeem(await t.idp.idJag({ ...claims }, { ...header }));
      expect([status, body['error']]).toEqual([400, 'invalid_grant']);
      expect(t.snapshot()).toBe(before);
      expect((await t.redeem(await t.idp.idJag())).status).toBe(200);
    },
  );

  it('[X-EMA-16] rejects an ID-JAG that another trusted issuer signed with a key of the same identifier', async () => {
    const evil = await startAssertionIssuer();
    const idp = await startAssertionIssuer();
    const entries = [idp, evil].map(({ issuer }): Entry => ({ issuer, use: 'id-jag', clients: ['agent'] }));
    const t = await startServer({ clients, assertionIssuers: entries });
    const redeem = async (assertion: string) => t.post('/token', { grant_type: GRANT, assertion }, AGENT);
    const forged = await redeem(await evil.idJag({ iss: idp.issuer }));
    expect([forged.status, forged.body['error']]).toEqual([400, 'invalid_grant']);
    const embedded = await evil.idJag({ iss: idp.issuer }, { jku: `${evil.issuer}/keys` });
    expect((await redeem(embedded)).status).toBe(400);
    expect((await redeem(await idp.idJag({ resource: NOTES }))).status).toBe(200);
  });

  it('[X-EMA-15 X-EMA-20] rejects a client without authentication, a public one, and one that is not listed', async () => {
    const t = await setScene(
      { clients: ['agent', 'phone'] },
      {
        clients: [
          ...clients,
          { client_id: 'loner', client_secret: 'loner-secret', grant_types: ['client_credentials'] },
        ],
      },
    );
    const [unknown, unlisted, unregistered] = [
      await t.redeem(await t.idp.idJag(), { client_id: 'agent' }, {}),
      await t.redeem(await t.idp.idJag({ client_id: 'other' }), {}, basic('other', 'other-secret')),
      await t.redeem(await t.idp.idJag({ client_id: 'loner' }), {}, basic('loner', 'loner-secret')),
    ];
    expect([unknown.status, unknown.body['error']]).toEqual([401, 'invalid_client']);
    expect([unlisted.status, unlisted.body['error']]).toEqual([400, 'unauthorized_client']);
    expect([unregistered.status, unregistered.body['error']]).toEqual([400, 'unauthorized_client']);
    const { clients: administration } = t.server;
    await administration.add({ client_id: 'phone', grant_types: [GRANT] });
    const open = await t.redeem(await t.idp.idJag({ client_id: 'phone' }), { client_id: 'phone' }, {});
    expect([open.status, open.body['error']]).toEqual([400, 'unauthorized_client']);
  });

  it('[X-EMA-16 X-EMA-18] of concurrent requests with one ID-JAG in three processes, one is served', async () => {
    const t = await setScene();
    const servers = await Promise.all(
      [1, 2].map(async () => {
        const store = await openStore(t.file);
        const server = await createAuthorizationServer({
          issuer: ISSUER,
          store,
          masterKey: MASTER_KEY,
          resources: RESOURCES,
          clients,
          clock: () => NOW,
          assertionIssuers: [{ issuer: t.idp.issuer, use: 'id-jag', clients: ['agent'] }],
        });
        return { server, store };
      }),
    );
    const assertion = await t.idp.idJag();
    const body = new URLSearchParams({ grant_type: GRANT, assertion });
    const statuses = await Promise.all(
      [t.server, ...servers.map(({ server }) => server)].map(async (server) => {
        const request = new Request(`${ISSUER}/token`, { method: 'POST', headers: AGENT, body });
        return (await server.handle(request)).status;
      }),
    );
    expect(statuses.toSorted()).toEqual([200, 400, 400]);
    for (const { server, store } of servers) {
      await server.close();
      await store.close();
    }
  });

  it('[X-EMA-24 X-DPOP-12] an ID-JAG that is bound to a key needs a DPoP proof of that key, and so does its token', async () => {
    const [t, own, foreign] = [await setScene(), await createProofHolder(), await createProofHolder()];
    const assertion = await t.idp.idJag({ cnf: { jkt: own.thumbprint } });
    const before = t.snapshot();
    for (const proof of [{}, await foreign.prove(t.clock.now)]) {
      const { status, body } = await t.redeem(assertion, {}, { ...AGENT, ...proof });
      expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    }
    expect(t.snapshot()).toBe(before);
    const { status, body } = await t.redeem(assertion, {}, { ...AGENT, ...(await own.prove(t.clock.now)) });
    expect([status, body['token_type']]).toEqual([200, 'DPoP']);
    expect(claimsOf(body['access_token'])['cnf']).toEqual({ jkt: own.thumbprint });
  });

  it('[X-EMA-18 X-DPOP-14] a proof that was used before uses no ID-JAG up, and makes no account and no grant', async () => {
    const [t, holder] = [await setScene(), await createProofHolder()];
    const proof = await holder.prove(t.clock.now);
    expect((await t.redeem(await t.idp.idJag(), {}, { ...AGENT, ...proof })).status).toBe(200);
    const assertion = await t.idp.idJag({ sub: 'grace-at-acme' });
    const before = t.snapshot();
    const refused = await t.redeem(assertion, {}, { ...AGENT, ...proof });
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_dpop_proof']);
    expect(t.snapshot()).toBe(before);
    const fresh = { ...AGENT, ...(await holder.prove(t.clock.now)) };
    expect((await t.redeem(assertion, {}, fresh)).status).toBe(200);
  });

  it('the actors of an ID-JAG are those of its token, named by their issuer', async () => {
    const t = await setScene();
    const { body } = await t.redeem(
      await t.idp.idJag({ act: { sub: 'agent', email: 'a@example.org', act: { sub: 'first' } } }),
    );
    const iss = t.idp.issuer;
    expect(claimsOf(body['access_token'])['act']).toEqual({ iss, sub: 'agent', act: { iss, sub: 'first' } });
    const issued = () => t.events.findLast(({ type }) => type === 'token.issued');
    expect(issued()).toMatchObject({ actors: [`agent@${iss}`, `first@${iss}`] });
    const plain = await t.redeem(await t.idp.idJag());
    expect(claimsOf(plain.body['access_token'])).not.toHaveProperty('act');
    expect(issued()).not.toHaveProperty('actors');
  });

  it('[X-EMA-26] an ID-JAG for the configured tenant is accepted, and one for another is not', async () => {
    const t = await setScene({ match: { aud_tenant: 'acme' } });
    const before = t.snapshot();
    const { body } = await t.redeem(await t.idp.idJag({ aud_tenant: 'umbrella' }));
    expect(body['error']).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
    expect((await t.redeem(await t.idp.idJag({ aud_tenant: 'acme' }))).status).toBe(200);
  });

  it('[X-EMA-26] an ID-JAG of the configured tenant is accepted, and one of another or of none is not', async () => {
    const t = await setScene({ match: { tenant: 'acme' } });
    for (const tenant of ['umbrella', undefined]) {
      const { body } = await t.redeem(await t.idp.idJag({ tenant }));
      expect(body['error']).toBe('invalid_grant');
    }
    expect((await t.redeem(await t.idp.idJag({ tenant: 'acme' }))).status).toBe(200);
  });

  it.each<[string, object, object]>([
    ['auth_time alone', { auth_time: NOW - 60 }, { auth_time: NOW - 60, acr: '1fa', amr: ['fed'] }],
    [
      'a trusted amr',
      { auth_time: NOW - 60, amr: ['pwd', 'mfa'] },
      { auth_time: NOW - 60, acr: '2fa', amr: ['fed', 'mfa'] },
    ],
    [
      'an acr that is not trusted',
      { auth_time: NOW, acr: '2fa' },
      { auth_time: NOW, acr: '1fa', amr: ['fed'] },
    ],
  ])('the token of an ID-JAG says how its user signed in: %s', async (_what, claims, expected) => {
    const t = await setScene({ twoFactorValues: ['mfa'] });
    const { body } = await t.redeem(await t.idp.idJag({ ...claims }));
    expect(claimsOf(body['access_token'])).toMatchObject(expected);
    const silent = await t.redeem(await t.idp.idJag({ amr: ['mfa'] }));
    // Without a time there is nothing to rely on.
    expect(claimsOf(silent.body['access_token'])).not.toHaveProperty('acr');
  });

  it('answers 503, not invalid_grant, to a new key while the keys may not be fetched again', async () => {
    const t = await setScene();
    expect((await t.redeem(await t.idp.idJag())).status).toBe(200);
    await t.idp.rotate();
    t.clock.now += 10;
    const before = t.snapshot();
    const early = await t.redeem(await t.idp.idJag());
    expect([early.status, early.body['error'], early.headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '20',
    ]);
    expect(t.snapshot()).toBe(before);
    t.clock.now += 20;
    expect((await t.redeem(await t.idp.idJag())).status).toBe(200);
  });

  it('accepts an ID-JAG of a new key after rotation', async () => {
    const t = await setScene();
    expect((await t.redeem(await t.idp.idJag())).status).toBe(200);
    await t.idp.rotate();
    t.clock.now += 31;
    expect((await t.redeem(await t.idp.idJag())).status).toBe(200);
  });

  it.each([
    ['a scope beyond the issuer', { scope: 'notes:write' }, {}, 'invalid_scope'],
    [
      'a requested scope beyond the assertion',
      { scope: 'notes:read' },
      { scope: 'notes:write' },
      'invalid_scope',
    ],
    ['another resource than the assertion', { resource: NOTES }, { resource: FILES }, 'invalid_target'],
  ])('[X-EMA-17] rejects %s', async (_what, claims, form, error) => {
    const t = await setScene();
    const before = t.snapshot();
    const { status, body } = await t.redeem(await t.idp.idJag(claims), form);
    expect([status, body['error']]).toEqual([400, error]);
    expect(body['error_description']).not.toContain('does not protect');
    expect(t.snapshot()).toBe(before);
  });

  it('[X-EMA-17] groups extend the maximum scope of their members', async () => {
    const scopesByClaim = [{ match: { groups: 'editors' }, scopes: ['notes:write'] }];
    const t = await setScene({ scopesByClaim });
    const scope = 'notes:read notes:write';
    const member = await t.redeem(await t.idp.idJag({ scope, groups: ['staff', 'editors'] }));
    expect(member.body['scope']).toBe('notes:read notes:write');
    const guest = await t.redeem(await t.idp.idJag({ scope, sub: 'guest', groups: ['staff'] }));
    expect(guest.body['scope']).toBe('notes:read');
  });

  it.each([
    ['notes:write', 200, 'notes:read'],
    ['files:read', 400, undefined],
  ])('[X-EMA-17] the maximum %s of a client contains what it includes', async (scope, status, granted) => {
    const agent = { client_id: 'agent', client_secret: 'agent-secret', grant_types: [GRANT], scope };
    const t = await setScene({}, { clients: [...CLIENTS, agent] });
    const before = t.snapshot();
    const { status: received, body } = await t.redeem(await t.idp.idJag({ scope: 'notes:read' }));
    expect([received, body['scope'], t.snapshot() === before]).toEqual([status, granted, status === 400]);
  });

  describe('without a scope', () => {
    const admin: AuthorizationServerOptions['resources'][number] = {
      resource: FILES,
      name: 'Files',
      scopes: {
        'files:read': 'Read your files',
        'files:purge': 'Delete your files',
        'files:admin': 'Administer files',
        'files:all': 'Everything',
      },
      access: { 'files:purge': 'delete', 'files:admin': 'administer' },
      hierarchy: { 'files:all': ['files:read', 'files:admin'] },
    };
    const [notes] = RESOURCES;
    const both = notes === undefined ? [] : [notes, admin];

    it.each<[string, Partial<Entry>, object, Record<string, string>, string, string]>([
      ['the default scopes', {}, { resource: NOTES }, {}, NOTES, 'notes:read'],
      ['what deletes or administers nothing', {}, { resource: FILES }, {}, FILES, 'files:read'],
      ['one resource, which the request names', {}, {}, { resource: FILES }, FILES, 'files:read'],
      ['the resource of the entry', { scopes: ['files:read', 'files:admin'] }, {}, {}, FILES, 'files:read'],
    ])('it grants at most %s', async (_what, changes, claims, form, resource, scope) => {
      const t = await setScene({ scopes: undefined, ...changes } as Partial<Entry>, { resources: both });
      const { status, body } = await t.redeem(await t.idp.idJag({ scope: undefined, ...claims }), form);
      expect([status, body['resource'], body['scope']]).toEqual([200, resource, scope]);
    });

    it.each<[string, Partial<Entry>, object, Record<string, string>, string]>([
      ['of several resources', {}, {}, {}, 'invalid_target'],
      ['that the request widens', {}, { resource: FILES }, { scope: 'files:admin' }, 'invalid_scope'],
      ['with nothing by default', { scopes: ['files:admin'] }, { resource: FILES }, {}, 'invalid_scope'],
    ])('rejects one %s, and changes nothing', async (_what, changes, claims, form, error) => {
      const t = await setScene({ scopes: undefined, ...changes } as Partial<Entry>, { resources: both });
      const before = t.snapshot();
      const { status, body } = await t.redeem(await t.idp.idJag({ scope: undefined, ...claims }), form);
      expect([status, body['error'], t.snapshot()]).toEqual([400, error, before]);
    });
  });
});

describe('the account of an ID-JAG', () => {
  const email = { email: 'ada@example.org', email_verified: true };
  const subjectOf = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
    claimsOf(body['access_token'])['sub'];

  it('[X-EMA-22] a known issuer and subject always mean the same account', async () => {
    const t = await setScene();
    const first = await t.redeem(await t.idp.idJag(email));
    const second = await t.redeem(await t.idp.idJag({ email: 'renamed@example.org' }));
    expect(subjectOf(second)).toBe(subjectOf(first));
    // Without linkByEmail the address means nothing.
    expect(subjectOf(first)).not.toBe(ACCOUNT);
  });

  it('[X-EMA-22] a verified email address links an unknown subject to the local account, once', async () => {
    const t = await setScene({ linkByEmail: true });
    expect(subjectOf(await t.redeem(await t.idp.idJag(email)))).toBe(ACCOUNT);
    // The subject is linked from then on.
    expect(subjectOf(await t.redeem(await t.idp.idJag({ email: 'new@example.org' })))).toBe(ACCOUNT);
    expect(t.events).toContainEqual(expect.objectContaining({ type: 'account.linked', accountId: ACCOUNT }));
    // Another subject that got the address later does not get the account.
    const successor = await t.redeem(await t.idp.idJag({ sub: 'successor', ...email }));
    expect([successor.status, successor.body['error']]).toEqual([400, 'invalid_grant']);
  });

  it.each([[{ email_verified: false }], [{ email_verified: undefined }], [{ email_verified: 'true' }]])(
    '[X-EMA-22] an email address that was not verified links no account: %j',
    async (changes) => {
      const t = await setScene({ linkByEmail: true });
      const before = t.snapshot();
      const { status, body } = await t.redeem(await t.idp.idJag({ ...email, ...changes }));
      expect([status, body['error']]).toEqual([400, 'invalid_grant']);
      expect(t.snapshot()).toBe(before);
    },
  );

  it('has a label by which no other account can be named', async () => {
    const t = await setScene();
    const { host } = new URL(t.idp.issuer);
    for (const [claims, name] of [
      [{ sub: 'one', ...email }, email.email],
      [{ sub: ACCOUNT }, ACCOUNT],
    ] as const) {
      const id = String(subjectOf(await t.redeem(await t.idp.idJag(claims))));
      expect((await t.store.findAccount(id))?.email).toBe(`${name} (${host})`);
    }
  });

  it('rejects an unknown user where accounts are not created', async () => {
    const t = await setScene({ createAccounts: false });
    const before = t.snapshot();
    expect((await t.redeem(await t.idp.idJag(email))).body['error']).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
  });

  it('disabling the account ends the token, and no further ID-JAG is accepted', async () => {
    const t = await setScene({ linkByEmail: true });
    const { body } = await t.redeem(await t.idp.idJag(email));
    const claims = claimsOf(body['access_token']);
    expect(await t.server.isLive(claims as never)).toBe(true);
    await t.store.disableAccount(ACCOUNT, t.clock.now);
    expect(await t.server.isLive(claims as never)).toBe(false);
    expect((await t.redeem(await t.idp.idJag(email))).body['error']).toBe('invalid_grant');
  });

  it('one grant of an organization is extended by further ID-JAGs, and ends when its user ends it', async () => {
    const t = await setScene({ linkByEmail: true });
    await t.redeem(await t.idp.idJag(email));
    const { body } = await t.redeem(await t.idp.idJag(email));
    const grants = await t.store.listGrants(ACCOUNT, t.clock.now, null, 10);
    expect(grants).toMatchObject([{ clientId: 'agent', managedBy: t.idp.issuer }]);
    await t.store.revokeAccountGrants(ACCOUNT, grants[0]?.id ?? null, t.clock.now);
    expect(await t.server.isLive(claimsOf(body['access_token']) as never)).toBe(false);
  });
});

describe('the token of a workload', () => {
  it.each([
    ['notes:read openid', 200, 'notes:read'],
    ['openid', 400, undefined],
    ['notes:read notes:write openid', 400, undefined],
  ])('leaves out unknown scopes of a request while others remain: %s', async (scope, expected, granted) => {
    const t = await setWorkloadScene();
    const before = t.snapshot();
    const { status, body } = await t.redeem(await t.idp.workload(), { resource: NOTES, scope });
    expect([status, body['scope'], t.snapshot() === before]).toEqual([expected, granted, expected === 400]);
  });

  it('[X-WIF-2] a workload gets a token for its client with its scopes, and without a user', async () => {
    const t = await setWorkloadScene();
    const { status, body } = await t.redeem(await t.idp.workload());
    expect([status, body['scope'], body['refresh_token']]).toEqual([200, 'notes:read', undefined]);
    const claims = claimsOf(body['access_token']);
    expect(claims).toMatchObject({ sub: 'deploy', client_id: 'deploy', aud: NOTES });
    expect(claims).not.toHaveProperty('grant_id');
    // The token endpoint, as the extension for workloads says.
    expect((await t.redeem(await t.idp.workload({ aud: `${ISSUER}/token` }))).status).toBe(200);
    // Kubernetes writes the audience as a list.
    expect((await t.redeem(await t.idp.workload({ aud: [ISSUER], jti: undefined }))).status).toBe(200);
  });

  it.each<[string, object, object]>([
    ['of another repository', { sub: 'repo:evil/app:ref:refs/heads/main' }, {}],
    ['whose subject spans further parts', { sub: 'repo:acme/app:x:ref:refs/heads/main' }, {}],
    ['of another ref', { sub: 'repo:acme/app:ref:refs/heads/main2' }, {}],
    ['of another issuer', { iss: 'https://evil.example' }, {}],
    ['for another audience', { aud: 'https://other.example' }, {}],
    ['for several audiences', { aud: [ISSUER, 'https://other.example'] }, {}],
    ['that has expired', { iat: NOW - 900, exp: NOW - 60 }, {}],
    ['without an expiry', { exp: undefined }, {}],
    ['that is an ID-JAG', {}, { typ: 'oauth-id-jag+jwt' }],
  ])('[X-WIF-2 X-WIF-6] rejects a token %s, and changes nothing', async (_what, claims, header) => {
    const t = await setWorkloadScene();
    const before = t.snapshot();
    const { status, body } = await t.redeem(await t.idp.workload({ ...claims }, { ...header }));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    expect(t.snapshot()).toBe(before);
    expect((await t.redeem(await t.idp.workload())).status).toBe(200);
  });

  it('[X-WIF-6] rejects a scope that the workload may not have, and another client', async () => {
    const t = await setWorkloadScene();
    expect((await t.redeem(await t.idp.workload(), { scope: 'notes:write' })).body['error']).toBe(
      'invalid_scope',
    );
    const assertion = await t.idp.workload();
    const other = await t.post('/token', { grant_type: GRANT, assertion }, AGENT);
    expect([other.status, other.body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('a token of a workload is accepted once, unless its platform mounts it', async () => {
    const t = await setWorkloadScene();
    const assertion = await t.idp.workload();
    expect((await t.redeem(assertion)).status).toBe(200);
    expect((await t.redeem(assertion)).body['error']).toBe('invalid_grant');
    const mounted = await setWorkloadScene({ singleUse: false });
    const token = await mounted.idp.workload();
    for (const _time of [1, 2]) expect((await mounted.redeem(token)).status).toBe(200);
  });

  it('a token of a workload without a jti is accepted once, however its signature is written', async () => {
    const t = await setWorkloadScene();
    const assertion = await t.idp.workload({ jti: undefined });
    expect((await t.redeem(assertion)).status).toBe(200);
    const before = t.snapshot();
    for (const twin of [assertion, withUnusedBits(assertion), withNegatedSignature(assertion)]) {
      const { status, body } = await t.redeem(twin);
      expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    }
    expect(t.snapshot()).toBe(before);
    t.clock.now += 1;
    const later = await t.idp.workload({ jti: undefined, exp: NOW + 200 });
    expect((await t.redeem(withNegatedSignature(later))).status).toBe(200);
  });

  it.each([
    ['repo:acme/my-app:*', 'repo:acme/my-app:pull_request', 'repo:acme/my_app:pull_request'],
    [
      'repo:acme/*-(a+b)?[c]{1}|^$\\\\.js:x',
      'repo:acme/y-(a+b)?[c]{1}|^$\\\\.js:x',
      'repo:acme/y-(aab)?[c]{1}|^$\\\\.js:x',
    ],
    [
      'spiffe://acme-corp.example/ns/*/sa/web',
      'spiffe://acme-corp.example/ns/prod/sa/web',
      'spiffe://acme-corp-example/ns/prod/sa/web',
    ],
  ])('the pattern %s matches its text as it is, and nothing else', async (pattern, matching, other) => {
    const t = await setWorkloadScene({ match: { sub: pattern } });
    const before = t.snapshot();
    const { status, body } = await t.redeem(await t.idp.workload({ sub: other }));
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    expect(t.snapshot()).toBe(before);
    expect((await t.redeem(await t.idp.workload({ sub: matching }))).status).toBe(200);
  });

  it('made-up assertions do not use up the rate limit of a workload, and its own do', async () => {
    const t = await setWorkloadScene({}, { rateLimits: { clientTokens: { burst: 1, perMinute: 1 } } });
    const evil = await startAssertionIssuer();
    const before = t.snapshot();
    for (const forged of ['x', await evil.workload(), await evil.workload({ iss: t.idp.issuer })])
      expect((await t.redeem(forged)).status).toBe(400);
    expect(t.snapshot()).toBe(before);
    expect((await t.redeem(await t.idp.workload())).status).toBe(200);
    const served = t.snapshot();
    const limited = await t.idp.workload();
    expect((await t.redeem(limited)).status).toBe(429);
    expect(t.snapshot()).toBe(served);
    t.clock.now += 60;
    // The limit did not use the assertion up.
    expect((await t.redeem(limited)).status).toBe(200);
  });

  it('[X-WIF-6] an administrator adds a workload while the server runs; a client that registers itself cannot', async () => {
    const idp = await startAssertionIssuer();
    const t = await startServer({ registration: true });
    const workload_identity = { issuer: idp.issuer, match: { sub: 'repo:acme/*:ref:refs/heads/main' } };
    const added = await t.server.clients.add({
      client_id: 'ci',
      grant_types: [GRANT],
      scope: 'notes:read',
      workload_identity,
    });
    expect(added).toMatchObject({ workload_identity });
    const form = { grant_type: GRANT, client_id: 'ci' };
    const { status, body } = await t.post('/token', { ...form, assertion: await idp.workload() });
    expect([status, body['scope']]).toEqual([200, 'notes:read']);
    const wrong = await t.post('/token', {
      ...form,
      assertion: await idp.workload({ sub: 'repo:evil/app:ref:x' }),
    });
    expect(wrong.body['error']).toBe('invalid_grant');
    const registered = await t.register({
      redirect_uris: ['https://app.example/callback'],
      workload_identity,
    });
    expect(registered.body).not.toHaveProperty('workload_identity');
  });

  const OAUTH = '/.well-known/oauth-authorization-server';
  const OIDC = '/.well-known/openid-configuration';

  it.each([
    [500, 86_399, 200, OIDC],
    [404, 86_399, 200, OIDC],
    [500, 86_400, 503, OIDC],
    [404, 86_400, 503, OIDC],
    [410, 3600, 503, OIDC],
    // The clock was ahead when it was fetched.
    [500, -7200, 503, OIDC],
    [500, 86_399, 200, OAUTH],
    [404, 86_399, 200, OAUTH],
    [410, 3600, 503, OAUTH],
  ])(
    'responds to a token, when discovery has failed with %i until %i seconds after its fetch, with %i (%s)',
    async (failure, age, expected, documentAt) => {
      const t = await setWorkloadScene({}, {}, { documentAt });
      expect((await t.redeem(await t.idp.workload())).status).toBe(200);
      t.idp.failDiscovery(failure);
      t.clock.now += age;
      const times = { iat: t.clock.now, exp: t.clock.now + 300 };
      const before = t.snapshot();
      const { status } = await t.redeem(await t.idp.workload(times));
      expect([status, t.snapshot() === before]).toEqual([expected, expected !== 200]);
      t.idp.failDiscovery(200);
      expect((await t.redeem(await t.idp.workload(times))).status).toBe(200);
    },
  );

  it('answers 503 while the keys of the issuer are unavailable, and uses no assertion up', async () => {
    const t = await startServer({
      clients,
      assertionIssuers: [
        { issuer: 'http://127.0.0.1:9', use: 'workload', client: 'deploy', match: { sub: '*' } },
      ],
    });
    const idp = await startAssertionIssuer();
    const assertion = await idp.workload({ iss: 'http://127.0.0.1:9' });
    const { status } = await t.post('/token', { grant_type: GRANT, assertion, client_id: 'deploy' });
    expect(status).toBe(503);
  });

  it.each<[string, string, string, readonly string[]]>([
    ['of OAuth', '', OAUTH, [OAUTH]],
    ['of OpenID Connect', '', OIDC, [OAUTH, OIDC]],
    ['of OAuth below a path', '/t1', `${OAUTH}/t1`, [`${OAUTH}/t1`]],
    [
      'of OpenID Connect with an inserted path, which was never asked for',
      '/t1',
      `${OIDC}/t1`,
      [`${OAUTH}/t1`, `${OIDC}/t1`],
    ],
    [
      'of OpenID Connect with an appended path',
      '/t1',
      `/t1${OIDC}`,
      [`${OAUTH}/t1`, `${OIDC}/t1`, `/t1${OIDC}`],
    ],
  ])(
    'finds the keys of an issuer by its document %s, in the order that clients and guards use',
    async (...row) => {
      const [, path, documentAt, expected] = row;
      const { idp, redeem } = await setWorkloadScene({}, {}, { path, documentAt });
      const { status } = await redeem(await idp.workload());
      expect([status, idp.asked]).toEqual([200, [...expected, `${path}/keys`]]);
    },
  );
});

it.each<[object, RegExp]>([
  [{ use: 'id-jag', issuer: 'https://idp.example' }, /assertionIssuers\.0\.clients is required/],
  [
    { use: 'workload', issuer: 'https://idp.example', client: 'deploy' },
    /assertionIssuers\.0\.match is required/,
  ],
  [
    { use: 'workload', issuer: 'https://idp.example', client: 'deploy', match: {} },
    /match must name a claim/,
  ],
  [{ use: 'id-jag', issuer: ISSUER, clients: ['agent'] }, /must not be this server/],
  [{ use: 'id-jag', issuer: 'http://idp.example', clients: ['agent'] }, /must use https/],
  [{ use: 'id-jag', issuer: 'https://idp.example', clients: ['deploy'] }, /must be a client with a secret/],
  [{ use: 'id-jag', issuer: 'https://idp.example', clients: ['web'] }, /needs the grant type/],
  [
    { use: 'id-jag', issuer: 'https://idp.example', clients: ['agent'], scopes: ['admin'] },
    /unknown scope "admin"/,
  ],
  [
    { use: 'id-jag', issuer: 'https://idp.example', clients: ['agent'], match: { tenant: 'a*' } },
    /match must name one tenant/,
  ],
  [
    { use: 'id-jag', issuer: 'https://idp.example', clients: ['agent'], singleUse: false },
    /singleUse must be true/,
  ],
])('[X-EMA-21] a wrong issuer of assertions is reported at startup: %j', async (entry, message) => {
  await expect(startServer({ clients, assertionIssuers: [entry as Entry] })).rejects.toThrow(message);
});

it('[X-EMA-26] two entries of one issuer must name the same tenant, whose subjects are unique within it only', async () => {
  const entry = (tenant: string): Entry => ({
    issuer: 'https://idp.example',
    use: 'id-jag',
    clients: ['agent'],
    match: { tenant },
  });
  const start = (...tenants: string[]) => startServer({ clients, assertionIssuers: tenants.map(entry) });
  await expect(start('acme', 'umbrella')).rejects.toThrow(/match must name one tenant/);
  await start('acme', 'acme');
});

it('two entries of one issuer must name the same key set, whatever their order', async () => {
  const issuer = 'https://idp.example';
  const start = (jwksUri: string | undefined, other: string | undefined) =>
    startServer({
      clients,
      assertionIssuers: [
        { issuer, use: 'id-jag', clients: ['agent'], ...(jwksUri && { jwksUri }) },
        { issuer, use: 'workload', client: 'deploy', match: { sub: 'x' }, ...(other && { jwksUri: other }) },
      ],
    });
  const [one, two] = [`${issuer}/one`, `${issuer}/two`];
  for (const pair of [[one, two], [one], [undefined, two]])
    await expect(start(pair[0], pair[1])).rejects.toThrow(/jwksUri must be the same/);
  await start(one, one);
});
