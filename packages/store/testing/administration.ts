/** The contract of account administration: accounts are created, disabled and enabled, with links for their users. */
import { describe, expect, it } from 'vitest';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newAccount,
  newAccountLink,
  newCode,
  newHash,
  newPasskey,
  newRefreshToken,
  newSession,
  PASSWORD_HASH,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

const NEW = { passwordHash: '$argon2id$v=19$m=47104,t=1,p=1$bmV3$bmV3', passkey: null };

export function describeAdministration(store: StoreOfTest): void {
  /** Creates an account with its invitation link. */
  const add = async () => {
    const account = newAccount();
    const link = newAccountLink(account.id);
    expect(await store().createAccount(account, link)).toBe(true);
    return { account, link };
  };

  describe('accounts that an administrator creates', () => {
    it('creates an account with its invitation link, and no second one with the same e-mail address', async () => {
      const { account, link } = await add();
      expect(await store().findAccountByEmail(account.emailKey)).toEqual(account);
      expect(await store().findAccountLink(link.hash, NOW)).toEqual(link);

      const second = newAccount({ emailKey: account.emailKey });
      const other = newAccountLink(second.id);
      expect(await store().createAccount(second, other)).toBe(false);
      expect(await store().findAccount(second.id)).toBeNull();
      expect(await store().findAccountLink(other.hash, NOW)).toBeNull();
    });

    it(`creates one account when ${RACERS} calls create the same one concurrently`, async () => {
      const outcomes = await race(
        times(RACERS, () => () => {
          const account = newAccount({ emailKey: 'ada@example.com' });
          return store().createAccount(account, newAccountLink(account.id));
        }),
      );
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('lists accounts in the order of their e-mail addresses, page by page', async () => {
      const keys = ['c@example.com', 'a@example.com', 'B@example.com', 'b@example.com'];
      for (const emailKey of keys) {
        const account = newAccount({ emailKey });
        await store().createAccount(account, newAccountLink(account.id));
      }
      const list = async (after: string) =>
        (await store().listAccounts(after, 2)).map(({ emailKey }) => emailKey);
      expect(await list('')).toEqual(['B@example.com', 'a@example.com']);
      expect(await list('a@example.com')).toEqual(['b@example.com', 'c@example.com']);
      expect(await list('c@example.com')).toEqual([]);
    });

    it('disables an account with its sessions, links, grants and codes, none of which return when it is enabled', async () => {
      const [{ account, link }, bystander] = [await add(), await add()];
      const session = newSession(account.id);
      const foreign = newSession(bystander.account.id);
      for (const one of [session, foreign]) await store().saveSession(one, PASSWORD_HASH);
      const { grant, token } = await createGrant(store(), { grant: { accountId: account.id } });
      const code = await issueSampleCode(store(), newCode({ accountId: account.id }));

      expect(await store().disableAccount(account.id, NOW + 1)).toBe(true);
      // A later time each time: an operator who takes one back finds the other.
      for (const [at, disabledAt] of [
        [NOW + 1, NOW + 2],
        [NOW, NOW + 3],
        [NOW + 9, NOW + 9],
      ] as const) {
        expect(await store().disableAccount(account.id, at)).toBe(true);
        expect(await store().findAccount(account.id)).toEqual({ ...account, disabledAt });
      }
      const nothingLeft = async () => {
        expect(await store().findSession(session.hash, NOW + 2)).toBeNull();
        expect(await store().findAccountLink(link.hash, NOW + 2)).toBeNull();
        expect(await store().isAccessTokenLive('token', grant.id)).toBe(false);
        const successor = newRefreshToken();
        expect(await store().rotateRefreshToken(grant.id, token.hash, successor, null)).toBe('conflict');
        expect(await store().redeemCode(code.hash, grantOf(code), null, NOW + 2)).toBe('already_used');
      };
      await nothingLeft();
      expect(await store().enableAccount(account.id)).toBe(true);
      expect(await store().findAccount(account.id)).toEqual(account);
      await nothingLeft();
      expect((await store().findSession(foreign.hash, NOW))?.session).toEqual(foreign);
      expect(await store().findAccountLink(bystander.link.hash, NOW)).toEqual(bystander.link);
    });

    it('redeems no code that was issued while its account was disabled, and those of later', async () => {
      const [{ account }, bystander] = [await add(), await add()];
      await store().disableAccount(account.id, NOW);
      const late = await issueSampleCode(store(), newCode({ accountId: account.id }));
      const theirs = await issueSampleCode(store(), newCode({ accountId: bystander.account.id }));
      expect(await store().enableAccount(account.id)).toBe(true);
      expect(await store().redeemCode(late.hash, grantOf(late), null, NOW + 1)).toBe('already_used');
      expect(await store().listGrants(account.id, NOW, null, 10)).toEqual([]);
      const next = await issueSampleCode(store(), newCode({ accountId: account.id }));
      expect(await store().enableAccount(account.id)).toBe(true);
      for (const code of [next, theirs])
        expect(await store().redeemCode(code.hash, grantOf(code), null, NOW + 1)).toBe('redeemed');
    });

    it('changes the role of an account, which its sessions show, and no other account', async () => {
      const [{ account }, bystander] = [await add(), await add()];
      const session = newSession(account.id);
      await store().saveSession(session, PASSWORD_HASH);
      expect(await store().setAccountRole(account.id, 'operator')).toBe(true);
      expect(await store().findAccount(account.id)).toEqual({ ...account, role: 'operator' });
      expect((await store().findSession(session.hash, NOW))?.account.role).toBe('operator');
      expect(await store().findAccount(bystander.account.id)).toEqual(bystander.account);
      expect(await store().setAccountRole(account.id, null)).toBe(true);
      expect(await store().findAccount(account.id)).toEqual(account);
      expect(await store().setAccountRole('user_unknown', 'viewer')).toBe(false);
    });

    it('reports that an unknown account cannot be disabled or enabled', async () => {
      expect(await store().disableAccount('user_unknown', NOW)).toBe(false);
      expect(await store().enableAccount('user_unknown')).toBe(false);
    });
  });

  describe('account links', () => {
    it('redeems an account link once, for a new password, and ends the sessions and links of that account only', async () => {
      const [{ account }, bystander] = [await add(), await add()];
      const theirs = newSession(bystander.account.id);
      const passkey = newPasskey(bystander.account.id);
      await store().saveSession(theirs, PASSWORD_HASH);
      await store().addPasskey(passkey, theirs.hash);
      const link = newAccountLink(account.id, { purpose: 'reset' });
      await store().saveAccountLink(link);
      const session = newSession(account.id);
      await store().saveSession(session, PASSWORD_HASH);

      expect(await store().redeemAccountLink(newHash(), NEW, NOW)).toBe(false);
      expect(await store().findAccount(account.id)).toEqual(account);
      expect(await store().redeemAccountLink(link.hash, NEW, NOW)).toBe(true);
      expect(await store().findAccount(account.id)).toEqual({ ...account, passwordHash: NEW.passwordHash });
      expect(await store().findSession(session.hash, NOW)).toBeNull();
      expect(
        await store().redeemAccountLink(link.hash, { ...NEW, passwordHash: account.passwordHash }, NOW),
      ).toBe(false);
      expect(await store().findAccountLink(link.hash, NOW)).toBeNull();
      expect(await store().findAccountLink(bystander.link.hash, NOW)).toEqual(bystander.link);
      expect(await store().findAccount(bystander.account.id)).toEqual(bystander.account);
      expect((await store().findSession(theirs.hash, NOW))?.session).toEqual(theirs);
      expect(await store().listPasskeys(bystander.account.id)).toEqual([passkey]);
    });

    it('replaces earlier links of the same account', async () => {
      const [{ account, link: first }, bystander] = [await add(), await add()];
      const second = newAccountLink(account.id, { purpose: 'reset' });
      await store().saveAccountLink(second);
      expect(await store().findAccountLink(first.hash, NOW)).toBeNull();
      expect(await store().redeemAccountLink(first.hash, NEW, NOW)).toBe(false);
      expect(await store().findAccountLink(second.hash, NOW)).toEqual(second);
      expect(await store().findAccountLink(bystander.link.hash, NOW)).toEqual(bystander.link);
    });

    it('replaces mailed links by a mailed link, and all links by one of an operator', async () => {
      const { account, link } = await add();
      const newLink = (isMailed: boolean) => newAccountLink(account.id, { purpose: 'reset', isMailed });
      const [first, second, third] = [newLink(true), newLink(true), newLink(false)];
      const live = async () =>
        Promise.all([link, first, second, third].map(async ({ hash }) => store().findAccountLink(hash, NOW)));
      await store().saveAccountLink(first);
      expect(await live()).toEqual([link, first, null, null]);
      await store().saveAccountLink(second);
      expect(await live()).toEqual([link, null, second, null]);
      await store().saveAccountLink(third);
      expect(await live()).toEqual([null, null, null, third]);
      await store().saveAccountLink(second);
      expect(await store().redeemAccountLink(third.hash, NEW, NOW)).toBe(true);
      expect(await live()).toEqual([null, null, null, null]);
    });

    it('rejects an account link from the second it expires, and sweeps it then', async () => {
      const { account, link } = await add();
      expect(await store().findAccountLink(link.hash, link.expiresAt)).toBeNull();
      expect(await store().redeemAccountLink(link.hash, NEW, link.expiresAt)).toBe(false);
      expect(await store().findAccount(account.id)).toEqual(account);
      expect(await store().sweep(link.expiresAt - 1, 10)).toBe(0);
      expect(await store().sweep(link.expiresAt, 10)).toBe(1);
    });

    it(`redeems an account link once when ${RACERS} calls race`, async () => {
      const { link } = await add();
      const outcomes = await race(times(RACERS, () => () => store().redeemAccountLink(link.hash, NEW, NOW)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
    });
  });
}
