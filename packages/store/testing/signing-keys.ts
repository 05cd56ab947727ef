/** The contract of signing keys. */
import { describe, expect, it } from 'vitest';
import { NOW, newKey, RACERS, type StoreOfTest, times } from './samples.ts';

export function describeSigningKeys(store: StoreOfTest): void {
  describe('signing keys', () => {
    it('has no signing key at first, and stores the first one byte for byte', async () => {
      expect(await store().listSigningKeys()).toEqual([]);
      const key = newKey();
      expect(await store().addSigningKey(key, null)).toEqual([key]);
      expect(await store().listSigningKeys()).toEqual([key]);
    });

    it('refuses a second first signing key', async () => {
      const [first, second] = [newKey(), newKey()];
      await store().addSigningKey(first, null);
      expect(await store().addSigningKey(second, null)).toEqual([first]);
      expect(await store().listSigningKeys()).toEqual([first]);
    });

    it(`returns the same first signing key to ${RACERS} concurrent calls`, async () => {
      const responses = await Promise.all(times(RACERS, () => store().addSigningKey(newKey(), null)));
      const retained = await store().listSigningKeys();
      expect(retained).toHaveLength(1);
      for (const response of responses) expect(response).toEqual(retained);
    });

    it('adds a signing key after the newest one, and lists the newest first', async () => {
      const first = newKey();
      const second = newKey({ createdAt: NOW + 10, signsFrom: NOW + 3610 });
      await store().addSigningKey(first, null);
      expect(await store().addSigningKey(second, first.id)).toEqual([second, first]);
    });

    it(`performs one of ${RACERS} concurrent key rotations`, async () => {
      const first = newKey();
      await store().addSigningKey(first, null);
      const later = times(RACERS, () => newKey({ createdAt: NOW + 10 }));
      const responses = await Promise.all(later.map((key) => store().addSigningKey(key, first.id)));
      const retained = await store().listSigningKeys();
      expect(retained).toHaveLength(2);
      for (const response of responses) expect(response).toEqual(retained);
    });

    it('removes the named signing keys and no others', async () => {
      const [first, second] = [newKey(), newKey({ createdAt: NOW + 10 })];
      await store().addSigningKey(first, null);
      await store().addSigningKey(second, first.id);
      await store().removeSigningKeys(['key_unknown', first.id]);
      expect(await store().listSigningKeys()).toEqual([second]);
    });

    it('re-encrypts all signing keys, or none if the set has changed', async () => {
      const [first, second] = [newKey(), newKey({ createdAt: NOW + 10 })];
      await store().addSigningKey(first, null);
      await store().addSigningKey(second, first.id);
      const reencrypted = Uint8Array.of(1, 2, 3);
      expect(await store().reencryptSigningKeys(new Map([[first.id, reencrypted]]))).toBe(false);
      expect(
        await store().reencryptSigningKeys(
          new Map([
            [first.id, reencrypted],
            ['key_gone', reencrypted],
          ]),
        ),
      ).toBe(false);
      expect(await store().listSigningKeys()).toEqual([second, first]);
      const both = new Map([
        [first.id, reencrypted],
        [second.id, Uint8Array.of(4)],
      ]);
      expect(await store().reencryptSigningKeys(both)).toBe(true);
      expect((await store().listSigningKeys()).map(({ encryptedPrivateKey }) => encryptedPrivateKey)).toEqual(
        [Uint8Array.of(4), reencrypted],
      );
    });
  });
}
