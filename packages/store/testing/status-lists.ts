/** The contract of status lists: indexes are allocated once, and everything revoked is listed. */
import { describe, expect, it } from 'vitest';
import { newProviderTokens } from './federation-samples.ts';
import { makeGrant, NOW, newClient, newHash, RACERS, type StoreOfTest } from './samples.ts';

export function describeStatuses(store: StoreOfTest): void {
  describe('status lists', () => {
    const GRANT = { kind: 'grant', id: 'grant_old' } as const;

    it('sets status indexes aside that nobody else gets', async () => {
      const firsts = await Promise.all(
        Array.from({ length: RACERS }, () => store().reserveStatusIndexes(10)),
      );
      expect(firsts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: RACERS }, (_, at) => at * 10));
      expect((await store().listRevokedAccess(NOW, NOW)).allocatedCount).toBe(RACERS * 10);
    });

    it('lends a holder one place, and keeps it while it is needed', async () => {
      expect(await store().allocateStatusIndex(GRANT, 7, NOW, NOW + 10, false)).toBe(7);
      expect(await store().allocateStatusIndex(GRANT, 8, NOW + 1, NOW + 5, false)).toBe(7);
      expect(
        await store().allocateStatusIndex({ kind: 'client', id: 'grant_old' }, 9, NOW, NOW + 10, false),
      ).toBe(9);
    });

    it('lends a holder another when it needs one, and tells of both when it ends', async () => {
      const { grant } = await makeGrant(store());
      const holder = { kind: 'grant', id: grant.id } as const;
      expect(await store().allocateStatusIndex(holder, 7, NOW, NOW + 10, true)).toBe(7);
      expect(await store().allocateStatusIndex(holder, 8, NOW, NOW + 10, true)).toBe(8);
      expect(await store().allocateStatusIndex(holder, 9, NOW, NOW + 20, false)).toBe(8);
      await store().revokeGrant(grant.id, NOW);
      const { allocations: lent } = await store().listRevokedAccess(NOW, NOW);
      expect(lent.map(({ index: place }) => place).toSorted()).toEqual([7, 8]);
    });

    it('tells of grants that have ended, of tokens that were revoked, and of nothing else', async () => {
      const [before, ended, standing] = [
        await makeGrant(store()),
        await makeGrant(store()),
        await makeGrant(store()),
      ];
      await store().allocateStatusIndex({ kind: 'grant', id: ended.grant.id }, 3, NOW, NOW + 100, false);
      await store().allocateStatusIndex({ kind: 'grant', id: standing.grant.id }, 4, NOW, NOW + 100, false);
      const [token, former] = [newHash(), newHash()];
      expect(await store().listRevokedAccess(NOW, NOW)).toEqual({
        allocatedCount: 0,
        grants: [],
        tokens: [],
        allocations: [],
      });
      await store().revokeGrant(before.grant.id, NOW - 1);
      await store().revokeGrant(ended.grant.id, NOW);
      await store().revokeAccessToken(token, NOW + 1);
      await store().revokeAccessToken(former, NOW);
      expect(await store().listRevokedAccess(NOW, NOW)).toEqual({
        allocatedCount: 0,
        grants: [ended.grant.id],
        tokens: [token],
        allocations: [{ kind: 'grant', id: ended.grant.id, index: 3 }],
      });
    });

    it('tells of what ended later than it was asked for as well', async () => {
      const { grant } = await makeGrant(store());
      await store().allocateStatusIndex({ kind: 'grant', id: grant.id }, 3, NOW, NOW + 100, false);
      await store().revokeGrant(grant.id, NOW + 7);
      for (const since of [NOW, NOW + 7]) {
        expect(await store().listRevokedAccess(since, NOW)).toMatchObject({
          grants: [grant.id],
          allocations: [{ index: 3 }],
        });
      }
      expect(await store().listRevokedAccess(NOW + 8, NOW)).toMatchObject({ grants: [], allocations: [] });
    });

    it('tells of provider tokens that have ended, of the status indexes of their grants, and of no other', async () => {
      const { grant } = await makeGrant(store());
      const { grant: bystander } = await makeGrant(store());
      for (const [place, { id }] of [grant, bystander].entries()) {
        await store().allocateStatusIndex({ kind: 'grant', id }, place, NOW, NOW + 100, false);
      }
      await store().allocateStatusIndex({ kind: 'client', id: grant.id }, 9, NOW, NOW, false);
      const ended = newProviderTokens({ grantId: grant.id, endedAt: NOW + 7, endReason: 'grant_expired' });
      await store().saveEndedProviderTokens(ended);
      for (const since of [NOW, NOW + 7]) {
        expect(await store().listRevokedAccess(since, NOW)).toEqual({
          allocatedCount: 0,
          grants: [grant.id],
          tokens: [],
          allocations: [{ kind: 'grant', id: grant.id, index: 0 }],
        });
      }
      expect(await store().listRevokedAccess(NOW + 8, NOW)).toMatchObject({ grants: [], allocations: [] });
    });

    it('keeps what was lent as long as the last who asked needs it', async () => {
      expect(await store().allocateStatusIndex(GRANT, 1, NOW, NOW + 50, false)).toBe(1);
      expect(await store().allocateStatusIndex(GRANT, 2, NOW, NOW + 10, false)).toBe(1);
      await store().sweep(NOW + 49, 10);
      expect(await store().allocateStatusIndex(GRANT, 3, NOW, NOW + 60, false)).toBe(1);
      await store().sweep(NOW + 59, 10);
      expect(await store().allocateStatusIndex(GRANT, 4, NOW, NOW + 60, false)).toBe(1);
    });

    it('tells of clients that are gone or disabled, while what they were lent is needed', async () => {
      const [standing, disabled, removed] = [newClient({ createdAt: NOW - 5 }), newClient(), newClient()];
      for (const [place, client] of [standing, disabled, removed].entries()) {
        expect(await store().saveClient(client)).toBe(true);
        await store().allocateStatusIndex({ kind: 'client', id: client.id }, place, NOW, NOW + 100, false);
      }
      const ended = async (now: number) =>
        (await store().listRevokedAccess(NOW, now)).allocations.map(({ id }) => id).toSorted();
      expect(await ended(NOW)).toEqual([]);
      await store().disableClient(disabled.id, NOW);
      await store().removeClient(removed.id, NOW);
      expect(await ended(NOW)).toEqual([disabled.id, removed.id].toSorted());
      expect(await ended(NOW + 100)).toEqual([]);
    });

    it('lends a later client of the same name a place of its own', async () => {
      const client = newClient({ createdAt: NOW });
      for (const _ of Array.from({ length: 5 })) await store().saveClient(newClient({ createdAt: NOW + 50 }));
      const holder = { kind: 'client', id: client.id } as const;
      await store().saveClient(client);
      expect(await store().allocateStatusIndex(holder, 1, NOW, NOW + 100, false)).toBe(1);
      await store().removeClient(client.id, NOW + 1);
      await store().saveClient({ ...client, createdAt: NOW + 2 });
      expect(await store().allocateStatusIndex(holder, 2, NOW + 2, NOW + 100, false)).toBe(2);
      expect(await store().allocateStatusIndex(holder, 3, NOW + 3, NOW + 100, false)).toBe(2);
      expect((await store().listRevokedAccess(NOW, NOW + 3)).allocations).toEqual([{ ...holder, index: 1 }]);
    });

    it('forgets what was lent when nobody needs it any more', async () => {
      await store().allocateStatusIndex(GRANT, 1, NOW, NOW + 10, false);
      await store().sweep(NOW + 9, 10);
      expect(await store().allocateStatusIndex(GRANT, 2, NOW, NOW + 10, false)).toBe(1);
      await store().sweep(NOW + 10, 10);
      expect(await store().allocateStatusIndex(GRANT, 2, NOW, NOW + 10, false)).toBe(2);
    });
  });
}
