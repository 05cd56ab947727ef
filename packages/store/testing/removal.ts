/** The contract of account removal: everything of the account ends, and no other account is affected. */
import { describe, expect, it } from 'vitest';
import { newProviderTokens, newUser } from './federation-samples.ts';
import {
  grantOf,
  issueCode,
  makeGrant,
  NOW,
  newAccount,
  newAccountLink,
  newCode,
  newHash,
  newPasskey,
  newRefreshToken,
  newSession,
  newTransaction,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeRemoval(store: StoreOfTest): void {
  /** An account with one of everything that the store keeps for somebody. */
  const furnish = async () => {
    const account = newAccount();
    const { id } = account;
    const user = newUser({ accountId: id });
    await store().linkIdentity(user, account);
    const link = newAccountLink(id);
    await store().saveAccountLink(link);
    const session = newSession(id);
    await store().saveSession(session);
    const passkey = newPasskey(id);
    await store().addPasskey(passkey);
    const factor = { accountId: id, encryptedSecret: newHash(), lastStep: 1, createdAt: NOW };
    await store().saveTotpFactor(factor, [newHash()]);
    const { grant, token } = await makeGrant(store(), { grant: { accountId: id } });
    const code = await issueCode(store(), newCode({ accountId: id }));
    const transaction = newTransaction();
    await store().openTransaction(transaction);
    const providerTokens = newProviderTokens({ accountId: id });
    await store().saveProviderTokens(transaction.id, providerTokens);
    return { account, person: user, link, session, passkey, grant, token, code, bond: providerTokens };
  };
  type Furnished = Awaited<ReturnType<typeof furnish>>;

  const kept = async ({ account, person: user, link, session, passkey }: Furnished) => [
    await store().findAccount(account.id),
    await store().findAccountByEmail(account.emailKey),
    await store().findLinkedIdentity(user.issuer, user.subject),
    await store().findAccountLink(link.hash, NOW),
    await store().findSession(session.hash, NOW),
    await store().findPasskey(passkey.id),
    await store().findTotpFactor(account.id),
  ];

  describe('an account that is removed', () => {
    it('takes with it all that was kept for its owner, and all that it allowed ends', async () => {
      const [one, other] = [await furnish(), await furnish()];
      const before = await kept(other);
      expect(before).not.toContain(null);
      expect(await store().removeAccount(one.account.id, NOW)).toBe(true);

      expect(await kept(one)).toEqual(before.map(() => null));
      expect(await store().countRecoveryCodes(one.account.id)).toBe(0);
      expect(await store().listGrants(one.account.id, NOW)).toEqual([]);
      expect(await store().isAccessTokenLive('token', one.grant.id)).toBe(false);
      const rotated = store().rotateRefreshToken(one.grant.id, one.token.hash, newRefreshToken(), null);
      expect(await rotated).toBe('conflict');
      expect(await store().redeemCode(one.code.hash, grantOf(one.code), null, NOW)).toBe('already_used');

      expect(await kept(other)).toEqual(before);
      expect(await store().isAccessTokenLive('token', other.grant.id)).toBe(true);
      expect(await store().redeemCode(other.code.hash, grantOf(other.code), null, NOW)).toBe('redeemed');
      expect(await store().findProviderTokens(other.bond.grantId)).toEqual(other.bond);
    });

    it('leaves its provider tokens to whoever gives them back at the identity provider', async () => {
      const { account, bond: providerTokens } = await furnish();
      await store().removeAccount(account.id, NOW);
      expect(await store().listProviderTokens(account.id)).toEqual([]);
      const claimed = await store().claimRevocationJobs(NOW, NOW + 60, 10);
      expect(claimed).toMatchObject([
        {
          grantId: providerTokens.grantId,
          endReason: 'revoked_here',
          encryptedTokens: providerTokens.encryptedTokens,
        },
      ]);
    });

    it('is gone once, and its address is free', async () => {
      const { account } = await furnish();
      const outcomes = await race(times(RACERS, () => () => store().removeAccount(account.id, NOW)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      expect(await store().removeAccount('user_nobody', NOW)).toBe(false);
      const again = newAccount({ emailKey: account.emailKey });
      expect(await store().createAccount(again, newAccountLink(again.id))).toBe(true);
    });
  });
}
