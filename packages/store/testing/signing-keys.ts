/** The contract of signing keys. */
import { describe, expect, it } from 'vitest';
import { NOW, newKey, RACERS, type StoreOfTest, times } from './samples.ts';

export function describeKeys(store: StoreOfTest): void {
  describe('signing keys', () => {
    it('has none at first, and keeps the first byte for byte', async () => {
      expect(await store().listSigningKeys()).toEqual([]);
      const key = newKey();
      expect(await store().addSigningKey(key, null)).toEqual([key]);
      expect(await store().listSigningKeys()).toEqual([key]);
    });

    it('inserts no second first key', async () => {
      const [first, second] = [newKey(), newKey()];
      await store().addSigningKey(first, null);
      expect(await store().addSigningKey(second, null)).toEqual([first]);
      expect(await store().listSigningKeys()).toEqual([first]);
    });

    it(`gives ${RACERS} that come at once the same key`, async () => {
      const answers = await Promise.all(times(RACERS, () => store().addSigningKey(newKey(), null)));
      const kept = await store().listSigningKeys();
      expect(kept).toHaveLength(1);
      for (const answer of answers) expect(answer).toEqual(kept);
    });

    it('puts a key behind the newest, and lists the newest first', async () => {
      const first = newKey();
      const second = newKey({ createdAt: NOW + 10, signsFrom: NOW + 3610 });
      await store().addSigningKey(first, null);
      expect(await store().addSigningKey(second, first.id)).toEqual([second, first]);
    });

    it(`lets one of ${RACERS} rotations that come at once happen`, async () => {
      const first = newKey();
      await store().addSigningKey(first, null);
      const later = times(RACERS, () => newKey({ createdAt: NOW + 10 }));
      const answers = await Promise.all(later.map((key) => store().addSigningKey(key, first.id)));
      const kept = await store().listSigningKeys();
      expect(kept).toHaveLength(2);
      for (const answer of answers) expect(answer).toEqual(kept);
    });

    it('removes keys, and none but these', async () => {
      const [first, second] = [newKey(), newKey({ createdAt: NOW + 10 })];
      await store().addSigningKey(first, null);
      await store().addSigningKey(second, first.id);
      await store().removeSigningKeys(['key_unknown', first.id]);
      expect(await store().listSigningKeys()).toEqual([second]);
    });

    it('seals all keys again, or none when there are others', async () => {
      const [first, second] = [newKey(), newKey({ createdAt: NOW + 10 })];
      await store().addSigningKey(first, null);
      await store().addSigningKey(second, first.id);
      const envelope = Uint8Array.of(1, 2, 3);
      expect(await store().reencryptSigningKeys(new Map([[first.id, envelope]]))).toBe(false);
      expect(
        await store().reencryptSigningKeys(
          new Map([
            [first.id, envelope],
            ['key_gone', envelope],
          ]),
        ),
      ).toBe(false);
      expect(await store().listSigningKeys()).toEqual([second, first]);
      const both = new Map([
        [first.id, envelope],
        [second.id, Uint8Array.of(4)],
      ]);
      expect(await store().reencryptSigningKeys(both)).toBe(true);
      expect((await store().listSigningKeys()).map(({ encryptedPrivateKey }) => encryptedPrivateKey)).toEqual(
        [Uint8Array.of(4), envelope],
      );
    });
  });
}
