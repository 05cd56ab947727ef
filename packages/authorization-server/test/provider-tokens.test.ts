/** Provider tokens: grants live while they do; they are refreshed once for all processes, and revoked with their grant. */

import type { AccessTokenClaims } from '@portcullis/protocol';
import { decodeJwt } from 'jose';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startGithub } from '../../../tests/support/identity-providers/github.ts';
import { startMisbehaving } from '../../../tests/support/identity-providers/misbehaving.ts';
import { startPostgres } from '../../../tests/support/postgres.ts';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { nextLivenessAction } from '../src/federation/liveness-rule.ts';
import { createProviderClient } from '../src/federation/provider/client.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
  type IdentityProviderOptions,
} from '../src/index.ts';
import { createServerContext } from '../src/server.ts';
import {
  type FederationScene,
  logInByProvider,
  openId,
  plain,
  redeemAt,
  setFederationScene,
  startFiles,
  startProvider,
  until,
} from './federation-scene.ts';
import { basic, CLIENTS, claimsOf, ISSUER, MASTER_KEY, RESOURCES, refreshing } from './server-under-test.ts';
import { requestOf, textOf } from './visitor.ts';

const startLiar = () => startProvider(startMisbehaving, 'files');
const startHub = () => startProvider(startGithub, 'hub');

/** A user who has signed in there, with the tokens of their client. */
interface SignedIn {
  readonly t: FederationScene;
  readonly claims: AccessTokenClaims & { readonly grant_id: string };
  readonly accessToken: string;
  readonly refreshToken: string;
}

async function signIn(
  identityProvider: IdentityProviderOptions,
  options: Partial<AuthorizationServerOptions> = {},
  path: string = requestOf(),
): Promise<SignedIn> {
  const t = await setFederationScene([identityProvider], options);
  const { body } = await redeemAt(t, await logInByProvider(t.visitor, path));
  const accessToken = String(body['access_token']);
  return {
    t,
    accessToken,
    refreshToken: String(body['refresh_token']),
    claims: claimsOf(accessToken) as never,
  };
}

/** Another process on the same store. */
async function anotherProcess(
  t: FederationScene,
  identityProvider: IdentityProviderOptions,
): Promise<AuthorizationServer> {
  const server = await createAuthorizationServer({
    issuer: ISSUER,
    store: t.store,
    masterKey: MASTER_KEY,
    resources: RESOURCES,
    clients: CLIENTS,
    identityProviders: [identityProvider],
    localAccounts: false,
    clock: () => t.clock.now,
    events: (event) => t.events.push(event),
  });
  onTestFinished(() => server.close());
  return server;
}

const refreshAt = (server: AuthorizationServer, token: string) =>
  server.handle(
    new Request(`${ISSUER}/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...refreshing(token, 'web'), client_secret: 'web-secret' }),
    }),
  );

const refresh = (t: FederationScene, token: string) =>
  t.post('/token', { ...refreshing(token, 'web'), client_secret: 'web-secret' });

describe('the next action for provider tokens', () => {
  const alive = {
    endedAt: null,
    endReason: null,
    expiresAt: 1000,
    isRefreshable: true,
    refreshFrom: 940,
    checkedAt: 500,
  };
  it.each([
    {
      description: 'none within the status check interval',
      given: {},
      now: 559,
      expected: { action: 'use', until: 560 },
    },
    {
      description: 'a status check after it',
      given: {},
      now: 560,
      expected: { action: 'check_status' },
    },
    {
      description: 'none after a status check by a clock that is a minute ahead',
      given: { checkedAt: 620 },
      now: 560,
      expected: { action: 'use', until: 680 },
    },
    {
      description: 'a status check after one by a clock that was farther ahead',
      given: { checkedAt: 621 },
      now: 560,
      expected: { action: 'check_status' },
    },
    {
      description: 'none, but at most until the early refresh',
      given: { checkedAt: 930 },
      now: 935,
      expected: { action: 'use', until: 940 },
    },
    {
      description: 'an early refresh',
      given: { checkedAt: 930 },
      now: 940,
      expected: { action: 'refresh_ahead' },
    },
    { description: 'a refresh', given: { checkedAt: 999 }, now: 1000, expected: { action: 'refresh' } },
    {
      description: 'the end, if it cannot be refreshed',
      given: { isRefreshable: false, refreshFrom: null, checkedAt: 999 },
      now: 1000,
      expected: { action: 'end', reason: 'expired_at_provider' },
    },
    {
      description: 'none, but at most until its expiry',
      given: { isRefreshable: false, refreshFrom: null, checkedAt: 990 },
      now: 999,
      expected: { action: 'use', until: 1000 },
    },
    {
      description: 'none for a token that never expires',
      given: { expiresAt: null, refreshFrom: null, checkedAt: 5000 },
      now: 5001,
      expected: { action: 'use', until: 5060 },
    },
    {
      description: 'to report the recorded end',
      given: { endedAt: 1, endReason: 'grant_expired' as const },
      now: 501,
      expected: { action: 'end', reason: 'grant_expired' },
    },
  ])('the next action for provider tokens is $description', ({ given, now, expected }) => {
    expect(nextLivenessAction({ ...alive, ...given }, now, 60)).toEqual(expected);
  });
});

describe('liveness of provider tokens', () => {
  it('[GW-3P-10] rejects our token within the status check interval after the identity provider revoked its own', async () => {
    const files = await startFiles();
    const { t, claims, refreshToken } = await signIn(openId(files, { statusCheckInterval: 30 }));
    expect(await t.server.isLive(claims)).toBe(true);
    await files.revokeAll();
    t.clock.now += 29;
    expect(await t.server.isLive(claims)).toBe(true);
    t.clock.now += 1;
    expect(await t.server.isLive(claims)).toBe(false);
    expect(t.events.find(({ type }) => type === 'provider_token.ended')).toMatchObject({
      reason: 'revoked_by_provider',
      grantId: claims.grant_id,
    });
    expect((await refresh(t, refreshToken)).body).toMatchObject({ error: 'invalid_grant' });
    await expect(t.server.upstreamToken(claims)).rejects.toMatchObject({ code: 'invalid_grant' });
  });

  it('[GW-3P-10] a clock that was ahead for a while switches no status checks off, in no process', async () => {
    const files = await startFiles();
    const identityProvider = openId(files, { statusCheckInterval: 30 });
    const { t, claims } = await signIn(identityProvider);
    const other = await anotherProcess(t, identityProvider);
    t.clock.now += 1800;
    expect(await t.server.isLive(claims)).toBe(true);
    t.clock.now -= 1800;
    expect(await other.isLive(claims)).toBe(true);
    expect((await t.store.findProviderTokens(claims.grant_id))?.checkedAt).toBe(t.clock.now);
    await files.revokeAll();
    t.clock.now += 30;
    expect(await t.server.isLive(claims)).toBe(false);
    expect(await other.isLive(claims)).toBe(false);
  });

  it('[GW-3P-10 X-EMA-6] a refresh token yields no ID-JAG once the identity provider has revoked its own tokens', async () => {
    const files = await startFiles();
    const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
    const type = 'urn:ietf:params:oauth:token-type';
    const audience = 'https://chat.example';
    const [grant_types, assertionAudiences] = [
      ['authorization_code', 'refresh_token', exchange],
      [{ audience, clients: { web: 'web-there' } }],
    ];
    const clients = CLIENTS.map((one) => ({
      ...one,
      ...('client_id' in one && one.client_id === 'web' && { grant_types }),
    }));
    const { t, refreshToken } = await signIn(openId(files, { statusCheckInterval: 30 }), {
      clients,
      assertionAudiences,
    });
    const ask = () =>
      t.post('/token', {
        grant_type: exchange,
        client_id: 'web',
        client_secret: 'web-secret',
        requested_token_type: `${type}:id-jag`,
        audience,
        subject_token: refreshToken,
        subject_token_type: `${type}:refresh_token`,
      });
    expect((await ask()).status).toBe(200);
    await files.revokeAll();
    t.clock.now += 30;
    const { status, body } = await ask();
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('[GW-3P-10] introspection says the same as the guard', async () => {
    const hub = await startHub();
    const { t, accessToken } = await signIn(plain(hub, { statusCheckInterval: 10 }));
    const ask = async () =>
      (await t.post('/introspect', { token: accessToken }, basic('notes-server', 'notes-server-secret')))
        .body;
    expect(await ask()).toMatchObject({ active: true });
    hub.revokeAll();
    t.clock.now += 10;
    expect(await ask()).toEqual({ active: false });
  });

  it('checks the status once for a hundred concurrent requests, and then not before the interval', async () => {
    const hub = await startHub();
    const { t, claims } = await signIn(plain(hub));
    t.clock.now += 60;
    const before = hub.count('GET /user');
    await Promise.all(Array.from({ length: 100 }, () => t.server.isLive(claims)));
    t.clock.now += 59;
    await t.server.isLive(claims);
    expect(hub.count('GET /user')).toBe(before + 1);
    t.clock.now += 1;
    await t.server.isLive(claims);
    expect(hub.count('GET /user')).toBe(before + 2);
  });

  it.each([500, 503, 429])(
    '[GW-3P-17] answers 503 and ends nothing while the identity provider answers %i',
    async (status) => {
      const hub = await startHub();
      const { t, claims, accessToken, refreshToken } = await signIn(plain(hub));
      hub.outage = status;
      t.clock.now += 60;
      const before = t.snapshot();
      await expect(t.server.isLive(claims)).rejects.toMatchObject({
        code: 'temporarily_unavailable',
        status: 503,
      });
      const asked = await t.post(
        '/introspect',
        { token: accessToken },
        basic('notes-server', 'notes-server-secret'),
      );
      expect([asked.status, asked.headers.get('retry-after')]).toEqual([503, '5']);
      const refreshed = await refresh(t, refreshToken);
      expect([refreshed.status, refreshed.body['error']]).toEqual([503, 'temporarily_unavailable']);
      expect(Number(refreshed.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(t.snapshot()).toBe(before);
      const asks = hub.count('GET /user');
      await expect(t.server.isLive(claims)).rejects.toMatchObject({ status: 503 });
      expect(hub.count('GET /user')).toBe(asks);

      hub.outage = null;
      t.clock.now += 5;
      expect(await t.server.isLive(claims)).toBe(true);
      expect((await refresh(t, refreshToken)).status).toBe(200);
    },
  );

  it('sends a slow identity provider at most a hundred requests at once, and answers 503 to the rest', async () => {
    const hub = await startHub();
    const { t, claims } = await signIn(plain(hub));
    const { accessToken } = await t.server.upstreamToken(claims);
    const context = createServerContext({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      identityProviders: [plain(hub)],
    });
    const [identityProvider] = context.options.identityProviders.values();
    if (identityProvider === undefined) throw new Error('there is no identity provider');
    const provider = createProviderClient(context, identityProvider);
    const tokens = { accessToken, tokenType: 'Bearer', refreshToken: null };
    const subject = String((await t.store.findProviderTokens(claims.grant_id))?.subject);
    hub.delay = 300;
    const answers = await Promise.allSettled(
      Array.from({ length: 120 }, () => provider.checkStatus(tokens, subject)),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(100);
    for (const answer of answers.slice(100)) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { kind: 'outage', retryAfter: 1 } });
    }
    expect(await provider.checkStatus(tokens, subject)).toBe('alive');
  });

  it('ends a grant whose provider token suddenly belongs to another user', async () => {
    const liar = await startLiar();
    const { t, claims } = await signIn(openId(liar, { status: 'userinfo' }));
    liar.at('userinfo', { kind: 'members', members: { sub: 'mallory' } });
    t.clock.now += 60;
    expect(await t.server.isLive(claims)).toBe(false);
    expect(t.events.find(({ type }) => type === 'provider_token.ended')).toMatchObject({
      reason: 'changed_by_provider',
    });
  });

  it.each(['interaction_required', 'consent_required', 'login_required'])(
    'ends the grant with a sentence for the user when a refresh is answered with %s, and not before',
    async (error) => {
      const liar = await startLiar();
      const { t, claims, refreshToken } = await signIn(openId(liar));
      t.clock.now += 3590;
      liar.at('refresh', { kind: 'error', error: 'temporarily_unavailable', status: 503 });
      const { status, body } = await refresh(t, refreshToken);
      expect([status, t.events.filter(({ type }) => type === 'provider_token.ended')]).toEqual([200, []]);
      liar.at('refresh', { kind: 'error', error });
      t.clock.now += 60;
      expect((await refresh(t, String(body['refresh_token']))).body).toEqual({
        error: 'invalid_grant',
        error_description:
          'The identity provider asks its user to sign in or to consent again. Start a new authorization request.',
      });
      expect(t.events.find(({ type }) => type === 'provider_token.ended')).toMatchObject({
        reason: 'login_required',
      });
      expect(await t.server.isLive(claims)).toBe(false);
    },
  );

  it('rejects tokens of an identity provider removed from the configuration, without ending their grants', async () => {
    const files = await startFiles();
    const { t, claims } = await signIn(openId(files));
    const server = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      clock: () => t.clock.now,
    });
    onTestFinished(() => server.close());
    expect(await server.isLive(claims)).toBe(false);
    expect(await t.server.isLive(claims)).toBe(true);
  });
});

describe('tokens of an identity provider whose issuer has changed', () => {
  /** A user with tokens of the first issuer, and a process that is configured with another one under the same identifier. */
  async function changed() {
    const [files, other] = [await startFiles(), await startFiles()];
    const signedIn = await signIn(openId(files));
    const before = await signedIn.t.store.findProviderTokens(signedIn.claims.grant_id);
    await signedIn.t.server.close();
    return { ...signedIn, files, other, before, server: await anotherProcess(signedIn.t, openId(other)) };
  }

  it('are neither checked nor refreshed at the new one, and our tokens of their grant are rejected without ending it', async () => {
    const { t, claims, refreshToken, files, other, before, server } = await changed();
    for (const seconds of [0, 61, 3600]) {
      t.clock.now += seconds;
      expect(await server.isLive({ ...claims, exp: t.clock.now + 60 })).toBe(false);
      expect((await refreshAt(server, refreshToken)).status).toBe(400);
    }
    expect(other.received()).toBe('');
    // When they are due, the jobs look for their grant, and find it.
    expect(await t.store.findProviderTokens(claims.grant_id)).toEqual({
      ...before,
      dueAt: expect.any(Number),
    });
    const back = await anotherProcess(t, openId(files));
    expect((await refreshAt(back, refreshToken)).status).toBe(200);
  });

  it('are not revoked at the new one when their grant ends, but by a process that knows theirs', async () => {
    const { t, claims, files, other, before, server } = await changed();
    await server.accounts.disable(claims.sub);
    const find = () => t.store.findProviderTokens(claims.grant_id);
    await until(async () => ((await find())?.revocationAttempts ?? 0) > 0);
    await server.close();
    expect(await find()).toMatchObject({ encryptedTokens: before?.encryptedTokens });
    expect(other.received()).toBe('');
    t.clock.now += 3600;
    await anotherProcess(t, openId(files));
    await until(() => t.events.some(({ type }) => type === 'provider_token.revocation_finished'));
    expect(t.events.find(({ type }) => type === 'provider_token.revocation_finished')).toMatchObject({
      grantId: claims.grant_id,
      outcome: 'revoked',
    });
    expect(files.count('POST /token/revocation')).toBeGreaterThan(0);
    expect(other.received()).toBe('');
  });
});

describe('lifetimes and scopes', () => {
  it('[GW-3P-16] limits our token to the lifetime of a provider token that cannot be refreshed', async () => {
    const files = await startFiles();
    files.refreshable = false;
    files.tokenLifetime = 120;
    const { t, claims, refreshToken } = await signIn(openId(files));
    expect(claims.exp - claims.iat).toBeLessThanOrEqual(120);
    t.clock.now += 30;
    const { body } = await refresh(t, refreshToken);
    expect(body['expires_in']).toBeLessThanOrEqual(90);
    t.clock.now += 90;
    expect(await t.server.isLive(claims)).toBe(false);
    const late = await refresh(t, String(body['refresh_token']));
    expect(late.body).toMatchObject({ error: 'invalid_grant' });
    expect(t.events.find(({ type }) => type === 'provider_token.ended')).toMatchObject({
      reason: 'expired_at_provider',
    });
  });

  it('[GW-3P-16] does not limit our token to a provider token that can be refreshed', async () => {
    const files = await startFiles();
    files.tokenLifetime = 120;
    const { claims } = await signIn(openId(files));
    expect(claims.exp - claims.iat).toBe(600);
  });

  const needs = { 'notes:read': ['read:user'], 'notes:write': ['repo'] };

  it('[GW-3P-16] requests only the upstream scopes that our scopes need', async () => {
    const hub = await startHub();
    const t = await setFederationScene([plain(hub, { scopes: [], upstreamScopes: needs })]);
    const asked = await t.visitor.open(requestOf({ scope: 'notes:read' }));
    const { left } = await t.visitor.submit(asked, { decision: 'allow' });
    expect(left?.searchParams.get('scope')).toBe('read:user');
  });

  it('[GW-3P-16] consent says in words what the provider shares with this server, and names other scopes', async () => {
    const files = await startFiles();
    const open = async (scopes: readonly string[]) => {
      const t = await setFederationScene([openId(files, { scopes })]);
      return textOf(await t.visitor.open(requestOf()));
    };
    const page = await open(['openid', 'email', 'groups', 'offline_access', 'files:read']);
    expect(page).toContain(
      'Files will share your identity, email, and groups with as.example . as.example will also ask Files for these permissions: files:read',
    );
    const least = await open(['openid']);
    expect(least).toContain('Files will share your identity with as.example .');
    expect(least).not.toContain('will also ask');
  });

  it('[GW-3P-16] issues no scope that the provider token does not cover', async () => {
    const hub = await startHub();
    hub.grants = ['read:user'];
    const { t, claims, refreshToken } = await signIn(
      plain(hub, { upstreamScopes: needs }),
      {},
      requestOf({ scope: 'notes:read notes:write' }),
    );
    expect(claims.scope).toBe('notes:read');
    expect((await refresh(t, refreshToken)).body).toMatchObject({ scope: 'notes:read' });
  });

  const email = 'https://www.googleapis.com/auth/userinfo.email';
  const MAIL = ['openid', 'email', 'offline_access'];
  it.each([
    { description: 'under its name at Google', requires: 'email', response: { scope: `openid ${email}` } },
    { description: 'as offline_access at Entra, by its refresh token', requires: 'offline_access', response: { scope: 'openid email' } },
    { description: 'where the response has no scopes', requires: 'email', response: { scope: undefined } },
    { description: 'unless it is left out', requires: 'email', response: { scope: 'openid offline_access' }, isDenied: true },
    { description: 'unless it is Google’s other scope', requires: 'email', response: { scope: 'openid https://www.googleapis.com/auth/userinfo.profile' }, isDenied: true },
    { description: 'unless there is no refresh token', requires: 'offline_access', response: { scope: 'openid email', refresh_token: undefined }, isDenied: true },
  ])('[GW-3P-16] a scope of the provider counts as granted $description', async ({ requires, response, isDenied = false }) => {
    const liar = await startLiar();
    liar.at('token', { kind: 'members', members: response });
    const upstreamScopes = { 'notes:write': [requires] };
    const { t, claims, refreshToken } = await signIn(
      openId(liar, { scopes: MAIL, upstreamScopes }), {}, requestOf({ scope: 'notes:read notes:write' }),
    );
    const scope = isDenied ? 'notes:read' : 'notes:read notes:write';
    expect(claims.scope).toBe(scope);
    if (isDenied) return;
    // The refresh is answered with the same scopes, and without another refresh token.
    liar.at('refresh', { kind: 'members', members: { ...response, refresh_token: undefined } });
    t.clock.now += 3590;
    expect((await refresh(t, refreshToken)).body).toMatchObject({ scope });
    expect(liar.renewals()).toBe(1);
  }); // biome-ignore format: a table

  it('[GW-3P-16 GW-3P-17] rejects a request of which the provider token covers no scope, and revokes the token', async () => {
    const hub = await startHub();
    hub.grants = [];
    const t = await setFederationScene([plain(hub, { upstreamScopes: needs })]);
    const end = await logInByProvider(t.visitor);
    expect(end.left?.searchParams.get('error')).toBe('access_denied');
    await until(() => hub.given.every((token) => !hub.isLive(token)));
  });
});

describe('refreshing provider tokens', () => {
  it('[GW-3P-12] refreshes provider tokens before they expire, so that no request is rejected', async () => {
    const files = await startFiles();
    files.tokenLifetime = 600;
    const { t, claims } = await signIn(openId(files, { statusCheckInterval: 3600 }));
    const first = await t.server.upstreamToken(claims);
    t.clock.now += 540;
    expect(await t.server.isLive(claims)).toBe(true);
    expect(files.renewals()).toBe(1);
    const second = await t.server.upstreamToken(claims);
    expect(second.accessToken).not.toBe(first.accessToken);
    expect(second.expiresAt).toBeGreaterThan(t.clock.now + 500);
    expect(await files.isLive(second.accessToken)).toBe(true);
  });

  it('T084 [GW-3P-12] refreshes once for ten concurrent requests (single flight)', async () => {
    const files = await startFiles();
    files.tokenLifetime = 100;
    const { t, claims, refreshToken } = await signIn(openId(files));
    const lease = vi.spyOn(t.store, 'leaseProviderTokens');
    t.clock.now += 120;
    const tokens = await Promise.all(
      Array.from({ length: 10 }, () => t.server.upstreamToken({ ...claims, exp: t.clock.now + 60 })),
    );
    expect(new Set(tokens.map(({ accessToken }) => accessToken)).size).toBe(1);
    expect(files.renewals()).toBe(1);
    t.clock.now += 120;
    const refreshed = await Promise.all(Array.from({ length: 10 }, () => refresh(t, refreshToken)));
    expect(refreshed.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(files.renewals()).toBe(2);
    // The requests joined one refresh: only that asked for the lease, which other processes respect.
    expect(lease).toHaveBeenCalledTimes(2);
  });

  it('T084 [GW-3P-12] refreshes once for ten requests in three processes', async () => {
    const files = await startFiles();
    files.tokenLifetime = 100;
    const identityProvider = openId(files);
    const { t, claims } = await signIn(identityProvider);
    const servers = [
      t.server,
      await anotherProcess(t, identityProvider),
      await anotherProcess(t, identityProvider),
    ];
    t.clock.now += 120;
    const alive = { ...claims, exp: t.clock.now + 60 };
    const tokens = await Promise.all(
      Array.from({ length: 10 }, (_, index) => servers[index % 3]?.upstreamToken(alive)),
    );
    expect(new Set(tokens.map((token) => token?.accessToken)).size).toBe(1);
    expect(files.renewals()).toBe(1);
    expect(await files.isLive(tokens[0]?.accessToken ?? '')).toBe(true);
  });

  it('T084 [GW-3P-11] ends the grant when the identity provider answers `invalid_grant`, once for ten requests', async () => {
    const liar = await startLiar();
    const { t, refreshToken } = await signIn(openId(liar));
    liar.revokeAll();
    t.clock.now += 4000;
    const refreshed = await Promise.all(Array.from({ length: 10 }, () => refresh(t, refreshToken)));
    expect(refreshed.map(({ body }) => body['error'])).toEqual(Array(10).fill('invalid_grant'));
    expect(liar.renewals()).toBe(1);
    expect(t.events.filter(({ type }) => type === 'provider_token.ended')).toHaveLength(1);
  });

  it.each([
    { description: '429', issue: { kind: 'status', status: 429, retryAfter: 17 }, wait: '17' },
    { description: '500', issue: { kind: 'status', status: 500 }, wait: '10' },
    { description: 'nonsense', issue: { kind: 'text', body: '<html>' }, wait: '10' },
    {
      description: 'that it does not know us',
      issue: { kind: 'error', error: 'invalid_client', status: 401 },
      wait: '10',
    },
  ] as const)(
    'T084 [GW-3P-17] backs off, storms nothing and ends nothing when the identity provider answers $description',
    async ({ issue, wait }) => {
      const liar = await startLiar();
      const { t, refreshToken } = await signIn(openId(liar));
      liar.at('refresh', issue);
      t.clock.now += 4000;
      const refreshed = await Promise.all(Array.from({ length: 10 }, () => refresh(t, refreshToken)));
      for (const { status, body, headers } of refreshed) {
        expect([status, body['error'], headers.get('retry-after')]).toEqual([
          503,
          'temporarily_unavailable',
          wait,
        ]);
      }
      expect(liar.renewals()).toBe(1);
      liar.at('refresh', null);
      expect((await refresh(t, refreshToken)).status).toBe(503);
      expect(liar.renewals()).toBe(1);
      t.clock.now += Number(wait);
      expect((await refresh(t, refreshToken)).status).toBe(200);
    },
  );

  it('[GW-3P-17] uses a provider token until it expires when it cannot be refreshed early', async () => {
    const liar = await startLiar();
    const { t, claims } = await signIn(openId(liar, { status: 'userinfo' }));
    liar.at('refresh', { kind: 'status', status: 500 });
    t.clock.now += 3550;
    const asked = liar.count('GET /userinfo');
    expect(await t.server.isLive(claims)).toBe(true);
    expect([liar.renewals(), liar.count('GET /userinfo') - asked]).toEqual([1, 1]);
    t.clock.now += 50;
    await expect(t.server.isLive(claims)).rejects.toMatchObject({ status: 503 });
  });

  it('takes over a refresh from a process that died, and loses nothing if the identity provider allows a retry', async () => {
    const liar = await startLiar();
    liar.rotates = false;
    const identityProvider = openId(liar);
    const { t, claims } = await signIn(identityProvider);
    t.clock.now += 4000;
    await t.store.leaseProviderTokens(
      claims.grant_id,
      1,
      'a process that died',
      t.clock.now,
      t.clock.now + 25,
    );
    t.clock.now += 25;
    expect(await t.server.isLive(claims)).toBe(true);
    expect(liar.renewals()).toBe(1);
  });

  it.each(['its lease', 'a pause after it'])(
    'refreshes although a process whose clock was far ahead has left %s',
    async (left) => {
      const liar = await startLiar();
      const { t, claims } = await signIn(openId(liar));
      const ahead = t.clock.now + 30 * 86_400;
      expect(await t.store.leaseProviderTokens(claims.grant_id, 1, 'ahead', ahead, ahead + 40)).toBe(true);
      if (left !== 'its lease') await t.store.releaseProviderTokens(claims.grant_id, 'ahead', ahead + 10);
      t.clock.now += 4000;
      expect(await t.server.isLive(claims)).toBe(true);
      expect(liar.renewals()).toBe(1);
    },
  );

  it('ends the grant when a refresh response was lost and the identity provider allows no retry', async () => {
    const liar = await startLiar();
    const { t, claims } = await signIn(openId(liar), { outbound: { timeout: 2000 } });
    liar.at('refresh', { kind: 'cut' });
    t.clock.now += 4000;
    await expect(t.server.isLive(claims)).rejects.toMatchObject({ status: 503 });
    liar.at('refresh', { kind: 'error', error: 'invalid_grant' });
    t.clock.now += 60;
    expect(await t.server.isLive(claims)).toBe(false);
    expect(t.events.find(({ type }) => type === 'provider_token.ended')).toMatchObject({
      reason: 'refresh_lost',
    });
  });

  it('commits refreshed tokens before using them, and a restart finds them', async () => {
    const files = await startFiles();
    files.tokenLifetime = 100;
    const identityProvider = openId(files);
    const { t, claims } = await signIn(identityProvider);
    t.clock.now += 120;
    const { accessToken } = await t.server.upstreamToken({ ...claims, exp: t.clock.now + 60 });
    await t.server.close();
    const next = await anotherProcess(t, identityProvider);
    expect((await next.upstreamToken({ ...claims, exp: t.clock.now + 60 })).accessToken).toBe(accessToken);
    expect(files.renewals()).toBe(1);
  });
});

describe('the token for a protected server', () => {
  it('[GW-UP-1] a protected server gets the identity provider’s token, which works there', async () => {
    const files = await startFiles();
    const { t, claims, accessToken } = await signIn(openId(files));
    const token = await t.server.upstreamToken(claims);
    expect(token).toMatchObject({
      identityProvider: 'files',
      tokenType: 'Bearer',
      scopes: ['openid', 'offline_access', 'files:read'],
    });
    expect(token.accessToken).not.toBe(accessToken);
    const answer = await fetch(`${files.origin}/files`, {
      headers: { authorization: `Bearer ${token.accessToken}` },
    });
    expect(await answer.json()).toMatchObject({ owner: 'ada' });
  });

  it('returns only the provider token and scopes that the grant covers', async () => {
    const files = await startFiles();
    const { t, claims } = await signIn(openId(files));
    await expect(t.server.upstreamToken(claims, { identityProvider: 'hub' })).rejects.toMatchObject({
      code: 'invalid_target',
    });
    await expect(t.server.upstreamToken(claims, { scopes: ['files:write'] })).rejects.toMatchObject({
      code: 'invalid_scope',
    });
    expect(
      await t.server.upstreamToken(claims, { identityProvider: 'files', scopes: ['files:read'] }),
    ).toBeDefined();
  });

  it('returns no provider token for a revoked grant of the same user', async () => {
    const files = await startFiles();
    const { t, claims } = await signIn(openId(files));
    const other = claimsOf(
      (await redeemAt(t, await logInByProvider(t.visitor))).body['access_token'],
    ) as never;
    await t.store.revokeGrant(claims.grant_id, t.clock.now);
    await expect(t.server.upstreamToken(claims)).rejects.toBeDefined();
    expect(await t.server.upstreamToken(other)).toBeDefined();
  });

  it('T083 [GW-3P-9 GW-3P-14 GW-UP-2] provider tokens appear in no response, event or row of the store', async () => {
    const files = await startFiles();
    files.tokenLifetime = 100;
    const { t, claims, accessToken, refreshToken } = await signIn(openId(files));
    const said: string[] = [accessToken, refreshToken, JSON.stringify(claims)];
    t.clock.now += 120;
    await t.server.upstreamToken({ ...claims, exp: t.clock.now + 60 });
    said.push(JSON.stringify((await refresh(t, refreshToken)).body));
    for (const path of ['/.well-known/oauth-authorization-server', '/connections', '/callback/files']) {
      said.push((await t.visitor.open(path)).html);
    }
    const rows = t.snapshot();
    const bytes = [...rows.matchAll(/"([A-Za-z0-9+/=]{40,})"/g)].map(([, text = '']) =>
      Buffer.from(text, 'base64').toString('latin1'),
    );
    const all = [...said, rows, ...bytes, JSON.stringify(t.events)].join('\n');
    expect(files.given.length).toBeGreaterThan(4);
    for (const token of files.given) expect(all).not.toContain(token);
    expect(all).not.toContain(files.client.secret);
    // Nor does our token reach the provider.
    expect(files.received()).not.toContain(accessToken);
    expect(files.received()).not.toContain(refreshToken);
  });

  it('T083 rejects a provider token used in place of one of ours', async () => {
    const files = await startFiles();
    const { t, claims } = await signIn(openId(files));
    const { accessToken } = await t.server.upstreamToken(claims);
    const asked = await t.post(
      '/introspect',
      { token: accessToken },
      basic('notes-server', 'notes-server-secret'),
    );
    expect(asked.body).toEqual({ active: false });
    const exchanged = await refresh(t, accessToken);
    expect(exchanged.body).toMatchObject({ error: 'invalid_grant' });
  });
});

describe('the ID token of a login', () => {
  async function signInBriefly() {
    const files = await startFiles();
    files.idTokenLifetime = 60;
    const { t, claims } = await signIn(openId(files));
    const first = await t.server.upstreamIdToken(claims.grant_id, 'portcullis');
    files.idTokenLifetime = 600;
    return { files, t, first, grantId: claims.grant_id };
  }
  const payloadOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Readonly<
      Record<string, unknown>
    >;

  it('is renewed by a refresh once it has expired, once for requests at the same time, and is about the same user', async () => {
    const { files, t, first, grantId } = await signInBriefly();
    expect(await t.server.upstreamIdToken(grantId, 'portcullis')).toBe(first);
    expect(files.renewals()).toBe(0);
    t.clock.now += 45;
    const [one, two] = await Promise.all([1, 2].map(() => t.server.upstreamIdToken(grantId, 'portcullis')));
    expect(two).toBe(one);
    expect(one).not.toBe(first);
    expect(payloadOf(one ?? '')['sub']).toBe(payloadOf(first)['sub']);
    expect(files.renewals()).toBe(1);
    expect(await t.server.upstreamIdToken(grantId, 'portcullis')).toBe(one);
    expect(files.renewals()).toBe(1);
  });

  it('goes to the client that is its audience alone: at another provider, its user has none', async () => {
    const { t, claims } = await signIn(openId(await startFiles()));
    const { grant_id: grantId } = claims;
    await expect(t.server.upstreamIdToken(grantId, 'another client')).rejects.toMatchObject({
      code: 'invalid_target',
    });
    expect(decodeJwt(await t.server.upstreamIdToken(grantId, 'portcullis')).aud).toBe('portcullis');
  });

  it('that the identity provider does not renew is an error, and no storm of refreshes', async () => {
    const { files, t, grantId } = await signInBriefly();
    files.idTokenLifetime = 1;
    t.clock.now += 45;
    for (let tries = 0; tries < 3; tries += 1)
      await expect(t.server.upstreamIdToken(grantId, 'portcullis')).rejects.toMatchObject({
        code: 'access_denied',
      });
    expect(files.renewals()).toBe(1);
    // The grant has not ended.
    expect((await t.store.findProviderTokens(grantId))?.endedAt).toBeNull();
  });

  it.each([
    { description: 'of the same user is taken', lies: {}, isTaken: true },
    { description: 'of another user is not taken', lies: { renewed: 'mallory' }, isTaken: false },
    { description: 'by an unknown key is not taken', lies: { signature: 'unknown key' }, isTaken: false },
    { description: 'for another client is not taken', lies: { claims: { aud: 'other' } }, isTaken: false },
  ] as const)('in the response to a refresh $description, and its tokens are', async ({ lies, isTaken }) => {
    const liar = await startLiar();
    const { t, claims } = await signIn(openId(liar));
    const { grant_id: grantId } = claims;
    const first = await t.server.upstreamIdToken(grantId, 'portcullis');
    const exp = t.clock.now + 3600;
    liar.lies = { renewed: 'ada', ...lies, claims: { exp, ...('claims' in lies && lies.claims) } };
    t.clock.now += 290;
    const renewed = await t.server.upstreamIdToken(grantId, 'portcullis').catch((error: unknown) => error);
    if (isTaken) expect([renewed === first, payloadOf(String(renewed))['exp']]).toEqual([false, exp]);
    else expect(renewed).toMatchObject({ code: 'access_denied' });
    expect((await t.store.findProviderTokens(grantId))?.version).toBe(2);
    liar.lies = {};
    expect(await t.server.isLive(claims)).toBe(true);
  });
});

describe('revocation jobs', () => {
  const active = async (files: {
    given: readonly string[];
    isLive(token: string): boolean | Promise<boolean>;
  }) => (await Promise.all(files.given.map((token) => files.isLive(token)))).filter(Boolean).length;

  it('[GW-3P-11] revokes at the identity provider what is revoked here', async () => {
    const files = await startFiles();
    const { t, refreshToken } = await signIn(openId(files));
    expect(await active(files)).toBeGreaterThan(0);
    const { status } = await t.post('/revoke', {
      token: refreshToken,
      client_id: 'web',
      client_secret: 'web-secret',
    });
    expect(status).toBe(200);
    await until(async () => (await active(files)) === 0);
    await until(() => t.events.some(({ type }) => type === 'provider_token.revocation_finished'));
    expect(t.events.find(({ type }) => type === 'provider_token.revocation_finished')).toMatchObject({
      outcome: 'revoked',
    });
    expect(t.snapshot()).not.toMatch(/"encrypted_tokens":"/);
  });

  it('[GW-3P-11] revokes tokens for which the identity provider states a lifetime of 2^53 - 1 seconds', async () => {
    const files = await startFiles();
    const { t, claims, refreshToken } = await signIn(openId(files));
    const { grant_id: grantId } = claims;
    files.tokenLifetime = Number.MAX_SAFE_INTEGER;
    t.clock.now += 3600;
    const refreshed = await refresh(t, refreshToken);
    expect(refreshed.status).toBe(200);
    expect(await t.store.findProviderTokens(grantId)).toMatchObject({ version: 2, endedAt: null });
    await t.post('/revoke', {
      token: String(refreshed.body['refresh_token']),
      client_id: 'web',
      client_secret: 'web-secret',
    });
    await until(async () => (await active(files)) === 0);
    await until(() => t.events.some(({ type }) => type === 'provider_token.revocation_finished'));
  });

  it('[GW-3P-11] revokes a single token in GitHub’s own format', async () => {
    const hub = await startHub();
    const { t, refreshToken } = await signIn(plain(hub));
    await redeemAt(t, await logInByProvider(t.visitor));
    await t.post('/revoke', { token: refreshToken, client_id: 'web', client_secret: 'web-secret' });
    await until(() => hub.given.filter((token) => hub.isLive(token)).length === 1);
    expect(hub.count('DELETE /applications/portcullis/token')).toBe(1);
    expect(hub.count('DELETE /applications/portcullis/grant')).toBe(0);
  });

  it('waits for a user’s last grant if revoking one provider token ends all of them', async () => {
    const hub = await startHub();
    const identityProvider = plain(hub, { revocationEnds: 'everything' });
    const { t, claims } = await signIn(identityProvider);
    const other = claimsOf(
      (await redeemAt(t, await logInByProvider(t.visitor))).body['access_token'],
    ) as never as typeof claims;
    await t.store.revokeGrant(claims.grant_id, t.clock.now);
    // Any process runs the job: a new one checks at once.
    await anotherProcess(t, identityProvider);
    await until(() => t.events.some(({ type }) => type === 'provider_token.revocation_finished'));
    expect(t.events.find(({ type }) => type === 'provider_token.revocation_finished')).toMatchObject({
      outcome: 'shared',
    });
    expect(hub.count('DELETE /applications/portcullis/token')).toBe(0);
    expect(await t.server.isLive(other)).toBe(true);
    await t.store.revokeGrant(other.grant_id, t.clock.now);
    await anotherProcess(t, identityProvider);
    await until(() => hub.count('DELETE /applications/portcullis/token') === 1);
  });

  it('revokes provider tokens of removed accounts and clients, and of unredeemed codes', async () => {
    const files = await startFiles();
    const identityProvider = openId(files);
    const { t, claims } = await signIn(identityProvider);
    await t.store.disableAccount(claims.sub, t.clock.now);
    await anotherProcess(t, identityProvider);
    await until(async () => (await active(files)) === 0);
    await t.store.enableAccount(claims.sub);
    // An unredeemed code.
    await logInByProvider(t.visitor);
    expect(await active(files)).toBeGreaterThan(0);
    t.clock.now += 3600;
    await anotherProcess(t, identityProvider);
    await until(async () => (await active(files)) === 0);
  });

  it('retries a revocation job, also after a restart, and gives up after a day and a half', async () => {
    const liar = await startLiar();
    const identityProvider = openId(liar);
    const { t, refreshToken } = await signIn(identityProvider);
    liar.at('revocation', { kind: 'status', status: 503 });
    await t.post('/revoke', { token: refreshToken, client_id: 'web', client_secret: 'web-secret' });
    await until(
      () =>
        liar.count('POST /revoke') + liar.count('POST /revocation') + liar.count('POST /token/revocation') >
        0,
    );
    await t.server.close();
    liar.at('revocation', null);
    t.clock.now += 60;
    await anotherProcess(t, identityProvider);
    await until(() => liar.given.every((token) => !liar.isLive(token)));
  });

  it('drops a revocation job in the end, with its tokens', async () => {
    const liar = await startLiar();
    const { t, claims } = await signIn(openId(liar));
    liar.at('revocation', { kind: 'status', status: 503 });
    await t.store.endProviderTokens(claims.grant_id, 1, 'revoked_here', t.clock.now);
    const far = t.clock.now + 10 * 86_400;
    while (((await t.store.findProviderTokens(claims.grant_id))?.revocationAttempts ?? 0) < 13) {
      await t.store.claimRevocationJobs(far, far, 1);
    }
    t.clock.now = far;
    // Nothing triggers the job: it polls every five seconds.
    await until(() => t.events.some(({ type }) => type === 'provider_token.revocation_finished'));
    expect(t.events.find(({ type }) => type === 'provider_token.revocation_finished')).toMatchObject({
      outcome: 'given_up',
    });
    expect((await t.store.findProviderTokens(claims.grant_id))?.encryptedTokens).toBeNull();
  });
});

describe('on PostgreSQL, with a connection for each process', () => {
  it('T084 [GW-3P-11 GW-3P-12] refreshes once and revokes once for all processes', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    const url = await postgres.createDatabase();
    const files = await startFiles();
    files.tokenLifetime = 100;
    const identityProvider = openId(files);
    const { t, claims, refreshToken } = await signIn(identityProvider, { store: await openTestStore(url) });
    const others = await Promise.all(
      [1, 2].map(async () => {
        const store = await openTestStore(url);
        onTestFinished(() => store.close());
        return anotherProcess({ ...t, store }, identityProvider);
      }),
    );
    const servers = [t.server, ...others];
    t.clock.now += 120;
    const alive = { ...claims, exp: t.clock.now + 60 };
    const tokens = await Promise.all(
      Array.from({ length: 12 }, (_, index) => servers[index % 3]?.upstreamToken(alive)),
    );
    expect(new Set(tokens.map((token) => token?.accessToken)).size).toBe(1);
    expect(files.renewals()).toBe(1);
    const revocations = files.count('POST /token/revocation');
    await t.post('/revoke', { token: refreshToken, client_id: 'web', client_secret: 'web-secret' });
    await until(async () => !(await files.isLive(tokens[0]?.accessToken ?? '')));
    for (const server of servers) expect(await server.isLive(alive)).toBe(false);
    await until(async () => (await t.store.findProviderTokens(claims.grant_id))?.encryptedTokens === null);
    expect(files.count('POST /token/revocation')).toBe(revocations + 1);
  });
});
