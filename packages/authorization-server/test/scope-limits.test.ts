/** Limits of scopes by client, group and claim: the consent page, and every grant that issues tokens. */
import { describe, expect, it } from 'vitest';
import { startMisbehaving } from '../../../tests/support/identity-providers/misbehaving.ts';
import {
  type AuthorizationServerOptions,
  ConfigurationError,
  type ResourceDefinition,
} from '../src/index.ts';
import { startAssertionIssuer } from './assertion-issuer.ts';
import { logInByProvider, openId, redeemAt, setFederationScene, startProvider } from './federation-scene.ts';
import {
  basic,
  CLIENTS,
  claimsOf,
  FILES,
  NOTES,
  RESOURCES,
  refreshing,
  startServer,
} from './server-under-test.ts';
import {
  EMAIL,
  PASSWORD,
  permissionField,
  permissionsOf,
  requestOf,
  type Scene,
  setScene,
  textOf,
} from './visitor.ts';

type Limits = NonNullable<ResourceDefinition['grantableTo']>;

/** The resources of the tests, with limits for the notes. */
const limited = (grantableTo: Limits, more: Partial<ResourceDefinition> = {}) => ({
  resources: RESOURCES.map((one) => (one.resource === NOTES ? { ...one, grantableTo, ...more } : one)),
});

const MORE_SCOPES = {
  'notes:read': 'Read your notes',
  'notes:write': 'Change your notes',
  'notes:list': 'List your notes',
};

const WRITERS: Limits = { 'notes:write': { groups: ['writers'] } };
const BOTH = 'notes:read notes:write';

const describeAda = (t: Pick<Scene, 'server'>, groups: readonly string[]) =>
  t.server.accounts.describe(EMAIL, { groups });

/** Signs in and opens the consent page. */
const ask = (t: Scene, scope: string, more: Record<string, string> = {}) =>
  t.visitor.signIn(requestOf({ resource: NOTES, scope, ...more }));

/** What the events say of the last refused request. */
function refusalOf({ events }: Pick<Scene, 'events'>) {
  const found = events.findLast(({ type }) => type === 'request.rejected');
  if (found?.type !== 'request.rejected') throw new Error('no request was refused');
  const { endpoint, rule, reason } = found;
  return { endpoint, rule, reason };
}

const BY_GROUPS = {
  rule: `resources["${NOTES}"].grantableTo["notes:write"]`,
  reason: 'the user is in no group of the rule',
};

describe('a scope that is limited to groups', () => {
  it('is neither offered nor granted to a user of another group, and is to a member', async () => {
    const t = await setScene(limited(WRITERS));
    const consent = await ask(t, BOTH);
    expect(permissionsOf(consent).offered).toContain('Read your notes');
    expect(permissionsOf(consent).offered).not.toContain('Change your notes');
    const token = await redeemAt(t, await t.visitor.submit(consent, { decision: 'allow' }));
    expect(token.body['scope']).toBe('notes:read');

    await describeAda(t, ['writers']);
    const twin = await ask(t, BOTH);
    expect(permissionsOf(twin)).toEqual({
      offered: expect.stringContaining('Change your notes'),
      withheld: '',
    });
    const full = await redeemAt(t, await t.visitor.submit(twin, { decision: 'allow' }));
    expect(full.body['scope']).toBe(BOTH);
  });

  it('cannot be added to the form of the consent page', async () => {
    const t = await setScene(limited(WRITERS));
    const consent = await ask(t, BOTH);
    const before = t.snapshot();
    const forged = await t.visitor.submit(consent, {
      decision: 'allow',
      scope: ['notes:read', 'notes:write'],
    });
    expect([forged.status, forged.left, t.snapshot()]).toEqual([400, null, before]);
  });

  it('is refused with invalid_scope when nothing else is asked for, and nothing changes', async () => {
    const t = await setScene(limited(WRITERS, { hierarchy: {} }));
    await ask(t, 'notes:read');
    const refused = await ask(t, 'notes:write');
    expect(refused.left?.searchParams.get('error')).toBe('invalid_scope');
    expect(refused.left?.searchParams.get('error_description')).toContain('to this user');
    expect(refusalOf(t)).toEqual({ endpoint: '/authorize', ...BY_GROUPS });
    const before = t.snapshot();
    const again = await t.visitor.open(refused.trail.at(-1)?.headers.get('location') ?? '');
    expect([again.left?.searchParams.get('error'), t.snapshot()]).toEqual(['invalid_scope', before]);
    await describeAda(t, ['writers']);
    expect(textOf(await ask(t, 'notes:write'))).toContain('Change your notes');
  });

  it('leaves the scopes that it includes', async () => {
    const t = await setScene(limited(WRITERS));
    const consent = await ask(t, 'notes:write');
    const token = await redeemAt(t, await t.visitor.submit(consent, { decision: 'allow' }));
    expect(token.body['scope']).toBe('notes:read');
  });

  it('is not granted by a scope that includes it', async () => {
    const t = await setScene(limited({ 'notes:read': { groups: ['readers'] } }));
    const refused = await ask(t, 'notes:write');
    expect(refused.left?.searchParams.get('error')).toBe('invalid_scope');
    await describeAda(t, ['readers']);
    expect(textOf(await ask(t, 'notes:write'))).toContain('Change your notes');
  });

  it('is left out of the defaults, which are what is asked for without a scope', async () => {
    const t = await setScene(limited(WRITERS, { defaultScopes: ['notes:read', 'notes:write'] }));
    const visit = async () => permissionsOf(await t.visitor.signIn(requestOf({ resource: NOTES })));
    expect(await visit()).toEqual({
      offered: expect.not.stringContaining('Change your notes'),
      withheld: expect.stringContaining('Change your notes'),
    });
    await describeAda(t, ['writers']);
    expect((await visit()).offered).toContain('Change your notes');
  });

  it('is not offered among the other permissions of the page', async () => {
    const t = await setScene({ ...limited(WRITERS), offerOtherScopes: true });
    expect(textOf(await ask(t, 'notes:read'))).not.toContain('Change your notes');
    await describeAda(t, ['writers']);
    expect(textOf(await ask(t, 'notes:read'))).toContain('Change your notes');
  });

  it('shows the page again to a user who leaves the group meanwhile', async () => {
    const t = await setScene(limited(WRITERS));
    await describeAda(t, ['writers']);
    const consent = await ask(t, BOTH);
    await describeAda(t, []);
    const before = t.snapshot();
    const stale = await t.visitor.submit(consent, { decision: 'allow' });
    expect([stale.status, stale.left, t.snapshot()]).toEqual([400, null, before]);
  });

  it('ends at the next refresh for a user who left the group, and returns with the user', async () => {
    const t = await startServer(limited(WRITERS));
    await describeAda(t, ['writers']);
    const { body } = await t.signIn();
    expect(body['scope']).toBe(BOTH);
    await describeAda(t, []);
    const before = t.snapshot();
    const refused = await t.post('/token', { ...refreshing(body['refresh_token']), scope: 'notes:write' });
    expect([refused.body['error'], t.snapshot()]).toEqual(['invalid_scope', before]);
    expect(refusalOf(t)).toEqual({ endpoint: '/token', ...BY_GROUPS });
    const narrowed = await t.post('/token', refreshing(body['refresh_token']));
    expect(narrowed.body['scope']).toBe('notes:read');
    expect(claimsOf(narrowed.body['access_token'])['scope']).toBe('notes:read');
    await describeAda(t, ['writers']);
    const full = await t.post('/token', refreshing(narrowed.body['refresh_token']));
    expect(full.body['scope']).toBe(BOTH);
  });

  it('is not issued for a code of a user who left the group meanwhile', async () => {
    const t = await startServer(limited(WRITERS));
    expect((await t.signIn()).body['scope']).toBe('notes:read');
    await describeAda(t, ['writers']);
    expect((await t.signIn()).body['scope']).toBe(BOTH);
  });

  it('is not granted to a client that acts for itself', async () => {
    const clients = CLIENTS.map((one) =>
      'client_id' in one && one.client_id === 'nightly' ? { ...one, scope: BOTH } : one,
    );
    const t = await startServer({
      ...limited({ 'notes:write': { groups: [] } }, { hierarchy: {} }),
      clients,
    });
    const form = { grant_type: 'client_credentials', resource: NOTES };
    const granted = await t.post('/token', form, basic('nightly', 'nightly-secret'));
    expect(granted.body['scope']).toBe('notes:read');
    const before = t.snapshot();
    const wanted = { ...form, scope: 'notes:write' };
    const refused = await t.post('/token', wanted, basic('nightly', 'nightly-secret'));
    expect([refused.status, refused.body['error'], t.snapshot()]).toEqual([400, 'invalid_scope', before]);
    expect(refusalOf(t)).toEqual({ endpoint: '/token', ...BY_GROUPS });
    const unknown = { ...form, scope: 'notes:none' };
    await t.post('/token', unknown, basic('nightly', 'nightly-secret'));
    expect(refusalOf(t)).toMatchObject({ endpoint: '/token', rule: undefined });
  });

  it('is not offered for a personal access token, and leaves existing ones', async () => {
    const t = await setScene({ ...limited(WRITERS), personalAccessTokens: true });
    const page = '/connections/new-token';
    const form = async () => {
      const login = await t.visitor.open('/login?to=connections');
      if (login.path.startsWith('/login'))
        await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
      return t.visitor.submit(await t.visitor.open(page), { password: PASSWORD });
    };
    const wanted = {
      name: 'CI',
      resource: NOTES,
      [permissionField(NOTES, 'notes:write')]: 'yes',
      days: '30',
    };
    const asked = await form();
    expect(textOf(asked)).not.toContain('Change your notes');
    const before = t.snapshot();
    expect([(await t.visitor.submit(asked, wanted, page)).status, t.snapshot()]).toEqual([400, before]);
    await describeAda(t, ['writers']);
    const created = await t.visitor.submit(await form(), wanted, page);
    const token = /portcullis_pat_[\w-]{68}/.exec(created.html)?.[0] ?? '';
    const scope = async () =>
      (await t.post('/introspect', { token }, basic('notes-server', 'notes-server-secret'))).body['scope'];
    expect(await scope()).toBe('notes:write');
    await describeAda(t, []);
    expect(await scope()).toBe('notes:read');
  });

  it('follows the groups that an identity provider names at the login', async () => {
    const files = await startProvider(startMisbehaving, 'files');
    const provider = openId(files, { userClaims: { groups: 'groups' } });
    const t = await setFederationScene([provider], limited(WRITERS, { hierarchy: {} }));
    const logIn = async (groups: readonly string[], scope = BOTH) => {
      files.lies = { claims: { groups } };
      return logInByProvider(t.visitor, requestOf({ resource: NOTES, scope }));
    };
    const again = await logIn(['readers']);
    expect(permissionsOf(again)).toEqual({
      offered: expect.not.stringContaining('Change your notes'),
      withheld: expect.stringContaining('Change your notes'),
    });
    const allowed = await t.visitor.submit(again, { decision: 'allow' });
    expect((await redeemAt(t, allowed)).body['scope']).toBe('notes:read');
    const refused = await logIn(['readers'], 'notes:write');
    expect(refused.left?.searchParams.get('error')).toBe('invalid_scope');
    expect((await redeemAt(t, await logIn(['writers'], 'notes:write'))).body['scope']).toBe(BOTH);
    expect((await redeemAt(t, await logIn(['writers']))).body['scope']).toBe(BOTH);
  });

  it.each<[string, Partial<AuthorizationServerOptions>, readonly string[]]>([
    ['approvers of calls', { approvals: true }, ['leads']],
    ['a decision point', { decideScopes: async ({ scopes }) => scopes }, ['leads']],
    ['nothing', {}, []],
  ])('groups are stored where %s may depend on them', async (_what, options, groups) => {
    const files = await startProvider(startMisbehaving, 'files');
    const t = await setFederationScene([openId(files, { userClaims: { groups: 'groups' } })], options);
    files.lies = { claims: { groups: ['leads'] } };
    await redeemAt(t, await logInByProvider(t.visitor));
    const login = t.events.find(({ type }) => type === 'login.succeeded');
    const accountId = login !== undefined && 'accountId' in login ? String(login.accountId) : '';
    expect((await t.store.findProfile(accountId))?.groups).toEqual(groups);
  });

  it('is not part of the token for an assertion about a user of another group', async () => {
    const idp = await startAssertionIssuer();
    const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const t = await startServer({
      ...limited(WRITERS, { hierarchy: {} }),
      clients: [...CLIENTS, { client_id: 'agent', client_secret: 'agent-secret', grant_types: [grant] }],
      assertionIssuers: [{ issuer: idp.issuer, use: 'id-jag', clients: ['agent'], linkByEmail: true }],
    });
    const redeem = async (scope: string, claims = {}) => {
      const assertion = await idp.idJag({ resource: NOTES, scope, ...claims });
      return t.post('/token', { grant_type: grant, assertion }, basic('agent', 'agent-secret'));
    };
    const before = t.snapshot();
    expect([(await redeem('notes:write')).body['error'], t.snapshot()]).toEqual(['invalid_scope', before]);
    expect((await redeem(BOTH)).body['scope']).toBe('notes:read');
    await describeAda(t, ['writers']);
    const ada = { sub: 'ada-herself', email: EMAIL, email_verified: true };
    expect((await redeem(BOTH, ada)).body['scope']).toBe(BOTH);
  });

  it('is not part of a token that a server exchanges for the next one', async () => {
    const grant = 'urn:ietf:params:oauth:grant-type:token-exchange';
    const exchanging = { client_id: 'files-server', client_secret: 'files-secret', grant_types: [grant] };
    const scopes = { 'notes:read': 'Read', 'notes:write': 'Write' };
    const targets = { tokenExchangeClients: ['files-server'], exchangeTargets: [NOTES] };
    const t = await startServer({
      resources: [
        { resource: FILES, name: 'Files', scopes, ...targets },
        { resource: NOTES, name: 'Notes', scopes, grantableTo: WRITERS },
      ],
      clients: [...CLIENTS, exchanging],
    });
    const { body } = await t.signIn({ resources: [FILES] });
    const exchange = async (scope?: string) =>
      t.post(
        '/token',
        {
          grant_type: grant,
          subject_token: String(body['access_token']),
          subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          resource: NOTES,
          ...(scope !== undefined && { scope }),
        },
        basic('files-server', 'files-secret'),
      );
    const before = t.snapshot();
    expect((await exchange('notes:write')).body['error']).toBe('invalid_scope');
    expect(t.snapshot()).toBe(before);
    expect((await exchange()).body['scope']).toBe('notes:read');
    await describeAda(t, ['writers']);
    expect((await exchange('notes:write')).body['scope']).toBe('notes:write');
  });

  it('is not granted to a device whose user is in another group', async () => {
    const grant = 'urn:ietf:params:oauth:grant-type:device_code';
    const t = await setScene({
      ...limited({ ...WRITERS, 'notes:read': { clients: ['tv'] } }),
      clients: [...CLIENTS, { client_id: 'tv', grant_types: [grant], token_endpoint_auth_method: 'none' }],
      deviceAuthorization: true,
    });
    const device = (await t.post('/device_authorization', { client_id: 'tv', scope: BOTH, resource: NOTES }))
      .body;
    const code = await t.visitor.open('/device');
    const confirm = await t.visitor.submit(code, { user_code: String(device['user_code']) }, '/device');
    const login = await t.visitor.submit(confirm, {}, '/device');
    const consent = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect(permissionsOf(consent).offered).not.toContain('Change your notes');
    const { left } = await t.visitor.submit(consent, { decision: 'allow' });
    await t.visitor.open(`${left?.pathname}${left?.search}`);
    const form = { grant_type: grant, client_id: 'tv', device_code: String(device['device_code']) };
    expect((await t.post('/token', form)).body['scope']).toBe('notes:read');
  });
});

describe('a scope that is limited to clients', () => {
  const forDesktop = limited({ 'notes:write': { clients: ['desktop'] } }, { hierarchy: {} });

  it('is granted to those alone', async () => {
    const t = await setScene(forDesktop);
    const consent = await ask(t, BOTH);
    expect(permissionsOf(consent).offered).not.toContain('Change your notes');
    const token = await redeemAt(t, await t.visitor.submit(consent, { decision: 'allow' }));
    expect(token.body['scope']).toBe('notes:read');
    const desktop = { client_id: 'desktop', redirect_uri: 'http://127.0.0.1:5000/callback' };
    expect(textOf(await ask(t, BOTH, desktop))).toContain('Change your notes');
  });

  it('is refused with invalid_scope before a user is asked, and nothing changes', async () => {
    const t = await setScene(forDesktop);
    const before = t.snapshot();
    const refused = await t.visitor.open(requestOf({ resource: NOTES, scope: 'notes:write' }));
    expect(refused.left?.searchParams.get('error')).toBe('invalid_scope');
    const reason = 'the client is not listed in the rule';
    expect(refusalOf(t)).toEqual({ endpoint: '/authorize', rule: BY_GROUPS.rule, reason });
    const pushed = await t.post('/par', {
      ...Object.fromEntries(new URL(requestOf({ resource: NOTES }), 'https://x').searchParams),
      scope: 'notes:write',
      client_secret: 'web-secret',
    });
    expect([pushed.status, pushed.body['error']]).toEqual([400, 'invalid_scope']);
    expect(t.snapshot()).toBe(before);
  });

  it('is granted to a client that acts for itself only if it is named', async () => {
    const clients = CLIENTS.map((one) =>
      'client_id' in one && ['nightly', 'notes-server'].includes(String(one.client_id))
        ? { ...one, scope: 'notes:write' }
        : one,
    );
    const t = await startServer({
      ...limited({ 'notes:write': { clients: ['nightly'] } }, { hierarchy: {} }),
      clients,
    });
    const form = { grant_type: 'client_credentials', resource: NOTES };
    const before = t.snapshot();
    const refused = await t.post('/token', form, basic('notes-server', 'notes-server-secret'));
    expect([refused.body['error'], t.snapshot()]).toEqual(['invalid_scope', before]);
    const granted = await t.post('/token', form, basic('nightly', 'nightly-secret'));
    expect(granted.body['scope']).toBe('notes:write');
  });
});

describe('a scope that is limited by claims', () => {
  it('is granted to users with one of the values', async () => {
    const byEmail = (email: string) => limited({ 'notes:write': { claims: { email: [email] } } });
    const t = await startServer(byEmail(EMAIL));
    expect((await t.signIn()).body['scope']).toBe(BOTH);
    const other = await startServer(byEmail('grace@example.org'));
    expect((await other.signIn()).body['scope']).toBe('notes:read');
  });
});

describe('what the consent page says a user cannot allow', () => {
  const reasons: readonly [string, Limits, string][] = [
    [
      'groups',
      { 'notes:write': { groups: ['release-leads'] } },
      'Your account is in none of the groups that can allow this.',
    ],
    ['clients', { 'notes:write': { clients: ['desktop'] } }, 'This app cannot be given this.'],
    [
      'claims',
      { 'notes:write': { claims: { email: ['eve@evil.example'] } } },
      'Your account does not meet the conditions for this.',
    ],
  ];

  it.each(reasons)(
    'has the reason for %s, and names nothing of the rule',
    async (_member, limits, reason) => {
      const t = await setScene(limited(limits, { hierarchy: {} }));
      const consent = await ask(t, BOTH);
      expect(permissionsOf(consent).withheld).toContain(`Change your notes ${reason}`);
      expect(consent.html).not.toMatch(/release-leads|desktop|evil\.example/);
      expect(permissionsOf(await ask(t, 'notes:read')).withheld).toBe('');
    },
  );

  it('is in the language of the page', async () => {
    const t = await setScene(limited(WRITERS));
    t.visitor.headers = { 'accept-language': 'de' };
    expect(textOf(await ask(t, BOTH))).toContain('gehört zu keiner Gruppe, die das erlauben kann');
  });

  it('names a scope because of one that it includes', async () => {
    const t = await setScene(limited({ 'notes:read': { groups: ['readers'] } }, { scopes: MORE_SCOPES }));
    const { offered, withheld } = permissionsOf(await ask(t, 'notes:write notes:list'));
    expect(offered).toContain('List your notes');
    expect(withheld).toContain('Change your notes');
    expect(withheld).toContain('none of the groups');
  });

  it('knows the client alone before an identity provider identifies the user', async () => {
    const files = await startProvider(startMisbehaving, 'files');
    const limits: Limits = { 'notes:write': { groups: ['writers'] }, 'notes:list': { clients: ['desktop'] } };
    const t = await setFederationScene(
      [openId(files, { userClaims: { groups: 'groups' } })],
      limited(limits, { scopes: MORE_SCOPES, hierarchy: {} }),
    );
    const page = await t.visitor.open(requestOf({ resource: NOTES, scope: `${BOTH} notes:list` }));
    const { offered, withheld } = permissionsOf(page);
    expect(offered).toContain('Change your notes');
    expect([withheld.includes('List your notes'), withheld.includes('Change')]).toEqual([true, false]);
  });
});

describe('remembered consent', () => {
  it('ends when a limit changes, and leaves out what the user may no longer grant', async () => {
    const options = (grantableTo: Limits) => limited(grantableTo);
    const headers = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const t = await setScene(options(WRITERS));
    await describeAda(t, ['writers']);
    t.visitor.headers = headers;
    await t.visitor.submit(await ask(t, BOTH), { decision: 'allow' }).then((sight) => redeemAt(t, sight));
    expect((await redeemAt(t, await ask(t, BOTH))).body['scope']).toBe(BOTH);
    await describeAda(t, []);
    expect((await redeemAt(t, await ask(t, BOTH))).body['scope']).toBe('notes:read');

    const changed = { 'notes:write': { groups: ['writers', 'editors'] } };
    const next = await setScene({
      ...options(changed),
      store: t.store,
    } as Partial<AuthorizationServerOptions>);
    next.visitor.headers = headers;
    const again = await ask(next, 'notes:read');
    expect([again.left, textOf(again).includes('Read your notes')]).toEqual([null, true]);
  });
});

describe('limits of scopes', () => {
  it.each<[string, object]>([
    ['an unknown scope', { 'notes:admin': { groups: ['a'] } }],
    ['an unknown claim', { 'notes:read': { claims: { phone: ['1'] } } }],
    ['an unknown member', { 'notes:read': { group: ['a'] } }],
  ])('reject %s', async (_what, grantableTo) => {
    await expect(startServer(limited(grantableTo as Limits))).rejects.toThrow(ConfigurationError);
  });
});
