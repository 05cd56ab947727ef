/** The contract of signing keys. */
import { describe, expect, it } from 'vitest';
import { newKey, RACERS, type StoreOfTest, times } from './samples.ts';

export function describeKeys(store: StoreOfTest): void {
  describe('signing keys', () => {
    it('has none at first, and keeps the first byte for byte', async () => {
      expect(await store().listKeys()).toEqual([]);
      const key = newKey();
      expect(await store().saveFirstKey(key)).toEqual([key]);
      expect(await store().listKeys()).toEqual([key]);
    });

    it('inserts no second first key', async () => {
      const [first, second] = [newKey(), newKey()];
      await store().saveFirstKey(first);
      expect(await store().saveFirstKey(second)).toEqual([first]);
      expect(await store().listKeys()).toEqual([first]);
    });

    it(`gives ${RACERS} that come at once the same key`, async () => {
      const answers = await Promise.all(times(RACERS, () => store().saveFirstKey(newKey())));
      const kept = await store().listKeys();
      expect(kept).toHaveLength(1);
      for (const answer of answers) expect(answer).toEqual(kept);
    });
  });
}
