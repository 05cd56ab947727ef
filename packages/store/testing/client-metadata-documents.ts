/** The contract of cached Client ID Metadata Documents. */
import { describe, expect, it } from 'vitest';
import { makeGrant, NOW, newClientDocument, newHash, type StoreOfTest, times } from './samples.ts';

export function describeClientDocuments(store: StoreOfTest): void {
  describe('copies of client metadata documents', () => {
    it('are kept whole, with and without validators', async () => {
      const copies = [newClientDocument(), newClientDocument({ etag: null, lastModified: null })];
      for (const copy of copies) {
        expect(await store().findClientMetadataDocument(copy.url)).toBeNull();
        await store().saveClientMetadataDocument(copy);
        expect(await store().findClientMetadataDocument(copy.url)).toEqual(copy);
      }
    });

    it('give way to newer ones, which do not forget the use and the life of the older', async () => {
      const copy = newClientDocument();
      await store().saveClientMetadataDocument(copy);
      await store().recordClientMetadataDocumentUse(copy.url, NOW + 5, NOW + 900_000);
      const newer = newClientDocument({ url: copy.url, fetchedAt: NOW + 10, freshUntil: NOW + 20 });
      await store().saveClientMetadataDocument(newer);
      expect(await store().findClientMetadataDocument(copy.url)).toEqual({
        ...newer,
        lastUsedAt: NOW + 5,
        expiresAt: NOW + 900_000,
      });
    });

    it('give way to another of the same second: it came later', async () => {
      const copy = newClientDocument();
      await store().saveClientMetadataDocument(copy);
      const other = { ...copy, digest: newHash() };
      await store().saveClientMetadataDocument(other);
      expect(await store().findClientMetadataDocument(copy.url)).toEqual(other);
    });

    it('do not give way to older ones that come late', async () => {
      const copy = newClientDocument({ fetchedAt: NOW + 10 });
      await store().saveClientMetadataDocument(copy);
      await store().saveClientMetadataDocument({ ...copy, digest: newHash(), fetchedAt: NOW });
      expect(await store().findClientMetadataDocument(copy.url)).toEqual(copy);
    });

    it('stay one of each when many processes save the same', async () => {
      const copy = newClientDocument();
      await Promise.all(
        times(20, (index) => store().saveClientMetadataDocument({ ...copy, fetchedAt: NOW + index })),
      );
      expect((await store().findClientMetadataDocument(copy.url))?.fetchedAt).toBe(NOW + 19);
    });

    it('T143: are swept when their time is over, but never while their client holds a live grant', async () => {
      const [idle, granted] = [newClientDocument(), newClientDocument()];
      for (const copy of [idle, granted]) await store().saveClientMetadataDocument(copy);
      const { grant } = await makeGrant(store(), { grant: { clientId: granted.url } });
      const end = NOW + 86_400;
      await store().sweep(end - 1, 100);
      expect(await store().findClientMetadataDocument(idle.url)).not.toBeNull();
      await store().sweep(end, 100);
      expect(await store().findClientMetadataDocument(idle.url)).toBeNull();
      expect((await store().findClientMetadataDocument(granted.url))?.expiresAt).toBeGreaterThan(end);
      await store().revokeGrant(grant.id, end);
      await store().sweep(end + 100 * 86_400, 100);
      expect(await store().findClientMetadataDocument(granted.url)).toBeNull();
    });
  });
}
