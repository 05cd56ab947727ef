/** The contract of account removal: everything of the account ends, and no other account is affected. */
import { describe, expect, it } from 'vitest';
import { newLinkedIdentity, newProviderTokens } from './federation-samples.ts';
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
  newTransaction,
  PASSWORD_HASH,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeAccountRemoval(store: StoreOfTest): void {
  /** Creates an account with one of everything that a store keeps for an account. */
  const createFullAccount = async () => {
    const account = newAccount();
    const { id } = account;
    const user = newLinkedIdentity({ accountId: id });
    await store().linkIdentity(user, account);
    const link = newAccountLink(id);
    await store().saveAccountLink(link);
    const session = newSession(id);
    await store().saveSession(session, PASSWORD_HASH);
    const passkey = newPasskey(id);
    await store().addPasskey(passkey, session.hash);
    const factor = { accountId: id, encryptedSecret: newHash(), lastStep: 1, createdAt: NOW };
    await store().saveTotpFactor(factor, [newHash()], session.hash);
    const { grant, token } = await createGrant(store(), { grant: { accountId: id } });
    const code = await issueSampleCode(store(), newCode({ accountId: id }));
    const transaction = newTransaction();
    await store().openTransaction(transaction);
    const providerTokens = newProviderTokens({ accountId: id });
    await store().saveProviderTokens(transaction.id, providerTokens);
    return { account, user, link, session, passkey, grant, token, code, providerTokens };
  };
  type FullAccount = Awaited<ReturnType<typeof createFullAccount>>;

  const findAll = async ({ account, user, link, session, passkey }: FullAccount) => [
    await store().findAccount(account.id),
    await store().findAccountByEmail(account.emailKey),
    await store().findLinkedIdentity(user.issuer, user.subject),
    await store().findAccountLink(link.hash, NOW),
    await store().findSession(session.hash, NOW),
    await store().findPasskey(passkey.id),
    await store().findTotpFactor(account.id),
  ];

  describe('account removal', () => {
    it('removes an account with everything stored for it, and revokes its grants and codes', async () => {
      const [one, other] = [await createFullAccount(), await createFullAccount()];
      const before = await findAll(other);
      expect(before).not.toContain(null);
      expect(await store().removeAccount(one.account.id, NOW)).toBe(true);

      expect(await findAll(one)).toEqual(before.map(() => null));
      expect(await store().countRecoveryCodes(one.account.id)).toBe(0);
      expect(await store().listGrants(one.account.id, NOW, null, 100)).toEqual([]);
      expect(await store().isAccessTokenLive('token', one.grant.id)).toBe(false);
      const rotated = store().rotateRefreshToken(one.grant.id, one.token.hash, newRefreshToken(), null);
      expect(await rotated).toBe('conflict');
      expect(await store().redeemCode(one.code.hash, grantOf(one.code), null, NOW)).toBe('already_used');

      expect(await findAll(other)).toEqual(before);
      expect(await store().isAccessTokenLive('token', other.grant.id)).toBe(true);
      expect(await store().redeemCode(other.code.hash, grantOf(other.code), null, NOW)).toBe('redeemed');
      expect(await store().findProviderTokens(other.providerTokens.grantId)).toEqual(other.providerTokens);
    });

    it('keeps the provider tokens of a removed account for their revocation job', async () => {
      const { account, providerTokens } = await createFullAccount();
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

    it('removes an account once and frees its e-mail address', async () => {
      const { account } = await createFullAccount();
      const outcomes = await race(times(RACERS, () => () => store().removeAccount(account.id, NOW)));
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      expect(await store().removeAccount('user_unknown', NOW)).toBe(false);
      const again = newAccount({ emailKey: account.emailKey });
      expect(await store().createAccount(again, newAccountLink(again.id))).toBe(true);
    });
  });
}
