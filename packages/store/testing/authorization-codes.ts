/** The contract of authorization codes. */
import { describe, expect, it } from 'vitest';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newCode,
  newHash,
  newRefreshToken,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeAuthorizationCodes(store: StoreOfTest): void {
  describe('authorization codes', () => {
    it('redeems a code for its grant and first refresh token', async () => {
      const code = await issueSampleCode(store());
      const grant = grantOf(code);
      const token = newRefreshToken();
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(false);

      expect(await store().redeemCode(code.hash, grant, token, NOW + 5)).toBe('redeemed');
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: NOW + 5 });
      expect(await store().findGrant(grant.id)).toEqual({
        token,
        grant: { ...grant, revokedAt: null, hasAccount: true },
      });
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(true);
    });

    it('copies the workspace and the consent digest from the code to the grant', async () => {
      for (const workspace of [null, '', 'wörk "space"']) {
        const code = await issueSampleCode(store(), newCode({ workspace, consentDigest: newHash() }));
        expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });
        await store().redeemCode(code.hash, grantOf(code), newRefreshToken(), NOW);
        const [listed] = await store().listGrants(code.accountId, NOW, null, 100);
        expect([listed?.workspace, listed?.consentDigest]).toEqual([workspace, code.consentDigest]);
      }
    });

    it('issues a code without an authorization transaction', async () => {
      const { grant } = await createGrant(store());
      const code = newCode({ accountId: grant.accountId });
      await store().issueCode(code);
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('redeemed');
    });

    it('redeems a code for a client without a refresh token', async () => {
      const code = await issueSampleCode(store());
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('redeemed');
      expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(true);
    });

    it('redeems a code once, and a second attempt changes nothing', async () => {
      const code = await issueSampleCode(store());
      const first = newRefreshToken();
      await store().redeemCode(code.hash, grantOf(code), first, NOW);
      const second = newRefreshToken();
      expect(await store().redeemCode(code.hash, grantOf(code), second, NOW + 1)).toBe('already_used');
      expect((await store().findCode(code.hash))?.consumedAt).toBe(NOW);
      expect((await store().findGrant(code.grantId))?.token).toEqual(first);
    });

    it('does not redeem an unknown code', async () => {
      const code = newCode();
      expect(await store().findCode(code.hash)).toBeNull();
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('already_used');
      expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(false);
    });

    it(`T137: redeems a code once when ${RACERS} calls race, and creates one grant`, async () => {
      const code = await issueSampleCode(store());
      const grants = times(RACERS, (index) => grantOf(code, { id: `${code.grantId}-${index}` }));
      const tokens = grants.map(() => newRefreshToken());
      const outcomes = await race(
        grants.map((grant, index) => () => store().redeemCode(code.hash, grant, tokens[index] ?? null, NOW)),
      );
      expect(outcomes).toEqual({ redeemed: 1, already_used: RACERS - 1 });
      const live = await Promise.all(grants.map(({ id }) => store().isAccessTokenLive('jti', id)));
      expect(live.filter(Boolean)).toHaveLength(1);
      const found = await Promise.all(grants.map(({ id }) => store().findGrant(id)));
      expect(found.filter((grant) => grant !== null)).toHaveLength(1);
    });

    it('invalidates a code without creating a grant', async () => {
      const code = await issueSampleCode(store());
      await store().invalidateCode(code.hash, NOW + 3);
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: NOW + 3 });
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW + 4)).toBe('already_used');
      expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(false);
    });

    it('changes nothing when it invalidates a code that is unknown or was already redeemed', async () => {
      const code = await issueSampleCode(store());
      await store().redeemCode(code.hash, grantOf(code), null, NOW);
      await store().invalidateCode(code.hash, NOW + 9);
      await store().invalidateCode(newHash(), NOW + 9);
      expect((await store().findCode(code.hash))?.consumedAt).toBe(NOW);
      expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(true);
    });

    it.each([
      { description: 'disabled', end: (id: string) => store().disableAccount(id, NOW) },
      { description: 'removed', end: (id: string) => store().removeAccount(id, NOW) },
    ])(
      'consumes a code issued after its account was $description without creating a grant',
      async ({ end }) => {
        const { grant } = await createGrant(store());
        const code = newCode({ accountId: grant.accountId });
        expect(await end(code.accountId)).toBe(true);
        await store().issueCode(code);
        expect(await store().redeemCode(code.hash, grantOf(code), newRefreshToken(), NOW + 1)).toBe(
          'account_unavailable',
        );
        expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: NOW + 1 });
        expect(await store().findGrant(code.grantId)).toBeNull();
        expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(false);
        expect(await store().redeemCode(code.hash, grantOf(code), null, NOW + 2)).toBe('already_used');
      },
    );

    it('T139: leaves a code unused if its grant cannot be stored', async () => {
      const { grant } = await createGrant(store());
      const code = await issueSampleCode(store());
      await expect(
        store().redeemCode(code.hash, grantOf(code, { id: grant.id }), null, NOW),
      ).rejects.toThrow();
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('redeemed');
    });

    it('isolates concurrent redemptions from others that fail', async () => {
      const { grant: taken } = await createGrant(store());
      const codes = await Promise.all(times(10, () => issueSampleCode(store())));
      const outcomes = await Promise.allSettled(
        codes.map((code, index) =>
          store().redeemCode(
            code.hash,
            index % 3 === 0 ? grantOf(code, { id: taken.id }) : grantOf(code),
            null,
            NOW,
          ),
        ),
      );
      const expected = codes.map((_, index) => (index % 3 === 0 ? 'rejected' : 'fulfilled'));
      expect(outcomes.map(({ status }) => status)).toEqual(expected);
      const spent = await Promise.all(
        codes.map(async ({ hash }) => (await store().findCode(hash))?.consumedAt),
      );
      expect(spent).toEqual(codes.map((_, index) => (index % 3 === 0 ? null : NOW)));
    });
  });
}
