/** The contract of TOTP: one factor per account, no code is accepted twice, each recovery code once. */
import { describe, expect, it } from 'vitest';
import {
  NOW,
  newAccount,
  newAccountLink,
  newHash,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeTotp(store: StoreOfTest): void {
  const add = async () => {
    const account = newAccount();
    const link = newAccountLink(account.id);
    await store().createAccount(account, link);
    return { account, link };
  };
  const factorOf = (accountId: string) => ({
    accountId,
    encryptedSecret: newHash(),
    lastStep: 100,
    createdAt: NOW,
  });

  describe('TOTP factors', () => {
    it('are one an account, with the recovery codes that came with it', async () => {
      const { account } = await add();
      expect(await store().findTotpFactor(account.id)).toBeNull();
      const [first, second] = [factorOf(account.id), factorOf(account.id)];
      const [old, young] = [newHash(), newHash()];
      await store().saveTotpFactor(first, [old, newHash()]);
      expect(await store().findTotpFactor(account.id)).toEqual(first);
      expect(await store().countRecoveryCodes(account.id)).toBe(2);
      await store().saveTotpFactor(second, [young]);
      expect(await store().findTotpFactor(account.id)).toEqual(second);
      expect(await store().consumeRecoveryCode(account.id, old)).toBe(false);
      expect(await store().consumeRecoveryCode(account.id, young)).toBe(true);
    });

    it('are listed in the order of their accounts, and sealed again unless they have changed', async () => {
      const factors = [factorOf((await add()).account.id), factorOf((await add()).account.id)].toSorted(
        (one, other) => (one.accountId < other.accountId ? -1 : 1),
      );
      for (const factor of factors) await store().saveTotpFactor(factor, []);
      const [first, second] = factors as [ReturnType<typeof factorOf>, ReturnType<typeof factorOf>];
      const before = `${first.accountId.slice(0, -1)}`;
      expect((await store().listTotpFactors(before, 1)).length).toBe(1);
      const behind = await store().listTotpFactors(first.accountId, 1000);
      expect(behind).toContainEqual(second);
      expect(behind).not.toContainEqual(first);
      const envelope = newHash();
      expect(await store().reencryptTotpFactor(first.accountId, newHash(), envelope)).toBe(false);
      expect(await store().reencryptTotpFactor(first.accountId, first.encryptedSecret, envelope)).toBe(true);
      expect(await store().findTotpFactor(first.accountId)).toEqual({ ...first, encryptedSecret: envelope });
      expect(await store().findTotpFactor(second.accountId)).toEqual(second);
    });

    it('take a time step once, and none before it', async () => {
      const { account } = await add();
      await store().saveTotpFactor(factorOf(account.id), []);
      for (const step of [99, 100]) expect(await store().consumeTotpStep(account.id, step)).toBe(false);
      const outcomes = await race(times(RACERS, () => () => store().consumeTotpStep(account.id, 101)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      expect((await store().findTotpFactor(account.id))?.lastStep).toBe(101);
      expect(await store().consumeTotpStep('user_nobody', 200)).toBe(false);
    });

    it('take a recovery code once, and of its own account', async () => {
      const [{ account }, bystander] = [await add(), await add()];
      const code = newHash();
      await store().saveTotpFactor(factorOf(account.id), [code, newHash()]);
      await store().saveTotpFactor(factorOf(bystander.account.id), [newHash()]);
      expect(await store().consumeRecoveryCode(bystander.account.id, code)).toBe(false);
      const outcomes = await race(times(RACERS, () => () => store().consumeRecoveryCode(account.id, code)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      expect(await store().countRecoveryCodes(account.id)).toBe(1);
    });

    it('get new recovery codes in the place of what is left, and keep everything else', async () => {
      const [{ account }, bystander] = [await add(), await add()];
      const factor = factorOf(account.id);
      const [old, young, theirs] = [newHash(), newHash(), newHash()];
      await store().saveTotpFactor(factor, [old, newHash()]);
      await store().saveTotpFactor(factorOf(bystander.account.id), [theirs]);
      await store().consumeTotpStep(account.id, 101);
      expect(await store().replaceRecoveryCodes(account.id, [young])).toBe(true);
      expect(await store().findTotpFactor(account.id)).toEqual({ ...factor, lastStep: 101 });
      expect(await store().consumeRecoveryCode(account.id, old)).toBe(false);
      expect(await store().consumeRecoveryCode(account.id, young)).toBe(true);
      expect(await store().consumeRecoveryCode(bystander.account.id, theirs)).toBe(true);
      const { account: without } = await add();
      expect(await store().replaceRecoveryCodes(without.id, [newHash()])).toBe(false);
      expect(await store().countRecoveryCodes(without.id)).toBe(0);
    });

    it('go when they are removed, and when a link is used', async () => {
      const [{ account }, other] = [await add(), await add()];
      for (const { account: one } of [{ account }, other])
        await store().saveTotpFactor(factorOf(one.id), [newHash()]);
      expect(await store().removeTotpFactor(account.id)).toBe(true);
      expect(await store().removeTotpFactor(account.id)).toBe(false);
      expect(await store().countRecoveryCodes(account.id)).toBe(0);
      expect(await store().findTotpFactor(other.account.id)).not.toBeNull();
      const { passwordHash } = other.account;
      await store().redeemAccountLink(other.link.hash, { passwordHash, passkey: null }, NOW);
      expect(await store().findTotpFactor(other.account.id)).toBeNull();
      expect(await store().countRecoveryCodes(other.account.id)).toBe(0);
    });
  });
}
