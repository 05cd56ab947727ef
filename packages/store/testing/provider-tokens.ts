/** The contract of provider tokens: saved once, refreshed by one process at a time, ended with their grant, revoked by jobs. */
import type { AuthorizationStore, ProviderTokensRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { newProviderTokens, newRefreshedTokens } from './federation-samples.ts';
import { createGrant, NOW, newTransaction, RACERS, race, type StoreOfTest, times } from './samples.ts';

/** Stores provider tokens. */
async function saveProviderTokens(
  store: AuthorizationStore,
  changes: Partial<ProviderTokensRecord> = {},
): Promise<ProviderTokensRecord> {
  const transaction = newTransaction();
  await store.openTransaction(transaction);
  const providerTokens = newProviderTokens(changes);
  expect(await store.saveProviderTokens(transaction.id, providerTokens)).toBe(true);
  return providerTokens;
}

/** Stores a grant with its provider tokens. */
async function saveGrantWithProviderTokens(
  store: AuthorizationStore,
  changes: Partial<ProviderTokensRecord> = {},
): Promise<ProviderTokensRecord> {
  const { grant } = await createGrant(store);
  return saveProviderTokens(store, { grantId: grant.id, accountId: grant.accountId, ...changes });
}

export function describeProviderTokens(store: StoreOfTest): void {
  describe('provider tokens', () => {
    it.each([
      { description: 'complete ones', given: {} },
      {
        description: 'ones without expiry, name and scopes',
        given: { expiresAt: null, name: null, scopes: [] },
      },
      { description: 'ones that cannot be refreshed', given: { isRefreshable: false, refreshFrom: null } },
    ])('stores provider tokens ($description) and records them in their transaction', async ({ given }) => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const providerTokens = newProviderTokens(given);
      expect(await store().findProviderTokens(providerTokens.grantId)).toBeNull();
      expect(await store().saveProviderTokens(transaction.id, providerTokens)).toBe(true);
      expect(await store().findProviderTokens(providerTokens.grantId)).toEqual(providerTokens);
      expect(await store().findTransaction(transaction.id, NOW)).toEqual({
        ...transaction,
        accountId: providerTokens.accountId,
        identityProvider: providerTokens.identityProvider,
        linkedGrantId: providerTokens.grantId,
      });
    });

    it('reports whether live provider tokens exist, and keeps ended ones for their revocation job', async () => {
      const ended = newProviderTokens({ endedAt: NOW, endReason: 'grant_expired', dueAt: NOW });
      await store().saveEndedProviderTokens(ended);
      expect(await store().hasProviderTokens()).toBe(false);
      expect(await store().findProviderTokens(ended.grantId)).toEqual(ended);
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 5)).toMatchObject([{ grantId: ended.grantId }]);
      await saveProviderTokens(store());
      expect(await store().hasProviderTokens()).toBe(true);
    });

    it('refuses provider tokens of an unknown transaction', async () => {
      const providerTokens = newProviderTokens();
      expect(await store().saveProviderTokens('flow_gone', providerTokens)).toBe(false);
      expect(await store().findProviderTokens(providerTokens.grantId)).toBeNull();
    });

    it('lists the live provider tokens of an account', async () => {
      const [first, second] = [
        await saveProviderTokens(store(), { accountId: 'user_1' }),
        await saveProviderTokens(store(), { accountId: 'user_1', createdAt: NOW + 1 }),
      ];
      await saveProviderTokens(store(), { accountId: 'user_2' });
      const ended = await saveProviderTokens(store(), { accountId: 'user_1' });
      await store().endProviderTokens(ended.grantId, 1, 'revoked_by_provider', NOW);
      expect(await store().listProviderTokens('user_1')).toEqual([first, second]);
    });

    it('records when provider tokens were last found alive, and never an earlier time', async () => {
      const { grantId } = await saveProviderTokens(store());
      await store().recordProviderTokensCheck(grantId, NOW + 60);
      await store().recordProviderTokensCheck(grantId, NOW + 30);
      expect((await store().findProviderTokens(grantId))?.checkedAt).toBe(NOW + 60);
    });

    it('records an earlier check if the last one was recorded by a clock that was more than a minute ahead', async () => {
      const { grantId } = await saveProviderTokens(store());
      const recorded = async (at: number) => {
        await store().recordProviderTokensCheck(grantId, NOW + at);
        return ((await store().findProviderTokens(grantId))?.checkedAt ?? 0) - NOW;
      };
      expect([await recorded(1000), await recorded(940), await recorded(939)]).toEqual([1000, 1000, 939]);
    });

    it('leases provider tokens although a clock that was far ahead left a lease or a pause', async () => {
      const { grantId } = await saveProviderTokens(store());
      const lease = (holder: string, at: number) =>
        store().leaseProviderTokens(grantId, 1, holder, NOW + at, NOW + at + 15);
      expect(await lease('ahead', 1000)).toBe(true);
      // A pause may last five minutes, and clocks may differ by one.
      expect([await lease('us', 1015 - 360), await lease('us', 1015 - 361)]).toEqual([false, true]);
      await store().releaseProviderTokens(grantId, 'us', NOW + 2000);
      expect([await lease('others', 2000 - 360), await lease('others', 2000 - 361)]).toEqual([false, true]);
    });

    it(`leases provider tokens to one of ${RACERS} processes at a time`, async () => {
      const providerTokens = await saveProviderTokens(store());
      const counts = await race(
        times(
          RACERS,
          (index) => () =>
            store().leaseProviderTokens(providerTokens.grantId, 1, `process ${index}`, NOW, NOW + 15),
        ),
      );
      expect(counts).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('saves refreshed provider tokens once, and only for the holder of the lease', async () => {
      const providerTokens = await saveProviderTokens(store());
      await store().leaseProviderTokens(providerTokens.grantId, 1, 'us', NOW, NOW + 15);
      const renewed = newRefreshedTokens();
      expect(
        await store().saveRefreshedProviderTokens(providerTokens.grantId, 'others', newRefreshedTokens()),
      ).toBe(false);
      expect(await store().saveRefreshedProviderTokens(providerTokens.grantId, 'us', renewed)).toBe(true);
      expect(
        await store().saveRefreshedProviderTokens(providerTokens.grantId, 'us', newRefreshedTokens()),
      ).toBe(false);
      expect(await store().findProviderTokens(providerTokens.grantId)).toEqual({
        ...providerTokens,
        ...renewed,
        version: 2,
      });
      expect(await store().leaseProviderTokens(providerTokens.grantId, 1, 'late', NOW, NOW + 15)).toBe(false);
      expect(await store().leaseProviderTokens(providerTokens.grantId, 2, 'next', NOW, NOW + 15)).toBe(true);
    });

    it('passes an expired lease on, and rejects refreshed provider tokens of its former holder', async () => {
      const { grantId } = await saveProviderTokens(store());
      await store().leaseProviderTokens(grantId, 1, 'crashed', NOW, NOW + 15);
      expect(await store().leaseProviderTokens(grantId, 1, 'successor', NOW + 14, NOW + 29)).toBe(false);
      expect(await store().leaseProviderTokens(grantId, 1, 'successor', NOW + 15, NOW + 30)).toBe(true);
      expect(await store().saveRefreshedProviderTokens(grantId, 'crashed', newRefreshedTokens())).toBe(false);
      expect(await store().leaseProviderTokens(grantId, 1, 'late successor', NOW + 99, NOW + 114)).toBe(true);
      await store().releaseProviderTokens(grantId, 'late successor', null);
      expect(await store().leaseProviderTokens(grantId, 1, 'successor', NOW + 99, NOW + 114)).toBe(true);
      await store().releaseProviderTokens(grantId, 'crashed', null);
      expect((await store().findProviderTokens(grantId))?.leaseHolder).toBe('successor');
    });

    it('grants no lease before the time until which a refresh was postponed', async () => {
      const { grantId } = await saveProviderTokens(store());
      await store().leaseProviderTokens(grantId, 1, 'us', NOW, NOW + 15);
      await store().releaseProviderTokens(grantId, 'us', NOW + 60);
      expect(await store().findProviderTokens(grantId)).toMatchObject({
        leaseHolder: null,
        leaseUntil: NOW + 60,
      });
      expect(await store().leaseProviderTokens(grantId, 1, 'us', NOW + 59, NOW + 70)).toBe(false);
      expect(await store().leaseProviderTokens(grantId, 1, 'us', NOW + 60, NOW + 70)).toBe(true);
      await store().releaseProviderTokens(grantId, 'us', null);
      expect(await store().leaseProviderTokens(grantId, 1, 'others', NOW + 60, NOW + 70)).toBe(true);
    });

    it('ends provider tokens together with their grant, once', async () => {
      const [{ grantId }, bystander] = [
        await saveGrantWithProviderTokens(store()),
        await saveGrantWithProviderTokens(store()),
      ];
      expect(await store().isAccessTokenLive('jti', grantId)).toBe(true);
      const counts = await race(
        times(RACERS, () => () => store().endProviderTokens(grantId, 1, 'revoked_by_provider', NOW + 5)),
      );
      expect(counts).toEqual({ true: 1, false: RACERS - 1 });
      expect(await store().isAccessTokenLive('jti', grantId)).toBe(false);
      expect(await store().findProviderTokens(grantId)).toMatchObject({
        endedAt: NOW + 5,
        endReason: 'revoked_by_provider',
        dueAt: NOW + 5,
      });
      expect(await store().findProviderTokens(bystander.grantId)).toEqual(bystander);
      expect(await store().isAccessTokenLive('jti', bystander.grantId)).toBe(true);
      expect(await store().leaseProviderTokens(grantId, 1, 'us', NOW + 5, NOW + 15)).toBe(false);
    });

    it('lists the grants whose provider tokens ended at or after a given time, and no others', async () => {
      const { grantId } = await saveGrantWithProviderTokens(store());
      await saveGrantWithProviderTokens(store());
      expect(await store().listRevokedGrants(NOW)).toEqual([]);
      const { grant } = await createGrant(store());
      await store().saveEndedProviderTokens(
        newProviderTokens({ grantId: grant.id, endedAt: NOW + 7, endReason: 'grant_expired' }),
      );
      for (const since of [NOW, NOW + 7]) expect(await store().listRevokedGrants(since)).toEqual([grant.id]);
      expect(await store().listRevokedGrants(NOW + 8)).toEqual([]);
      expect(await store().isAccessTokenLive('jti', grantId)).toBe(true);
    });

    it('does not end provider tokens that were refreshed since they were checked', async () => {
      const { grantId } = await saveGrantWithProviderTokens(store());
      await store().leaseProviderTokens(grantId, 1, 'us', NOW, NOW + 15);
      await store().saveRefreshedProviderTokens(grantId, 'us', newRefreshedTokens());
      expect(await store().endProviderTokens(grantId, 1, 'expired_at_provider', NOW + 5)).toBe(false);
      expect(await store().isAccessTokenLive('jti', grantId)).toBe(true);
      expect((await store().findProviderTokens(grantId))?.endedAt).toBeNull();
    });
  });

  describe('revocation jobs', () => {
    it('ends the provider tokens of grants revoked since a given time, and no others', async () => {
      const [revoked, before, live] = [
        await saveGrantWithProviderTokens(store()),
        await saveGrantWithProviderTokens(store()),
        await saveGrantWithProviderTokens(store()),
      ];
      await store().revokeGrant(before.grantId, NOW + 1);
      await store().revokeGrant(revoked.grantId, NOW + 10);
      expect(await store().endProviderTokensOfRevokedGrants(NOW + 11, NOW + 11)).toBe(0);
      expect(await store().endProviderTokensOfRevokedGrants(NOW + 10, NOW + 11)).toBe(1);
      expect(await store().endProviderTokensOfRevokedGrants(NOW + 5, NOW + 11)).toBe(0);
      expect(await store().findProviderTokens(revoked.grantId)).toMatchObject({
        endedAt: NOW + 11,
        endReason: 'revoked_here',
      });
      expect((await store().findProviderTokens(before.grantId))?.endedAt).toBeNull();
      expect((await store().findProviderTokens(live.grantId))?.endedAt).toBeNull();
    });

    it('claims a due revocation job for one process, and again after its time limit', async () => {
      const { grantId } = await saveGrantWithProviderTokens(store());
      await store().endProviderTokens(grantId, 1, 'revoked_by_provider', NOW);
      const claims = await Promise.all(times(10, () => store().claimRevocationJobs(NOW, NOW + 60, 5)));
      expect(claims.flat()).toMatchObject([{ grantId, revocationAttempts: 1, dueAt: NOW + 60 }]);
      expect(await store().claimRevocationJobs(NOW + 59, NOW + 99, 5)).toEqual([]);
      expect(await store().claimRevocationJobs(NOW + 60, NOW + 99, 5)).toMatchObject([
        { grantId, revocationAttempts: 2 },
      ]);
      await store().postponeRevocationJob(grantId, NOW + 500);
      expect(await store().claimRevocationJobs(NOW + 499, NOW + 600, 5)).toEqual([]);
      await store().completeRevocationJob(grantId, 1);
      expect(await store().claimRevocationJobs(NOW + 9999, NOW + 10_000, 5)).toEqual([]);
      expect(await store().findProviderTokens(grantId)).toMatchObject({ encryptedTokens: null, dueAt: null });
    });

    it('claims the revocation job of provider tokens that a clock more than a minute ahead ended', async () => {
      const { grantId } = await saveGrantWithProviderTokens(store());
      await store().endProviderTokens(grantId, 1, 'revoked_by_provider', NOW + 1000);
      expect(await store().claimRevocationJobs(NOW + 940, NOW + 960, 5)).toEqual([]);
      expect(await store().claimRevocationJobs(NOW + 939, NOW + 960, 5)).toMatchObject([
        { grantId, endedAt: NOW + 939 },
      ]);
      await store().completeRevocationJob(grantId, 1);
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 5)).toEqual([]);
    });

    it('claims no more revocation jobs than requested', async () => {
      for (const _ of times(3, () => null)) {
        const { grantId } = await saveProviderTokens(store());
        await store().endProviderTokens(grantId, 1, 'revoked_by_provider', NOW);
      }
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 2)).toHaveLength(2);
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 2)).toHaveLength(1);
    });

    it('claims due revocation jobs, oldest first, among completed and postponed ones', async () => {
      for (const dueAt of [null, null, null, NOW + 999]) {
        await store().saveEndedProviderTokens(
          newProviderTokens({ endedAt: NOW, endReason: 'grant_expired', dueAt }),
        );
      }
      const [late, early] = [NOW + 20, NOW + 10].map((dueAt) =>
        newProviderTokens({ endedAt: NOW, endReason: 'grant_expired', dueAt }),
      );
      for (const providerTokens of [late, early])
        if (providerTokens !== undefined) await store().saveEndedProviderTokens(providerTokens);
      const claim = () => store().claimRevocationJobs(NOW + 30, NOW + 60, 1);
      expect(await claim()).toMatchObject([{ grantId: early?.grantId }]);
      expect(await claim()).toMatchObject([{ grantId: late?.grantId }]);
      expect(await claim()).toEqual([]);
    });

    it('does not end provider tokens before the last second of their grant has passed', async () => {
      const [last, over, lapsed] = [
        await createGrant(store(), { grant: { expiresAt: NOW + 31 } }),
        await createGrant(store(), { grant: { expiresAt: NOW + 30 } }),
        await saveProviderTokens(store(), { dueAt: NOW + 5 }),
      ];
      for (const { grant } of [last, over]) {
        await saveProviderTokens(store(), { grantId: grant.id, accountId: grant.accountId, dueAt: NOW + 5 });
      }
      const claimed = await store().claimRevocationJobs(NOW + 30, NOW + 60, 5);
      expect(claimed.map(({ grantId }) => grantId).toSorted()).toEqual(
        [over.grant.id, lapsed.grantId].toSorted(),
      );
      expect(await store().findProviderTokens(last.grant.id)).toMatchObject({
        endedAt: null,
        dueAt: NOW + 31,
      });
    });

    it('checks provider tokens of a live grant again when the grant expires, and ends those whose code was never redeemed', async () => {
      const [live, orphan, early] = [
        await saveGrantWithProviderTokens(store(), { dueAt: NOW + 5 }),
        await saveProviderTokens(store(), { dueAt: NOW + 5 }),
        await saveProviderTokens(store(), { dueAt: NOW + 6 }),
      ];
      expect(await store().claimRevocationJobs(NOW + 5, NOW + 60, 5)).toMatchObject([
        { grantId: orphan.grantId, endReason: 'grant_expired' },
      ]);
      const looked = await store().findProviderTokens(live.grantId);
      expect(looked?.endedAt).toBeNull();
      expect(looked?.dueAt).toBeGreaterThan(NOW + 60);
      expect(await store().findProviderTokens(early.grantId)).toEqual(early);
    });

    it('neither postpones nor erases live provider tokens', async () => {
      const providerTokens = await saveProviderTokens(store());
      await store().postponeRevocationJob(providerTokens.grantId, NOW + 5);
      await store().completeRevocationJob(providerTokens.grantId, 1);
      expect(await store().findProviderTokens(providerTokens.grantId)).toEqual(providerTokens);
    });

    it('revokes tokens that a refresh returned after the provider tokens had ended', async () => {
      const { grantId } = await saveProviderTokens(store());
      await store().leaseProviderTokens(grantId, 1, 'us', NOW, NOW + 15);
      await store().endProviderTokens(grantId, 1, 'revoked_here', NOW + 1);
      await store().completeRevocationJob(grantId, 1);
      expect(await store().saveRefreshedProviderTokens(grantId, 'us', newRefreshedTokens())).toBe(true);
      expect(await store().claimRevocationJobs(NOW + 10, NOW + 60, 5)).toMatchObject([
        { grantId, version: 2 },
      ]);
    });

    it('keeps tokens that a refresh returned while a job revoked their predecessors', async () => {
      const { grantId } = await saveProviderTokens(store());
      await store().leaseProviderTokens(grantId, 1, 'us', NOW, NOW + 15);
      await store().endProviderTokens(grantId, 1, 'revoked_here', NOW + 1);
      const [claimed] = await store().claimRevocationJobs(NOW + 1, NOW + 60, 5);
      const refreshed = newRefreshedTokens();
      expect(await store().saveRefreshedProviderTokens(grantId, 'us', refreshed)).toBe(true);
      await store().completeRevocationJob(grantId, claimed?.version ?? 0);
      const { encryptedTokens } = refreshed;
      const [later] = await store().claimRevocationJobs(NOW + 10, NOW + 60, 5);
      expect(later).toMatchObject({ grantId, version: 2, encryptedTokens });
      await store().completeRevocationJob(grantId, 2);
      expect((await store().findProviderTokens(grantId))?.encryptedTokens).toBeNull();
    });

    it('counts other provider tokens of the same linked identity', async () => {
      const user = { issuer: 'https://github.com', subject: '1' };
      const first = await saveProviderTokens(store(), user);
      const second = await saveProviderTokens(store(), user);
      await saveProviderTokens(store(), { ...user, issuer: 'https://gitlab.com' });
      const count = () => store().countProviderTokensOfIdentity(user.issuer, user.subject, first.grantId);
      expect(await count()).toBe(1);
      await store().endProviderTokens(second.grantId, 1, 'revoked_here', NOW);
      expect(await count()).toBe(0);
    });

    it('sweeps provider tokens a day after their end, once their revocation job is complete', async () => {
      const [completed, waiting] = [await saveProviderTokens(store()), await saveProviderTokens(store())];
      for (const { grantId } of [completed, waiting])
        await store().endProviderTokens(grantId, 1, 'revoked_here', NOW);
      await store().completeRevocationJob(completed.grantId, 1);
      await store().sweep(NOW + 86_399, 100);
      expect(await store().findProviderTokens(completed.grantId)).not.toBeNull();
      await store().sweep(NOW + 86_400, 100);
      expect(await store().findProviderTokens(completed.grantId)).toBeNull();
      expect(await store().findProviderTokens(waiting.grantId)).not.toBeNull();
    });
  });
}
