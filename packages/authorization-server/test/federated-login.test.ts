/** Federated login: consent here first, then a redirect to the identity provider and a callback bound to the browser, then the client. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startGithub } from '../../../tests/support/identity-providers/github.ts';
import { startMisbehaving } from '../../../tests/support/identity-providers/misbehaving.ts';
import { nextStep } from '../src/authorization/next-step.ts';
import { createProviderClient } from '../src/federation/provider/client.ts';
import type {
  AuthorizationServer,
  AuthorizationServerOptions,
  IdentityProviderOptions,
} from '../src/index.ts';
import { createAuthorizationServer } from '../src/index.ts';
import { createServerContext } from '../src/server.ts';
import {
  type FederationScene,
  logInByProvider,
  openCallback,
  openId,
  type ProviderSignIn,
  plain,
  redeemAt,
  setFederationScene,
  signInAtProvider,
  signOutAtProvider,
  startFederatedLogin,
  startFiles,
  startProvider,
  until,
} from './federation-scene.ts';
import { ACCOUNT, CLIENTS, claimsOf, ISSUER, MASTER_KEY, NOTES, RESOURCES } from './server-under-test.ts';
import {
  createVisitor,
  EMAIL,
  PASSWORD,
  referenceOf,
  requestOf,
  type Sight,
  textOf,
  type Visitor,
} from './visitor.ts';

const startHub = () => startProvider(startGithub, 'hub');
const startLiar = () => startProvider(startMisbehaving, 'files');

async function setFilesScene(options: Partial<AuthorizationServerOptions> = {}) {
  const files = await startFiles();
  return { files, t: await setFederationScene([openId(files)], options) };
}

/** Federated login cookies that a response sets. */
function loginCookies({ headers, trail }: Sight): readonly string[] {
  return [...trail.map((one) => one.headers), headers]
    .flatMap((one) => one.getSetCookie())
    .filter((line) => line.includes('federated-login') && !line.includes('Max-Age=0'));
}

describe('the next step of a transaction', () => {
  const allowed = { scopes: ['notes:read'] };
  it.each([
    {
      description: 'sign-in first, with local login',
      login: 'local',
      accountId: null,
      decision: null,
      step: { show: 'login' },
    },
    {
      description: 'then consent, with local login',
      login: 'local',
      accountId: 'ada',
      decision: null,
      step: { show: 'consent' },
    },
    {
      description: 'no consent before sign-in, with local login',
      login: 'local',
      accountId: null,
      decision: allowed,
      step: { show: 'login' },
    },
    {
      description: 'then the code, with local login',
      login: 'local',
      accountId: 'ada',
      decision: allowed,
      step: { issueCode: { accountId: 'ada', decision: allowed } },
    },
    {
      description: 'consent first, with an identity provider',
      login: 'federated',
      accountId: null,
      decision: null,
      step: { show: 'consent' },
    },
    {
      description: 'consent, with an identity provider and a known account',
      login: 'federated',
      accountId: 'ada',
      decision: null,
      step: { show: 'consent' },
    },
    {
      description: 'then the redirect to the identity provider',
      login: 'federated',
      accountId: null,
      decision: allowed,
      step: { startFederatedLogin: { decision: allowed } },
    },
    {
      description: 'then the code, after the identity provider',
      login: 'federated',
      accountId: 'ada',
      decision: allowed,
      step: { issueCode: { accountId: 'ada', decision: allowed } },
    },
  ] as const)('[GW-CONSENT-1] the next step is $description', ({ login, accountId, decision, step }) => {
    expect(nextStep({ accountId, decision }, login)).toEqual(step);
  });
});

/** How often a code was redeemed at the identity provider. */
const redemptions = (files: { count(endpoint: string): number }) => files.count('POST /token');

describe('a federated login', () => {
  it('[GW-3P-1 GW-3P-2 GW-3P-3 GW-3P-4 GW-3P-5 GW-3P-6 GW-3P-7 GW-3P-8] a federated login goes through the seven steps, and ends with a token of this server', async () => {
    const { files, t } = await setFilesScene();
    const asked = await t.visitor.open(requestOf());
    expect(asked.path).toMatch(/^\/consent/);
    const { left } = await t.visitor.submit(asked, { decision: 'allow' });
    expect(left?.origin).toBe(files.origin);
    expect(Object.fromEntries(left?.searchParams ?? [])).toMatchObject({
      response_type: 'code',
      client_id: files.client.id,
      redirect_uri: `${ISSUER}/callback/files`,
      code_challenge_method: 'S256',
      scope: 'openid offline_access files:read',
    });
    expect(redemptions(files)).toBe(0);

    const back = await signInAtProvider(t.visitor, left);
    expect(back.pathname).toBe('/callback/files');
    const end = await openCallback(t.visitor, back);
    expect(redemptions(files)).toBe(1);
    expect(end.left?.href).toMatch(/^https:\/\/app\.example\/callback\?/);
    expect(end.left?.searchParams.get('state')).toBe('xyz');
    expect(end.left?.searchParams.get('iss')).toBe(ISSUER);
    const code = end.left?.searchParams.get('code') ?? '';
    expect(code).not.toBe(back.searchParams.get('code'));

    const { status, body } = await redeemAt(t, end);
    expect(status).toBe(200);
    expect(claimsOf(body['access_token'])).toMatchObject({ iss: ISSUER, aud: NOTES, scope: 'notes:read' });
    expect(files.given).not.toContain(body['access_token']);
    // The user typed their password only at the identity provider.
    expect(files.typed).toContain('there');
  });

  it('[GW-3P-8 GW-3P-9] signs in at a plain OAuth identity provider with quirks in its responses', async () => {
    const hub = await startHub();
    const t = await setFederationScene([plain(hub)]);
    const end = await logInByProvider(t.visitor);
    const { status, body } = await redeemAt(t, end);
    expect(status).toBe(200);
    const claims = claimsOf(body['access_token']);
    const token = await t.server.upstreamToken(claims as never);
    expect(token).toMatchObject({
      identityProvider: 'hub',
      scopes: ['read:user', 'repo'],
      tokenType: 'Bearer',
      expiresAt: null,
    });
    expect(hub.isLive(token.accessToken)).toBe(true);
  });

  it('continues as the signed-in user, with consent and provider tokens per client', async () => {
    const { t } = await setFilesScene();
    const first = await redeemAt(t, await logInByProvider(t.visitor));
    const again = await t.visitor.open(requestOf());
    expect(textOf(again)).toContain('ada (Files)');
    const left = await t.visitor.submit(again, { decision: 'allow' });
    expect(left.left?.pathname).toBe('/auth');
    const second = await redeemAt(
      t,
      await openCallback(t.visitor, await signInAtProvider(t.visitor, left.left)),
    );
    const [one, two] = [first, second].map(({ body }) => claimsOf(body['access_token']));
    expect(one?.['sub']).toBe(two?.['sub']);
    const [mine, theirs] = await Promise.all(
      [one, two].map((claims) => t.server.upstreamToken(claims as never)),
    );
    expect(mine?.accessToken).not.toBe(theirs?.accessToken);
  });

  it('asks for consent again when another user had given it', async () => {
    const { t } = await setFilesScene();
    await logInByProvider(t.visitor);
    const { left } = await startFederatedLogin(t.visitor);
    signOutAtProvider(t.visitor);
    const asked = await openCallback(t.visitor, await signInAtProvider(t.visitor, left, { login: 'bob' }));
    expect(asked.path).toMatch(/^\/consent/);
    expect(textOf(asked)).toContain('bob (Files)');
    const end = await t.visitor.submit(asked, { decision: 'allow' });
    const { body } = await redeemAt(t, end);
    expect(
      (await t.store.findLinkedIdentityByAccount(String(claimsOf(body['access_token'])['sub'])))?.subject,
    ).toBe('bob');
  });

  it('does not use the provider tokens of one user for another who has signed in meanwhile', async () => {
    const workspaces = async () => [
      { id: 'red', name: 'Red' },
      { id: 'blue', name: 'Blue' },
    ];
    const { files, t } = await setFilesScene({ workspaces });
    const asked = await logInByProvider(t.visitor);
    expect(asked.path).toMatch(/^\/consent/);
    // Bob signs in in the same browser, in another tab.
    signOutAtProvider(t.visitor);
    t.visitor.cookies.delete('__Host-portcullis-session');
    const page = await t.visitor.open('/login?to=connections');
    const { left } = await t.visitor.submit(page, {}, '/login/files');
    await openCallback(t.visitor, await signInAtProvider(t.visitor, left, { login: 'bob' }));
    const now = await t.visitor.open(asked.path);
    expect(textOf(now)).toContain('bob (Files)');
    const next = await t.visitor.submit(now, { decision: 'allow', workspace: 'blue' });
    expect(next.left?.origin).toBe(files.origin);
    const end = await openCallback(t.visitor, await signInAtProvider(t.visitor, next.left, { login: 'bob' }));
    const { body } = await redeemAt(t, end);
    const claims = claimsOf(body['access_token']);
    const record = await t.store.findProviderTokens(String(claims['grant_id']));
    expect([record?.subject, record?.accountId]).toEqual(['bob', claims['sub']]);
  });

  it('lets the user pick a workspace after the federated login', async () => {
    const { t } = await setFilesScene({
      workspaces: async () => [
        { id: 'red', name: 'Red' },
        { id: 'blue', name: 'Blue' },
      ],
    });
    const asked = await logInByProvider(t.visitor);
    expect(asked.path).toMatch(/^\/consent/);
    const end = await t.visitor.submit(asked, { decision: 'allow', workspace: 'blue' });
    const { body } = await redeemAt(t, end);
    expect(claimsOf(body['access_token'])['workspace']).toBe('blue');
  });

  it('signs in for the account pages, and revokes the provider tokens it does not need', async () => {
    const { files, t } = await setFilesScene();
    const page = await t.visitor.open('/login?to=connections');
    const { left } = await t.visitor.submit(page, {}, '/login/files');
    const end = await openCallback(t.visitor, await signInAtProvider(t.visitor, left));
    expect(end.path).toBe('/connections');
    expect(end.status).toBe(200);
    await expect
      .poll(async () => {
        const stand = await Promise.all(files.given.map((token) => files.isLive(token)));
        return stand.some(Boolean);
      })
      .toBe(false);
  });

  it.each([
    ['profile', 'saveProfile'],
    ['session', 'saveSession'],
  ] as const)(
    'revokes the provider tokens when the %s cannot be saved, and saves it the next time',
    async (_what, method) => {
      const { files, t } = await setFilesScene();
      const leave = async () => {
        const { left } = await t.visitor.submit(
          await t.visitor.open('/login?to=connections'),
          {},
          '/login/files',
        );
        return signInAtProvider(t.visitor, left);
      };
      const saving = vi.spyOn(t.store, method).mockRejectedValueOnce(new Error('The disk is full.'));
      const failed = await openCallback(t.visitor, await leave());
      expect([failed.status, textOf(failed)]).toEqual([
        500,
        expect.stringContaining('Something went wrong on our side'),
      ]);
      await until(async () => (await Promise.all(files.given.map(files.isLive))).every((stands) => !stands));
      expect((await openCallback(t.visitor, await leave())).path).toBe('/connections');
      expect(saving).toHaveBeenCalledTimes(2);
    },
  );

  it('starts no session of a user whose account is disabled meanwhile, and revokes the provider tokens', async () => {
    const { files, t } = await setFilesScene();
    const { saveSession } = t.store;
    const page = await t.visitor.open('/login?to=connections');
    const { left } = await t.visitor.submit(page, {}, '/login/files');
    const callback = await signInAtProvider(t.visitor, left);
    t.store.saveSession = async (session, passwordHash) => {
      await t.store.disableAccount(session.accountId, t.clock.now);
      return saveSession(session, passwordHash);
    };
    const refused = await openCallback(t.visitor, callback);
    expect([refused.status, textOf(refused)]).toEqual([403, expect.stringContaining('not allowed')]);
    // The provider, where the user is still signed in, has to let another one sign in.
    expect(refused.html).toContain('href="/login?to=connections&amp;again=yes"');
    const again = await t.visitor.open('/login?to=connections&again=yes');
    const other = await t.visitor.submit(again, {}, '/login/files');
    expect([left, other.left].map((url) => url?.searchParams.get('prompt'))).toEqual([
      'consent',
      'login consent',
    ]);
    await until(async () => (await Promise.all(files.given.map(files.isLive))).every((stands) => !stands));
    expect((await t.visitor.open('/connections')).path).toMatch(/^\/login/);
  });

  it.each([true, false])(
    'offers another login method only if there is one: local accounts %s',
    async (localAccounts) => {
      const { t } = await setFilesScene({ localAccounts });
      const login = await t.visitor.open(requestOf());
      const consent = localAccounts ? await t.visitor.submit(login, {}, '/login/files') : login;
      expect([consent.path.split('?')[0], textOf(consent)]).toEqual([
        '/consent',
        expect.stringContaining('Next, you sign in with'),
      ]);
      const offers = {
        words: textOf(consent).includes('another way?'),
        button: consent.html.includes('value="switch"'),
      };
      expect(offers).toEqual({ words: localAccounts, button: localAccounts });
    },
  );

  it('federated users have no password, passkey or TOTP of this server', async () => {
    const { t } = await setFilesScene({ localAccounts: true });
    const page = await t.visitor.open('/login?to=account');
    const { left } = await t.visitor.submit(page, {}, '/login/files');
    const account = await openCallback(t.visitor, await signInAtProvider(t.visitor, left));
    expect([account.path, textOf(account)]).toEqual([
      '/account',
      expect.not.stringMatching(/Password|Passkeys|Two-step verification/),
    ]);
    for (const path of [
      '/account/password',
      '/account/passkeys/add',
      '/account/codes',
      '/account/codes/recovery',
    ]) {
      expect([path, (await t.visitor.open(path)).path]).toEqual([path, '/account']);
    }
    const ours = t.newVisitor();
    await ours.signIn('/login?to=account');
    expect(textOf(await ours.open('/account'))).toMatch(/Password.*Passkeys.*Two-step verification/);
    expect((await ours.open('/account/password')).path).toBe('/account/password');
  });

  it('offers identity providers beside local accounts, and each login method works', async () => {
    const { t } = await setFilesScene({ localAccounts: true });
    const page = await t.visitor.open(requestOf());
    expect(page.path).toMatch(/^\/login/);
    expect(textOf(page)).toContain('Continue with Files');
    const consent = await t.visitor.submit(page, {}, '/login/files');
    expect(consent.path).toMatch(/^\/consent/);
    const back = await t.visitor.submit(consent, { decision: 'switch' });
    expect(back.path).toMatch(/^\/login/);
    const local = await t.visitor.submit(back, { email: EMAIL, password: PASSWORD }, '/login');
    const end = await t.visitor.submit(local, { decision: 'allow' });
    const { body } = await redeemAt(t, end);
    await expect(t.server.upstreamToken(claimsOf(body['access_token']) as never)).rejects.toMatchObject({
      code: 'invalid_target',
    });
  });

  it('a setup link ends once a user of an identity provider has signed in, and no other is created', async () => {
    const { t } = await setFilesScene({ localAccounts: true });
    await t.store.removeAccount(ACCOUNT, t.clock.now);
    const link = new URL((await t.server.setupLink()) ?? '');
    const form = await t.newVisitor().open(`${link.pathname}${link.search}`);
    expect([form.status, textOf(form)]).toEqual([200, expect.stringContaining('Create the first account')]);
    const page = await t.visitor.open('/login?to=account');
    const { left } = await t.visitor.submit(page, {}, '/login/files');
    await openCallback(t.visitor, await signInAtProvider(t.visitor, left));
    const accounts = await t.store.listAccounts('', 10);
    const late = t.newVisitor();
    const refused = await late.submit(form, {
      email: EMAIL,
      password: PASSWORD,
      password_again: PASSWORD,
    });
    expect([refused.status, textOf(refused)]).toEqual([
      403,
      expect.stringContaining('There is an account already'),
    ]);
    expect((await late.open(`${link.pathname}${link.search}`)).status).toBe(403);
    expect(await t.server.setupLink()).toBeNull();
    expect(await t.store.listAccounts('', 10)).toEqual(accounts);
  });

  it('accepts no password on a server without local accounts', async () => {
    const { t } = await setFilesScene();
    const page = await t.visitor.open('/login?to=connections');
    const before = t.snapshot();
    const refused = await t.visitor.submit(page, { email: EMAIL, password: PASSWORD }, '/login');
    expect(refused.status).toBe(400);
    expect(t.snapshot()).toBe(before);
    expect(await t.server.setupLink()).toBeNull();
  });

  /** The same browser at a process that was started meanwhile. */
  async function restart(
    t: FederationScene,
    ...identityProviders: readonly IdentityProviderOptions[]
  ): Promise<{ readonly server: AuthorizationServer; readonly visitor: Visitor }> {
    const server = await createAuthorizationServer({
      issuer: ISSUER,
      store: t.store,
      masterKey: MASTER_KEY,
      resources: RESOURCES,
      clients: CLIENTS,
      identityProviders,
      localAccounts: identityProviders.length === 0,
      approvals: true,
      clock: () => t.clock.now,
    });
    onTestFinished(() => server.close());
    const visitor = createVisitor(server);
    for (const [name, value] of t.visitor.cookies) visitor.cookies.set(name, value);
    return { server, visitor };
  }

  it('users of the only identity provider do not become local ones when it is no longer configured', async () => {
    const { t } = await setFilesScene({ localAccounts: true });
    const consent = await t.visitor.submit(await t.visitor.open(requestOf()), {}, '/login/files');
    const { left } = await t.visitor.submit(consent, { decision: 'allow' });
    const end = await openCallback(t.visitor, await signInAtProvider(t.visitor, left));
    const { sub } = claimsOf((await redeemAt(t, end)).body['access_token']);
    const { visitor } = await restart(t);
    visitor.headers = {
      'sec-fetch-site': 'none',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    const grantsOf = (accountId: unknown) => t.store.listGrants(String(accountId), t.clock.now, null, 9);
    const before = await grantsOf(sub);
    const login = await visitor.open(requestOf());
    expect(login.path).toMatch(/^\/login/);
    expect(textOf(await visitor.open('/account'))).not.toMatch(/Password|Passkeys|Two-step verification/);
    expect((await visitor.open('/account/password')).path).toBe('/account');
    expect((await visitor.open('/approvals')).path).toBe('/login?to=approvals');
    expect(await grantsOf(sub)).toEqual(before);
    // The consent of a local user is remembered.
    const local = await visitor.submit(login, { email: EMAIL, password: PASSWORD }, '/login');
    await redeemAt(t, await visitor.submit(local, { decision: 'allow' }));
    expect((await visitor.open(requestOf())).left?.searchParams.get('code')).toBeTruthy();
    expect(await grantsOf(sub)).toEqual(before);
  });

  it('a user whose identity provider is no longer configured has no session of the console and decides no approvals', async () => {
    const { files, t } = await setFilesScene();
    const { sub } = claimsOf((await redeemAt(t, await logInByProvider(t.visitor))).body['access_token']);
    const find = async (...identityProviders: readonly IdentityProviderOptions[]) => {
      const { server, visitor } = await restart(t, ...identityProviders);
      const headers = { cookie: [...visitor.cookies].map((cookie) => cookie.join('=')).join('; ') };
      const paths: string[] = [];
      for (const to of ['console', 'approvals', 'account'])
        paths.push((await visitor.open(`/login?to=${to}`)).path);
      return {
        session: await server.componentPages.findSession(
          new Request(`${ISSUER}/admin`, { headers }) as never,
        ),
        paths,
      };
    };
    expect(await find(openId(files))).toMatchObject({
      session: { accountId: sub },
      paths: ['/admin', '/approvals', '/account'],
    });
    expect(await find()).toEqual({
      session: null,
      paths: ['/login?to=console', '/login?to=approvals', '/account'],
    });
  });

  it('[GW-3P-15 GW-CONS-42] a federated login continues after a restart in the middle', async () => {
    const { files, t } = await setFilesScene();
    const { left } = await startFederatedLogin(t.visitor);
    const back = await signInAtProvider(t.visitor, left);
    const end = await openCallback((await restart(t, openId(files))).visitor, back);
    expect(end.left?.searchParams.get('code')).toBeTruthy();
    expect((await redeemAt(t, end)).status).toBe(200);
  });

  it('a federated login is completed that a process without an issuer in its secrets has started', async () => {
    const { files, t } = await setFilesScene();
    const identityProviders = [openId(files)];
    const { store } = t;
    const given = { issuer: ISSUER, store, masterKey: MASTER_KEY, resources: RESOURCES, clients: CLIENTS };
    const context = createServerContext({ ...given, identityProviders });
    const [identityProvider] = context.options.identityProviders.values();
    if (identityProvider === undefined) throw new Error('there is no identity provider');
    const provider = createProviderClient(context, identityProvider);
    const secrets = { verifier: 'v'.repeat(43), nonce: 'n'.repeat(43) };
    const left = new URL(await provider.authorizationUrl(['notes:read'], false, 'state', secrets));
    const { searchParams } = await signInAtProvider(t.visitor, left);
    const { user } = await provider.redeemCode(searchParams, ['notes:read'], 'state', secrets);
    expect(user.issuer).toBe(identityProvider.provider.issuer);
  });

  it.each([
    ['an OpenID Connect provider', 'files', startFiles, openId],
    ['a plain OAuth provider, which does not name itself', 'hub', startHub, plain],
  ] as const)(
    'sends no code to another issuer that was configured during the login, at %s',
    async (_kind, id, start, define) => {
      const [before, after] = [await start(), await start()];
      const t = await setFederationScene([define(before as never)]);
      const back = await signInAtProvider(t.visitor, (await startFederatedLogin(t.visitor)).left);
      const end = await openCallback((await restart(t, define(after as never))).visitor, back);
      expect(end.left?.searchParams.get('error')).toBe('server_error');
      expect(after.received()).not.toContain(back.searchParams.get('code'));
      expect(after.given).toEqual([]);
      expect(await t.store.hasProviderTokens()).toBe(false);
      expect(back.pathname).toBe(`/callback/${id}`);
    },
  );
});

describe('a federated login that ends early or starts again', () => {
  it('redirects access_denied when the user declines here, without a federated login', async () => {
    const { files, t } = await setFilesScene();
    const asked = await t.visitor.open(requestOf());
    const end = await t.visitor.submit(asked, { decision: 'deny' });
    expect(end.left?.searchParams.get('error')).toBe('access_denied');
    expect([loginCookies(end), files.count('GET /auth')]).toEqual([[], 0]);
  });

  it.each([
    [{ parameters: { prompt: 'consent' } }, 'login consent'],
    [{ parameters: { prompt: 'none' } }, 'login'],
    [{ loginPrompt: 'select_account', parameters: { prompt: 'consent' } }, 'select_account consent'],
  ] as const)('adds to the configured values of `prompt` for a fresh sign-in: %j', async (more, expected) => {
    const liar = await startProvider(startMisbehaving, 'liar');
    const t = await setFederationScene([openId(liar, { id: 'liar', ...more })]);
    const { left } = await startFederatedLogin(t.visitor, requestOf({ prompt: 'login' }));
    expect(left?.searchParams.get('prompt')).toBe(expected);
  });

  it('asks the identity provider for a fresh sign-in for prompt=login', async () => {
    const { t } = await setFilesScene();
    await logInByProvider(t.visitor);
    const { left } = await startFederatedLogin(t.visitor, requestOf({ prompt: 'login' }));
    expect(left?.searchParams.get('prompt')).toBe('login consent');
    const end = await openCallback(t.visitor, await signInAtProvider(t.visitor, left));
    expect(end.left?.searchParams.get('code')).toBeTruthy();
  });

  it.each([
    { revocationEnds: 'grant', description: 'revokes', isLive: false },
    // It would end what other grants of that user need.
    { revocationEnds: 'everything', description: 'does not revoke', isLive: true },
  ] as const)(
    '$description provider tokens if their user cannot be identified and a revocation ends $revocationEnds',
    async ({ revocationEnds, isLive }) => {
      const hub = await startHub();
      const t = await setFederationScene([plain(hub, { revocationEnds })]);
      const { left } = await startFederatedLogin(t.visitor);
      const back = await signInAtProvider(t.visitor, left);
      hub.users.set('ada', { id: 1.5, login: 'ada', email: null, name: null });
      const end = await openCallback(t.visitor, back);
      expect(end.left?.searchParams.get('error')).toBe('server_error');
      expect(hub.given.map((token) => hub.isLive(token))).toEqual([isLive]);
    },
  );

  it('works with a standard OAuth identity provider, with introspection and revocation', async () => {
    const files = await startFiles();
    const t = await setFederationScene([
      openId(files, {
        kind: {
          issuer: files.origin,
          endpoints: {
            authorization: `${files.origin}/auth`,
            token: `${files.origin}/token`,
            userinfo: `${files.origin}/me`,
            introspection: `${files.origin}/token/introspection`,
            revocation: `${files.origin}/token/revocation`,
          },
          userinfoClaims: { subject: 'sub' },
        },
      }),
    ]);
    const { body } = await redeemAt(t, await logInByProvider(t.visitor));
    const claims = claimsOf(body['access_token']) as never;
    t.clock.now += 60;
    const before = files.count('POST /token/introspection');
    expect(await t.server.isLive(claims)).toBe(true);
    expect(files.count('POST /token/introspection')).toBe(before + 1);
    const { accessToken } = await t.server.upstreamToken(claims);
    await t.post('/revoke', {
      token: String(body['refresh_token']),
      client_id: 'web',
      client_secret: 'web-secret',
    });
    await until(async () => !(await files.isLive(accessToken)));
  });
});

describe('T076 consent before the redirect (confused deputy)', () => {
  it('[GW-CONSENT-1 GW-CONS-41 GW-CONS-48 GW-STATE-41] shows consent for each registered client before any redirect or cookie (confused deputy)', async () => {
    const { files, t } = await setFilesScene();
    await logInByProvider(t.visitor);
    const client = await t.registerClient({
      client_name: 'New',
      redirect_uris: ['https://new.example/cb'],
      grant_types: ['authorization_code'],
    });
    const path = requestOf({ client_id: client, redirect_uri: 'https://new.example/cb' });
    const asked = await t.visitor.open(path);
    expect([asked.path.startsWith('/consent'), asked.left]).toEqual([true, null]);
    expect(loginCookies(asked)).toEqual([]);
    const before = files.count('GET /auth');
    const left = await t.visitor.submit(asked, { decision: 'allow' });
    expect(left.left?.origin).toBe(files.origin);
    expect(loginCookies(left)).toHaveLength(1);
    expect(loginCookies(left)[0]).toMatch(/^__Host-.*HttpOnly; SameSite=Lax; Secure$/);
    expect(files.count('GET /auth')).toBe(before);
  });

  it('[GW-CONSENT-1] asks again for a configured client that was allowed before, and rejects `prompt=none`', async () => {
    const { t } = await setFilesScene();
    await redeemAt(t, await logInByProvider(t.visitor));
    t.visitor.headers = {
      'sec-fetch-site': 'none',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    const asked = await t.visitor.open(requestOf());
    expect([asked.path.startsWith('/consent'), asked.left]).toEqual([true, null]);
    const silent = await t.visitor.open(requestOf({ prompt: 'none' }));
    expect(silent.left?.searchParams.get('error')).toBe('consent_required');
  });

  it('[GW-CONS-40] does not use one user’s consent for another', async () => {
    const { t } = await setFilesScene();
    await logInByProvider(t.visitor);
    const other = t.newVisitor();
    const asked = await other.open(requestOf());
    expect([asked.path.startsWith('/consent'), asked.left]).toEqual([true, null]);
  });

  it('[GW-CONS-43 GW-CONS-44 GW-CONS-45 GW-CONS-47] the consent page names client, scopes here and at the identity provider, and redirect host, and cannot be framed', async () => {
    const { t } = await setFilesScene();
    const client = await t.registerClient({
      client_name: 'Reader',
      redirect_uris: ['https://new.example/cb'],
      grant_types: ['authorization_code'],
    });
    const asked = await t.visitor.open(
      requestOf({ client_id: client, redirect_uri: 'https://new.example/cb' }),
    );
    const text = textOf(asked);
    for (const words of ['Reader', 'Read your notes', 'Files', 'files:read', 'new.example'])
      expect(text).toContain(words);
    expect(asked.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(asked.headers.get('x-frame-options')).toBe('DENY');
  });

  it.each([
    { description: 'no token', fields: { token: undefined } },
    { description: 'a foreign token', fields: { token: 'AAAA' } },
  ])('[GW-CONS-46] rejects a consent decision with $description (CSRF)', async ({ fields }) => {
    const { files, t } = await setFilesScene();
    const asked = await t.visitor.open(requestOf());
    const before = t.snapshot();
    const refused = await t.visitor.submit(asked, { ...fields, decision: 'allow' });
    expect([refused.status, refused.left, loginCookies(refused)]).toEqual([403, null, []]);
    expect(t.snapshot()).toBe(before);
    expect((await t.visitor.submit(asked, { decision: 'allow' })).left?.origin).toBe(files.origin);
  });

  it('[GW-CONS-49 GW-3P-13] starts no federated login with a redirect URI that the client has not registered', async () => {
    const { t } = await setFilesScene();
    const before = t.snapshot();
    const refused = await t.visitor.open(requestOf({ redirect_uri: 'https://app.example/callback/' }));
    expect([refused.status, refused.left]).toEqual([400, null]);
    expect(t.snapshot()).toBe(before);
  });
});

describe('the rate limit of federated logins', () => {
  const limits = { federatedLogins: { burst: 3, perMinute: 6 } };
  const startScene = async () => setFederationScene([plain(await startHub())], { rateLimits: limits });

  it('the rate limit of federated logins is per account, and recovers', async () => {
    const t = await startScene();
    const settle = async (visitor: Visitor, login: string) => {
      await logInByProvider(visitor, requestOf(), { login });
      t.clock.now += 900;
      return visitor.open('/login?to=account&again=yes');
    };
    const bob = t.newVisitor();
    const here = await settle(bob, 'bob');
    const page = await settle(t.visitor, 'ada');
    const leaveAgain = () => t.visitor.submit(page, {}, '/login/hub');
    for (let times = 0; times < 3; times += 1) expect((await leaveAgain()).left).not.toBeNull();
    const before = t.snapshot();
    const held = await leaveAgain();
    expect([held.status, held.headers.get('retry-after'), held.left]).toEqual([429, '10', null]);
    expect([loginCookies(held), t.snapshot()]).toEqual([[], before]);
    expect((await bob.submit(here, {}, '/login/hub')).left).not.toBeNull();
    t.clock.now += 10;
    expect((await leaveAgain()).left).not.toBeNull();
  });

  it('the rate limit of federated logins is per transaction while the user is unknown', async () => {
    const t = await startScene();
    const asked = await t.visitor.open(requestOf());
    const allow = () => t.visitor.submit(asked, { decision: 'allow' });
    for (let times = 0; times < 3; times += 1) expect((await allow()).left).not.toBeNull();
    const before = t.snapshot();
    const held = await allow();
    expect([held.status, held.headers.get('retry-after'), t.snapshot()]).toEqual([429, '10', before]);
    expect((await startFederatedLogin(t.visitor)).left).not.toBeNull();
  });
});

describe('T077 a federated login of another browser', () => {
  it('[GW-STATE-42] rejects a callback in a browser that did not start the federated login, and consumes nothing', async () => {
    const { files, t } = await setFilesScene();
    const attacker = t.newVisitor();
    const { left } = await startFederatedLogin(attacker);
    const back = await signInAtProvider(t.visitor, left);
    const before = t.snapshot();
    const refused = await openCallback(t.visitor, back);
    expect([refused.status, refused.left, redemptions(files)]).toEqual([403, null, 0]);
    expect(t.snapshot()).toBe(before);
    // A started federated login can still complete.
    expect((await openCallback(attacker, back)).left?.searchParams.get('code')).toBeTruthy();
  });

  it('[GW-STATE-42] rejects a callback with the cookie of another federated login, or with a session only', async () => {
    const { files, t } = await setFilesScene();
    const { left } = await startFederatedLogin(t.visitor);
    const back = await signInAtProvider(t.visitor, left);
    const [name = '', value = ''] =
      [...t.visitor.cookies].find(([one]) => one.includes('federated-login')) ?? [];
    t.visitor.cookies.set(name, 'A'.repeat(43));
    expect((await openCallback(t.visitor, back)).status).toBe(403);
    t.visitor.cookies.delete(name);
    expect((await openCallback(t.visitor, back)).status).toBe(403);
    expect(redemptions(files)).toBe(0);
    t.visitor.cookies.set(name, value);
    expect((await openCallback(t.visitor, back)).left?.searchParams.get('code')).toBeTruthy();
  });
});

describe('T078 the state of a federated login', () => {
  const wrong: readonly { description: string; change: (state: string) => string | null }[] = [
    { description: 'is missing', change: () => null },
    { description: 'is empty', change: () => '' },
    { description: 'is guessed', change: () => 'web:ada:1' },
    {
      description: 'is edited',
      change: (state) => `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`,
    },
    { description: 'is JSON', change: () => btoa('{"client":"web","user":"ada"}') },
    { description: 'is long', change: () => 'x'.repeat(5000) },
  ];
  it.each(wrong)('[GW-STATE-42] rejects a callback whose state $description', async ({ change }) => {
    const { files, t } = await setFilesScene();
    const { left } = await startFederatedLogin(t.visitor);
    const back = await signInAtProvider(t.visitor, left);
    const forged = new URL(back);
    const state = change(back.searchParams.get('state') ?? '');
    if (state === null) forged.searchParams.delete('state');
    else forged.searchParams.set('state', state);
    const before = t.snapshot();
    const refused = await openCallback(t.visitor, forged);
    expect([refused.status, refused.left, redemptions(files)]).toEqual([400, null, 0]);
    expect(t.snapshot()).toBe(before);
    expect((await openCallback(t.visitor, back)).left?.searchParams.get('code')).toBeTruthy();
  });

  it('[GW-STATE-42] rejects a callback with two state parameters', async () => {
    const { files, t } = await setFilesScene();
    const back = await signInAtProvider(t.visitor, (await startFederatedLogin(t.visitor)).left);
    const refused = await t.visitor.open(`${back.pathname}${back.search}&state=other`);
    expect([refused.status, refused.left, redemptions(files)]).toEqual([400, null, 0]);
  });

  it('[GW-STATE-43 GW-3P-15] accepts a callback state once', async () => {
    const { files, t } = await setFilesScene();
    const back = await signInAtProvider(t.visitor, (await startFederatedLogin(t.visitor)).left);
    const cookies = new Map(t.visitor.cookies);
    expect((await openCallback(t.visitor, back)).left?.searchParams.get('code')).toBeTruthy();
    for (const [name, value] of cookies) t.visitor.cookies.set(name, value);
    const before = t.snapshot();
    const again = await openCallback(t.visitor, back);
    expect([again.status, again.left, redemptions(files)]).toEqual([400, null, 1]);
    expect(t.snapshot()).toBe(before);
  });

  it('[GW-STATE-43] accepts one of ten concurrent callbacks with the same state', async () => {
    const { files, t } = await setFilesScene();
    const back = await signInAtProvider(t.visitor, (await startFederatedLogin(t.visitor)).left);
    const cookie = [...t.visitor.cookies].map((pair) => pair.join('=')).join('; ');
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => t.send(`${back.pathname}${back.search}`, { headers: { cookie } })),
    );
    const codes = answers.filter(({ headers }) => (headers.get('location') ?? '').includes('code='));
    expect([codes.length, redemptions(files)]).toEqual([1, 1]);
  });

  it('[GW-STATE-43 GW-3P-15] rejects a callback state after ten minutes', async () => {
    const { files, t } = await setFilesScene();
    const back = await signInAtProvider(t.visitor, (await startFederatedLogin(t.visitor)).left);
    t.clock.now += 600;
    const refused = await openCallback(t.visitor, back);
    expect([refused.status, refused.left, redemptions(files)]).toEqual([400, null, 0]);
    await t.store.sweep(t.clock.now, 1000);
    expect(t.snapshot()).toContain('federated_logins\n\n');
  });

  it('[GW-STATE-40] uses a fresh state, nonce and code_challenge for every federated login', async () => {
    const { t } = await setFilesScene();
    const ways = [
      (await startFederatedLogin(t.visitor)).left,
      (await startFederatedLogin(t.visitor)).left,
      (await startFederatedLogin(t.newVisitor())).left,
    ];
    for (const name of ['state', 'nonce', 'code_challenge']) {
      const values = ways.map((way) => way?.searchParams.get(name));
      expect(new Set(values).size).toBe(3);
      for (const value of values) expect(value).toMatch(/^[A-Za-z0-9_-]{43}$/);
    }
  });

  it('rejects a callback at the redirect URI of another identity provider (mix-up attack)', async () => {
    const files = await startFiles();
    const hub = await startHub();
    const t = await setFederationScene([openId(files), plain(hub)]);
    const page = await t.visitor.open(requestOf());
    const consent = await t.visitor.submit(page, {}, '/login/files');
    const { left } = await t.visitor.submit(consent, { decision: 'allow' });
    const back = await signInAtProvider(t.visitor, left);
    const before = t.snapshot();
    const mixed = await t.visitor.open(`/callback/hub${back.search}`);
    expect([mixed.status, mixed.left, redemptions(files)]).toEqual([400, null, 0]);
    expect(t.snapshot()).toBe(before);
    expect((await openCallback(t.visitor, back)).left?.searchParams.get('code')).toBeTruthy();
  });

  it('rejects a callback that names another issuer (mix-up attack)', async () => {
    const { files, t } = await setFilesScene();
    const back = await signInAtProvider(t.visitor, (await startFederatedLogin(t.visitor)).left);
    back.searchParams.set('iss', 'https://evil.example');
    const refused = await openCallback(t.visitor, back);
    expect(refused.left?.searchParams.get('error')).toBe('server_error');
    expect(redemptions(files)).toBe(0);
  });
});

describe('T080 forged identities', () => {
  const other = 'https://evil.example';
  it.each([
    { description: 'a wrong nonce', lies: { claims: { nonce: 'another' } } },
    { description: 'no nonce', lies: { claims: { nonce: undefined } } },
    { description: 'a wrong audience', lies: { claims: { aud: 'another-client' } } },
    {
      description: 'several audiences and no authorized party',
      lies: { claims: { aud: ['portcullis', 'another-client'] } },
    },
    { description: 'another authorized party', lies: { claims: { aud: ['portcullis', 'x'], azp: 'x' } } },
    { description: 'a wrong issuer', lies: { claims: { iss: other } } },
    { description: 'an expired ID token', lies: { claims: { exp: 1_000_000 } } },
    {
      description: 'an ID token of the future',
      lies: { claims: { iat: 9_999_999_999, exp: 99_999_999_999 } },
    },
    { description: 'no subject', lies: { claims: { sub: undefined } } },
    { description: 'no signature', lies: { signature: 'none' as const } },
    { description: 'a signature by the client secret', lies: { signature: 'HS256' as const } },
    { description: 'a signature by an unknown key', lies: { signature: 'unknown key' as const } },
    { description: 'a signature by a withdrawn key', lies: { signature: 'withdrawn key' as const } },
    { description: 'a broken signature', lies: { signature: 'broken' as const } },
    { description: 'another issuer in the authorization response', lies: { response: { iss: other } } },
    { description: 'no code', lies: { response: { code: null } } },
  ])(
    'rejects a callback with $description, and creates no account, provider tokens or code',
    async ({ lies }) => {
      const liar = await startLiar();
      const t = await setFederationScene([openId(liar)]);
      const { left } = await startFederatedLogin(t.visitor);
      liar.lies = lies;
      const end = await openCallback(t.visitor, await signInAtProvider(t.visitor, left));
      expect(end.left?.searchParams.get('error')).toBe('server_error');
      expect(end.left?.searchParams.get('code')).toBeNull();
      expect(t.snapshot()).toMatch(/\nprovider_tokens\n\n|^provider_tokens\n\n/m);
      expect(t.snapshot()).toMatch(/\nlinked_identities\n\n/);
      expect(t.snapshot()).toMatch(/\nsessions\n/);
      liar.lies = {};
      expect((await logInByProvider(t.visitor)).left?.searchParams.get('code')).toBeTruthy();
    },
  );
});

describe('T081 errors of the identity provider', () => {
  it('[GW-3P-17] redirects access_denied when the user declines at the identity provider', async () => {
    const { t } = await setFilesScene();
    const { left } = await startFederatedLogin(t.visitor);
    const end = await openCallback(t.visitor, await signInAtProvider(t.visitor, left, { answer: 'deny' }));
    expect(Object.fromEntries(end.left?.searchParams ?? [])).toMatchObject({
      error: 'access_denied',
      state: 'xyz',
      iss: ISSUER,
    });
  });

  it.each([
    { description: 'a script', error: '<script>alert(1)</script>', text: 'markup in the error' },
    { description: 'a long description', error: 'invalid_scope', text: 'y'.repeat(100_000) },
    { description: 'an unknown error code', error: 'no_idea', text: 'an unknown error code' },
  ])('[GW-3P-17] maps an identity provider’s error with $description to our own', async ({ error, text }) => {
    const { t } = await setFilesScene();
    const { left } = await startFederatedLogin(t.visitor);
    const query = new URLSearchParams({
      error,
      error_description: text,
      state: left?.searchParams.get('state') ?? '',
    });
    query.set('iss', left?.origin ?? '');
    const end = await t.visitor.open(`/callback/files?${query}`);
    expect(end.left?.searchParams.get('error')).toBe('server_error');
    expect(end.left?.searchParams.get('iss')).toBe(ISSUER);
    const said = `${end.left?.href}${JSON.stringify(t.events)}`;
    expect(said).not.toContain('<script');
    expect(said).not.toContain('alert');
    expect(said).not.toContain(text.repeat(2).slice(0, 50));
  });

  const outages = [
    { description: 'a status 500', at: 'token', issue: { kind: 'status', status: 500 } },
    { description: 'a status 429', at: 'token', issue: { kind: 'status', status: 429, retryAfter: 7 } },
    { description: 'silence', at: 'token', issue: { kind: 'slow', milliseconds: 5000 } },
    { description: 'no keys', at: 'jwks', issue: { kind: 'status', status: 503 } },
    { description: 'a switch of protocols', at: 'token', issue: { kind: 'switch' } },
    { description: 'a switch of protocols for its keys', at: 'jwks', issue: { kind: 'switch' } },
    { description: 'a status 503 for its user', at: 'userinfo', issue: { kind: 'status', status: 503 } },
    { description: 'no response about its user', at: 'userinfo', issue: { kind: 'cut' } },
  ] as const;
  it.each(outages)(
    '[GW-3P-17] redirects temporarily_unavailable after the identity provider sends $description',
    async ({ at, issue }) => {
      const liar = await startLiar();
      const t = await setFederationScene([openId(liar)], { outbound: { timeout: 2000 } });
      const { left } = await startFederatedLogin(t.visitor);
      const back = await signInAtProvider(t.visitor, left);
      liar.at(at, issue);
      const end = await openCallback(t.visitor, back);
      expect(end.left?.searchParams.get('error')).toBe('temporarily_unavailable');
      liar.at(at, null);
      expect((await logInByProvider(t.visitor)).left?.searchParams.get('code')).toBeTruthy();
    },
  );

  it('[GW-3P-17] the metadata of a provider is fetched again if the clock was ahead when it was fetched', async () => {
    const liar = await startLiar();
    const t = await setFederationScene([openId(liar)]);
    t.clock.now += 7200;
    await startFederatedLogin(t.visitor);
    t.clock.now -= 7200;
    liar.at('discovery', { kind: 'text', body: 'not JSON', type: 'application/json' });
    expect((await startFederatedLogin(t.visitor)).left).toBeNull();
    liar.at('discovery', null);
    expect((await logInByProvider(t.visitor)).left?.searchParams.get('code')).toBeTruthy();
  });

  it('[GW-3P-17] a provider whose metadata once switched protocols can be used again without a restart', async () => {
    const liar = await startLiar();
    const t = await setFederationScene([openId(liar)], { outbound: { timeout: 2000 } });
    liar.at('discovery', { kind: 'switch' });
    const asked = await t.visitor.open(requestOf());
    const before = t.snapshot();
    const refused = await Promise.all(
      Array.from({ length: 5 }, () => t.visitor.submit(asked, { decision: 'allow' })),
    );
    expect(refused.map(({ status }) => status)).toEqual(new Array(5).fill(503));
    expect(t.snapshot()).toBe(before);
    liar.at('discovery', null);
    expect((await logInByProvider(t.visitor)).left?.searchParams.get('code')).toBeTruthy();
  });

  const nonsense = [
    { description: 'invalid JSON', issue: { kind: 'text', body: 'not JSON', type: 'application/json' } },
    { description: 'a redirect', issue: { kind: 'redirect', to: 'https://evil.example/' } },
    { description: 'an endless response', issue: { kind: 'huge', bytes: 5_000_000 } },
    { description: 'an OAuth error', issue: { kind: 'error', error: 'invalid_grant' } },
  ] as const;
  it.each(nonsense)(
    '[GW-3P-17] redirects server_error after the identity provider sends $description',
    async ({ issue }) => {
      const liar = await startLiar();
      const t = await setFederationScene([openId(liar)]);
      const back = await signInAtProvider(t.visitor, (await startFederatedLogin(t.visitor)).left);
      liar.at('token', issue);
      const end = await openCallback(t.visitor, back);
      expect(end.left?.searchParams.get('error')).toBe('server_error');
    },
  );

  it.each([
    {
      description: 'is unavailable',
      issue: { kind: 'status', status: 503 },
      error: 'temporarily_unavailable',
    },
    { description: 'is invalid', issue: { kind: 'text', body: '<p>Back soon</p>' }, error: 'server_error' },
    { description: 'is too long', issue: { kind: 'huge', bytes: 5_000_000 }, error: 'server_error' },
  ] as const)(
    '[GW-3P-17] changes nothing about a user whose userinfo $description',
    async ({ issue, error }) => {
      const liar = await startLiar();
      liar.lies = { claims: { email: undefined, email_verified: undefined } };
      const members = { email: 'ada@corp.example', email_verified: true, groups: ['editors'] };
      liar.at('userinfo', { kind: 'members', members });
      const allowedUsers = { emailDomains: ['corp.example'] };
      const t = await setFederationScene([openId(liar, { userClaims: { groups: 'groups' }, allowedUsers })], {
        resources: RESOURCES.map((one) => ({ ...one, claims: ['groups'] as const })),
      });
      const account = String(
        claimsOf((await redeemAt(t, await logInByProvider(t.visitor))).body['access_token'])['sub'],
      );
      const before = await t.store.findProfile(account);
      expect(before).toMatchObject({ email: members.email, groups: members.groups });
      liar.at('userinfo', issue);
      const { left } = await logInByProvider(t.newVisitor());
      expect(left?.searchParams.get('error')).toBe(error);
      expect(await t.store.findProfile(account)).toEqual(before);
    },
  );

  it.each([
    { description: 'refuses the token as one for another API', issue: { kind: 'status', status: 401 } },
    { description: 'does not exist', issue: { kind: 'status', status: 404 } },
    { description: 'is signed', issue: { kind: 'text', body: 'e30.e30.', type: 'application/jwt' } },
  ] as const)('identifies a user by the ID token alone if userinfo $description', async ({ issue }) => {
    const liar = await startLiar();
    liar.at('userinfo', issue);
    const t = await setFederationScene([openId(liar, { allowedUsers: { emailDomains: ['third.example'] } })]);
    expect((await logInByProvider(t.visitor)).left?.searchParams.get('code')).toBeTruthy();
  });

  const unfound = [
    {
      description: 'a default time without Retry-After',
      issue: { kind: 'status', status: 503 },
      page: [503, '30', 'Files is not responding', 'Try again in 30 seconds.'],
    },
    {
      description: 'the time in Retry-After',
      issue: { kind: 'status', status: 429, retryAfter: 61 },
      page: [503, '61', 'Files is not responding', 'Try again in 2 minutes.'],
    },
    {
      description: 'no retry, if its metadata is invalid',
      issue: { kind: 'text', body: 'not JSON', type: 'application/json' },
      page: [
        502,
        null,
        'Files cannot sign you in right now',
        'It sent a response that this server cannot use.',
      ],
    },
  ] as const;
  const seen = (sight: Sight) => [sight.status, sight.headers.get('retry-after'), sight.left];
  it.each(unfound)(
    '[GW-3P-17] an unavailable identity provider is named, with $description, and nothing is lost',
    async ({ issue, page: [status, retryAfter, ...sentences] }) => {
      const liar = await startLiar();
      const t = await setFederationScene([openId(liar)]);
      const asked = await t.visitor.open(requestOf());
      const before = t.snapshot();
      liar.at('discovery', issue);
      const refused = await t.visitor.submit(asked, { decision: 'allow' });
      expect(seen(refused)).toEqual([status, retryAfter, null]);
      for (const sentence of sentences) expect(textOf(refused)).toContain(sentence);
      expect(textOf(refused)).not.toContain('This server is busy');
      expect(loginCookies(refused)).toEqual([]);
      expect(t.snapshot()).toBe(before);
      const reference = referenceOf(refused);
      const told = t.events.find((event) => 'reference' in event && event.reference === reference);
      expect(told).toMatchObject({
        endpoint: '/consent',
        reason: expect.stringMatching(/^files: (?:it|no|invalid)/),
      });

      liar.at('discovery', null);
      const again = /<a class="button" href="([^"]+)">Try again</.exec(refused.html)?.[1] ?? '';
      const { left } = await t.visitor.submit(await t.visitor.open(again), { decision: 'allow' });
      expect(
        (await openCallback(t.visitor, await signInAtProvider(t.visitor, left))).left?.searchParams.get(
          'code',
        ),
      ).toBeTruthy();
    },
  );

  it('explains an unavailable identity provider in the user’s language on the account pages', async () => {
    const liar = await startLiar();
    const t = await setFederationScene([openId(liar, { name: '<b>Akten</b>' })], { localAccounts: true });
    t.visitor.headers = { 'accept-language': 'de' };
    const page = await t.visitor.open('/login?to=account');
    liar.at('discovery', { kind: 'cut' });
    const refused = await t.visitor.submit(page, {}, '/login/files');
    expect(seen(refused)).toEqual([503, '30', null]);
    expect(textOf(refused)).toContain('<b>Akten</b> antwortet nicht');
    expect(textOf(refused)).toContain('Versuchen Sie es in 30 Sekunden erneut.');
    expect(refused.html).toContain('<a class="button" href="/login?to=account">Erneut versuchen</a>');
    liar.at('discovery', null);
    const onward = await t.visitor.submit(page, {}, '/login/files');
    expect(onward.left?.origin).toBe(liar.origin);
  });

  const visits = [
    {
      description: 'the identity provider is unavailable',
      issue: { kind: 'status', status: 503 },
      page: [503, 'Files is not responding'],
    },
    {
      description: 'its response is invalid',
      issue: { kind: 'text', body: 'not JSON' },
      page: [502, 'Files cannot sign you in right now'],
    },
  ] as const;
  it.each(visits)('[GW-3P-17] explains on the account pages that $description', async ({ issue, page }) => {
    const liar = await startLiar();
    const t = await setFederationScene([openId(liar)]);
    const comeFor = async (stay?: ProviderSignIn) => {
      const { left } = await t.visitor.submit(await t.visitor.open('/login?to=account'), {}, '/login/files');
      return openCallback(t.visitor, await signInAtProvider(t.visitor, left, stay));
    };
    liar.at('token', issue);
    const refused = await comeFor();
    expect([refused.status, textOf(refused)]).toEqual([page[0], expect.stringContaining(page[1])]);
    expect(refused.html).toContain('<a class="button" href="/login?to=account">Try again</a>');
    liar.at('token', null);
    signOutAtProvider(t.visitor);
    expect((await comeFor()).path).toBe('/account');
  });

  it('[GW-3P-17] distinguishes a user who declined from one who is not allowed', async () => {
    const { t } = await setFilesScene();
    const page = await t.visitor.open('/login?to=account');
    const { left } = await t.visitor.submit(page, {}, '/login/files');
    const declined = await openCallback(
      t.visitor,
      await signInAtProvider(t.visitor, left, { answer: 'deny' }),
    );
    expect(declined.status).toBe(403);
    expect(textOf(declined)).toContain('Not signed in Files did not sign you in.');
    expect(t.visitor.cookies.has('__Host-portcullis-session')).toBe(false);
  });

  it('[GW-3P-13] checks client and redirect URI again after the callback: one removed or changed meanwhile gets nothing', async () => {
    const { files, t } = await setFilesScene();
    const metadata = {
      client_name: 'App',
      redirect_uris: ['https://new.example/cb'],
      grant_types: ['authorization_code'],
    };
    const [gone, changed] = [await t.registerClient(metadata), await t.registerClient(metadata)];
    const backs: URL[] = [];
    for (const client of [gone, changed]) {
      const { left } = await startFederatedLogin(
        t.visitor,
        requestOf({ client_id: client, redirect_uri: 'https://new.example/cb' }),
      );
      backs.push(await signInAtProvider(t.visitor, left));
    }
    await t.store.removeClient(gone, t.clock.now);
    const record = await t.store.findClient(changed);
    if (record === null) throw new Error('there is no client');
    await t.store.updateClient(changed, {
      ...record,
      metadata: { ...record.metadata, redirect_uris: ['https://other.example/cb'] },
    });
    for (const back of backs) {
      const refused = await openCallback(t.visitor, back);
      expect([refused.status, refused.left]).toEqual([400, null]);
    }
    expect(redemptions(files)).toBe(0);
  });
});

describe('T082 the identity of a federated user', () => {
  /** The account of a federated user. */
  async function accountOf(t: FederationScene, login: string): Promise<string> {
    const visitor = t.newVisitor();
    const { body } = await redeemAt(t, await logInByProvider(visitor, requestOf(), { login }));
    return String(claimsOf(body['access_token'])['sub']);
  }

  it('identifies a federated user by issuer and subject, whatever the email address', async () => {
    const { files, t } = await setFilesScene({ localAccounts: true });
    const claims = { email: EMAIL, email_verified: true };
    files.users.set('one', claims);
    files.users.set('two', { ...claims, email_verified: false });
    files.users.set('three', { email: 'ADA@example.org', email_verified: true });
    const signIn = async (login: string) => {
      const visitor = t.newVisitor();
      const page = await visitor.open(requestOf());
      const consent = await visitor.submit(page, {}, '/login/files');
      const { left } = await visitor.submit(consent, { decision: 'allow' });
      const { body } = await redeemAt(
        t,
        await openCallback(visitor, await signInAtProvider(visitor, left, { login })),
      );
      return String(claimsOf(body['access_token'])['sub']);
    };
    const accounts = [await signIn('one'), await signIn('two'), await signIn('three'), await signIn('One')];
    expect(new Set(accounts).size).toBe(4);
    expect(accounts).not.toContain('user_ada');
    expect(await signIn('one')).toBe(accounts[0]);
  });

  it('treats the same subject and address at another identity provider as another user', async () => {
    const [files, liar] = [await startFiles(), await startProvider(startMisbehaving, 'liar')];
    const t = await setFederationScene([openId(files), openId(liar, { id: 'liar', name: 'Liar' })]);
    const accounts: string[] = [];
    for (const id of ['files', 'liar']) {
      const visitor = t.newVisitor();
      const consent = await visitor.submit(await visitor.open(requestOf()), {}, `/login/${id}`);
      const { left } = await visitor.submit(consent, { decision: 'allow' });
      const { body } = await redeemAt(
        t,
        await openCallback(visitor, await signInAtProvider(visitor, left, { login: 'ada' })),
      );
      accounts.push(String(claimsOf(body['access_token'])['sub']));
    }
    expect(new Set(accounts).size).toBe(2);
  });

  it.each([
    {
      description: 'a verified address of the domain',
      claims: { email: 'x@corp.example', email_verified: true },
      may: true,
    },
    {
      description: 'the same in upper case',
      claims: { email: 'X@CORP.example', email_verified: true },
      may: true,
    },
    {
      description: 'an unverified address',
      claims: { email: 'x@corp.example', email_verified: false },
      may: false,
    },
    {
      description: 'verified as the string "true"',
      claims: { email: 'x@corp.example', email_verified: 'true' },
      may: false,
    },
    {
      description: 'an address of a subdomain',
      claims: { email: 'x@a.corp.example', email_verified: true },
      may: false,
    },
    {
      description: 'a domain with the same suffix',
      claims: { email: 'x@evilcorp.example', email_verified: true },
      may: false,
    },
    {
      description: 'two at signs',
      claims: { email: 'x@corp.example@evil.example', email_verified: true },
      may: false,
    },
    {
      description: 'the domain as a prefix of another',
      claims: { email: 'a@evil.example@corp.example', email_verified: true },
      may: false,
    },
    {
      description: 'a fullwidth at sign',
      claims: { email: 'x＠corp.example', email_verified: true },
      may: false,
    },
    { description: 'no address', claims: { email: undefined }, may: false },
  ])('allows users by email domain: $description → $may', async ({ claims, may }) => {
    const files = await startFiles();
    const scopes = ['openid', 'email'];
    const t = await setFederationScene([
      openId(files, { scopes, allowedUsers: { emailDomains: ['corp.example'] } }),
    ]);
    files.users.set('ada', claims);
    const end = await logInByProvider(t.visitor);
    expect(end.left?.searchParams.get(may ? 'code' : 'error')).toBe(
      may ? end.left?.searchParams.get('code') : 'access_denied',
    );
    expect(end.left?.searchParams.has('code')).toBe(may);
    expect(await t.store.findLinkedIdentity(files.origin, 'ada')).toEqual(may ? expect.anything() : null);
    // Unneeded provider tokens are revoked.
    if (!may)
      await until(async () => (await Promise.all(files.given.map(files.isLive))).every((one) => !one));
  });

  it.each([
    {
      description: 'a different address is verified',
      claims: { email: 'x@corp.example' },
      members: { email: 'x@evil.example', email_verified: true },
      may: false,
    },
    {
      description: 'the verified flag is not beside an address',
      claims: { email: undefined, email_verified: true },
      members: { email: 'x@corp.example', email_verified: undefined },
      may: false,
    },
    {
      description: 'the address is that of another user',
      claims: { email: undefined },
      members: { sub: 'another', email: 'x@corp.example', email_verified: true },
      may: false,
    },
    {
      description: 'the same address is verified in one of two places',
      claims: { email: 'x@corp.example' },
      members: { email: 'x@corp.example', email_verified: true },
      may: true,
    },
    {
      description: 'address and verified flag are together',
      claims: { email: undefined },
      members: { email: 'x@corp.example', email_verified: true },
      may: true,
    },
  ])('allows users by email address only if it is verified: $description', async (row) => {
    const liar = await startProvider(startMisbehaving, 'liar');
    liar.lies = { claims: { email_verified: undefined, ...row.claims } };
    liar.at('userinfo', { kind: 'members', members: row.members });
    const users = { emailDomains: ['corp.example'] };
    const t = await setFederationScene([
      openId(liar, { id: 'liar', scopes: ['openid', 'email'], allowedUsers: users }),
    ]);
    const { left } = await logInByProvider(t.visitor);
    expect(left?.searchParams.has('code')).toBe(row.may);
  });

  it.each([
    [['Ada@third.example'], { email: 'ada@third.example', email_verified: true }, true],
    [
      ['other@third.example', 'ada@third.example'],
      { email: 'ada@third.example', email_verified: true },
      true,
    ],
    [['ada@third.example'], { email: 'ada@third.example', email_verified: false }, false],
    [['ada@third.example'], { email: 'mallory@third.example', email_verified: true }, false],
    [['ada@third.example'], { email: 'ada@third.example.evil.example', email_verified: true }, false],
  ])('allows the users with the verified addresses %j: %j', async (emails, claims, may) => {
    const liar = await startProvider(startMisbehaving, 'liar');
    liar.lies = { claims };
    const t = await setFederationScene([openId(liar, { id: 'liar', allowedUsers: { emails } })]);
    const before = await t.store.listAccounts('', 10);
    const { left } = await logInByProvider(t.visitor);
    expect(left?.searchParams.has('code')).toBe(may);
    expect(await t.store.listAccounts('', 10)).toHaveLength(before.length + (may ? 1 : 0));
  });

  it('allows the users of GitHub that are named, and no other', async () => {
    const hub = await startHub();
    for (const [login, may] of [
      ['ada', true],
      ['mallory', false],
    ] as const) {
      const allowedUsers = { claims: { login: [login] } };
      const t = await setFederationScene([plain(hub, { allowedUsers })]);
      const { left } = await logInByProvider(t.visitor);
      expect([login, left?.searchParams.has('code')]).toEqual([login, may]);
    }
  });

  it('rejects a federated user whose account is disabled, and revokes their provider tokens', async () => {
    const { t } = await setFilesScene();
    const account = await accountOf(t, 'ada');
    await t.store.disableAccount(account, t.clock.now);
    const end = await logInByProvider(t.newVisitor());
    expect(end.left?.searchParams.get('error')).toBe('access_denied');
    await t.store.enableAccount(account);
    expect(await accountOf(t, 'ada')).toBe(account);
  });
});
