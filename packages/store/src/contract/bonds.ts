/** The contract of bonds: made once, renewed by one at a time, ended with their grants, and never forgotten before they are revoked. */
import type { AuthorizationStore, BondRecord } from '@portcullis/authorization-server/ports';
import { describe, expect, it } from 'vitest';
import { makeGrant, NOW, newTransaction, RACERS, race, type StoreOfTest, times } from './samples.ts';
import { newBond, newRenewal } from './upstream-samples.ts';

/** Brings a bond into the store. */
async function keepBond(store: AuthorizationStore, changes: Partial<BondRecord> = {}): Promise<BondRecord> {
  const transaction = newTransaction();
  await store.openTransaction(transaction);
  const bond = newBond(changes);
  expect(await store.bindTransaction(transaction.id, bond)).toBe(true);
  return bond;
}

/** Brings a grant with its bond into the store. */
async function keepBondedGrant(
  store: AuthorizationStore,
  changes: Partial<BondRecord> = {},
): Promise<BondRecord> {
  const { grant } = await makeGrant(store);
  return keepBond(store, { grantId: grant.id, accountId: grant.accountId, ...changes });
}

export function describeBonds(store: StoreOfTest): void {
  describe('bonds', () => {
    it.each([
      { description: 'a plain one', given: {} },
      {
        description: 'one that expires never and is called nothing',
        given: { expiresAt: null, name: null, scopes: [] },
      },
      { description: 'one that nothing renews', given: { isRenewable: false, renewFrom: null } },
    ])('keeps $description whole, and notes it in its transaction', async ({ given }) => {
      const transaction = newTransaction();
      await store().openTransaction(transaction);
      const bond = newBond(given);
      expect(await store().findBond(bond.grantId)).toBeNull();
      expect(await store().bindTransaction(transaction.id, bond)).toBe(true);
      expect(await store().findBond(bond.grantId)).toEqual(bond);
      expect(await store().findTransaction(transaction.id, NOW)).toEqual({
        ...transaction,
        accountId: bond.accountId,
        identityProvider: bond.identityProvider,
        bond: bond.grantId,
      });
    });

    it('knows whether any bond stands, and keeps one that has ended for its farewell', async () => {
      const ended = newBond({ endedAt: NOW, endReason: 'lapsed', dueAt: NOW });
      await store().saveEndedBond(ended);
      expect(await store().hasBonds()).toBe(false);
      expect(await store().findBond(ended.grantId)).toEqual(ended);
      expect(await store().claimFarewells(NOW, NOW + 60, 5)).toMatchObject([{ grantId: ended.grantId }]);
      await keepBond(store());
      expect(await store().hasBonds()).toBe(true);
    });

    it('keeps no bond of a transaction that is gone', async () => {
      const bond = newBond();
      expect(await store().bindTransaction('flow_gone', bond)).toBe(false);
      expect(await store().findBond(bond.grantId)).toBeNull();
    });

    it('lists the bonds of an account that stand', async () => {
      const [first, second] = [
        await keepBond(store(), { accountId: 'user_1' }),
        await keepBond(store(), { accountId: 'user_1', createdAt: NOW + 1 }),
      ];
      await keepBond(store(), { accountId: 'user_2' });
      const ended = await keepBond(store(), { accountId: 'user_1' });
      await store().endBond(ended.grantId, 1, 'revoked-there', NOW);
      expect(await store().listBonds('user_1')).toEqual([first, second]);
    });

    it('notes when a bond was alive, and never goes back in time', async () => {
      const { grantId } = await keepBond(store());
      await store().noteBondAlive(grantId, NOW + 60);
      await store().noteBondAlive(grantId, NOW + 30);
      expect((await store().findBond(grantId))?.checkedAt).toBe(NOW + 60);
    });

    it(`lets one of ${RACERS} renew a bond at a time`, async () => {
      const bond = await keepBond(store());
      const counts = await race(
        times(RACERS, (index) => () => store().leaseBond(bond.grantId, 1, `process ${index}`, NOW, NOW + 15)),
      );
      expect(counts).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('keeps what a renewal brought, once, and only for whoever has the lease', async () => {
      const bond = await keepBond(store());
      await store().leaseBond(bond.grantId, 1, 'us', NOW, NOW + 15);
      const renewed = newRenewal();
      expect(await store().renewBond(bond.grantId, 'others', newRenewal())).toBe(false);
      expect(await store().renewBond(bond.grantId, 'us', renewed)).toBe(true);
      expect(await store().renewBond(bond.grantId, 'us', newRenewal())).toBe(false);
      expect(await store().findBond(bond.grantId)).toEqual({ ...bond, ...renewed, version: 2 });
      expect(await store().leaseBond(bond.grantId, 1, 'late', NOW, NOW + 15)).toBe(false);
      expect(await store().leaseBond(bond.grantId, 2, 'next', NOW, NOW + 15)).toBe(true);
    });

    it('gives the lease of a process that has died to another, and takes nothing from the dead', async () => {
      const { grantId } = await keepBond(store());
      await store().leaseBond(grantId, 1, 'dead', NOW, NOW + 15);
      expect(await store().leaseBond(grantId, 1, 'heir', NOW + 14, NOW + 29)).toBe(false);
      expect(await store().leaseBond(grantId, 1, 'heir', NOW + 15, NOW + 30)).toBe(true);
      expect(await store().renewBond(grantId, 'dead', newRenewal())).toBe(false);
      expect(await store().leaseBond(grantId, 1, 'late heir', NOW + 99, NOW + 114)).toBe(true);
      await store().releaseBond(grantId, 'late heir', null);
      expect(await store().leaseBond(grantId, 1, 'heir', NOW + 99, NOW + 114)).toBe(true);
      await store().releaseBond(grantId, 'dead', null);
      expect((await store().findBond(grantId))?.leaseHolder).toBe('heir');
    });

    it('lets nobody renew before the time that a renewal was put off to', async () => {
      const { grantId } = await keepBond(store());
      await store().leaseBond(grantId, 1, 'us', NOW, NOW + 15);
      await store().releaseBond(grantId, 'us', NOW + 60);
      expect(await store().findBond(grantId)).toMatchObject({ leaseHolder: null, leaseUntil: NOW + 60 });
      expect(await store().leaseBond(grantId, 1, 'us', NOW + 59, NOW + 70)).toBe(false);
      expect(await store().leaseBond(grantId, 1, 'us', NOW + 60, NOW + 70)).toBe(true);
      await store().releaseBond(grantId, 'us', null);
      expect(await store().leaseBond(grantId, 1, 'others', NOW + 60, NOW + 70)).toBe(true);
    });

    it('ends a bond together with its grant, once', async () => {
      const [{ grantId }, bystander] = [await keepBondedGrant(store()), await keepBondedGrant(store())];
      expect(await store().isAccessTokenLive('jti', grantId)).toBe(true);
      const counts = await race(
        times(RACERS, () => () => store().endBond(grantId, 1, 'revoked-there', NOW + 5)),
      );
      expect(counts).toEqual({ true: 1, false: RACERS - 1 });
      expect(await store().isAccessTokenLive('jti', grantId)).toBe(false);
      expect(await store().findBond(grantId)).toMatchObject({
        endedAt: NOW + 5,
        endReason: 'revoked-there',
        dueAt: NOW + 5,
      });
      expect(await store().findBond(bystander.grantId)).toEqual(bystander);
      expect(await store().isAccessTokenLive('jti', bystander.grantId)).toBe(true);
      expect(await store().leaseBond(grantId, 1, 'us', NOW + 5, NOW + 15)).toBe(false);
    });

    it('ends no bond that was renewed since it was judged', async () => {
      const { grantId } = await keepBondedGrant(store());
      await store().leaseBond(grantId, 1, 'us', NOW, NOW + 15);
      await store().renewBond(grantId, 'us', newRenewal());
      expect(await store().endBond(grantId, 1, 'expired-there', NOW + 5)).toBe(false);
      expect(await store().isAccessTokenLive('jti', grantId)).toBe(true);
      expect((await store().findBond(grantId))?.endedAt).toBeNull();
    });
  });

  describe('farewells', () => {
    it('ends the bonds of grants that were revoked since, and no others', async () => {
      const [revoked, before, standing] = [
        await keepBondedGrant(store()),
        await keepBondedGrant(store()),
        await keepBondedGrant(store()),
      ];
      await store().revokeGrant(before.grantId, NOW + 1);
      await store().revokeGrant(revoked.grantId, NOW + 10);
      expect(await store().endBondsOfRevokedGrants(NOW + 11, NOW + 11)).toBe(0);
      expect(await store().endBondsOfRevokedGrants(NOW + 10, NOW + 11)).toBe(1);
      expect(await store().endBondsOfRevokedGrants(NOW + 5, NOW + 11)).toBe(0);
      expect(await store().findBond(revoked.grantId)).toMatchObject({
        endedAt: NOW + 11,
        endReason: 'ended-here',
      });
      expect((await store().findBond(before.grantId))?.endedAt).toBeNull();
      expect((await store().findBond(standing.grantId))?.endedAt).toBeNull();
    });

    it('claims for one what is due, and again when its time is over', async () => {
      const { grantId } = await keepBondedGrant(store());
      await store().endBond(grantId, 1, 'revoked-there', NOW);
      const claims = await Promise.all(times(10, () => store().claimFarewells(NOW, NOW + 60, 5)));
      expect(claims.flat()).toMatchObject([{ grantId, farewells: 1, dueAt: NOW + 60 }]);
      expect(await store().claimFarewells(NOW + 59, NOW + 99, 5)).toEqual([]);
      expect(await store().claimFarewells(NOW + 60, NOW + 99, 5)).toMatchObject([{ grantId, farewells: 2 }]);
      await store().postponeFarewell(grantId, NOW + 500);
      expect(await store().claimFarewells(NOW + 499, NOW + 600, 5)).toEqual([]);
      await store().forgetBondTokens(grantId);
      expect(await store().claimFarewells(NOW + 9999, NOW + 10_000, 5)).toEqual([]);
      expect(await store().findBond(grantId)).toMatchObject({ sealedTokens: null, dueAt: null });
    });

    it('claims no more than it was asked for', async () => {
      for (const _ of times(3, () => null)) {
        const { grantId } = await keepBond(store());
        await store().endBond(grantId, 1, 'revoked-there', NOW);
      }
      expect(await store().claimFarewells(NOW, NOW + 60, 2)).toHaveLength(2);
      expect(await store().claimFarewells(NOW, NOW + 60, 2)).toHaveLength(1);
    });

    it('claims what is due although more than that has been told, or waits, and the oldest first', async () => {
      for (const dueAt of [null, null, null, NOW + 999]) {
        await store().saveEndedBond(newBond({ endedAt: NOW, endReason: 'lapsed', dueAt }));
      }
      const [late, early] = [NOW + 20, NOW + 10].map((dueAt) =>
        newBond({ endedAt: NOW, endReason: 'lapsed', dueAt }),
      );
      for (const bond of [late, early]) if (bond !== undefined) await store().saveEndedBond(bond);
      const claim = () => store().claimFarewells(NOW + 30, NOW + 60, 1);
      expect(await claim()).toMatchObject([{ grantId: early?.grantId }]);
      expect(await claim()).toMatchObject([{ grantId: late?.grantId }]);
      expect(await claim()).toEqual([]);
    });

    it('looks in the last second of a grant as before, and is late for none', async () => {
      const [last, over, lapsed] = [
        await makeGrant(store(), { grant: { expiresAt: NOW + 31 } }),
        await makeGrant(store(), { grant: { expiresAt: NOW + 30 } }),
        await keepBond(store(), { dueAt: NOW + 5 }),
      ];
      for (const { grant } of [last, over]) {
        await keepBond(store(), { grantId: grant.id, accountId: grant.accountId, dueAt: NOW + 5 });
      }
      const claimed = await store().claimFarewells(NOW + 30, NOW + 60, 5);
      expect(claimed.map(({ grantId }) => grantId).toSorted()).toEqual(
        [over.grant.id, lapsed.grantId].toSorted(),
      );
      expect(await store().findBond(last.grant.id)).toMatchObject({ endedAt: null, dueAt: NOW + 31 });
    });

    it('looks again at the end of its grant when that stands, and ends a bond whose code was never redeemed', async () => {
      const [standing, orphan, early] = [
        await keepBondedGrant(store(), { dueAt: NOW + 5 }),
        await keepBond(store(), { dueAt: NOW + 5 }),
        await keepBond(store(), { dueAt: NOW + 6 }),
      ];
      expect(await store().claimFarewells(NOW + 5, NOW + 60, 5)).toMatchObject([
        { grantId: orphan.grantId, endReason: 'lapsed' },
      ]);
      const looked = await store().findBond(standing.grantId);
      expect(looked?.endedAt).toBeNull();
      expect(looked?.dueAt).toBeGreaterThan(NOW + 60);
      expect(await store().findBond(early.grantId)).toEqual(early);
    });

    it('postpones and forgets nothing of a bond that stands', async () => {
      const bond = await keepBond(store());
      await store().postponeFarewell(bond.grantId, NOW + 5);
      await store().forgetBondTokens(bond.grantId);
      expect(await store().findBond(bond.grantId)).toEqual(bond);
    });

    it('revokes what a renewal brought after the end', async () => {
      const { grantId } = await keepBond(store());
      await store().leaseBond(grantId, 1, 'us', NOW, NOW + 15);
      await store().endBond(grantId, 1, 'ended-here', NOW + 1);
      await store().forgetBondTokens(grantId);
      expect(await store().renewBond(grantId, 'us', newRenewal())).toBe(true);
      expect(await store().claimFarewells(NOW + 10, NOW + 60, 5)).toMatchObject([{ grantId, version: 2 }]);
    });

    it('counts the other bonds with a person', async () => {
      const user = { issuer: 'https://github.com', subject: '1' };
      const first = await keepBond(store(), user);
      const second = await keepBond(store(), user);
      await keepBond(store(), { ...user, issuer: 'https://gitlab.com' });
      const count = () => store().countBondsWith(user.issuer, user.subject, first.grantId);
      expect(await count()).toBe(1);
      await store().endBond(second.grantId, 1, 'ended-here', NOW);
      expect(await count()).toBe(0);
    });

    it('sweeps a bond a day after its end, once its tokens are forgotten', async () => {
      const [told, waiting] = [await keepBond(store()), await keepBond(store())];
      for (const { grantId } of [told, waiting]) await store().endBond(grantId, 1, 'ended-here', NOW);
      await store().forgetBondTokens(told.grantId);
      await store().sweep(NOW + 86_399, 100);
      expect(await store().findBond(told.grantId)).not.toBeNull();
      await store().sweep(NOW + 86_400, 100);
      expect(await store().findBond(told.grantId)).toBeNull();
      expect(await store().findBond(waiting.grantId)).not.toBeNull();
    });
  });
}
