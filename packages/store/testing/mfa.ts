/** The contract of second factors: passkeys, whose counters only rise, and TOTP, whose codes are accepted once. */
import type { PasskeyRecord, TotpFactorRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import {
  inSession,
  NOW,
  newAccount,
  newAccountLink,
  newHash,
  newPasskey,
  newSession,
  PASSWORD_HASH,
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

  const save = (passkey: PasskeyRecord) =>
    inSession(store(), passkey.accountId, (session) => store().addPasskey(passkey, session));

  describe('passkeys', () => {
    it('finds passkeys by their identifier, and lists those of an account, oldest first', async () => {
      const { account } = await add();
      const [young, old] = [newPasskey(account.id, { createdAt: NOW + 1 }), newPasskey(account.id)];
      for (const passkey of [young, old]) expect(await save(passkey)).toBe(true);
      expect(await store().findPasskey(old.id)).toEqual(old);
      expect(await store().listPasskeys(account.id)).toEqual([old, young]);
      expect(await store().findPasskey('unknown')).toBeNull();
      expect(await store().listPasskeys('user_unknown')).toEqual([]);
    });

    it('adds a passkey only in a session of its account that has not ended', async () => {
      const [{ account, link }, other] = [await add(), await add()];
      const [session, foreign] = [newSession(account.id), newSession(other.account.id)];
      for (const one of [session, foreign]) await store().saveSession(one, PASSWORD_HASH);
      const [added, chosen] = [newPasskey(account.id), newPasskey(account.id)];
      expect(await store().addPasskey(added, foreign.hash)).toBe(false);
      expect(await store().listPasskeys(account.id)).toEqual([]);
      expect(await store().addPasskey(added, session.hash)).toBe(true);
      const chosenCredential = { passwordHash: '$argon2id$new', passkey: chosen };
      expect(await store().redeemAccountLink(link.hash, chosenCredential, NOW)).toBe(true);
      expect(await store().addPasskey(newPasskey(account.id), session.hash)).toBe(false);
      expect(await store().listPasskeys(account.id)).toEqual([chosen]);
    });

    it('never moves a passkey to another account', async () => {
      const [first, second] = [await add(), await add()];
      const passkey = newPasskey(first.account.id);
      expect(await save(passkey)).toBe(true);
      expect(await save(newPasskey(second.account.id, { id: passkey.id }))).toBe(false);
      expect(await store().findPasskey(passkey.id)).toEqual(passkey);
    });

    it('accepts a passkey counter only if it has increased', async () => {
      const { account } = await add();
      const passkey = newPasskey(account.id, { counter: 5 });
      await save(passkey);
      for (const counter of [0, 4, 5])
        expect(await store().recordPasskeyUse(passkey.id, counter, NOW + 1)).toBe(false);
      expect(await store().findPasskey(passkey.id)).toEqual(passkey);
      expect(await store().recordPasskeyUse(passkey.id, 9, NOW + 1)).toBe(true);
      expect(await store().findPasskey(passkey.id)).toEqual({ ...passkey, counter: 9, lastUsedAt: NOW + 1 });
      expect(await store().recordPasskeyUse('unknown', 1, NOW)).toBe(false);
    });

    it('accepts a passkey without a counter repeatedly', async () => {
      const { account } = await add();
      const passkey = newPasskey(account.id);
      await save(passkey);
      for (const at of [NOW + 1, NOW + 2])
        expect(await store().recordPasskeyUse(passkey.id, 0, at)).toBe(true);
      expect((await store().findPasskey(passkey.id))?.lastUsedAt).toBe(NOW + 2);
    });

    it(`accepts one of ${RACERS} concurrent uses with the same passkey counter`, async () => {
      const { account } = await add();
      const passkey = newPasskey(account.id, { counter: 1 });
      await save(passkey);
      const outcomes = await race(times(RACERS, () => () => store().recordPasskeyUse(passkey.id, 2, NOW)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('removes a passkey for its own account only', async () => {
      const { account } = await add();
      const passkey = newPasskey(account.id);
      await save(passkey);
      expect(await store().removePasskey('user_unknown', passkey.id)).toBe(false);
      expect(await store().findPasskey(passkey.id)).toEqual(passkey);
      expect(await store().removePasskey(account.id, passkey.id)).toBe(true);
      expect(await store().removePasskey(account.id, passkey.id)).toBe(false);
      expect(await store().findPasskey(passkey.id)).toBeNull();
    });

    it('replaces the passkeys of an account when an account link is redeemed', async () => {
      const [{ account, link }, bystander] = [await add(), await add()];
      const [lost, chosen, foreign] = [
        newPasskey(account.id),
        newPasskey(account.id),
        newPasskey(bystander.account.id),
      ];
      await save(lost);
      await save(foreign);
      const { passwordHash } = account;
      expect(await store().redeemAccountLink(link.hash, { passwordHash, passkey: chosen }, NOW)).toBe(true);
      expect(await store().listPasskeys(account.id)).toEqual([chosen]);
      expect(await store().findPasskey(foreign.id)).toEqual(foreign);
    });
  });
}

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

  const save = (factor: TotpFactorRecord, hashes: readonly string[]) =>
    inSession(store(), factor.accountId, (session) => store().saveTotpFactor(factor, hashes, session));
  const replaceCodes = (accountId: string, hashes: readonly string[]) =>
    inSession(store(), accountId, (session) => store().replaceRecoveryCodes(accountId, hashes, session));

  describe('TOTP factors', () => {
    it('stores one TOTP factor per account, with its recovery codes', async () => {
      const { account } = await add();
      expect(await store().findTotpFactor(account.id)).toBeNull();
      const [first, second] = [factorOf(account.id), factorOf(account.id)];
      const [old, young] = [newHash(), newHash()];
      await save(first, [old, newHash()]);
      expect(await store().findTotpFactor(account.id)).toEqual(first);
      expect(await store().countRecoveryCodes(account.id)).toBe(2);
      await save(second, [young]);
      expect(await store().findTotpFactor(account.id)).toEqual(second);
      expect(await store().consumeRecoveryCode(account.id, old)).toBe(false);
      expect(await store().consumeRecoveryCode(account.id, young)).toBe(true);
    });

    it('stores TOTP factors and recovery codes only in a session of their account that has not ended', async () => {
      const [{ account, link }, other] = [await add(), await add()];
      const { id } = account;
      const [session, foreign] = [newSession(id), newSession(other.account.id)];
      for (const one of [session, foreign]) await store().saveSession(one, PASSWORD_HASH);
      const factor = factorOf(id);
      expect(await store().saveTotpFactor(factor, [newHash()], foreign.hash)).toBe(false);
      expect(await store().findTotpFactor(id)).toBeNull();
      expect(await store().saveTotpFactor(factor, [newHash()], session.hash)).toBe(true);
      expect(await store().replaceRecoveryCodes(id, [newHash(), newHash()], session.hash)).toBe(true);
      // By a mailed link, which keeps the second factor.
      const chosen = { passwordHash: '$argon2id$new', passkey: null, keepsSecondFactor: true };
      expect(await store().redeemAccountLink(link.hash, chosen, NOW)).toBe(true);
      expect(await store().saveTotpFactor(factorOf(id), [], session.hash)).toBe(false);
      expect(await store().replaceRecoveryCodes(id, [], session.hash)).toBe(false);
      expect([await store().findTotpFactor(id), await store().countRecoveryCodes(id)]).toEqual([factor, 2]);
    });

    it('lists TOTP factors by account, and re-encrypts one unless it has changed', async () => {
      const factors = [factorOf((await add()).account.id), factorOf((await add()).account.id)].toSorted(
        (one, other) => (one.accountId < other.accountId ? -1 : 1),
      );
      for (const factor of factors) await save(factor, []);
      const [first, second] = factors as [ReturnType<typeof factorOf>, ReturnType<typeof factorOf>];
      const before = `${first.accountId.slice(0, -1)}`;
      expect((await store().listTotpFactors(before, 1)).length).toBe(1);
      const behind = await store().listTotpFactors(first.accountId, 1000);
      expect(behind).toContainEqual(second);
      expect(behind).not.toContainEqual(first);
      const reencrypted = newHash();
      expect(await store().reencryptTotpFactor(first.accountId, newHash(), reencrypted)).toBe(false);
      expect(await store().reencryptTotpFactor(first.accountId, first.encryptedSecret, reencrypted)).toBe(
        true,
      );
      expect(await store().findTotpFactor(first.accountId)).toEqual({
        ...first,
        encryptedSecret: reencrypted,
      });
      expect(await store().findTotpFactor(second.accountId)).toEqual(second);
    });

    it('accepts a TOTP time step once, and no earlier one', async () => {
      const { account } = await add();
      await save(factorOf(account.id), []);
      for (const step of [99, 100]) expect(await store().consumeTotpStep(account.id, step)).toBe(false);
      const outcomes = await race(times(RACERS, () => () => store().consumeTotpStep(account.id, 101)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      expect((await store().findTotpFactor(account.id))?.lastStep).toBe(101);
      expect(await store().consumeTotpStep('user_unknown', 200)).toBe(false);
    });

    it('accepts a recovery code once, for its own account only', async () => {
      const [{ account }, bystander] = [await add(), await add()];
      const code = newHash();
      await save(factorOf(account.id), [code, newHash()]);
      await save(factorOf(bystander.account.id), [newHash()]);
      expect(await store().consumeRecoveryCode(bystander.account.id, code)).toBe(false);
      const outcomes = await race(times(RACERS, () => () => store().consumeRecoveryCode(account.id, code)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      expect(await store().countRecoveryCodes(account.id)).toBe(1);
    });

    it('replaces the remaining recovery codes and keeps the TOTP factor', async () => {
      const [{ account }, bystander] = [await add(), await add()];
      const factor = factorOf(account.id);
      const [old, young, theirs] = [newHash(), newHash(), newHash()];
      await save(factor, [old, newHash()]);
      await save(factorOf(bystander.account.id), [theirs]);
      await store().consumeTotpStep(account.id, 101);
      expect(await replaceCodes(account.id, [young])).toBe(true);
      expect(await store().findTotpFactor(account.id)).toEqual({ ...factor, lastStep: 101 });
      expect(await store().consumeRecoveryCode(account.id, old)).toBe(false);
      expect(await store().consumeRecoveryCode(account.id, young)).toBe(true);
      expect(await store().consumeRecoveryCode(bystander.account.id, theirs)).toBe(true);
      const { account: without } = await add();
      expect(await replaceCodes(without.id, [newHash()])).toBe(false);
      expect(await store().countRecoveryCodes(without.id)).toBe(0);
    });

    it('removes a TOTP factor on request, and when an account link is redeemed', async () => {
      const [{ account }, other] = [await add(), await add()];
      for (const { account: one } of [{ account }, other]) await save(factorOf(one.id), [newHash()]);
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
