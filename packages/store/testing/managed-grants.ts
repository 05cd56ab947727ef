/** The contract of managed grants: extended while they live, and bound to accounts that are enabled. */
import { describe, expect, it } from 'vitest';
import { createGrant, grantOf, NOW, newAccount, newCode, type StoreOfTest } from './samples.ts';

const ISSUER = 'https://idp.example';

export function describeManagedGrants(store: StoreOfTest): void {
  describe('managed grants', () => {
    it('extends the live grant of the same access, and saves another after its end', async () => {
      const { grant: other } = await createGrant(store());
      const managed = () => ({
        ...grantOf(newCode({ accountId: other.accountId, clientId: 'agent' })),
        managedBy: ISSUER,
      });
      const [first, second, third] = [managed(), managed(), managed()];
      expect(await store().saveManagedGrant(first)).toBe(first.id);
      expect((await store().findGrant(first.id))?.grant).toMatchObject(first);
      const later = { ...second, expiresAt: first.expiresAt + 100 };
      expect(await store().saveManagedGrant(later)).toBe(first.id);
      expect((await store().findGrant(first.id))?.grant.expiresAt).toBe(later.expiresAt);
      const elsewhere = managed();
      expect(await store().saveManagedGrant({ ...elsewhere, managedBy: 'https://other.example' })).toBe(
        elsewhere.id,
      );
      await store().revokeGrant(first.id, NOW);
      expect(await store().saveManagedGrant(third)).toBe(third.id);
    });

    it('saves nothing for an account that is disabled or unknown', async () => {
      const { grant: other } = await createGrant(store());
      await store().disableAccount(other.accountId, NOW);
      for (const accountId of [other.accountId, newAccount().id]) {
        const grant = { ...grantOf(newCode({ accountId })), managedBy: ISSUER };
        expect(await store().saveManagedGrant(grant)).toBeNull();
        expect(await store().findGrant(grant.id)).toBeNull();
        expect(await store().linkAssertedIdentity(ISSUER, accountId, accountId)).toBe(false);
      }
    });

    it('links a subject to one account, and an account to one subject of an issuer', async () => {
      const [{ grant: one }, { grant: two }] = [await createGrant(store()), await createGrant(store())];
      const link = (subject: string, accountId: string) =>
        store().linkAssertedIdentity(ISSUER, `${one.id} ${subject}`, accountId);
      const linked = await Promise.all([link('ada', one.accountId), link('ada', one.accountId)]);
      expect(linked).toEqual([true, true]);
      expect(await store().findAssertedIdentity(ISSUER, `${one.id} ada`)).toBe(one.accountId);
      expect(await link('ada', two.accountId)).toBe(false);
      expect(await link('eve', one.accountId)).toBe(false);
      await store().removeAccount(one.accountId, NOW);
      expect(await store().findAssertedIdentity(ISSUER, `${one.id} ada`)).toBeNull();
    });
  });
}
