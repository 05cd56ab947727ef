/** The contract of provisioned users and groups: found by keys, changed by version, and atomic with the account of a user. */
import type {
  ProvisionedKey,
  ProvisionedResource,
  ProvisioningChange,
} from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { createGrant, NOW, newAccount, newSession, PASSWORD_HASH, type StoreOfTest } from './samples.ts';

const NO_MEMBERS = { clear: false, remove: [], add: [] };

let created = 0;

/** The creation of a user of a connection, with an identifier after those before. */
export function newProvisioned(
  userName: string,
  changes: Partial<ProvisionedResource> = {},
  more: Partial<ProvisioningChange> = {},
): ProvisioningChange {
  created += 1;
  const resource: ProvisionedResource = {
    id: `scim_${String(created).padStart(9, '0')}`,
    identityProvider: 'acme',
    kind: 'User',
    name: userName,
    attributes: { userName },
    isActive: true,
    accountId: null,
    disabledAccount: false,
    version: 1,
    createdAt: NOW,
    modifiedAt: NOW,
    ...changes,
  };
  const key: ProvisionedKey = {
    attribute: resource.kind === 'User' ? 'userName' : 'displayName',
    value: userName,
  };
  return { resource, keys: [key], members: NO_MEMBERS, account: 'none', ...more };
}

const FIRST = { after: '', skip: 0, limit: 10 };

export function describeProvisioning(store: StoreOfTest): void {
  const create = async (...given: Parameters<typeof newProvisioned>) => {
    const created = await store().createProvisioned(newProvisioned(...given));
    if ('conflict' in created) throw new Error(created.conflict);
    return created;
  };
  const change = (
    resource: ProvisionedResource,
    changes: Partial<ProvisionedResource>,
    more: Partial<ProvisioningChange> = {},
  ) =>
    store().changeProvisioned(
      newProvisioned(
        changes.name ?? resource.name,
        { ...resource, ...changes, version: resource.version + 1 },
        more,
      ),
    );
  const namesOf = async (filter: Parameters<ReturnType<StoreOfTest>['listProvisioned']>[2], page = FIRST) =>
    (await store().listProvisioned('acme', 'User', filter, page)).map(({ name }) => name);

  describe('provisioned users and groups', () => {
    it('creates one user of a name in a connection, also of concurrent calls', async () => {
      const outcomes = await Promise.all(
        [1, 2, 3].map(() => store().createProvisioned(newProvisioned('ada'))),
      );
      expect(outcomes.filter((one) => 'conflict' in one)).toEqual([
        { conflict: 'uniqueness' },
        { conflict: 'uniqueness' },
      ]);
      await create('ada', { identityProvider: 'globex' });
      expect(await namesOf({ by: 'all' })).toEqual(['ada']);
      expect(await store().countProvisioned('acme', 'User', { by: 'all' })).toBe(1);
    });

    it('end setup links, as users of an identity provider do', async () => {
      const account = newAccount();
      expect(await store().saveSetupLink('link', NOW)).toBe(true);
      const ada = await create('ada');
      expect(await store().isSetupLink('link', NOW)).toBe(false);
      expect(await store().saveSetupLink('another', NOW)).toBe(false);
      expect(await store().createFirstAccount(account, 'link')).toBe('refused');
      expect(await store().findAccount(account.id)).toBeNull();
      await store().removeProvisioned(ada, false, NOW);
      expect(await store().createFirstAccount(account, 'link')).toBe('created');
    });

    it('lists by key, activity and time of change, in pages', async () => {
      const ada = await create('ada');
      await create('bob', { isActive: false, modifiedAt: NOW + 9 });
      await create('eve');
      expect(await namesOf({ by: 'key', key: { attribute: 'userName', value: 'ada' } })).toEqual(['ada']);
      expect(await namesOf({ by: 'active', isActive: false })).toEqual(['bob']);
      expect(await namesOf({ by: 'change', since: NOW + 9 })).toEqual(['bob']);
      expect(await namesOf({ by: 'all' }, { ...FIRST, skip: 1, limit: 1 })).toEqual(['bob']);
      expect(await namesOf({ by: 'all' }, { ...FIRST, after: ada.id })).toEqual(['bob', 'eve']);
      expect(await store().findProvisioned('globex', 'User', ada.id)).toBeNull();
      expect(await store().findProvisioned('acme', 'Group', ada.id)).toBeNull();
      expect(await store().findProvisioned('acme', 'User', ada.id)).toEqual(ada);
    });

    it('changes only the version before, and replaces its keys', async () => {
      const ada = await create('ada');
      const renamed = { name: 'countess', attributes: { userName: 'countess' } };
      expect(await change(ada, renamed)).toMatchObject({ ...renamed, version: 2 });
      expect(await change(ada, renamed)).toEqual({ conflict: 'version' });
      expect(await namesOf({ by: 'key', key: { attribute: 'userName', value: 'ada' } })).toEqual([]);
      expect(await store().removeProvisioned(ada, false, NOW)).toBe(false);
      expect(await store().removeProvisioned({ ...ada, version: 2 }, false, NOW)).toBe(true);
      expect(await namesOf({ by: 'all' })).toEqual([]);
    });

    it('changes the members of a group in batches, and refuses those of another connection', async () => {
      const users = await Promise.all(Array.from({ length: 230 }, (_, index) => create(`user ${index}`)));
      const ids = users.map(({ id }) => id).toSorted();
      const foreign = await create('foreign', { identityProvider: 'globex' });
      const group = await create('Engineers', { kind: 'Group' }, { members: { ...NO_MEMBERS, add: ids } });
      const members = async () => (await store().listProvisionedMembers(group.id, 1000)).map(({ id }) => id);
      expect(await members()).toEqual(ids);
      const withForeign = { ...NO_MEMBERS, add: [foreign.id] };
      expect(await change(group, {}, { members: withForeign })).toEqual({
        conflict: 'member',
        member: foreign.id,
      });
      await change(group, {}, { members: { ...NO_MEMBERS, remove: ids.slice(0, 130) } });
      expect(await members()).toEqual(ids.slice(130));
      const [last] = ids.slice(-1);
      const found = users.find(({ id }) => id === last);
      if (found === undefined || last === undefined) throw new Error('there is no last user');
      expect(await store().listProvisionedGroups(found)).toEqual([{ id: group.id, name: 'Engineers' }]);
      await store().removeProvisioned(found, false, NOW);
      expect(await members()).not.toContain(last);
      await change({ ...group, version: 2 }, {}, { members: { clear: true, remove: [], add: [] } });
      expect(await members()).toEqual([]);
    });

    it('ends sessions and grants of the account with the deactivation, and enables it with the reactivation', async () => {
      const { grant } = await createGrant(store());
      const { accountId } = grant;
      await store().saveSession(newSession(accountId), PASSWORD_HASH);
      const ada = await create('ada', { accountId });
      expect(
        await change(ada, { isActive: false, disabledAccount: true }, { account: 'disable' }),
      ).toMatchObject({
        isActive: false,
      });
      expect((await store().findGrant(grant.id))?.grant.revokedAt).toBe(NOW);
      expect(await store().listSessions(accountId, NOW)).toEqual([]);
      expect((await store().findAccount(accountId))?.disabledAt).toBe(NOW);
      await change({ ...ada, version: 2 }, { isActive: true }, { account: 'enable' });
      expect((await store().findAccount(accountId))?.disabledAt).toBeNull();
      expect(await store().removeProvisioned({ ...ada, version: 3 }, true, NOW)).toBe(true);
      expect(await store().findAccount(accountId)).toBeNull();
    });

    it('forgets that the deactivation disabled the account when that is disabled or enabled otherwise', async () => {
      const { accountId } = (await createGrant(store())).grant;
      const ada = await create('ada', { accountId });
      const other = await create('other', { disabledAccount: true });
      const read = () => store().findProvisioned('acme', 'User', ada.id);
      const deactivation = { isActive: false, disabledAccount: true };
      for (const [version, decide] of [
        [1, () => store().enableAccount(accountId)],
        [3, () => store().disableAccount(accountId, NOW)],
      ] as const) {
        await change({ ...ada, version }, deactivation, { account: 'disable' });
        expect(await read()).toMatchObject({ disabledAccount: true, version: version + 1 });
        expect(await decide()).toBe(true);
        expect(await read()).toMatchObject({ disabledAccount: false, version: version + 2 });
        // A change that was planned before does not undo it.
        expect(
          await change({ ...ada, version: version + 1 }, { isActive: true }, { account: 'enable' }),
        ).toEqual({ conflict: 'version' });
      }
      expect(await store().findProvisioned('acme', 'User', other.id)).toEqual(other);
    });

    it('refuses a deactivation or removal that was planned before an operator disabled or enabled the account', async () => {
      const { accountId } = (await createGrant(store())).grant;
      const ada = await create('ada', { accountId });
      for (const [version, decide] of [
        [1, () => store().disableAccount(accountId, NOW)],
        [2, () => store().enableAccount(accountId)],
      ] as const) {
        expect(await decide()).toBe(true);
        const planned = { ...ada, version };
        const before = [await store().findAccount(accountId), { ...ada, version: version + 1 }];
        expect(
          await change(planned, { isActive: false, disabledAccount: true }, { account: 'disable' }),
        ).toEqual({ conflict: 'version' });
        expect(await store().removeProvisioned(planned, true, NOW)).toBe(false);
        const after = await store().findProvisioned('acme', 'User', ada.id);
        expect([await store().findAccount(accountId), after]).toEqual(before);
      }
      expect(await store().removeProvisioned({ ...ada, version: 3 }, true, NOW)).toBe(true);
    });

    it('enables an account of users of several connections with the last reactivation, whichever it is', async () => {
      for (const order of [
        ['acme', 'globex'],
        ['globex', 'acme'],
      ]) {
        const { accountId } = (await createGrant(store())).grant;
        const users = new Map<string, ProvisionedResource>();
        for (const identityProvider of order)
          users.set(identityProvider, await create(accountId, { accountId, identityProvider }));
        const isDisabled = async () => (await store().findAccount(accountId))?.disabledAt !== null;
        const set = async (of: string, isActive: boolean, account: ProvisioningChange['account']) => {
          const [known] = [users.get(of)];
          const before = known && (await store().findProvisioned(of, 'User', known.id));
          if (!before) throw new Error(of);
          const planned = account === 'disable' || (before.disabledAccount && !isActive);
          const after = await change(before, { isActive, disabledAccount: planned }, { account });
          return 'conflict' in after ? after.conflict : [after.disabledAccount, await isDisabled()];
        };
        expect(await set('acme', false, 'disable')).toEqual([true, true]);
        expect(await set('globex', false, 'none')).toEqual([true, true]);
        const [first = '', last = ''] = order;
        expect(await set(first, true, 'enable')).toEqual([true, true]);
        expect(await set(last, true, 'enable')).toEqual([false, false]);
        const left = await Promise.all(
          [...users].map(([of, { id }]) => store().findProvisioned(of, 'User', id)),
        );
        expect(left.map((user) => user?.disabledAccount)).toEqual([false, false]);
        // What an operator decides stays.
        expect(await set(first, false, 'disable')).toEqual([true, true]);
        await store().disableAccount(accountId, NOW);
        expect(await set(last, false, 'none')).toEqual([false, true]);
        expect(await set(last, true, 'none')).toEqual([false, true]);
        expect(await set(first, true, 'none')).toEqual([false, true]);
      }
    });

    it('creates an inactive user that disabled its account only if that was enabled until then', async () => {
      const [{ grant }, { grant: another }] = [await createGrant(store()), await createGrant(store())];
      await store().disableAccount(another.accountId, NOW);
      for (const [accountId, disabledAccount] of [
        [grant.accountId, true],
        [another.accountId, false],
      ] as const) {
        const user = await create(accountId, { accountId, isActive: false }, { account: 'disable' });
        expect(user).toMatchObject({ accountId, disabledAccount });
        expect(await store().findProvisioned('acme', 'User', user.id)).toEqual(user);
        expect((await store().findAccount(accountId))?.disabledAt).toEqual(expect.any(Number));
      }
    });

    it('gives one active user the account that signs in', async () => {
      const [{ grant }, { grant: another }] = [await createGrant(store()), await createGrant(store())];
      const link = (user: ProvisionedResource, accountId: string) =>
        store().linkProvisionedAccount(user.id, accountId);
      const [ada, bob, eve] = [
        await create('ada'),
        await create('bob', { isActive: false }),
        await create('eve'),
      ];
      expect(await link(bob, grant.accountId)).toBe(false);
      expect(await link(ada, grant.accountId)).toBe(true);
      expect(await link(ada, grant.accountId)).toBe(true);
      expect(await link(ada, another.accountId)).toBe(false);
      expect(await link(eve, grant.accountId)).toBe(false);
      // A change that was planned before the link does not lose it.
      expect(await change(ada, { isActive: false })).toEqual({ conflict: 'version' });
    });

    it('adds the groups of an active user to the profile of the account', async () => {
      const { accountId } = (await createGrant(store())).grant;
      const ada = await create('ada', { accountId });
      const members = { ...NO_MEMBERS, add: [ada.id] };
      await create('Makers', { kind: 'Group' }, { members });
      await create('Engineers', { kind: 'Group' }, { members });
      const provisionedGroups = ['Engineers', 'Makers'];
      expect(await store().findProfile(accountId)).toEqual({
        email: null,
        name: null,
        groups: [],
        provisionedGroups,
      });
      await store().saveProfile(accountId, { email: 'ada@example.org', name: null, groups: ['own'] });
      expect(await store().findProfile(accountId)).toMatchObject({ groups: ['own'], provisionedGroups });
      await change(ada, { isActive: false });
      expect(await store().findProfile(accountId)).toEqual({
        email: 'ada@example.org',
        name: null,
        groups: ['own'],
      });
    });

    it('finds a token until it expires or is revoked', async () => {
      const token = {
        id: 'scim_1',
        hash: 'hash',
        identityProvider: 'acme',
        note: '',
        createdAt: NOW,
        expiresAt: NOW + 9,
      };
      await store().saveProvisioningToken(token);
      expect(await store().findProvisioningToken('hash', NOW + 8)).toEqual(token);
      expect(await store().findProvisioningToken('hash', NOW + 9)).toBeNull();
      expect(await store().listProvisioningTokens(NOW)).toEqual([token]);
      expect(await store().revokeProvisioningToken(token.id)).toBe(true);
      expect(await store().revokeProvisioningToken(token.id)).toBe(false);
      expect(await store().findProvisioningToken('hash', NOW)).toBeNull();
    });
  });
}
