/** The contract of client assertions: each is used once. */
import { describe, expect, it } from 'vitest';
import { NOW, newHash, RACERS, race, type StoreOfTest, times } from './samples.ts';

export function describeAssertions(store: StoreOfTest): void {
  describe('assertions', () => {
    it('are spent once', async () => {
      const [one, another] = [newHash(), newHash()];
      expect(await store().consumeClientAssertion(one, NOW + 60)).toBe(true);
      expect(await store().consumeClientAssertion(one, NOW + 60)).toBe(false);
      expect(await store().consumeClientAssertion(another, NOW + 60)).toBe(true);
    });

    it(`T031: of ${RACERS} that come at once one is the first`, async () => {
      const hash = newHash();
      const spenders = times(RACERS, () => () => store().consumeClientAssertion(hash, NOW + 60));
      expect(await race(spenders)).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('are remembered until nobody could accept them any more', async () => {
      const hash = newHash();
      await store().consumeClientAssertion(hash, NOW + 60);
      expect(await store().sweep(NOW + 59, 100)).toBe(0);
      expect(await store().consumeClientAssertion(hash, NOW + 60)).toBe(false);
      expect(await store().sweep(NOW + 60, 100)).toBe(1);
    });
  });
}
