/** Claims about users in access tokens: which resource gets them, where they are from, and what the user is told. */
import type { AccessTokenClaims, RedirectTarget } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { startMisbehaving } from '../../../tests/support/identity-providers/misbehaving.ts';
import { createGuard, jwtVerifier } from '../../resource-server/src/index.ts';
import { consentDigestOf } from '../src/authorization/remembered-consent.ts';
import type { ResolvedClient } from '../src/clients/client.ts';
import { readOpenIdConnectUser, readProfile } from '../src/federation/provider/federated-user.ts';
import { ConfigurationError, type ResourceDefinition } from '../src/index.ts';
import { claimGroups } from '../src/users/user-claims.ts';
import { logInByProvider, openId, redeemAt, setFederationScene, startProvider } from './federation-scene.ts';
import {
  ACCOUNT,
  claimsOf,
  FILES,
  ISSUER,
  NOTES,
  RESOURCES,
  refreshing,
  type ServerUnderTest,
  startServer,
} from './server-under-test.ts';
import { EMAIL, PASSWORD, requestOf, setScene, textOf } from './visitor.ts';

/** The resources of the tests, of which the notes ask for claims. */
const asking = (rules: Partial<ResourceDefinition>): readonly ResourceDefinition[] =>
  RESOURCES.map((one) => (one.resource === NOTES ? { ...one, ...rules } : one));

/** What the audit log says of changed names and groups. */
function profileChanges(events: readonly { readonly type: string }[]): readonly unknown[] {
  const changes = events.filter(({ type }) => type === 'account.profile_changed');
  return changes.map(({ type: _, ...event }) => {
    const { groups, previousGroups, identityProvider } = event as Record<string, unknown>;
    return { groups, previousGroups, ...(identityProvider !== undefined && { identityProvider }) };
  });
}

const DESCRIBED = { name: 'Ada Lovelace', groups: ['engineers', 'admins'] };

async function introspect(t: ServerUnderTest, token: unknown) {
  const authorization = `Basic ${btoa('notes-server:notes-server-secret')}`;
  const body = new URLSearchParams({ token: String(token) });
  return (await t.send('/introspect', { method: 'POST', headers: { authorization }, body })).body;
}

describe('claims about users', () => {
  it('are in no token of a resource that does not ask for them', async () => {
    const t = await startServer({ resources: asking({ claims: ['email', 'name', 'groups'] }) });
    expect(await t.server.accounts.describe('ada@example.org', DESCRIBED)).toBe(true);
    const { body } = await t.signIn({ resources: [FILES], scopes: ['files:read'] });
    const claims = claimsOf(body['access_token']);
    for (const claim of ['email', 'name', 'groups']) expect(claims).not.toHaveProperty(claim);
    const notes = claimsOf((await t.signIn()).body['access_token']);
    expect(notes).toMatchObject({ sub: ACCOUNT, email: 'ada@example.org', ...DESCRIBED });
  });

  it('depend on the scopes of the token, also after a refresh with fewer', async () => {
    const scopeClaims = { 'notes:write': ['name', 'groups'] } as const;
    const t = await startServer({ resources: asking({ claims: ['email'], scopeClaims }) });
    await t.server.accounts.describe(ACCOUNT, DESCRIBED);
    const { body } = await t.signIn();
    expect(claimsOf(body['access_token'])).toMatchObject({ email: 'ada@example.org', ...DESCRIBED });
    const fewer = await t.post('/token', { ...refreshing(body['refresh_token']), scope: 'notes:read' });
    const claims = claimsOf(fewer.body['access_token']);
    expect([claims['email'], claims['name'], claims['groups']]).toEqual([
      'ada@example.org',
      undefined,
      undefined,
    ]);
  });

  it('follow the account at the next refresh, and are never those of a client', async () => {
    const t = await startServer({ resources: asking({ claims: ['email', 'name', 'groups'] }) });
    const { body } = await t.signIn();
    expect(claimsOf(body['access_token'])).not.toHaveProperty('name');
    await t.server.accounts.describe('ada@example.org', DESCRIBED);
    await t.server.accounts.describe('ada@example.org', { groups: ['admins'] });
    const refreshed = await t.post('/token', refreshing(body['refresh_token']));
    expect(claimsOf(refreshed.body['access_token'])).toMatchObject({
      name: 'Ada Lovelace',
      groups: ['admins'],
    });
    await t.server.accounts.describe('ada@example.org', { name: '', groups: [] });
    const again = claimsOf(
      (await t.post('/token', refreshing(refreshed.body['refresh_token']))).body['access_token'],
    );
    expect([again['name'], again['groups']]).toEqual([undefined, undefined]);
    const authorization = `Basic ${btoa('nightly:nightly-secret')}`;
    const own = await t.post(
      '/token',
      { grant_type: 'client_credentials', resource: NOTES },
      { authorization },
    );
    expect(claimsOf(own.body['access_token'])).not.toHaveProperty('email');
  });

  it('of an operator leave an event for each change of groups or name, and none that names the user', async () => {
    const t = await startServer();
    await t.server.accounts.describe(ACCOUNT, DESCRIBED);
    await t.server.accounts.describe(ACCOUNT, DESCRIBED);
    await t.server.accounts.describe(ACCOUNT, { groups: ['admins'] }, true);
    await t.server.accounts.describe(ACCOUNT, { name: 'Countess' });
    expect(await t.server.accounts.describe('unknown@example.org', DESCRIBED)).toBe(false);
    expect(profileChanges(t.events)).toEqual([
      { groups: DESCRIBED.groups, previousGroups: [] },
      { groups: ['admins'], previousGroups: DESCRIBED.groups },
      { groups: ['admins'], previousGroups: ['admins'] },
    ]);
    expect(JSON.stringify(t.events)).not.toMatch(/Lovelace|Countess/);
  });

  describe('when an operator takes a group from a user', () => {
    async function setGroupScene(groups: readonly string[], endsAccess: boolean) {
      const t = await startServer({ resources: asking({ claims: ['groups'] }) });
      await t.server.accounts.describe(ACCOUNT, DESCRIBED);
      const { body } = await t.signIn();
      expect(await t.server.accounts.describe(ACCOUNT, { groups }, endsAccess)).toBe(true);
      const claims = claimsOf(body['access_token']) as unknown as AccessTokenClaims;
      const { status } = await t.post('/token', refreshing(body['refresh_token']));
      const ended = t.events.filter(({ type }) => type === 'grant.revoked');
      return { isLive: await t.server.isLive(claims), status, ended };
    }

    it('end access tokens that name it at the next call, and the grant lives on', async () => {
      expect(await setGroupScene(['admins'], false)).toEqual({ isLive: false, status: 200, ended: [] });
    });

    it('end the grants of the user at once if the operator says so', async () => {
      expect(await setGroupScene(['admins'], true)).toEqual({
        ...{ isLive: false, status: 400 },
        ended: [expect.objectContaining({ accountId: ACCOUNT, count: 1 })],
      });
    });

    it('end nothing, said at once or not, where no group is lost', async () => {
      for (const endsAccess of [false, true])
        expect(await setGroupScene(['admins', 'engineers', 'leads'], endsAccess)).toEqual({
          ...{ isLive: true, status: 200, ended: [] },
        });
    });
  });

  it('are the same in a JWT, by introspection of an opaque token, and in the principal of a guard', async () => {
    const rules = { claims: ['email', 'name', 'groups'] } as const;
    const signed = await startServer({ resources: asking(rules) });
    const opaque = await startServer({ resources: asking({ ...rules, accessTokens: 'opaque' }) });
    const expected = { email: 'ada@example.org', ...DESCRIBED };
    for (const t of [signed, opaque]) {
      await t.server.accounts.describe('ada@example.org', DESCRIBED);
      const { body } = await t.signIn();
      expect(await introspect(t, body['access_token'])).toMatchObject({ active: true, ...expected });
    }
    const { body } = await signed.signIn();
    const { jwks, isLive } = signed.server;
    const verifier = jwtVerifier({ issuer: ISSUER, jwks, isLive });
    const guard = createGuard({ resource: NOTES, verifier, clock: () => signed.clock.now, events: () => {} });
    const authorization = `Bearer ${body['access_token']}`;
    const decision = await guard.authorize({ method: 'GET', url: '/notes', authorization });
    expect(decision.authorized && decision.principal).toMatchObject(expected);
  });

  it('are shown on the consent page, if there are any', async () => {
    const t = await setScene({ resources: asking({ claims: ['email'] }) });
    const login = await t.visitor.open(requestOf({ resource: NOTES, scope: 'notes:read' }));
    const consent = await t.visitor.submit(login, { email: EMAIL, password: PASSWORD });
    expect(textOf(consent)).toContain('You will share your identity and email with Notes');
    const silent = await setScene();
    const plain = await silent.visitor.submit(
      await silent.visitor.open(requestOf({ resource: NOTES, scope: 'notes:read' })),
      { email: EMAIL, password: PASSWORD },
    );
    expect(textOf(plain)).not.toContain('You will share');
  });

  it('are consented to again when the resource asks for others', () => {
    const client = { metadata: {}, digest: 'digest' } as ResolvedClient;
    const target = { uri: 'https://app.example/callback' } as RedirectTarget;
    const digest = (rules: Partial<ResourceDefinition>) => consentDigestOf(client, target, asking(rules)[0]);
    const digests = [
      {},
      { claims: ['email'] },
      { claims: ['name'] },
      { scopeClaims: { 'notes:read': ['email'] } },
    ];
    expect(new Set(digests.map((rules) => digest(rules as Partial<ResourceDefinition>))).size).toBe(4);
    expect(digest({ claims: [], hierarchy: {} })).toBe(consentDigestOf(client, target, undefined));
    expect(digest({ claims: ['name', 'email'] })).toBe(digest({ claims: ['email', 'name'] }));
  });

  it('must be known, and their scopes too', async () => {
    for (const wrong of [{ claims: ['phone'] }, { scopeClaims: { 'notes:admin': ['email'] } }])
      await expect(startServer({ resources: asking(wrong as Partial<ResourceDefinition>) })).rejects.toThrow(
        ConfigurationError,
      );
  });

  it('of an identity provider are set at each login: a verified address, and mapped name and groups', async () => {
    const files = await startProvider(startMisbehaving, 'files');
    const userClaims = { name: 'display.full', groups: 'realm_access.roles' };
    const t = await setFederationScene([openId(files, { userClaims })], {
      resources: asking({ claims: ['email', 'name', 'groups'] }),
    });
    const logIn = async (claims: Record<string, unknown>) => {
      files.lies = { claims };
      const back = await logInByProvider(t.visitor, requestOf({ resource: NOTES }));
      return claimsOf((await redeemAt(t, back)).body['access_token']);
    };
    const known = { email: 'ada@third.example', email_verified: true, display: { full: 'Ada\u202e L.' } };
    const first = await logIn({ ...known, realm_access: { roles: ['admin', 7, 'x'.repeat(300), 'dev'] } });
    expect(first).toMatchObject({ email: 'ada@third.example', name: 'Ada L.', groups: ['admin', 'dev'] });
    const later = await logIn({ ...known, email_verified: false, realm_access: { roles: [] } });
    expect([later['email'], later['groups'], later['name']]).toEqual([undefined, undefined, 'Ada L.']);
    await logIn({ ...known, display: { full: 'Ada B.' }, realm_access: { roles: [] } });
    const groups = ['admin', 'dev'];
    expect(profileChanges(t.events)).toEqual([
      { groups, previousGroups: [], identityProvider: 'files' },
      { groups: [], previousGroups: groups, identityProvider: 'files' },
    ]);
  });

  it('of an identity provider that no resource asks for are not stored, except the address that names the account', async () => {
    const files = await startProvider(startMisbehaving, 'files');
    const t = await setFederationScene([openId(files, { userClaims: { groups: 'groups' } })]);
    files.lies = {
      claims: { email: 'Ada@third.example', email_verified: true, name: 'Ada', groups: ['staff'] },
    };
    await logInByProvider(t.visitor, requestOf({ resource: NOTES }));
    const [account] = await t.store.findAccountsByVerifiedEmail('ada@third.example');
    expect(await t.store.findProfile(account?.id ?? '')).toEqual({
      email: 'Ada@third.example',
      name: null,
      groups: [],
    });
    files.lies = { claims: { email: 'ada@third.example', email_verified: false } };
    await logInByProvider(t.visitor, requestOf({ resource: NOTES, prompt: 'login' }));
    expect(await t.store.findAccountsByVerifiedEmail('ada@third.example')).toEqual([]);
  });

  it.each([
    ['https://example.com/groups', { 'https://example.com/groups': ['staff'] }],
    [
      'resource_access.com.example.app.roles',
      { resource_access: { 'com.example.app': { roles: ['staff'] } } },
    ],
    ['a.b', { a: { b: ['staff'] }, 'a.b': ['other'] }],
  ])('of an identity provider are found under names that contain dots: %s', (groups, claims) => {
    const user = readOpenIdConnectUser('https://sso.example', { sub: '1', ...claims });
    expect(readProfile(user, { groups }).groups).toEqual(['staff']);
    expect(readProfile(user, { groups: `${groups}.x` }).groups).toEqual([]);
  });

  it('contain a bounded number of groups, none of them shortened', () => {
    const many = Array.from({ length: 300 }, (_, index) => `group-${index}`);
    expect(claimGroups(many)).toEqual(many.slice(0, 100));
    expect(
      claimGroups(Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(150, 'x'))).join('').length,
    ).toBeLessThanOrEqual(4000);
    // 114 bytes each: tokens of any of them fit into a header.
    const wide = Array.from({ length: 100 }, (_, index) => `${index}`.padStart(3, '0').padEnd(40, '課'));
    expect(claimGroups(wide)).toEqual(wide.slice(0, 70));
    expect(claimGroups('one')).toEqual(['one']);
    expect(claimGroups([' spaced', 'a', 'a', null, {}])).toEqual(['a']);
  });
});
