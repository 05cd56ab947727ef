/** The contract of personal access tokens: stored with their grant, and gone with it. */
import { describe, expect, it } from 'vitest';
import { createGrant, grantOf, NOW, newAccount, newCode, newHash, type StoreOfTest } from './samples.ts';

export function describePersonalAccessTokens(store: StoreOfTest): void {
  describe('personal access tokens', () => {
    it('stores a token with its grant, and records its use', async () => {
      const { grant: other } = await createGrant(store());
      const grant = grantOf(newCode({ accountId: other.accountId }));
      const token = { grantId: grant.id, hash: newHash(), name: 'CI “ä”' };
      expect(await store().savePersonalAccessToken(token, grant)).toBe(true);
      expect(await store().findPersonalAccessToken(grant.id)).toEqual(token);
      expect((await store().findGrant(grant.id))?.token).toBeNull();
      expect(await store().findPersonalAccessToken(other.id)).toBeNull();
      await store().recordPersonalAccessTokenUse(grant.id, NOW + 5);
      expect((await store().findGrant(grant.id))?.grant).toMatchObject({ ...grant, lastUsedAt: NOW + 5 });
    });

    it('stores nothing for an account that is disabled or unknown', async () => {
      const { grant: other } = await createGrant(store());
      await store().disableAccount(other.accountId, NOW);
      for (const accountId of [other.accountId, newAccount().id]) {
        const grant = grantOf(newCode({ accountId }));
        const token = { grantId: grant.id, hash: newHash(), name: 'CI' };
        expect(await store().savePersonalAccessToken(token, grant)).toBe(false);
        expect(await store().findGrant(grant.id)).toBeNull();
        expect(await store().findPersonalAccessToken(grant.id)).toBeNull();
      }
    });

    it('is swept with its grant', async () => {
      const { grant: other } = await createGrant(store());
      const grant = grantOf(newCode({ accountId: other.accountId }));
      await store().savePersonalAccessToken({ grantId: grant.id, hash: newHash(), name: 'CI' }, grant);
      const later = grant.expiresAt + 400 * 86_400;
      while ((await store().sweep(later, 100)) > 0);
      expect(await store().findPersonalAccessToken(grant.id)).toBeNull();
    });
  });
}
