/** The contract of status lists: indexes are allocated once, and everything revoked is listed. */
import { describe, expect, it } from 'vitest';
import { newProviderTokens } from './federation-samples.ts';
import { createGrant, NOW, newClient, newHash, RACERS, type StoreOfTest } from './samples.ts';

export function describeStatusLists(store: StoreOfTest): void {
  describe('status lists', () => {
    const GRANT = { kind: 'grant', id: 'grant_old' } as const;

    it('reserves each range of status indexes once', async () => {
      const firsts = await Promise.all(
        Array.from({ length: RACERS }, () => store().reserveStatusIndexes(10)),
      );
      expect(firsts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: RACERS }, (_, at) => at * 10));
      expect((await store().listRevokedAccess(NOW, NOW)).allocatedCount).toBe(RACERS * 10);
    });

    it('allocates one status index per holder and keeps it while it is needed', async () => {
      expect(await store().allocateStatusIndex(GRANT, 7, NOW, NOW + 10, false)).toBe(7);
      expect(await store().allocateStatusIndex(GRANT, 8, NOW + 1, NOW + 5, false)).toBe(7);
      expect(
        await store().allocateStatusIndex({ kind: 'client', id: 'grant_old' }, 9, NOW, NOW + 10, false),
      ).toBe(9);
    });

    it('allocates a holder another status index on request, and lists both when the holder is revoked', async () => {
      const { grant } = await createGrant(store());
      const holder = { kind: 'grant', id: grant.id } as const;
      expect(await store().allocateStatusIndex(holder, 7, NOW, NOW + 10, true)).toBe(7);
      expect(await store().allocateStatusIndex(holder, 8, NOW, NOW + 10, true)).toBe(8);
      expect(await store().allocateStatusIndex(holder, 9, NOW, NOW + 20, false)).toBe(8);
      await store().revokeGrant(grant.id, NOW);
      const { allocations } = await store().listRevokedAccess(NOW, NOW);
      expect(allocations.map(({ index }) => index).toSorted()).toEqual([7, 8]);
    });

    it('lists revoked grants and revoked access tokens, and nothing else', async () => {
      const [before, ended, live] = [
        await createGrant(store()),
        await createGrant(store()),
        await createGrant(store()),
      ];
      await store().allocateStatusIndex({ kind: 'grant', id: ended.grant.id }, 3, NOW, NOW + 100, false);
      await store().allocateStatusIndex({ kind: 'grant', id: live.grant.id }, 4, NOW, NOW + 100, false);
      const [token, former] = [newHash(), newHash()];
      expect(await store().listRevokedAccess(NOW, NOW)).toEqual({
        allocatedCount: 0,
        tokens: [],
        allocations: [],
      });
      await store().revokeGrant(before.grant.id, NOW - 1);
      await store().revokeGrant(ended.grant.id, NOW);
      await store().revokeAccessToken(token, NOW + 1);
      await store().revokeAccessToken(former, NOW);
      expect(await store().listRevokedAccess(NOW, NOW)).toEqual({
        allocatedCount: 0,
        tokens: [token],
        allocations: [{ kind: 'grant', id: ended.grant.id, index: 3 }],
      });
      expect(await store().listRevokedGrants(NOW)).toEqual([ended.grant.id]);
    });

    it('lists what was revoked after the given time too', async () => {
      const { grant } = await createGrant(store());
      await store().allocateStatusIndex({ kind: 'grant', id: grant.id }, 3, NOW, NOW + 100, false);
      await store().revokeGrant(grant.id, NOW + 7);
      for (const since of [NOW, NOW + 7]) {
        expect(await store().listRevokedAccess(since, NOW)).toMatchObject({ allocations: [{ index: 3 }] });
        expect(await store().listRevokedGrants(since)).toEqual([grant.id]);
      }
      expect(await store().listRevokedAccess(NOW + 8, NOW)).toMatchObject({ allocations: [] });
      expect(await store().listRevokedGrants(NOW + 8)).toEqual([]);
    });

    it('lists the grants of ended provider tokens with their status indexes, and no others', async () => {
      const { grant } = await createGrant(store());
      const { grant: bystander } = await createGrant(store());
      for (const [index, { id }] of [grant, bystander].entries()) {
        await store().allocateStatusIndex({ kind: 'grant', id }, index, NOW, NOW + 100, false);
      }
      await store().allocateStatusIndex({ kind: 'client', id: grant.id }, 9, NOW, NOW, false);
      const ended = newProviderTokens({ grantId: grant.id, endedAt: NOW + 7, endReason: 'grant_expired' });
      await store().saveEndedProviderTokens(ended);
      for (const since of [NOW, NOW + 7]) {
        expect(await store().listRevokedAccess(since, NOW)).toEqual({
          allocatedCount: 0,
          tokens: [],
          allocations: [{ kind: 'grant', id: grant.id, index: 0 }],
        });
        expect(await store().listRevokedGrants(since)).toEqual([grant.id]);
      }
      expect(await store().listRevokedGrants(NOW + 8)).toEqual([]);
      expect(await store().listRevokedAccess(NOW + 8, NOW)).toMatchObject({ allocations: [] });
    });

    it('keeps a status index until the latest time for which it was requested', async () => {
      expect(await store().allocateStatusIndex(GRANT, 1, NOW, NOW + 50, false)).toBe(1);
      expect(await store().allocateStatusIndex(GRANT, 2, NOW, NOW + 10, false)).toBe(1);
      await store().sweep(NOW + 49, 10);
      expect(await store().allocateStatusIndex(GRANT, 3, NOW, NOW + 60, false)).toBe(1);
      await store().sweep(NOW + 59, 10);
      expect(await store().allocateStatusIndex(GRANT, 4, NOW, NOW + 60, false)).toBe(1);
    });

    it('lists removed and disabled clients while their status indexes are needed', async () => {
      const [live, disabled, removed] = [newClient({ createdAt: NOW - 5 }), newClient(), newClient()];
      for (const [index, client] of [live, disabled, removed].entries()) {
        expect(await store().saveClient(client)).toBe(true);
        await store().allocateStatusIndex({ kind: 'client', id: client.id }, index, NOW, NOW + 100, false);
      }
      const ended = async (now: number) =>
        (await store().listRevokedAccess(NOW, now)).allocations.map(({ id }) => id).toSorted();
      expect(await ended(NOW)).toEqual([]);
      await store().disableClient(disabled.id, NOW);
      await store().removeClient(removed.id, NOW);
      expect(await ended(NOW)).toEqual([disabled.id, removed.id].toSorted());
      expect(await ended(NOW + 100)).toEqual([]);
    });

    it('allocates a new status index to a later client of the same identifier', async () => {
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

    it('T143: lists the status index that a client had before it was disabled, and allocates a new one after it is enabled', async () => {
      const client = newClient({ createdAt: NOW - 5 });
      const holder = { kind: 'client', id: client.id } as const;
      await store().saveClient(client);
      expect(await store().allocateStatusIndex(holder, 1, NOW, NOW + 100, false)).toBe(1);
      await store().disableClient(client.id, NOW);
      await store().enableClient(client.id, NOW + 2);
      expect(await store().allocateStatusIndex(holder, 2, NOW + 2, NOW + 100, false)).toBe(2);
      expect(await store().allocateStatusIndex(holder, 3, NOW + 3, NOW + 100, false)).toBe(2);
      expect((await store().listRevokedAccess(NOW, NOW + 3)).allocations).toEqual([{ ...holder, index: 1 }]);
    });

    it('sweeps a status index that is no longer needed', async () => {
      await store().allocateStatusIndex(GRANT, 1, NOW, NOW + 10, false);
      await store().sweep(NOW + 9, 10);
      expect(await store().allocateStatusIndex(GRANT, 2, NOW, NOW + 10, false)).toBe(1);
      await store().sweep(NOW + 10, 10);
      expect(await store().allocateStatusIndex(GRANT, 2, NOW, NOW + 10, false)).toBe(2);
    });
  });
}
