/** The contract of passkeys: several per account, each with a counter that only rises. */
import { describe, expect, it } from 'vitest';
import {
  NOW,
  newAccount,
  newAccountLink,
  newPasskey,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describePasskeys(store: StoreOfTest): void {
  const add = async () => {
    const account = newAccount();
    const link = newAccountLink(account.id);
    await store().createAccount(account, link);
    return { account, link };
  };

  describe('passkeys', () => {
    it('are found by their identifier and by their account, the oldest first', async () => {
      const { account } = await add();
      const [young, old] = [newPasskey(account.id, { createdAt: NOW + 1 }), newPasskey(account.id)];
      for (const passkey of [young, old]) expect(await store().addPasskey(passkey)).toBe(true);
      expect(await store().findPasskey(old.id)).toEqual(old);
      expect(await store().listPasskeys(account.id)).toEqual([old, young]);
      expect(await store().findPasskey('unknown')).toBeNull();
      expect(await store().listPasskeys('user_nobody')).toEqual([]);
    });

    it('keep their first owner', async () => {
      const [first, second] = [await add(), await add()];
      const passkey = newPasskey(first.account.id);
      expect(await store().addPasskey(passkey)).toBe(true);
      expect(await store().addPasskey(newPasskey(second.account.id, { id: passkey.id }))).toBe(false);
      expect(await store().findPasskey(passkey.id)).toEqual(passkey);
    });

    it('count up, and never down or on the spot', async () => {
      const { account } = await add();
      const passkey = newPasskey(account.id, { counter: 5 });
      await store().addPasskey(passkey);
      for (const counter of [0, 4, 5])
        expect(await store().recordPasskeyUse(passkey.id, counter, NOW + 1)).toBe(false);
      expect(await store().findPasskey(passkey.id)).toEqual(passkey);
      expect(await store().recordPasskeyUse(passkey.id, 9, NOW + 1)).toBe(true);
      expect(await store().findPasskey(passkey.id)).toEqual({ ...passkey, counter: 9, lastUsedAt: NOW + 1 });
      expect(await store().recordPasskeyUse('unknown', 1, NOW)).toBe(false);
    });

    it('that do not count are used again and again', async () => {
      const { account } = await add();
      const passkey = newPasskey(account.id);
      await store().addPasskey(passkey);
      for (const at of [NOW + 1, NOW + 2])
        expect(await store().recordPasskeyUse(passkey.id, 0, at)).toBe(true);
      expect((await store().findPasskey(passkey.id))?.lastUsedAt).toBe(NOW + 2);
    });

    it(`let one of ${RACERS} uses with one count pass`, async () => {
      const { account } = await add();
      const passkey = newPasskey(account.id, { counter: 1 });
      await store().addPasskey(passkey);
      const outcomes = await race(times(RACERS, () => () => store().recordPasskeyUse(passkey.id, 2, NOW)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('are removed by their own account', async () => {
      const { account } = await add();
      const passkey = newPasskey(account.id);
      await store().addPasskey(passkey);
      expect(await store().removePasskey('user_nobody', passkey.id)).toBe(false);
      expect(await store().findPasskey(passkey.id)).toEqual(passkey);
      expect(await store().removePasskey(account.id, passkey.id)).toBe(true);
      expect(await store().removePasskey(account.id, passkey.id)).toBe(false);
      expect(await store().findPasskey(passkey.id)).toBeNull();
    });

    it('of before go when a link is used, which may bring a new one', async () => {
      const [{ account, link }, bystander] = [await add(), await add()];
      const [lost, chosen, foreign] = [
        newPasskey(account.id),
        newPasskey(account.id),
        newPasskey(bystander.account.id),
      ];
      await store().addPasskey(lost);
      await store().addPasskey(foreign);
      const { passwordHash } = account;
      expect(await store().redeemAccountLink(link.hash, { passwordHash, passkey: chosen }, NOW)).toBe(true);
      expect(await store().listPasskeys(account.id)).toEqual([chosen]);
      expect(await store().findPasskey(foreign.id)).toEqual(foreign);
    });
  });
}
