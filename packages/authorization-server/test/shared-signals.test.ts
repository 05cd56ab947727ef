/** Shared signals: security events of identity providers end what they name, pushed or polled; anything else changes nothing. */
import { describe, expect, it } from 'vitest';
import { startOidc } from '../../../tests/support/identity-providers/oidc.ts';
import { newFederatedAccount } from '../src/federation/linked-users.ts';
import type { IdentityProviderOptions } from '../src/index.ts';
import { createAuthorizationServer } from '../src/index.ts';
import { logInByProvider, openId, redeemAt, setFederationScene, startProvider } from './federation-scene.ts';
import { ISSUER, MASTER_KEY, RESOURCES } from './server-under-test.ts';
import { AUDIENCE, startTransmitter, TOKEN } from './transmitter.ts';
import { createVisitor } from './visitor.ts';

const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';
const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';
const SSF = 'https://schemas.openid.net/secevent/ssf/event-type/';
const ENDPOINT = '/shared-signals/files';

type Json = Readonly<Record<string, unknown>>;
type Settings = NonNullable<IdentityProviderOptions['sharedSignals']>;

/** The user Eve of the provider has the session `first` and a grant. */
async function setScene(changes: Partial<Settings> = { audience: [AUDIENCE] }) {
  const clock = { now: Math.floor(Date.now() / 1000) };
  const transmitter = await startTransmitter(clock);
  const { issuer } = transmitter;
  const provider = {
    id: 'files',
    name: 'Files',
    clientId: 'portcullis',
    scopes: ['openid'],
    kind: { issuer },
    sharedSignals: { transmitter: issuer, ...changes },
  };
  const t = await setFederationScene([provider]);
  t.clock.now = clock.now;
  const account = newFederatedAccount(issuer, 'eve', 'Eve', clock.now);
  await t.store.linkIdentity({ issuer, subject: 'eve', accountId: account.id }, account);
  const startSession = (hash: string, more: { createdAt?: number; providerSession?: string } = {}) =>
    t.store.saveSession(
      {
        ...{ hash, accountId: account.id, createdAt: clock.now, expiresAt: clock.now + 3600 },
        ...{ address: null, browser: null, ...more },
      },
      account.passwordHash,
    );
  await startSession('first');
  const sessions = async () =>
    (await t.store.listSessions(account.id, clock.now)).map(({ hash }) => hash).sort();
  const push = async (token: string, type = 'application/secevent+jwt') => {
    const headers = { 'content-type': type };
    const response = await t.server.handle(
      new Request(`${ISSUER}${ENDPOINT}`, { method: 'POST', headers, body: token }),
    );
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : (JSON.parse(text) as Json) };
  };
  const signEvent = (type: string, details: Json = {}, claims: Json = {}) =>
    transmitter.sign({ sub_id: subjectOf(issuer), events: { [type]: details }, ...claims });
  const outcomes = () =>
    t.events.flatMap((event) => (event.type === 'security_event.received' ? event.outcome : []));
  return { t, clock, transmitter, issuer, account, startSession, sessions, push, signEvent, outcomes };
}

const subjectOf = (iss: string) => ({ format: 'iss_sub', iss, sub: 'eve' });

const SECRET_CLIENT = { clientId: 'c', clientSecret: 's' };

const REVOKED = `${CAEP}session-revoked`;

describe('a pushed security event', () => {
  it.each<[string, Json, 'applied' | 'ignored']>([
    [REVOKED, {}, 'applied'],
    [`${CAEP}credential-change`, { credential_type: 'password', change_type: 'update' }, 'applied'],
    [`${CAEP}credential-change`, { credential_type: 'fido2-roaming', change_type: 'create' }, 'ignored'],
    [`${CAEP}assurance-level-change`, { change_direction: 'decrease' }, 'applied'],
    [`${CAEP}assurance-level-change`, { change_direction: 'increase' }, 'ignored'],
    [`${CAEP}device-compliance-change`, { current_status: 'not-compliant' }, 'applied'],
    [`${CAEP}device-compliance-change`, { current_status: 'compliant' }, 'ignored'],
    [`${RISC}account-disabled`, { reason: 'hijacking' }, 'applied'],
    [`${RISC}account-purged`, {}, 'applied'],
    [`${RISC}sessions-revoked`, {}, 'applied'],
    [`${RISC}credential-compromise`, {}, 'applied'],
    [`${RISC}account-credential-change-required`, {}, 'applied'],
    [`${RISC}account-enabled`, {}, 'ignored'],
    ['https://vendor.example/event', {}, 'ignored'],
  ])('%s %j is %s', async (type, details, outcome) => {
    const { push, signEvent, sessions, outcomes } = await setScene();
    expect(await push(await signEvent(type, details))).toEqual({ status: 202, body: null });
    expect(await sessions()).toEqual(outcome === 'applied' ? [] : ['first']);
    expect(outcomes()).toEqual([outcome]);
  });

  it.each<[string, (issuer: string) => unknown]>([
    ['by issuer and subject', subjectOf],
    ['by an issuer with a slash at the end', (iss) => ({ ...subjectOf(`${iss}/`) })],
    ['as before RFC 9493', (iss) => ({ subject_type: 'iss-sub', iss, sub: 'eve' })],
    ['by an opaque identifier', () => ({ format: 'opaque', id: 'eve' })],
    [
      'by one of several identifiers',
      (iss) => ({ format: 'aliases', identifiers: [{ format: 'opaque', id: 'unknown' }, subjectOf(iss)] }),
    ],
    [
      'as the user of a complex subject',
      (iss) => ({ format: 'complex', user: subjectOf(iss), tenant: { format: 'opaque', id: 'acme' } }),
    ],
  ])('names its user %s', async (_description, subject) => {
    const { issuer, push, signEvent, sessions } = await setScene();
    await push(await signEvent(REVOKED, {}, { sub_id: subject(issuer) }));
    expect(await sessions()).toEqual([]);
  });

  it('names its user inside of the event, as before the final framework', async () => {
    const { issuer, push, signEvent, sessions } = await setScene();
    await push(await signEvent(REVOKED, { subject: subjectOf(issuer) }, { sub_id: undefined }));
    expect(await sessions()).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['another user', { format: 'opaque', id: 'mallory' }],
    ['a user of another issuer', { format: 'iss_sub', iss: 'https://other.example', sub: 'eve' }],
    ['an address that no user of the provider has', { format: 'email', email: 'eve@example.com' }],
    ['a user that no database stores', { format: 'opaque', id: 'eve\0' }],
    ['a user in a format that is not known', { format: 'did', url: 'did:example:eve' }],
    ['no user', undefined],
    ['a text', 'eve'],
  ])('about %s is accepted, and changes nothing', async (_description, subject) => {
    const { t, push, signEvent, outcomes } = await setScene();
    const before = t.snapshot();
    expect((await push(await signEvent(REVOKED, {}, { sub_id: subject }))).status).toBe(202);
    expect(t.snapshot()).toBe(before);
    expect(outcomes()).toEqual(['unknown_subject']);
  });

  it('ends the one session that it names', async () => {
    const { issuer, push, signEvent, sessions, startSession } = await setScene();
    await startSession('of another session there', { providerSession: 'another' });
    const session = { format: 'opaque', id: 's1' };
    await push(
      await signEvent(REVOKED, {}, { sub_id: { format: 'complex', user: subjectOf(issuer), session } }),
    );
    expect(await sessions()).toEqual(['of another session there']);
  });

  it('that is sent again ends no session that began after it', async () => {
    const { t, clock, push, signEvent, sessions, startSession } = await setScene();
    const token = await signEvent(REVOKED);
    await push(token);
    await startSession('later', { createdAt: clock.now + 60 });
    t.clock.now = clock.now + 60;
    expect((await push(token)).status).toBe(202);
    expect(await sessions()).toEqual(['later']);
  });
});

describe('a security event of a transmitter that is not the identity provider itself', () => {
  it.each([
    [REVOKED, {}, [400, 200]],
    [`${CAEP}credential-change`, { change_type: 'revoke' }, [200, 200]],
  ] as const)(
    '%s %j ends the session of the user, and grants as it says: %j',
    async (type, details, expected) => {
      // The event has to be later than the sign-in.
      const transmitter = await startTransmitter({
        get now() {
          return Math.floor(Date.now() / 1000);
        },
      });
      const sharedSignals = { transmitter: transmitter.issuer, audience: [AUDIENCE] };
      const files = await startProvider(() => startOidc(), 'files');
      const t = await setFederationScene([openId(files, { sharedSignals })]);
      const bob = t.visitor;
      const other = createVisitor(t.server);
      const grants = [
        await redeemAt(t, await logInByProvider(bob, undefined, { login: 'bob' })),
        await redeemAt(t, await logInByProvider(other)),
      ];
      const token = await transmitter.sign({
        sub_id: { format: 'iss_sub', iss: files.origin, sub: 'bob' },
        events: { [type]: details },
      });
      const headers = { 'content-type': 'application/secevent+jwt' };
      const pushed = new Request(`${ISSUER}${ENDPOINT}`, { method: 'POST', headers, body: token });
      expect((await t.server.handle(pushed)).status).toBe(202);
      expect((await bob.open('/connections')).path).not.toBe('/connections');
      expect((await other.open('/connections')).path).toBe('/connections');
      const refreshed = grants.map(({ body }) =>
        t.post('/token', {
          grant_type: 'refresh_token',
          refresh_token: String(body['refresh_token']),
          client_id: 'web',
          client_secret: 'web-secret',
        }),
      );
      expect((await Promise.all(refreshed)).map(({ status }) => status)).toEqual(expected);
    },
  );
});

describe('a pushed security event token', () => {
  it.each<[string, Json, Json, string]>([
    ['of another issuer', { iss: 'https://other.example' }, {}, 'invalid_issuer'],
    ['for another receiver', { aud: 'https://other.example' }, {}, 'invalid_audience'],
    ['of an unknown key', {}, { kid: 'two' }, 'invalid_key'],
    ['of another type', {}, { typ: 'JWT' }, 'invalid_request'],
    ['that could be a logout token', {}, { typ: 'logout+jwt' }, 'invalid_request'],
    ['that expires', { exp: 4_000_000_000 }, {}, 'invalid_request'],
    ['with a subject of its own', { sub: 'eve' }, {}, 'invalid_request'],
    ['without iat', { iat: undefined }, {}, 'invalid_request'],
    ['without jti', { jti: undefined }, {}, 'invalid_request'],
    ['of tomorrow', { iat: Math.floor(Date.now() / 1000) + 86_400 }, {}, 'invalid_request'],
    ['without events', { events: undefined }, {}, 'invalid_request'],
    ['with no event', { events: {} }, {}, 'invalid_request'],
    ['whose event is no object', { events: { [REVOKED]: true } }, {}, 'invalid_request'],
    ['that is too long', { more: 'x'.repeat(16_384) }, {}, 'invalid_request'],
  ])('%s is refused and ends nothing', async (_description, claims, header, err) => {
    const { t, issuer, transmitter, push, signEvent, sessions } = await setScene();
    const before = t.snapshot();
    const valid = { sub_id: subjectOf(issuer), events: { [REVOKED]: {} } };
    const refused = await push(await transmitter.sign({ ...valid, ...claims }, header));
    expect(refused).toEqual({ status: 400, body: { err, description: expect.any(String) } });
    expect(t.snapshot()).toBe(before);
    expect((await push(await signEvent(REVOKED))).status).toBe(202);
    expect(await sessions()).toEqual([]);
  });

  it.each([
    ['as a form', 'application/x-www-form-urlencoded'],
    ['as JSON', 'application/json'],
  ])('sent %s is refused and ends nothing', async (_description, type) => {
    const { push, signEvent, sessions } = await setScene();
    const token = await signEvent(REVOKED);
    expect(await push(token, type)).toMatchObject({ status: 400, body: { err: 'invalid_request' } });
    expect(await sessions()).toEqual(['first']);
    expect((await push(token)).status).toBe(202);
  });

  it('is 503 while the transmitter has never been reached, and takes effect when it is sent again', async () => {
    const { transmitter, push, signEvent, sessions } = await setScene();
    transmitter.isDown = true;
    const token = await signEvent(REVOKED);
    expect((await push(token)).status).toBe(503);
    expect(await sessions()).toEqual(['first']);
    transmitter.isDown = false;
    expect((await push(token)).status).toBe(202);
    expect(await sessions()).toEqual([]);
  });

  it.each([
    ['an hour has passed', 0, 3600],
    ['a clock that was ahead is corrected', 7200, -7200],
  ])(
    'is 503 while the transmitter names keys in a private network, until %s',
    async (_when, ahead, later) => {
      const { t, transmitter, push, signEvent, sessions } = await setScene();
      t.clock.now += ahead;
      transmitter.jwksUri = 'https://10.0.0.1/keys';
      const before = t.snapshot();
      expect((await push(await signEvent(REVOKED))).status).toBe(503);
      expect(t.events.at(-1)).toMatchObject({ reason: expect.stringContaining('address: ') });
      expect(t.snapshot()).toBe(before);
      t.clock.now += later;
      transmitter.jwksUri = `${transmitter.issuer}/keys`;
      expect((await push(await signEvent(REVOKED))).status).toBe(202);
      expect(await sessions()).toEqual([]);
    },
  );

  it('takes effect 1,000 times at once with one look at the transmitter', async () => {
    const { transmitter, push, signEvent, sessions } = await setScene();
    const token = await signEvent(REVOKED);
    const statuses = await Promise.all(Array.from({ length: 1_000 }, async () => (await push(token)).status));
    expect(new Set(statuses)).toEqual(new Set([202]));
    expect(await sessions()).toEqual([]);
    expect(transmitter.requests.map(({ path }) => path)).toEqual(['/.well-known/ssf-configuration', '/keys']);
  });
});

describe('a stream that this server manages', () => {
  it('is created once, verified, and its audience is the one that counts', async () => {
    const { t, transmitter, push, signEvent, sessions } = await setScene({ token: TOKEN });
    const verification = await expect
      .poll(() => transmitter.requests.find(({ path }) => path === '/verify'))
      .toBeDefined()
      .then(() => transmitter.requests.find(({ path }) => path === '/verify'));
    expect(transmitter.streams).toEqual([
      expect.objectContaining({
        delivery: { method: 'urn:ietf:rfc:8935', endpoint_url: `${new URL(ISSUER).origin}${ENDPOINT}` },
        events_requested: expect.arrayContaining([REVOKED, `${RISC}account-disabled`]),
      }),
    ]);
    const { stream_id: id, state } = verification?.body ?? {};
    const stream = { sub_id: { format: 'opaque', id } };
    expect(await push(await signEvent(`${SSF}verification`, { state: 'forged' }, stream))).toMatchObject({
      status: 202,
    });
    expect(t.events.map(({ type }) => type)).not.toContain('security_event_stream.verified');
    await push(await signEvent(`${SSF}verification`, { state }, stream));
    expect(t.events.map(({ type }) => type)).toContain('security_event_stream.verified');
    await push(await signEvent(REVOKED));
    expect(await sessions()).toEqual([]);
    expect(transmitter.streams).toHaveLength(1);
  });

  it('reports that the transmitter paused it', async () => {
    const { t, push, signEvent } = await setScene();
    await push(await signEvent(`${SSF}stream-updated`, { status: 'paused' }));
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'security_event_stream.updated', status: 'paused' }),
    );
  });

  it('is polled: what took effect is acknowledged, what is not valid is refused', async () => {
    const { transmitter, signEvent, sessions } = await setScene({ token: TOKEN, delivery: 'poll' });
    transmitter.pending.set('one', await signEvent(REVOKED));
    transmitter.pending.set('two', await signEvent(REVOKED, {}, { aud: 'https://other.example' }));
    await expect.poll(() => transmitter.pending.size).toBe(0);
    expect(await sessions()).toEqual([]);
    const reported = transmitter.requests.filter(({ path }) => path === '/poll').map(({ body }) => body);
    expect(reported.flatMap(({ ack }) => ack)).toEqual(['one']);
    expect(Object.assign({}, ...reported.map(({ setErrs }) => setErrs))).toEqual({
      two: { err: 'invalid_audience', description: expect.any(String) },
    });
  });

  it('whose transmitter sends the same for ever is polled once a second, and one that goes on at once', async () => {
    const { transmitter, signEvent, sessions } = await setScene({ token: TOKEN, delivery: 'poll' });
    const polls = () => transmitter.requests.filter(({ path }) => path === '/poll');
    await expect.poll(() => polls().length).toBe(1);
    transmitter.repeats = true;
    transmitter.pending.set('one', await signEvent(REVOKED));
    await expect.poll(() => polls().length).toBe(3);
    expect(await sessions()).toEqual([]);
    const [, second, third] = polls();
    // The first token takes effect, so that the second poll follows at once; it brings the same.
    expect(second?.body['ack']).toEqual(['one']);
    expect(Number(third?.at) - Number(second?.at)).toBeGreaterThan(900);
  });

  it('is reported once while the transmitter is unavailable', async () => {
    const { t, transmitter } = await setScene({ token: 'a wrong token' });
    const failed = () => t.events.filter(({ type }) => type === 'security_event_stream.failed');
    await expect.poll(() => transmitter.requests.filter(({ path }) => path === '/streams').length).toBe(2);
    expect(failed()).toEqual([expect.objectContaining({ reason: 'it responded with status 401' })]);
  });
});

describe('the configuration', () => {
  it.each<[string, Settings, RegExp]>([
    ['without token, client and audience', {}, /needs `token` or `client`/],
    ['that polls without a token', { delivery: 'poll', audience: ['a'] }, /token.*is required to poll/],
    ['with a token and a client', { token: 'a', client: SECRET_CLIENT }, /must not be combined with token/],
    ['whose client has no secret', { client: { clientId: 'c' } }, /clientSecret.*or clientKey is required/],
    [
      'whose client has an invalid key',
      { client: { clientId: 'c', clientKey: { key: 'no key' } } },
      /client\.clientKey\.key.*must be a private key/,
    ],
    [
      'whose client has a secret and a method for a key',
      { client: { ...SECRET_CLIENT, clientAuthentication: 'private_key_jwt' } },
      /client\.clientAuthentication.*needs clientKey/,
    ],
    [
      'whose authorization server has no TLS',
      { client: { ...SECRET_CLIENT, authorizationServer: 'http://as.example' } },
      /client\.authorizationServer.*must be an https URL/,
    ],
    [
      'with a transmitter without TLS',
      { transmitter: 'http://id.example', audience: ['a'] },
      /must be an https URL/,
    ],
  ])('%s is an issue', async (_description, sharedSignals, issue) => {
    const { t } = await setScene();
    const provider = { id: 'p', name: 'P', clientId: 'c', scopes: ['openid'] };
    const identityProviders = [{ ...provider, kind: { issuer: 'https://id.example' }, sharedSignals }];
    const options = { issuer: ISSUER, store: t.store, masterKey: MASTER_KEY, resources: RESOURCES };
    await expect(createAuthorizationServer({ ...options, identityProviders })).rejects.toThrow(issue);
  });

  it('with a client needs neither a token nor an audience', async () => {
    const { t } = await setScene({ client: SECRET_CLIENT });
    expect((await t.server.handle(new Request(`${ISSUER}/jwks`))).status).toBe(200);
  });

  it('that polls has no endpoint', async () => {
    const { push, signEvent } = await setScene({ delivery: 'poll', token: TOKEN });
    expect((await push(await signEvent(REVOKED))).status).toBe(404);
  });
});
