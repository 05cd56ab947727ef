/** The contract of the rate limits that processes share: a token bucket per key. */
import { describe, expect, it } from 'vitest';
import { NOW, newClient, newHash, RACERS, race, type StoreOfTest, times } from './samples.ts';

const LIMIT = { burst: 3, interval: 10 };

export function describeRateLimits(store: StoreOfTest): void {
  describe('shared rate limits', () => {
    it('allows a burst of requests, then one per interval', async () => {
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

    it('does not block a key for longer than its burst takes after a clock went back', async () => {
      const key = newHash();
      const take = (at: number) => store().chargeRateLimit(key, LIMIT, NOW + at);
      for (const _ of times(3, () => null)) await take(3600);
      expect(await take(3600)).toBe(10);
      expect([await take(0), await take(0), await take(0)]).toEqual([0, 0, 0]);
      expect(await take(0)).toBe(10);
      expect(await take(10)).toBe(0);
    });

    it('allows no more when the clock of another process is up to a minute behind', async () => {
      const key = newHash();
      const take = (at: number) => store().chargeRateLimit(key, LIMIT, NOW + at);
      expect([await take(0), await take(0), await take(0)]).toEqual([0, 0, 0]);
      expect([await take(-1), await take(0), await take(-60)]).toEqual([11, 10, 70]);
      expect(await take(10)).toBe(0);
      const client = newClient();
      const registered = (at: number) =>
        store().registerClient(client, { key, limit: LIMIT, now: NOW + at }, null);
      expect([await registered(9), await store().findClient(client.id)]).toEqual([11, null]);
      expect([await registered(20), await store().findClient(client.id)]).toEqual([0, client]);
    });

    it('registers clients after a clock went back', async () => {
      const key = newHash();
      for (const _ of times(3, () => null)) await store().chargeRateLimit(key, LIMIT, NOW + 3600);
      expect(await store().registerClient(newClient(), { key, limit: LIMIT, now: NOW }, null)).toBe(0);
    });

    it('limits each key separately', async () => {
      const [one, other] = [newHash(), newHash()];
      for (const _ of times(3, () => null)) await store().chargeRateLimit(one, LIMIT, NOW);
      expect(await store().chargeRateLimit(one, LIMIT, NOW)).toBe(10);
      expect(await store().chargeRateLimit(other, LIMIT, NOW)).toBe(0);
    });

    it(`allows no more than the burst when ${RACERS} calls race`, async () => {
      const key = newHash();
      const take = async () => ((await store().chargeRateLimit(key, LIMIT, NOW)) === 0 ? 'taken' : 'wait');
      expect(await race(times(RACERS, () => take))).toEqual({ taken: 3, wait: RACERS - 3 });
    });

    it('charges the rate limit and registers the client atomically', async () => {
      const charge = { key: newHash(), limit: LIMIT, now: NOW };
      const clients = times(4, () => newClient());
      const waits: number[] = [];
      for (const client of clients) waits.push(await store().registerClient(client, charge, null));
      expect(waits).toEqual([0, 0, 0, 10]);
      const found = await Promise.all(clients.map(({ id }) => store().findClient(id)));
      expect(found).toEqual([...clients.slice(0, 3), null]);
      expect(await store().chargeRateLimit(charge.key, LIMIT, NOW)).toBe(10);

      const uncounted = newClient();
      expect(await store().registerClient(uncounted, null, null)).toBe(0);
      expect(await store().findClient(uncounted.id)).toEqual(uncounted);
    });

    it(`registers no more clients than the burst when ${RACERS} registrations race`, async () => {
      const charge = { key: newHash(), limit: LIMIT, now: NOW };
      const register = async () =>
        (await store().registerClient(newClient(), charge, null)) === 0 ? 'registered' : 'wait';
      expect(await race(times(RACERS, () => register))).toEqual({ registered: 3, wait: RACERS - 3 });
      expect(await store().countUnusedClients()).toBe(3);
    });

    it('sweeps a rate limit once its key is back to a full burst', async () => {
      const key = newHash();
      await store().chargeRateLimit(key, LIMIT, NOW);
      expect(await store().sweep(NOW + 9, 100)).toBe(0);
      expect(await store().sweep(NOW + 10, 100)).toBe(1);
    });
  });
}
