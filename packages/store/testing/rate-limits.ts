/** The contract of rate shared rate limits. */
import { describe, expect, it } from 'vitest';
import { NOW, newClient, newHash, RACERS, race, type StoreOfTest, times } from './samples.ts';

const LIMIT = { burst: 3, interval: 10 };

export function describeLimits(store: StoreOfTest): void {
  describe('turns', () => {
    it('are given up to the burst, then one after each interval', async () => {
      const key = newHash();
      const take = (at: number) => store().chargeRateLimit(key, LIMIT, NOW + at);
      expect([await take(0), await take(0), await take(0)]).toEqual([0, 0, 0]);
      expect(await take(0)).toBe(10);
      expect(await take(9)).toBe(1);
      expect(await take(10)).toBe(0);
      expect(await take(10)).toBe(10);
      expect([await take(100), await take(100), await take(100)]).toEqual([0, 0, 0]);
      expect(await take(100)).toBe(10);
    });

    it('of one key are not those of another', async () => {
      const [one, other] = [newHash(), newHash()];
      for (const _ of times(3, () => null)) await store().chargeRateLimit(one, LIMIT, NOW);
      expect(await store().chargeRateLimit(one, LIMIT, NOW)).toBe(10);
      expect(await store().chargeRateLimit(other, LIMIT, NOW)).toBe(0);
    });

    it(`are no more when ${RACERS} come at once`, async () => {
      const key = newHash();
      const take = async () => ((await store().chargeRateLimit(key, LIMIT, NOW)) === 0 ? 'taken' : 'wait');
      expect(await race(times(RACERS, () => take))).toEqual({ taken: 3, wait: RACERS - 3 });
    });

    it('of registrations are taken with the client, both or neither', async () => {
      const turn = { key: newHash(), limit: LIMIT, now: NOW };
      const clients = times(4, () => newClient());
      const waits: number[] = [];
      for (const client of clients) waits.push(await store().registerClient(client, turn, null));
      expect(waits).toEqual([0, 0, 0, 10]);
      const found = await Promise.all(clients.map(({ id }) => store().findClient(id)));
      expect(found).toEqual([...clients.slice(0, 3), null]);
      expect(await store().chargeRateLimit(turn.key, LIMIT, NOW)).toBe(10);

      const uncounted = newClient();
      expect(await store().registerClient(uncounted, null, null)).toBe(0);
      expect(await store().findClient(uncounted.id)).toEqual(uncounted);
    });

    it(`of registrations are no more when ${RACERS} come at once`, async () => {
      const turn = { key: newHash(), limit: LIMIT, now: NOW };
      const register = async () =>
        (await store().registerClient(newClient(), turn, null)) === 0 ? 'registered' : 'wait';
      expect(await race(times(RACERS, () => register))).toEqual({ registered: 3, wait: RACERS - 3 });
      expect(await store().countUnusedClients()).toBe(3);
    });

    it('are forgotten when they are paid back', async () => {
      const key = newHash();
      await store().chargeRateLimit(key, LIMIT, NOW);
      expect(await store().sweep(NOW + 9, 100)).toBe(0);
      expect(await store().sweep(NOW + 10, 100)).toBe(1);
    });
  });
}
