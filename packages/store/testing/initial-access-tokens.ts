/** The contract of initial access tokens: one registration each, until used, revoked or expired. */
import { describe, expect, it } from 'vitest';
import {
  NOW,
  newClient,
  newHash,
  newInitialAccessToken,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeInitialAccessTokens(store: StoreOfTest): void {
  const save = async (changes: Parameters<typeof newInitialAccessToken>[0] = {}) => {
    const initialAccessToken = newInitialAccessToken(changes);
    await store().saveInitialAccessToken(initialAccessToken);
    return initialAccessToken;
  };

  describe('invitations of clients', () => {
    it('are found by their token until their time is over', async () => {
      const initialAccessToken = await save();
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toEqual(initialAccessToken);
      expect(await store().findInitialAccessToken(newHash(), NOW)).toBeNull();
      expect(
        await store().findInitialAccessToken(initialAccessToken.hash, initialAccessToken.expiresAt - 1),
      ).not.toBeNull();
      expect(
        await store().findInitialAccessToken(initialAccessToken.hash, initialAccessToken.expiresAt),
      ).toBeNull();
    });

    it('are listed in the order in which they were made, page by page, without those that are over', async () => {
      const [b, over, a, c] = [
        await save({ id: 'invite_2' }),
        await save({ id: 'invite_3', expiresAt: NOW }),
        await save({ id: 'invite_1' }),
        await save({ id: 'invite_4' }),
      ];
      expect(await store().listInitialAccessTokens('', 2, NOW)).toEqual([a, b]);
      expect(await store().listInitialAccessTokens(b.id, 2, NOW)).toEqual([c]);
      expect(await store().listInitialAccessTokens('', 9, NOW - 1)).toContainEqual(over);
    });

    it('register one client each, and say which', async () => {
      const [initialAccessToken, another] = [await save(), await save()];
      const [client, second] = [newClient(), newClient()];
      expect(await store().registerClientWithInitialAccessToken(client, initialAccessToken.hash)).toBe(true);
      expect(await store().findClient(client.id)).toEqual(client);
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toEqual({
        ...initialAccessToken,
        clientId: client.id,
      });
      expect(await store().registerClientWithInitialAccessToken(second, initialAccessToken.hash)).toBe(false);
      expect(await store().findClient(second.id)).toBeNull();
      expect(await store().registerClientWithInitialAccessToken(second, another.hash)).toBe(true);
      // What is known of it outlives the client.
      await store().removeClient(client.id, NOW);
      expect((await store().findInitialAccessToken(initialAccessToken.hash, NOW))?.clientId).toBe(client.id);
    });

    it('register nobody when they are unknown, or over', async () => {
      const initialAccessToken = await save();
      for (const [hash, createdAt] of [
        [newHash(), NOW],
        [initialAccessToken.hash, initialAccessToken.expiresAt],
      ] as const) {
        const client = newClient({ createdAt });
        expect(await store().registerClientWithInitialAccessToken(client, hash)).toBe(false);
        expect(await store().findClient(client.id)).toBeNull();
      }
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toEqual(initialAccessToken);
    });

    it(`T031: of ${RACERS} clients that come with one at once, one is registered`, async () => {
      const initialAccessToken = await save();
      const clients = times(RACERS, () => newClient());
      const outcomes = await race(
        clients.map(
          (client) => () => store().registerClientWithInitialAccessToken(client, initialAccessToken.hash),
        ),
      );
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      const stored = await store().listClients('', RACERS);
      expect(stored).toHaveLength(1);
      expect((await store().findInitialAccessToken(initialAccessToken.hash, NOW))?.clientId).toBe(
        stored[0]?.id,
      );
    });

    it('are taken back one by one, and register nobody then', async () => {
      const [initialAccessToken, kept, used] = [await save(), await save(), await save()];
      await store().registerClientWithInitialAccessToken(newClient(), used.hash);
      expect(await store().revokeInitialAccessToken(initialAccessToken.id)).toBe('revoked');
      expect(await store().revokeInitialAccessToken(initialAccessToken.id)).toBe('unknown');
      expect(await store().revokeInitialAccessToken(used.id)).toBe('used');
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toBeNull();
      expect(await store().registerClientWithInitialAccessToken(newClient(), initialAccessToken.hash)).toBe(
        false,
      );
      expect(await store().registerClientWithInitialAccessToken(newClient(), kept.hash)).toBe(true);
    });

    it('are either used or taken back when both come at once', async () => {
      for (const initialAccessToken of [await save(), await save(), await save()]) {
        const client = newClient();
        const [registered, outcome] = await Promise.all([
          store().registerClientWithInitialAccessToken(client, initialAccessToken.hash),
          store().revokeInitialAccessToken(initialAccessToken.id),
        ]);
        expect(outcome).toBe(registered ? 'used' : 'revoked');
        expect((await store().findClient(client.id)) !== null).toBe(registered);
      }
    });

    it('are forgotten when their time is over', async () => {
      const initialAccessToken = await save();
      expect(await store().sweep(initialAccessToken.expiresAt - 1, 100)).toBe(0);
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toEqual(initialAccessToken);
      expect(await store().sweep(initialAccessToken.expiresAt, 100)).toBe(1);
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toBeNull();
    });
  });
}
