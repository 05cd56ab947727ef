/** The contract of authorization codes. */
import { describe, expect, it } from 'vitest';
import {
  grantOf,
  issueCode,
  makeGrant,
  NOW,
  newCode,
  newHash,
  newRefreshToken,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeCodes(store: StoreOfTest): void {
  describe('codes', () => {
    it('redeems a code for its grant and first refresh token', async () => {
      const code = await issueCode(store());
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

    it('keeps the workspace and the terms that were allowed, from the code to the grant', async () => {
      for (const workspace of [null, '', 'wörk "space"']) {
        const code = await issueCode(store(), newCode({ workspace, consentDigest: newHash() }));
        expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });
        await store().redeemCode(code.hash, grantOf(code), newRefreshToken(), NOW);
        const [listed] = await store().listGrants(code.accountId, NOW);
        expect([listed?.workspace, listed?.consentDigest]).toEqual([workspace, code.consentDigest]);
      }
    });

    it('issues a code without a transaction', async () => {
      const { grant } = await makeGrant(store());
      const code = newCode({ accountId: grant.accountId });
      await store().issueCode(code);
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('redeemed');
    });

    it('redeems a code for a client that gets no refresh token', async () => {
      const code = await issueCode(store());
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('redeemed');
      expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(true);
    });

    it('redeems a code once; the second try changes nothing', async () => {
      const code = await issueCode(store());
      const first = newRefreshToken();
      await store().redeemCode(code.hash, grantOf(code), first, NOW);
      const second = newRefreshToken();
      expect(await store().redeemCode(code.hash, grantOf(code), second, NOW + 1)).toBe('already_used');
      expect((await store().findCode(code.hash))?.consumedAt).toBe(NOW);
      expect((await store().findGrant(code.grantId))?.token).toEqual(first);
    });

    it('redeems no code that it does not know', async () => {
      const code = newCode();
      expect(await store().findCode(code.hash)).toBeNull();
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('already_used');
      expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(false);
    });

    it(`T137: redeems a code once when ${RACERS} come at once, and makes one grant`, async () => {
      const code = await issueCode(store());
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

    it('burns a code: it is spent and makes nothing', async () => {
      const code = await issueCode(store());
      await store().invalidateCode(code.hash, NOW + 3);
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: NOW + 3 });
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW + 4)).toBe('already_used');
      expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(false);
    });

    it('burns nothing that was spent before or is unknown', async () => {
      const code = await issueCode(store());
      await store().redeemCode(code.hash, grantOf(code), null, NOW);
      await store().invalidateCode(code.hash, NOW + 9);
      await store().invalidateCode(newHash(), NOW + 9);
      expect((await store().findCode(code.hash))?.consumedAt).toBe(NOW);
      expect(await store().isAccessTokenLive('jti', code.grantId)).toBe(true);
    });

    it.each([
      { description: 'disabled', end: (id: string) => store().disableAccount(id, NOW) },
      { description: 'removed', end: (id: string) => store().removeAccount(id, NOW) },
    ])('spends a code that came after its account was $description, and makes nothing', async ({ end }) => {
      const { grant } = await makeGrant(store());
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
    });

    it('T139: spends no code when its grant cannot be stored', async () => {
      const { grant } = await makeGrant(store());
      const code = await issueCode(store());
      await expect(
        store().redeemCode(code.hash, grantOf(code, { id: grant.id }), null, NOW),
      ).rejects.toThrow();
      expect(await store().findCode(code.hash)).toEqual({ ...code, consumedAt: null });
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('redeemed');
    });

    it('lets no operation suffer from another that fails beside it', async () => {
      const { grant: taken } = await makeGrant(store());
      const codes = await Promise.all(times(10, () => issueCode(store())));
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
