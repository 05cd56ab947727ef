/** Back-channel logout: by oidc-provider, which sends its own logout tokens, and by tokens signed here. */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { startOidc } from '../../../tests/support/identity-providers/oidc.ts';
import { verifyLogoutToken } from '../src/back-channel-logout/back-channel-logout.ts';
import { newFederatedAccount } from '../src/federation/linked-users.ts';
import type { AuthorizationServerOptions, IdentityProviderOptions } from '../src/index.ts';
import { createAuthorizationServer } from '../src/index.ts';
import { startAssertionIssuer } from './assertion-issuer.ts';
import {
  type FederationScene,
  logInByProvider,
  logOutAtProvider,
  openId,
  redeemAt,
  setFederationScene,
  startProvider,
} from './federation-scene.ts';
import { ISSUER, MASTER_KEY, RESOURCES } from './server-under-test.ts';
import { createVisitor } from './visitor.ts';

const ENDPOINT = '/back-channel-logout/files';
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * @param namesSession whether its logout tokens have a `sid`
 * @param ahead seconds by which the clock is ahead while users sign in
 */
async function setScene(backChannelLogout: 'sessions' | 'everything', namesSession: boolean, ahead = 0) {
  const client = {
    token_endpoint_auth_method: 'client_secret_basic',
    backchannel_logout_uri: `${ISSUER}${ENDPOINT}`,
    backchannel_logout_session_required: namesSession,
  };
  const files = await startProvider(() => startOidc(client), 'files');
  const t = await setFederationScene([openId(files, { backChannelLogout })]);
  const responses: Response[] = [];
  files.deliver = async (request) => {
    const response = await t.server.handle(request);
    responses.push(response.clone());
    return response;
  };
  t.clock.now += ahead;
  const laptop = t.visitor;
  const phone = createVisitor(t.server);
  const other = createVisitor(t.server);
  const grants = new Map([
    [laptop, await redeemAt(t, await logInByProvider(laptop))],
    [phone, await redeemAt(t, await logInByProvider(phone))],
    [other, await redeemAt(t, await logInByProvider(other, undefined, { login: 'bob' }))],
  ]);
  t.clock.now -= ahead;
  const isSignedIn = async (visitor: typeof laptop) =>
    (await visitor.open('/connections')).path === '/connections';
  const refresh = async (visitor: typeof laptop) => {
    const { refresh_token: token } = grants.get(visitor)?.body ?? {};
    const fields = { grant_type: 'refresh_token', refresh_token: String(token) };
    return (await t.post('/token', { ...fields, client_id: 'web', client_secret: 'web-secret' })).status;
  };
  const states = async (of: (visitor: typeof laptop) => Promise<unknown>) => [
    await of(laptop),
    await of(phone),
    await of(other),
  ];
  return { t, files, laptop, responses, isSignedIn, refresh, states };
}

describe('a logout at oidc-provider', () => {
  it('ends the session that it names, and no other; grants remain', async () => {
    const { files, laptop, responses, isSignedIn, refresh, states, t } = await setScene('sessions', true);
    expect(await states(isSignedIn)).toEqual([true, true, true]);
    await logOutAtProvider(laptop, files.origin);
    expect(responses.map(({ status, headers }) => [status, headers.get('cache-control')])).toEqual([
      [200, 'no-store'],
    ]);
    expect(await states(isSignedIn)).toEqual([false, true, true]);
    expect(await states(refresh)).toEqual([200, 200, 200]);
    expect(t.events).toContainEqual(
      expect.objectContaining({ type: 'session.ended', count: 1, identityProvider: 'files' }),
    );
  });

  it('ends all sessions of the user if it names none', async () => {
    const { files, laptop, isSignedIn, states } = await setScene('sessions', false);
    await logOutAtProvider(laptop, files.origin);
    expect(await states(isSignedIn)).toEqual([false, false, true]);
  });

  it('ends the grants of the user as well, if the provider is configured so', async () => {
    const { files, laptop, refresh, states } = await setScene('everything', true);
    await logOutAtProvider(laptop, files.origin);
    expect(await states(refresh)).toEqual([400, 400, 200]);
  });

  it('ends the session and grants of sign-ins while the clock was ahead', async () => {
    const { files, laptop, isSignedIn, refresh, states } = await setScene('everything', true, 240);
    await logOutAtProvider(laptop, files.origin);
    expect(await states(isSignedIn)).toEqual([false, true, true]);
    expect(await states(refresh)).toEqual([400, 400, 200]);
  });
});

/** A provider whose tokens are signed here, with a user who has a session. */
async function setSignedScene() {
  const clock = { now: Math.floor(Date.now() / 1000) };
  const provider = await startAssertionIssuer(clock);
  const t: FederationScene = await setFederationScene([
    {
      id: 'files',
      name: 'Files',
      clientId: 'portcullis',
      scopes: ['openid'],
      kind: { issuer: provider.issuer },
      backChannelLogout: 'sessions',
    },
  ]);
  t.clock.now = clock.now;
  const account = newFederatedAccount(provider.issuer, 'eve', 'Eve', clock.now);
  await t.store.linkIdentity({ issuer: provider.issuer, subject: 'eve', accountId: account.id }, account);
  const startSession = (hash: string, createdAt = clock.now) =>
    t.store.saveSession(
      {
        hash,
        accountId: account.id,
        createdAt,
        expiresAt: clock.now + 3600,
        address: null,
        browser: null,
      },
      account.passwordHash,
    );
  await startSession('first');
  const sessions = async () =>
    (await t.store.listSessions(account.id, clock.now)).map(({ hash }) => hash).sort();
  const sign = (claims: Readonly<Record<string, unknown>> = {}, header = {}) =>
    provider.workload(
      { sub: 'eve', aud: 'portcullis', events: { [EVENT]: {} }, ...claims },
      { typ: 'logout+jwt', ...header },
    );
  return { t, clock, provider, sign, sessions, startSession, accountId: account.id };
}

describe('a logout token', () => {
  it.each<[string, Readonly<Record<string, unknown>>, object?]>([
    ['of another issuer', { iss: 'https://other.example' }],
    ['for another client', { aud: 'another' }],
    ['that has expired', { iat: 1_700_000_000, exp: 1_700_000_120 }],
    ['without exp', { exp: undefined }],
    ['without iat', { iat: undefined }],
    ['without jti', { jti: undefined }],
    ['that lives for a day', { exp: Math.floor(Date.now() / 1000) + 86_400 }],
    [
      'of tomorrow',
      { iat: Math.floor(Date.now() / 1000) + 86_400, exp: Math.floor(Date.now() / 1000) + 86_500 },
    ],
    ['with a nonce, which is an ID token', { nonce: 'a' }],
    ['without events', { events: undefined }],
    [
      'with another event',
      { events: { 'https://schemas.openid.net/secevent/caep/event-type/session-revoked': {} } },
    ],
    ['whose event is no object', { events: { [EVENT]: true } }],
    ['without user and session', { sub: undefined }],
    ['whose session is no text', { sid: 7 }],
    ['of another type', {}, { typ: 'at+jwt' }],
    ['whose session is empty', { sid: '' }],
    ['whose user no database stores', { sub: 'eve\0' }],
    ['whose user is too long', { sub: 'e'.repeat(256) }],
    ['that is too long', { more: 'x'.repeat(16_384) }],
  ])('%s is refused and ends nothing', async (_description, claims, header = {}) => {
    const { t, sign, sessions } = await setSignedScene();
    const before = t.snapshot();
    const refused = await t.post(ENDPOINT, { logout_token: await sign(claims, header) });
    expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_request']);
    expect(refused.headers.get('cache-control')).toBe('no-store');
    expect(t.snapshot()).toBe(before);
    expect((await t.post(ENDPOINT, { logout_token: await sign() })).status).toBe(200);
    expect(await sessions()).toEqual([]);
  });

  it('of a key that the provider does not publish is refused and ends nothing', async () => {
    const { t, provider, sign, sessions } = await setSignedScene();
    const forger = await startAssertionIssuer(t.clock);
    const forged = await forger.workload(
      { iss: provider.issuer, sub: 'eve', aud: 'portcullis', events: { [EVENT]: {} } },
      { typ: 'logout+jwt' },
    );
    expect((await t.post(ENDPOINT, { logout_token: forged })).status).toBe(400);
    expect((await t.post(ENDPOINT, {})).status).toBe(400);
    expect(await sessions()).toEqual(['first']);
    expect((await t.post(ENDPOINT, { logout_token: await sign() })).status).toBe(200);
  });

  it.each(['none', 'HS256'])('with the algorithm %s is refused and ends nothing', async (alg) => {
    const { t, sign, sessions } = await setSignedScene();
    const [, payload = ''] = (await sign()).split('.');
    const header = Buffer.from(JSON.stringify({ alg, typ: 'logout+jwt' })).toString('base64url');
    const signature = createHmac('sha256', '').update(`${header}.${payload}`).digest('base64url');
    const before = t.snapshot();
    const forged = `${header}.${payload}.${alg === 'none' ? '' : signature}`;
    expect((await t.post(ENDPOINT, { logout_token: forged })).status).toBe(400);
    expect(t.snapshot()).toBe(before);
    expect((await t.post(ENDPOINT, { logout_token: await sign() })).status).toBe(200);
    expect(await sessions()).toEqual([]);
  });

  it('may have a time with a fraction, which is stored in whole seconds', async () => {
    const { clock, provider, sign } = await setSignedScene();
    const keys = async () => JSON.parse(await (await fetch(`${provider.issuer}/keys`)).text());
    const rules = { issuer: provider.issuer, audience: 'portcullis', now: clock.now };
    const token = await sign({ iat: clock.now - 0.5 });
    expect(await verifyLogoutToken(token, rules, keys)).toMatchObject({ issuedAt: clock.now - 1 });
  });

  it('that is sent again ends no session that began after it', async () => {
    const { t, clock, sign, sessions, startSession } = await setSignedScene();
    const token = await sign();
    expect((await t.post(ENDPOINT, { logout_token: token })).status).toBe(200);
    await startSession('later', clock.now + 60);
    t.clock.now = clock.now + 60;
    expect((await t.post(ENDPOINT, { logout_token: token })).status).toBe(200);
    expect(await sessions()).toEqual(['later']);
  });

  it('of a session that is not known ends sessions of the user whose session at the provider is not known', async () => {
    const { t, clock, sign, sessions, accountId } = await setSignedScene();
    const session = { accountId, createdAt: clock.now, expiresAt: clock.now + 3600 };
    const named = { ...session, hash: 'named', address: null, browser: null, providerSession: 'another' };
    await t.store.saveSession(named, (await t.store.findAccount(accountId))?.passwordHash ?? '');
    expect((await t.post(ENDPOINT, { logout_token: await sign({ sid: 's1' }) })).status).toBe(200);
    expect(await sessions()).toEqual(['named']);
  });

  it('of an unknown user is accepted, and ends nothing', async () => {
    const { t, sign, sessions } = await setSignedScene();
    expect((await t.post(ENDPOINT, { logout_token: await sign({ sub: 'mallory' }) })).status).toBe(200);
    expect(await sessions()).toEqual(['first']);
  });
});

describe('without back-channel logout', () => {
  const provider: IdentityProviderOptions = {
    id: 'files',
    name: 'Files',
    clientId: 'portcullis',
    scopes: ['openid'],
    kind: { issuer: 'https://id.example' },
  };

  it('there is no endpoint', async () => {
    const t = await setFederationScene([provider]);
    expect((await t.post(ENDPOINT, { logout_token: 'a.b.c' })).status).toBe(404);
  });

  it('a plain OAuth 2.0 provider cannot have it, because it signs no tokens', async () => {
    const kind = {
      endpoints: {
        authorization: 'https://id.example/a',
        token: 'https://id.example/t',
        userinfo: 'https://id.example/u',
      },
      userinfoClaims: { subject: 'id' },
    };
    const t = await setFederationScene([provider]);
    const options = { issuer: ISSUER, store: t.store, masterKey: MASTER_KEY, resources: RESOURCES };
    const plain = { ...provider, kind, backChannelLogout: 'sessions' } as const;
    const starting = createAuthorizationServer({
      ...options,
      identityProviders: [plain],
    } as AuthorizationServerOptions as never);
    await expect(starting).rejects.toThrow(/backChannelLogout.*is for OpenID Connect providers/);
  });
});
