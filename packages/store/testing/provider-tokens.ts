/** The contract of provider tokens: saved once, refreshed by one process at a time, ended with their grant, revoked by jobs. */
import type { AuthorizationStore, ProviderTokensRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { newProviderTokens, newRenewal } from './federation-samples.ts';
import { makeGrant, NOW, newTransaction, RACERS, race, type StoreOfTest, times } from './samples.ts';

/** Brings provider tokens into the store. */
async function keepProviderTokens(
  store: AuthorizationStore,
  changes: Partial<ProviderTokensRecord> = {},
): Promise<ProviderTokensRecord> {
  const transaction = newTransaction();
  await store.openTransaction(transaction);
  const providerTokens = newProviderTokens(changes);
  expect(await store.saveProviderTokens(transaction.id, providerTokens)).toBe(true);
  return providerTokens;
}

/** Brings a grant with its provider tokens into the store. */
async function keepBondedGrant(
  store: AuthorizationStore,
  changes: Partial<ProviderTokensRecord> = {},
): Promise<ProviderTokensRecord> {
  const { grant } = await makeGrant(store);
  return keepProviderTokens(store, { grantId: grant.id, accountId: grant.accountId, ...changes });
}

export function describeProviderTokens(store: StoreOfTest): void {
  describe('provider tokens', () => {
    it.each([
      { description: 'a plain one', given: {} },
      {
        description: 'one that expires never and is called nothing',
        given: { expiresAt: null, name: null, scopes: [] },
      },
      { description: 'one that nothing renews', given: { isRefreshable: false, refreshFrom: null } },
    ])('keeps $description whole, and notes it in its transaction', async ({ given }) => {
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

    it('knows whether any provider tokens stands, and keeps one that has ended for its revocation job', async () => {
      const ended = newProviderTokens({ endedAt: NOW, endReason: 'grant_expired', dueAt: NOW });
      await store().saveEndedProviderTokens(ended);
      expect(await store().hasProviderTokens()).toBe(false);
      expect(await store().findProviderTokens(ended.grantId)).toEqual(ended);
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 5)).toMatchObject([{ grantId: ended.grantId }]);
      await keepProviderTokens(store());
      expect(await store().hasProviderTokens()).toBe(true);
    });

    it('keeps no provider tokens of a transaction that is gone', async () => {
      const providerTokens = newProviderTokens();
      expect(await store().saveProviderTokens('flow_gone', providerTokens)).toBe(false);
      expect(await store().findProviderTokens(providerTokens.grantId)).toBeNull();
    });

    it('lists the provider tokens of an account that stand', async () => {
      const [first, second] = [
        await keepProviderTokens(store(), { accountId: 'user_1' }),
        await keepProviderTokens(store(), { accountId: 'user_1', createdAt: NOW + 1 }),
      ];
      await keepProviderTokens(store(), { accountId: 'user_2' });
      const ended = await keepProviderTokens(store(), { accountId: 'user_1' });
      await store().endProviderTokens(ended.grantId, 1, 'revoked_by_provider', NOW);
      expect(await store().listProviderTokens('user_1')).toEqual([first, second]);
    });

    it('notes when provider tokens was alive, and never goes back in time', async () => {
      const { grantId } = await keepProviderTokens(store());
      await store().recordProviderTokensCheck(grantId, NOW + 60);
      await store().recordProviderTokensCheck(grantId, NOW + 30);
      expect((await store().findProviderTokens(grantId))?.checkedAt).toBe(NOW + 60);
    });

    it(`lets one of ${RACERS} renew provider tokens at a time`, async () => {
      const providerTokens = await keepProviderTokens(store());
      const counts = await race(
        times(
          RACERS,
          (index) => () =>
            store().leaseProviderTokens(providerTokens.grantId, 1, `process ${index}`, NOW, NOW + 15),
        ),
      );
      expect(counts).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('keeps what a renewal brought, once, and only for whoever has the lease', async () => {
      const providerTokens = await keepProviderTokens(store());
      await store().leaseProviderTokens(providerTokens.grantId, 1, 'us', NOW, NOW + 15);
      const renewed = newRenewal();
      expect(await store().saveRefreshedProviderTokens(providerTokens.grantId, 'others', newRenewal())).toBe(
        false,
      );
      expect(await store().saveRefreshedProviderTokens(providerTokens.grantId, 'us', renewed)).toBe(true);
      expect(await store().saveRefreshedProviderTokens(providerTokens.grantId, 'us', newRenewal())).toBe(
        false,
      );
      expect(await store().findProviderTokens(providerTokens.grantId)).toEqual({
        ...providerTokens,
        ...renewed,
        version: 2,
      });
      expect(await store().leaseProviderTokens(providerTokens.grantId, 1, 'late', NOW, NOW + 15)).toBe(false);
      expect(await store().leaseProviderTokens(providerTokens.grantId, 2, 'next', NOW, NOW + 15)).toBe(true);
    });

    it('gives the lease of a process that has died to another, and takes nothing from the dead', async () => {
      const { grantId } = await keepProviderTokens(store());
      await store().leaseProviderTokens(grantId, 1, 'dead', NOW, NOW + 15);
      expect(await store().leaseProviderTokens(grantId, 1, 'heir', NOW + 14, NOW + 29)).toBe(false);
      expect(await store().leaseProviderTokens(grantId, 1, 'heir', NOW + 15, NOW + 30)).toBe(true);
      expect(await store().saveRefreshedProviderTokens(grantId, 'dead', newRenewal())).toBe(false);
      expect(await store().leaseProviderTokens(grantId, 1, 'late heir', NOW + 99, NOW + 114)).toBe(true);
      await store().releaseProviderTokens(grantId, 'late heir', null);
      expect(await store().leaseProviderTokens(grantId, 1, 'heir', NOW + 99, NOW + 114)).toBe(true);
      await store().releaseProviderTokens(grantId, 'dead', null);
      expect((await store().findProviderTokens(grantId))?.leaseHolder).toBe('heir');
    });

    it('lets nobody renew before the time that a renewal was put off to', async () => {
      const { grantId } = await keepProviderTokens(store());
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

    it('ends provider tokens together with its grant, once', async () => {
      const [{ grantId }, bystander] = [await keepBondedGrant(store()), await keepBondedGrant(store())];
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

    it('ends no provider tokens that was renewed since it was judged', async () => {
      const { grantId } = await keepBondedGrant(store());
      await store().leaseProviderTokens(grantId, 1, 'us', NOW, NOW + 15);
      await store().saveRefreshedProviderTokens(grantId, 'us', newRenewal());
      expect(await store().endProviderTokens(grantId, 1, 'expired_at_provider', NOW + 5)).toBe(false);
      expect(await store().isAccessTokenLive('jti', grantId)).toBe(true);
      expect((await store().findProviderTokens(grantId))?.endedAt).toBeNull();
    });
  });

  describe('revocation jobs', () => {
    it('ends the provider tokens of grants that were revoked since, and no others', async () => {
      const [revoked, before, standing] = [
        await keepBondedGrant(store()),
        await keepBondedGrant(store()),
        await keepBondedGrant(store()),
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
      expect((await store().findProviderTokens(standing.grantId))?.endedAt).toBeNull();
    });

    it('claims for one what is due, and again when its time is over', async () => {
      const { grantId } = await keepBondedGrant(store());
      await store().endProviderTokens(grantId, 1, 'revoked_by_provider', NOW);
      const claims = await Promise.all(times(10, () => store().claimRevocationJobs(NOW, NOW + 60, 5)));
      expect(claims.flat()).toMatchObject([{ grantId, revocationAttempts: 1, dueAt: NOW + 60 }]);
      expect(await store().claimRevocationJobs(NOW + 59, NOW + 99, 5)).toEqual([]);
      expect(await store().claimRevocationJobs(NOW + 60, NOW + 99, 5)).toMatchObject([
        { grantId, revocationAttempts: 2 },
      ]);
      await store().postponeRevocationJob(grantId, NOW + 500);
      expect(await store().claimRevocationJobs(NOW + 499, NOW + 600, 5)).toEqual([]);
      await store().completeRevocationJob(grantId);
      expect(await store().claimRevocationJobs(NOW + 9999, NOW + 10_000, 5)).toEqual([]);
      expect(await store().findProviderTokens(grantId)).toMatchObject({ encryptedTokens: null, dueAt: null });
    });

    it('claims no more than it was asked for', async () => {
      for (const _ of times(3, () => null)) {
        const { grantId } = await keepProviderTokens(store());
        await store().endProviderTokens(grantId, 1, 'revoked_by_provider', NOW);
      }
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 2)).toHaveLength(2);
      expect(await store().claimRevocationJobs(NOW, NOW + 60, 2)).toHaveLength(1);
    });

    it('claims what is due although more than that has been told, or waits, and the oldest first', async () => {
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

    it('looks in the last second of a grant as before, and is late for none', async () => {
      const [last, over, lapsed] = [
        await makeGrant(store(), { grant: { expiresAt: NOW + 31 } }),
        await makeGrant(store(), { grant: { expiresAt: NOW + 30 } }),
        await keepProviderTokens(store(), { dueAt: NOW + 5 }),
      ];
      for (const { grant } of [last, over]) {
        await keepProviderTokens(store(), { grantId: grant.id, accountId: grant.accountId, dueAt: NOW + 5 });
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

    it('looks again at the end of its grant when that stands, and ends provider tokens whose code was never redeemed', async () => {
      const [standing, orphan, early] = [
        await keepBondedGrant(store(), { dueAt: NOW + 5 }),
        await keepProviderTokens(store(), { dueAt: NOW + 5 }),
        await keepProviderTokens(store(), { dueAt: NOW + 6 }),
      ];
      expect(await store().claimRevocationJobs(NOW + 5, NOW + 60, 5)).toMatchObject([
        { grantId: orphan.grantId, endReason: 'grant_expired' },
      ]);
      const looked = await store().findProviderTokens(standing.grantId);
      expect(looked?.endedAt).toBeNull();
      expect(looked?.dueAt).toBeGreaterThan(NOW + 60);
      expect(await store().findProviderTokens(early.grantId)).toEqual(early);
    });

    it('postpones and forgets nothing of provider tokens that stands', async () => {
      const providerTokens = await keepProviderTokens(store());
      await store().postponeRevocationJob(providerTokens.grantId, NOW + 5);
      await store().completeRevocationJob(providerTokens.grantId);
      expect(await store().findProviderTokens(providerTokens.grantId)).toEqual(providerTokens);
    });

    it('revokes what a renewal brought after the end', async () => {
      const { grantId } = await keepProviderTokens(store());
      await store().leaseProviderTokens(grantId, 1, 'us', NOW, NOW + 15);
      await store().endProviderTokens(grantId, 1, 'revoked_here', NOW + 1);
      await store().completeRevocationJob(grantId);
      expect(await store().saveRefreshedProviderTokens(grantId, 'us', newRenewal())).toBe(true);
      expect(await store().claimRevocationJobs(NOW + 10, NOW + 60, 5)).toMatchObject([
        { grantId, version: 2 },
      ]);
    });

    it('counts the other provider tokens with a person', async () => {
      const user = { issuer: 'https://github.com', subject: '1' };
      const first = await keepProviderTokens(store(), user);
      const second = await keepProviderTokens(store(), user);
      await keepProviderTokens(store(), { ...user, issuer: 'https://gitlab.com' });
      const count = () => store().countProviderTokensOfIdentity(user.issuer, user.subject, first.grantId);
      expect(await count()).toBe(1);
      await store().endProviderTokens(second.grantId, 1, 'revoked_here', NOW);
      expect(await count()).toBe(0);
    });

    it('sweeps provider tokens a day after its end, once its tokens are forgotten', async () => {
      const [told, waiting] = [await keepProviderTokens(store()), await keepProviderTokens(store())];
      for (const { grantId } of [told, waiting])
        await store().endProviderTokens(grantId, 1, 'revoked_here', NOW);
      await store().completeRevocationJob(told.grantId);
      await store().sweep(NOW + 86_399, 100);
      expect(await store().findProviderTokens(told.grantId)).not.toBeNull();
      await store().sweep(NOW + 86_400, 100);
      expect(await store().findProviderTokens(told.grantId)).toBeNull();
      expect(await store().findProviderTokens(waiting.grantId)).not.toBeNull();
    });
  });
}
