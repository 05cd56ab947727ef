/** What provisioning by SCIM does to accounts: sign-in, deactivation, removal, and what it must not touch. */
import type { AccessTokenClaims } from '@portcullis/protocol';
import { describe, expect, it, vi } from 'vitest';
import { newFederatedAccount } from '../src/federation/linked-users.ts';
import { createAccountAdministration, type IdentityProviderOptions } from '../src/index.ts';
import { startAssertionIssuer } from './assertion-issuer.ts';
import {
  type FederationScene,
  logInByProvider,
  openId,
  redeemAt,
  setFederationScene,
  signOutAtProvider,
  startFiles,
} from './federation-scene.ts';
import { connectService, setScimScene } from './scim-scene.ts';
import { basic, CLIENTS, claimsOf, ISSUER, NOTES, RESOURCES, startServer } from './server-under-test.ts';
import { requestOf } from './visitor.ts';

interface Scim {
  readonly externalId?: string;
  readonly provisionedOnly?: boolean;
}

/** A server whose users sign in at oidc-provider, which verifies `<login>@third.example`, and its provisioning service. */
async function setScene(scim: Scim = {}, options: { readonly sendsMail?: boolean } = {}) {
  const files = await startFiles();
  const scopes = ['openid', 'offline_access', 'email', 'files:read'];
  const resources = RESOURCES.map((one) => ({ ...one, claims: ['groups'] as const }));
  const t = await setFederationScene([openId(files, { scim, scopes })], { resources, ...options });
  const service = await connectService(t, 'files');
  const refresh = async (token: unknown) => {
    const fields = { grant_type: 'refresh_token', refresh_token: String(token) };
    return (await t.post('/token', { ...fields, client_id: 'web', client_secret: 'web-secret' })).status;
  };
  const logIn = async (login = 'ada') => {
    signOutAtProvider(t.visitor);
    return logInByProvider(t.visitor, undefined, { login });
  };
  const errorOf = async (login = 'ada') => (await logIn(login)).left?.searchParams.get('error') ?? null;
  return { t, service, refresh, logIn, errorOf };
}

const accountsOf = (t: FederationScene) =>
  createAccountAdministration({ ...t, clock: () => t.clock.now, events: () => {}, issuer: ISSUER });

const deactivate = { op: 'replace', path: 'active', value: false };
const activate = { op: 'replace', path: 'active', value: true };

describe('deactivation by SCIM', () => {
  it('ends sessions and grants at once, blocks sign-in, and is undone by reactivation', async () => {
    const { t, service, refresh, logIn, errorOf } = await setScene();
    const id = await service.addUser('ada@third.example', { externalId: 'ada' });
    const { body } = await redeemAt(t, await logIn());
    expect((await t.visitor.open('/connections')).path).toBe('/connections');
    expect((await service.patch(`/Users/${id}`, deactivate)).body).toMatchObject({ active: false });
    expect((await t.visitor.open('/connections')).path).not.toBe('/connections');
    expect(await refresh(body['refresh_token'])).toBe(400);
    expect(await errorOf()).toBe('access_denied');
    expect((await service.patch(`/Users/${id}`, activate)).body).toMatchObject({ active: true });
    expect(await refresh(body['refresh_token'])).toBe(400);
    expect(await errorOf()).toBeNull();
    expect(t.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining([
        'scim.user_created',
        'scim.user_changed',
        'account.disabled',
        'account.enabled',
      ]),
    );
  });

  it('finds a user who signed in before being provisioned, by identifier or verified address', async () => {
    for (const known of [
      { externalId: 'ada' },
      { externalId: 'unknown', emails: [{ value: 'ADA@third.example' }] },
    ]) {
      const { t, service, refresh, logIn } = await setScene();
      const { body } = await redeemAt(t, await logIn());
      const id = await service.addUser('ada', { ...known, active: true });
      expect(await refresh(body['refresh_token'])).toBe(200);
      await service.patch(`/Users/${id}`, deactivate);
      expect((await t.visitor.open('/connections')).path).not.toBe('/connections');
    }
  });

  it('before the first sign-in prevents it, by identifier and by verified address', async () => {
    const { service, errorOf } = await setScene();
    await service.addUser('one', { externalId: 'ada', active: false });
    await service.addUser('bob@third.example', { active: false });
    expect(await errorOf('ada')).toBe('access_denied');
    expect(await errorOf('bob')).toBe('access_denied');
    expect(await errorOf('eve')).toBeNull();
  });

  it('of each of several users with one address prevents its sign-in, of one of them does not', async () => {
    const { t, service, errorOf } = await setScene();
    const emails = [{ value: 'ada@third.example' }];
    const [one] = [
      await service.addUser('one', { emails, active: false }),
      await service.addUser('two', { emails, externalId: 'of-its-own', active: false }),
    ];
    const accounts = () => t.store.listAccounts('', 9);
    const before = await accounts();
    expect(await errorOf()).toBe('access_denied');
    expect(await accounts()).toEqual(before);
    await service.patch(`/Users/${one}`, activate);
    expect(await errorOf()).toBeNull();
  });

  it('of several users with one address prevents the sign-in of the one whom identifiers leave', async () => {
    const { service, errorOf } = await setScene({ externalId: 'sub' });
    const emails = [{ value: 'ada@third.example' }];
    const former = await service.addUser('former', { emails, externalId: 'someone-else', active: false });
    const id = await service.addUser('now', { emails, active: false });
    expect(await errorOf()).toBe('access_denied');
    await service.patch(`/Users/${id}`, activate);
    expect(await errorOf()).toBeNull();
    expect((await service.send('GET', `/Users/${former}`)).body).toMatchObject({ active: false });
  });

  it('of the user who had an address before does not concern the one who has it now, where identifiers decide', async () => {
    const former = { externalId: 'someone-else', emails: [{ value: 'ada@third.example' }], active: false };
    const named = await setScene({ externalId: 'sub' });
    const { body } = await redeemAt(named.t, await named.logIn());
    await named.service.addUser('former', former);
    expect(await named.refresh(body['refresh_token'])).toBe(200);
    expect(await named.errorOf()).toBeNull();
    const unnamed = await setScene();
    await unnamed.logIn();
    await unnamed.service.addUser('former', former);
    expect(await unnamed.errorOf()).toBe('access_denied');
  });

  it('never undoes what an operator decided', async () => {
    const { t, service, logIn, errorOf } = await setScene();
    const id = await service.addUser('ada@third.example', { externalId: 'ada' });
    await logIn();
    const accounts = accountsOf(t);
    const named = 'ada@third.example';
    expect(await accounts.disable(named)).toBe(true);
    await service.patch(`/Users/${id}`, deactivate);
    await service.patch(`/Users/${id}`, activate);
    expect((await accounts.find(named))?.disabledAt).not.toBeNull();
    expect((await service.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect(await errorOf()).toBe('access_denied');
  });

  it.each([
    ['disables the account again', ['disable']],
    ['enables the account and disables it later', ['enable', 'disable']],
  ] as const)('is not undone where an operator %s', async (_what, decisions) => {
    const { t, service, logIn, errorOf } = await setScene();
    const id = await service.addUser('ada@third.example', { externalId: 'ada' });
    await logIn();
    const accounts = accountsOf(t);
    await service.patch(`/Users/${id}`, deactivate);
    const account = await accounts.find('ada@third.example');
    for (const decision of decisions) expect(await accounts[decision](account?.id ?? '')).toBe(true);
    expect((await service.patch(`/Users/${id}`, activate)).body).toMatchObject({ active: true });
    const disabled = await accounts.find('ada@third.example');
    expect(disabled).toMatchObject({ id: account?.id, disabledAt: expect.any(Number) });
    expect(await errorOf()).toBe('access_denied');
    expect((await service.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect(await accounts.find('ada@third.example')).toEqual(disabled);
    expect(await errorOf()).toBe('access_denied');
  });

  it.each([
    ['deactivation', 'changeProvisioned'],
    ['removal', 'removeProvisioned'],
  ] as const)('or removal does not undo what an operator decides during it: %s', async (what, method) => {
    const { t, service, logIn, errorOf } = await setScene();
    const id = await service.addUser('ada@third.example', { externalId: 'ada' });
    await logIn();
    const accounts = accountsOf(t);
    const accountId = (await accounts.find('ada@third.example'))?.id ?? '';
    const disable = vi.fn(() => accounts.disable(accountId));
    const original: (...given: never[]) => Promise<unknown> = t.store[method];
    vi.spyOn(t.store, method).mockImplementationOnce(async (...given: unknown[]) => {
      await disable();
      return (await original(...(given as never[]))) as never;
    });
    if (what === 'removal') expect((await service.send('DELETE', `/Users/${id}`)).status).toBe(204);
    else
      for (const operation of [deactivate, activate])
        expect((await service.patch(`/Users/${id}`, operation)).status).toBe(200);
    expect(disable).toHaveResolvedWith(true);
    expect((await accounts.find(accountId))?.disabledAt).toEqual(expect.any(Number));
    expect(await errorOf()).toBe('access_denied');
  });

  it('by connections that share an issuer is undone by the last of their reactivations', async () => {
    const [acme, globex] = ['acme', 'globex'].map((id) => ({
      ...{ id, name: id, clientId: 'portcullis', scopes: ['openid', 'email'], scim: {} },
      kind: { issuer: 'https://shared.example' },
    }));
    if (acme === undefined || globex === undefined) throw new Error('no providers');
    const t = await setScimScene({ identityProviders: [acme, globex] });
    const email = 'ada@third.example';
    const account = newFederatedAccount(acme.kind.issuer, 'ada', email, t.clock.now);
    await t.store.linkIdentity({ ...acme.kind, subject: 'ada', accountId: account.id }, account);
    await t.store.saveProfile(account.id, { email, name: null, groups: [] });
    const [one, other] = [
      { service: t.service, path: `/Users/${await t.service.addUser(email, { externalId: 'ada' })}` },
      { service: t.other, path: `/Users/${await t.other.addUser(email, { externalId: 'ada' })}` },
    ];
    const isDisabled = async () => (await t.store.findAccount(account.id))?.disabledAt !== null;
    for (const [first, last] of [
      [one, other],
      [other, one],
    ] as const) {
      t.events.length = 0;
      for (const { service, path } of [one, other]) await service.patch(path, deactivate);
      const response = await first.service.patch(first.path, activate);
      expect([response.body['active'], await isDisabled()]).toEqual([true, true]);
      // Nor is it enabled by a repetition.
      await first.service.patch(first.path, activate);
      expect(await isDisabled()).toBe(true);
      await last.service.patch(last.path, activate);
      expect(await isDisabled()).toBe(false);
      const types = t.events.map(({ type }) => type).filter((type) => type.startsWith('account.'));
      expect(types).toEqual(['account.disabled', 'account.enabled']);
    }
    // Nor does the removal of one of them remove an account that the other may reactivate.
    for (const { service, path } of [one, other]) await service.patch(path, deactivate);
    expect((await other.service.send('DELETE', other.path)).status).toBe(204);
    expect(await isDisabled()).toBe(true);
    expect(t.events.map(({ type }) => type)).not.toContain('account.removed');
    await one.service.patch(one.path, activate);
    expect(await isDisabled()).toBe(false);
    expect((await one.service.send('DELETE', one.path)).status).toBe(204);
    expect(await t.store.findAccount(account.id)).toBeNull();
    expect(t.events.map(({ type }) => type)).toContain('account.removed');
  });

  it('stays when a whole representation leaves out active', async () => {
    const { service } = await setScene();
    const id = await service.addUser('ada@third.example', { active: false });
    const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
    const { body } = await service.send('PUT', `/Users/${id}`, { schemas, userName: 'ada@third.example' });
    expect(body).toMatchObject({ active: false });
  });
});

describe('removal by SCIM', () => {
  it('removes the account with its access', async () => {
    const { t, service, refresh, logIn } = await setScene();
    const id = await service.addUser('ada@third.example', { externalId: 'ada' });
    const { body } = await redeemAt(t, await logIn());
    expect((await service.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect(await refresh(body['refresh_token'])).toBe(400);
    expect(await accountsOf(t).find('ada@third.example')).toBeNull();
    expect((await service.send('GET', `/Users/${id}`)).status).toBe(404);
  });
});

describe('a provider with provisionedOnly', () => {
  it('lets provisioned users sign in, and no others', async () => {
    const { t, service, errorOf } = await setScene({ provisionedOnly: true });
    await service.addUser('ada@third.example');
    expect(await errorOf('ada')).toBeNull();
    const before = t.snapshot();
    expect(await errorOf('eve')).toBe('access_denied');
    expect(await accountsOf(t).find('eve@third.example')).toBeNull();
    expect(before).toContain('ada@third.example');
  });
});

describe('a local account', () => {
  it('is neither linked nor disabled by a provisioned user of the same address', async () => {
    const { t, service } = await setScene();
    const id = await service.addUser('ada@example.org', { emails: [{ value: 'ada@example.org' }] });
    await service.patch(`/Users/${id}`, deactivate);
    expect((await service.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect(await t.store.findAccountByEmail('ada@example.org')).toMatchObject({ disabledAt: null });
  });
});

describe('provisioned groups', () => {
  it('are groups of the account from the next reading on, with their origin', async () => {
    const { t, service, logIn } = await setScene();
    const id = await service.addUser('ada@third.example', { externalId: 'ada' });
    const group = await service.addGroup('Engineers', [id]);
    await logIn();
    const accounts = accountsOf(t);
    const account = await accounts.find('ada@third.example');
    const groups = () => accounts.groups(account?.id ?? '');
    expect(await groups()).toEqual([{ name: 'Engineers', origin: 'scim' }]);
    await service.patch(`/Groups/${group}`, { op: 'replace', path: 'displayName', value: 'Makers' });
    expect(await groups()).toEqual([{ name: 'Makers', origin: 'scim' }]);
    await service.patch(`/Groups/${group}`, { op: 'remove', path: `members[value eq "${id}"]` });
    expect(await groups()).toEqual([]);
  });

  it('name the users who decide about a call by them, beside groups of other origins', async () => {
    const { t, service, logIn } = await setScene({}, { sendsMail: true });
    const id = await service.addUser('ada@third.example', { externalId: 'ada' });
    const group = await service.addGroup('Approvers', [id]);
    await service.addGroup('approvers', [await service.addUser('eve@third.example')]);
    await logIn();
    const accounts = accountsOf(t);
    const local = await accounts.add('bob@example.org');
    if ('refused' in local) throw new Error(local.refused);
    await t.store.saveProfile(local.accountId, { email: null, name: null, groups: ['Approvers', 'Makers'] });
    const ada = (await accounts.find('ada@third.example'))?.id ?? '';
    const find = async (...groups: readonly string[]) =>
      (await t.server.mailedLinks?.findApprovers(groups))?.toSorted();
    expect(await find('Approvers', 'Others')).toEqual([ada, local.accountId].toSorted());
    expect(await find('Makers')).toEqual([local.accountId]);
    expect(await find('approvers', 'Others')).toEqual([]);
    await service.patch(`/Groups/${group}`, { op: 'remove', path: `members[value eq "${id}"]` });
    expect(await find('Approvers')).toEqual([local.accountId]);
  });

  it('end access tokens that name a group that the user lost, at the next call', async () => {
    const { t, service } = await setScene();
    const id = await service.addUser('ada@third.example', { externalId: 'ada' });
    const group = await service.addGroup('Engineers', [id]);
    const request = requestOf({ resource: NOTES, scope: 'notes:read' });
    const { body } = await redeemAt(t, await logInByProvider(t.visitor, request));
    const claims = claimsOf(body['access_token']);
    const isLive = (token: unknown) => t.server.isLive(claimsOf(token) as unknown as AccessTokenClaims);
    expect(claims['groups']).toEqual(['Engineers']);
    await service.addGroup('Makers', [id]);
    expect(await isLive(body['access_token'])).toBe(true);
    await service.patch(`/Groups/${group}`, { op: 'remove', path: 'members', value: [{ value: id }] });
    expect(await isLive(body['access_token'])).toBe(false);
    const fields = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) };
    const refreshed = await t.post('/token', { ...fields, client_id: 'web', client_secret: 'web-secret' });
    expect(claimsOf(refreshed.body['access_token'])['groups']).toEqual(['Makers']);
    expect(await isLive(refreshed.body['access_token'])).toBe(true);
  });
});

describe('an ID-JAG of a provider that provisions', () => {
  async function setAssertionScene(
    scim: Scim | null = {},
    entry: { readonly linkByEmail?: boolean } = {},
    provider: Partial<IdentityProviderOptions> = {},
    shared: Partial<IdentityProviderOptions> | null = null,
  ) {
    const idp = await startAssertionIssuer();
    const base = { clientId: 'portcullis', scopes: ['openid'], kind: { issuer: idp.issuer } };
    const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
    const t = await startServer({
      clients: [...CLIENTS, { client_id: 'agent', client_secret: 'agent-secret', grant_types: [grant] }],
      assertionIssuers: [
        { issuer: idp.issuer, use: 'id-jag', clients: ['agent'], scopes: ['notes:read'], ...entry },
      ],
      identityProviders: [
        ...(shared === null ? [] : [{ ...base, id: 'partners', name: 'Partners', ...shared }]),
        { ...base, id: 'acme', name: 'Acme', ...(scim !== null && { scim }), ...provider },
      ],
    });
    const redeem = async (claims: object = {}) => {
      const assertion = await idp.idJag({ ...claims });
      const { body } = await t.post(
        '/token',
        { grant_type: grant, assertion },
        basic('agent', 'agent-secret'),
      );
      return body['error'] ?? null;
    };
    return { t, issuer: idp.issuer, redeem, service: await connectService(t, 'acme') };
  }

  it('is accepted with provisionedOnly for provisioned users, and for no others', async () => {
    const { t, redeem, service } = await setAssertionScene({ provisionedOnly: true });
    const before = t.snapshot();
    expect(await redeem()).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
    await service.addUser('ada@acme.example', { externalId: 'ada-at-acme' });
    expect(await redeem()).toBeNull();
  });

  it.each(['ada@bücher.example', 'ada@BÜCHER.example', 'ada@xn--bcher-kva.example'])(
    'is refused for a user who was deactivated, found by an address of an international domain: %s',
    async (userName) => {
      const { t, redeem, service } = await setAssertionScene({ externalId: 'employee_number' });
      const id = await service.addUser(userName);
      for (const domain of ['bücher.example', 'xn--bcher-kva.example']) {
        const claims = { email: `ada@${domain}`, email_verified: true };
        await service.patch(`/Users/${id}`, activate);
        expect(await redeem(claims)).toBeNull();
        await service.patch(`/Users/${id}`, deactivate);
        const before = t.snapshot();
        expect(await redeem(claims)).toBe('invalid_grant');
        expect(t.snapshot()).toBe(before);
      }
    },
  );

  it('is accepted for its allowed users, and for no others', async () => {
    const allowedUsers = { subjects: ['bob-at-acme'] };
    const { t, redeem } = await setAssertionScene(null, {}, { allowedUsers });
    const before = t.snapshot();
    expect(await redeem()).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
    expect(await redeem({ sub: 'bob-at-acme' })).toBeNull();
  });

  it('is accepted for users whom one of two entries with its issuer allows, and for no others', async () => {
    const allowing = (subject: string) => ({ allowedUsers: { subjects: [subject] } });
    const { t, redeem } = await setAssertionScene(null, {}, allowing('ada-at-acme'), allowing('bob-at-acme'));
    const before = t.snapshot();
    expect(await redeem({ sub: 'eve-at-acme' })).toBe('invalid_grant');
    expect(t.snapshot()).toBe(before);
    for (const sub of ['ada-at-acme', 'bob-at-acme']) expect(await redeem({ sub })).toBeNull();
  });

  it.each<[string, Partial<IdentityProviderOptions> | null]>([
    ['the only one of its issuer', null],
    ['after one without SCIM', {}],
    ['after one with SCIM', { scim: {} }],
  ])(
    'is refused for a user who was deactivated before there was an account, by an entry %s',
    async (_what, shared) => {
      const { t, issuer, redeem, service } = await setAssertionScene({}, {}, {}, shared);
      const id = await service.addUser('ada@acme.example', { externalId: 'ada-at-acme', active: false });
      const before = t.snapshot();
      expect(await redeem()).toBe('invalid_grant');
      expect(t.snapshot()).toBe(before);
      await service.patch(`/Users/${id}`, activate);
      expect(await redeem()).toBeNull();
      await service.patch(`/Users/${id}`, deactivate);
      expect(await redeem()).toBe('invalid_grant');
      const linked = await t.store.findLinkedIdentity(issuer, 'ada-at-acme');
      const account = await t.store.findAccount(linked?.accountId ?? '');
      expect(account).toMatchObject({ disabledAt: expect.any(Number) });
    },
  );

  it('for a local account does not let the provider disable or remove it', async () => {
    const { t, redeem, service } = await setAssertionScene({}, { linkByEmail: true });
    const local = { email: 'ada@example.org', email_verified: true };
    const id = await service.addUser('ada@example.org', { externalId: 'ada-at-acme' });
    // By its address, and then by its subject.
    for (const _time of [1, 2]) expect(await redeem(local)).toBeNull();
    await service.patch(`/Users/${id}`, deactivate);
    expect(await redeem(local)).toBe('invalid_grant');
    expect((await service.send('DELETE', `/Users/${id}`)).status).toBe(204);
    expect(await t.store.findAccountByEmail('ada@example.org')).toMatchObject({ disabledAt: null });
    expect(await redeem(local)).toBeNull();
  });
});
