/** The contract of closing a store: it answers while it is open, and rejects afterwards. */
import { describe, expect, it } from 'vitest';
import { makeGrant, NOW, newAccount, newClient, type StoreOfTest, times } from './samples.ts';

export function describeLife(store: StoreOfTest): void {
  describe('a life', () => {
    it('answers while it is open', async () => {
      await expect(store().ping()).resolves.toBeUndefined();
    });

    it('sees an operation from the moment that it is told', async () => {
      const clients = times(100, () => newClient());
      const seen = await Promise.all(
        clients.map(async (client) => {
          await store().saveClient(client);
          return store().findClient(client.id);
        }),
      );
      expect(seen).toEqual(clients);
    });

    it('ends what is under way before it closes', async () => {
      const clients = times(20, () => newClient());
      const saved = Promise.all(clients.map((client) => store().saveClient(client)));
      await store().close();
      await expect(saved).resolves.toHaveLength(20);
    });

    it('refuses as unavailable once it is closed; closing twice does no harm', async () => {
      const { grant } = await makeGrant(store());
      await store().close();
      await store().close();
      const refusals = [
        () => store().ping(),
        () => store().findGrant(grant.id),
        () => store().saveClient(newClient()),
        () => store().sweep(NOW, 10),
        () => store().createFirstAccount(newAccount(), null),
      ];
      for (const refused of refusals) {
        await expect(refused()).rejects.toMatchObject({ code: 'temporarily_unavailable', status: 503 });
      }
    });
  });
}
