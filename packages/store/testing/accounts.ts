/** The contract of accounts, browser sessions and setup links. */
import { describe, expect, it } from 'vitest';
import {
  NOW,
  newAccount,
  newAccountLink,
  newHash,
  newSession,
  PASSWORD_HASH,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeAccounts(store: StoreOfTest): void {
  describe('accounts', () => {
    it('finds an account by its id and its e-mail key only', async () => {
      const account = newAccount();
      expect(await store().hasLocalAccounts()).toBe(false);
      expect(await store().createFirstAccount(account, null)).toBe('created');

      expect(await store().hasLocalAccounts()).toBe(true);
      expect(await store().findAccount(account.id)).toEqual(account);
      expect(await store().findAccountByEmail(account.emailKey)).toEqual(account);
      for (const key of [account.email, ` ${account.emailKey}`, `${account.emailKey}\0`, '', '%']) {
        expect(await store().findAccountByEmail(key)).toBeNull();
      }
      expect(await store().findAccount(account.id.toUpperCase())).toBeNull();
    });

    it('keeps the newest profile of an account until the account is removed', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      expect(await store().findProfile(account.id)).toBeNull();
      const first = { email: 'ada@example.org', name: 'Ada Lovelace', groups: ['engineers', 'größe'] };
      const second = { email: null, name: null, groups: [] };
      for (const profile of [first, second, first]) {
        expect(await store().saveProfile(account.id, profile)).toBe(true);
        expect(await store().findProfile(account.id)).toEqual(profile);
      }
      expect(await store().saveProfile('user_unknown', first)).toBe(false);
      expect(await store().findProfile('user_unknown')).toBeNull();
      await store().removeAccount(account.id, NOW);
      expect(await store().findProfile(account.id)).toBeNull();
    });

    it('lists the groups of profiles in the order of accounts, page by page', async () => {
      const [account, other] = [newAccount(), newAccount()];
      await store().createFirstAccount(account, null);
      expect(await store().createAccount(other, newAccountLink(other.id))).toBe(true);
      const profiles = [account, other].map(({ id }, index) => ({
        accountId: id,
        groups: [`größe ${index}`],
      }));
      for (const { accountId, groups } of profiles)
        await store().saveProfile(accountId, { email: null, name: null, groups });
      const [first, second] = profiles.toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1));
      expect(await store().listProfileGroups('', 9)).toEqual([first, second]);
      expect(await store().listProfileGroups('', 1)).toEqual([first]);
      expect(await store().listProfileGroups(first?.accountId ?? '', 9)).toEqual([second]);
      expect(await store().listProfileGroups(second?.accountId ?? '', 9)).toEqual([]);
    });

    it('finds accounts by the address that their identity provider verified', async () => {
      const [account, other] = [newAccount(), newAccount()];
      await store().createFirstAccount(account, null);
      expect(await store().createAccount(other, newAccountLink(other.id))).toBe(true);
      const profile = { email: 'Grace.Hopper@example.org', name: null, groups: [] };
      for (const { id } of [account, other]) await store().saveProfile(id, profile);
      const find = async (key: string) =>
        (await store().findAccountsByVerifiedEmail(key)).map(({ id }) => id).toSorted();
      expect(await find('grace.hopper@example.org')).toEqual([account.id, other.id].toSorted());
      await store().saveProfile(other.id, { ...profile, email: null });
      expect(await find('grace.hopper@example.org')).toEqual([account.id]);
      for (const key of [account.emailKey, 'grace.hopper@example.com', '', '%'])
        expect(await find(key)).toEqual([]);
    });

    it('refuses to create a second first account', async () => {
      const [first, second] = [newAccount(), newAccount()];
      await store().createFirstAccount(first, null);
      expect(await store().createFirstAccount(second, null)).toBe('refused');
      expect(await store().findAccount(second.id)).toBeNull();
      expect(await store().findAccount(first.id)).toEqual(first);
    });

    it('creates the first account with a setup link and invalidates all setup links', async () => {
      const [used, other] = [newHash(), newHash()];
      await store().saveSetupLink(used, NOW);
      await store().saveSetupLink(other, NOW + 1);
      expect(await store().isSetupLink(used, NOW)).toBe(true);
      expect(await store().isSetupLink(other, NOW)).toBe(true);

      expect(await store().createFirstAccount(newAccount(), used)).toBe('created');
      expect(await store().isSetupLink(used, NOW)).toBe(false);
      expect(await store().isSetupLink(other, NOW)).toBe(false);
      expect(await store().createFirstAccount(newAccount(), other)).toBe('refused');
    });

    it('refuses an unknown setup link and keeps the known ones', async () => {
      const [known, account] = [newHash(), newAccount()];
      await store().saveSetupLink(known, NOW);
      expect(await store().isSetupLink(newHash(), NOW)).toBe(false);
      expect(await store().createFirstAccount(account, newHash())).toBe('refused');
      expect(await store().hasLocalAccounts()).toBe(false);
      expect(await store().isSetupLink(known, NOW)).toBe(true);
      expect(await store().createFirstAccount(account, known)).toBe('created');
    });

    it('rejects every setup link once an account exists', async () => {
      await store().createFirstAccount(newAccount(), null);
      const late = newHash();
      expect(await store().saveSetupLink(late, NOW)).toBe(false);
      expect(await store().isSetupLink(late, NOW)).toBe(false);
    });

    it('accepts a setup link for a day', async () => {
      const [old, recent] = [newHash(), newHash()];
      expect(await store().saveSetupLink(old, NOW - 86_400)).toBe(true);
      expect(await store().isSetupLink(old, NOW - 1)).toBe(true);
      expect(await store().isSetupLink(old, NOW)).toBe(false);
      expect(await store().createFirstAccount(newAccount(), old)).toBe('refused');
      expect(await store().hasLocalAccounts()).toBe(false);
      expect(await store().saveSetupLink(recent, NOW)).toBe(true);
      // The expired one is deleted.
      expect(await store().isSetupLink(old, NOW - 1)).toBe(false);
      expect(await store().createFirstAccount(newAccount({ createdAt: NOW + 86_399 }), recent)).toBe(
        'created',
      );
    });

    it(`creates one account for ${RACERS} concurrent calls, with and without a setup link`, async () => {
      const link = newHash();
      await store().saveSetupLink(link, NOW);
      const accounts = times(RACERS, () => newAccount());
      const outcomes = await race(
        accounts.map(
          (account, index) => () => store().createFirstAccount(account, index % 2 === 0 ? link : null),
        ),
      );
      expect(outcomes).toEqual({ created: 1, refused: RACERS - 1 });
      const found = await Promise.all(accounts.map(({ id }) => store().findAccount(id)));
      expect(found.filter((account) => account !== null)).toHaveLength(1);
    });

    it('refuses to store a password that is not hashed', async () => {
      const account = newAccount({ passwordHash: 'correct horse battery staple' });
      await expect(store().createFirstAccount(account, null)).rejects.toThrow();
      expect(await store().hasLocalAccounts()).toBe(false);
      expect(await store().createFirstAccount(newAccount(), null)).toBe('created');
    });

    it('replaces a password hash only if it has not changed since', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      await store().replacePasswordHash(account.id, '$argon2id$another', '$argon2id$new');
      expect(await store().findAccount(account.id)).toEqual(account);
      await store().replacePasswordHash(account.id, account.passwordHash, '$argon2id$new');
      expect(await store().findAccount(account.id)).toEqual({ ...account, passwordHash: '$argon2id$new' });
    });

    it('changes a password only if it has not changed since, and ends other sessions on request, but no link', async () => {
      const account = newAccount();
      const link = newAccountLink(account.id);
      await store().createAccount(account, link);
      const [own, other] = [newSession(account.id), newSession(account.id)];
      for (const session of [own, other]) await store().saveSession(session, PASSWORD_HASH);
      const { id, passwordHash } = account;
      expect(await store().changePassword(id, '$argon2id$another', '$argon2id$new', own.hash)).toBe(false);
      expect(await store().findAccount(id)).toEqual(account);
      expect((await store().findSession(other.hash, NOW))?.session).toEqual(other);
      expect(await store().findAccountLink(link.hash, NOW)).toEqual(link);

      expect(await store().changePassword(id, passwordHash, '$argon2id$new', null)).toBe(true);
      expect(await store().findAccount(id)).toEqual({ ...account, passwordHash: '$argon2id$new' });
      expect((await store().findSession(other.hash, NOW))?.session).toEqual(other);

      expect(await store().changePassword(id, '$argon2id$new', '$argon2id$newer', own.hash)).toBe(true);
      expect((await store().findSession(own.hash, NOW))?.session).toEqual(own);
      expect(await store().findSession(other.hash, NOW)).toBeNull();
      expect(await store().findAccountLink(link.hash, NOW)).toEqual(link);
    });

    it('changes no password of a disabled account', async () => {
      const account = newAccount({ disabledAt: NOW });
      await store().createFirstAccount(account, null);
      const change = () => store().changePassword(account.id, account.passwordHash, '$argon2id$new', null);
      expect(await change()).toBe(false);
      expect(await store().findAccount(account.id)).toEqual(account);
      await store().enableAccount(account.id);
      expect(await change()).toBe(true);
    });
  });

  describe('sessions', () => {
    it('finds a browser session until the second it expires', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      const session = newSession(account.id);
      await store().saveSession(session, PASSWORD_HASH);
      expect(await store().findSession(session.hash, NOW)).toEqual({ session, account });
      expect((await store().findSession(session.hash, session.expiresAt - 1))?.session).toEqual(session);
      expect(await store().findSession(session.hash, session.expiresAt)).toBeNull();
      expect(await store().findSession(newHash(), NOW)).toBeNull();
    });

    it('finds how and when the user of a session authenticated', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      const session = newSession(account.id, {
        methods: ['fed'],
        authenticatedAt: NOW - 5000,
        language: 'de',
      });
      await store().saveSession(session, PASSWORD_HASH);
      expect(await store().findSession(session.hash, NOW)).toEqual({ session, account });
      expect(await store().listSessions(account.id, NOW)).toEqual([session]);
    });

    it('ends one browser session and no other, idempotently', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      const [ended, other] = [newSession(account.id), newSession(account.id)];
      await store().saveSession(ended, PASSWORD_HASH);
      await store().saveSession(other, PASSWORD_HASH);
      await store().endSession(ended.hash);
      await store().endSession(ended.hash);
      expect(await store().findSession(ended.hash, NOW)).toBeNull();
      expect((await store().findSession(other.hash, NOW))?.session).toEqual(other);
    });

    it('lists the live browser sessions of an account, newest first, and ends all but one', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      const [old, young] = [
        newSession(account.id),
        newSession(account.id, { createdAt: NOW + 1, browser: null }),
      ];
      const expired = newSession(account.id, { expiresAt: NOW + 5 });
      for (const session of [old, young, expired]) await store().saveSession(session, PASSWORD_HASH);
      expect(await store().listSessions(account.id, NOW + 5)).toEqual([young, old]);
      expect(await store().listSessions('user_unknown', NOW)).toEqual([]);

      expect(await store().endSessions('user_unknown', null)).toBe(0);
      expect(await store().endSessions(account.id, old.hash)).toBe(2);
      expect(await store().listSessions(account.id, NOW)).toEqual([old]);
      expect(await store().endSessions(account.id, null)).toBe(1);
      expect(await store().findSession(old.hash, NOW)).toBeNull();
    });

    it('ends the oldest browser sessions beyond a number, of this account only', async () => {
      const [account, other] = [newAccount(), newAccount()];
      for (const one of [account, other]) await store().createAccount(one, newAccountLink(one.id));
      const theirs = newSession(other.id, { createdAt: NOW - 100 });
      const [first, second] = [newSession(account.id), newSession(account.id, { createdAt: NOW + 1 })];
      for (const session of [theirs, first, second]) await store().saveSession(session, PASSWORD_HASH);
      // A clock that was set back.
      const third = newSession(account.id, { createdAt: NOW - 1 });
      expect(await store().saveSession(third, 'another password', 2)).toBe(false);
      expect(await store().listSessions(account.id, NOW)).toEqual([second, first]);
      expect(await store().saveSession(third, PASSWORD_HASH, 2)).toBe(true);
      expect(await store().listSessions(account.id, NOW)).toEqual([second, third]);
      expect(await store().listSessions(other.id, NOW)).toEqual([theirs]);
    });

    it('ends the sessions that a logout at an identity provider names, unless they began later', async () => {
      const account = newAccount();
      const other = newAccount();
      for (const one of [account, other]) await store().createAccount(one, newAccountLink(one.id));
      const named = newSession(account.id, { providerSession: 'theirs' });
      const elsewhere = newSession(account.id, { providerSession: 'another' });
      const unknown = newSession(account.id);
      const later = newSession(account.id, { createdAt: NOW + 1 });
      const foreign = newSession(other.id);
      for (const session of [named, elsewhere, unknown, later, foreign])
        await store().saveSession(session, PASSWORD_HASH);
      const end = (accountId: string | null, providerSession: string | null) =>
        store().endProviderSessions({ accountId, providerSession, before: NOW, now: NOW + 1 });
      const hashes = (sessions: readonly { readonly hash: string }[]) => sessions.map(({ hash }) => hash);
      const left = async () => [
        ...(await store().listSessions(account.id, NOW)),
        ...(await store().listSessions(other.id, NOW)),
      ];

      expect(await end(null, null)).toEqual([]);
      expect(await end(null, 'unknown')).toEqual([]);
      expect(await left()).toHaveLength(5);
      expect(await end(account.id, 'theirs')).toEqual([account.id, account.id]);
      expect(hashes(await left())).toEqual(hashes([later, elsewhere, foreign]));
      expect(await end(null, 'another')).toEqual([account.id]);
      expect(await end(other.id, null)).toEqual([other.id]);
      expect(hashes(await left())).toEqual(hashes([later]));
    });

    it('ends a session that a clock ahead began, when its identity provider reports a logout', async () => {
      const account = newAccount();
      await store().createAccount(account, newAccountLink(account.id));
      const later = newSession(account.id, { createdAt: NOW + 20 });
      const ahead = newSession(account.id, { createdAt: NOW + 21 });
      for (const session of [later, ahead]) await store().saveSession(session, PASSWORD_HASH);
      const logout = { accountId: account.id, providerSession: null, before: NOW, now: NOW + 20 };
      expect(await store().endProviderSessions(logout)).toEqual([account.id]);
      expect(await store().listSessions(account.id, NOW)).toEqual([later]);
    });

    it('does not find the browser session of a disabled account', async () => {
      const account = newAccount();
      await store().createFirstAccount(account, null);
      const session = newSession(account.id);
      expect(await store().saveSession(session, PASSWORD_HASH)).toBe(true);
      await store().disableAccount(account.id, NOW);
      expect(await store().findSession(session.hash, NOW)).toBeNull();
      expect(await store().findAccount(account.id)).toEqual({ ...account, disabledAt: NOW });
    });

    it('saves no browser session after the password was changed or reset, or the account disabled or removed', async () => {
      for (const end of [
        (id: string) => store().changePassword(id, PASSWORD_HASH, '$argon2id$new', null),
        (id: string) =>
          store()
            .replacePasswordHash(id, PASSWORD_HASH, '$argon2id$new')
            .then(() => true),
        (id: string) => store().disableAccount(id, NOW),
        (id: string) => store().removeAccount(id, NOW),
      ]) {
        const account = newAccount();
        await store().createAccount(account, newAccountLink(account.id));
        const [before, after] = [newSession(account.id), newSession(account.id)];
        expect(await store().saveSession(before, PASSWORD_HASH)).toBe(true);
        expect(await end(account.id)).toBe(true);
        expect(await store().saveSession(after, PASSWORD_HASH)).toBe(false);
        await store().enableAccount(account.id);
        expect(await store().findSession(after.hash, NOW)).toBeNull();
      }
    });
  });
}
