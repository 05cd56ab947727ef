/** The contract of client registration: initial access tokens, each for one client, and cached Client ID Metadata Documents. */
import { describe, expect, it } from 'vitest';
import {
  createGrant,
  NOW,
  newClient,
  newClientDocument,
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

  describe('initial access tokens', () => {
    it('finds an initial access token by its hash until it expires', async () => {
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

    it('lists initial access tokens that have not expired, in the order of creation, page by page', async () => {
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

    it('registers one client per initial access token and records which', async () => {
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
      // The record of its use outlives the client.
      await store().removeClient(client.id, NOW);
      expect((await store().findInitialAccessToken(initialAccessToken.hash, NOW))?.clientId).toBe(client.id);
    });

    it('registers no client with an unknown or expired initial access token', async () => {
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

    it(`T031: registers one of ${RACERS} clients that use an initial access token concurrently`, async () => {
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

    it('revokes one initial access token, which then registers no client', async () => {
      const [initialAccessToken, retained, used] = [await save(), await save(), await save()];
      await store().registerClientWithInitialAccessToken(newClient(), used.hash);
      expect(await store().revokeInitialAccessToken(initialAccessToken.id)).toBe('revoked');
      expect(await store().revokeInitialAccessToken(initialAccessToken.id)).toBe('unknown');
      expect(await store().revokeInitialAccessToken(used.id)).toBe('used');
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toBeNull();
      expect(await store().registerClientWithInitialAccessToken(newClient(), initialAccessToken.hash)).toBe(
        false,
      );
      expect(await store().registerClientWithInitialAccessToken(newClient(), retained.hash)).toBe(true);
    });

    it('either uses or revokes an initial access token when both race', async () => {
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

    it('sweeps expired initial access tokens', async () => {
      const initialAccessToken = await save();
      expect(await store().sweep(initialAccessToken.expiresAt - 1, 100)).toBe(0);
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toEqual(initialAccessToken);
      expect(await store().sweep(initialAccessToken.expiresAt, 100)).toBe(1);
      expect(await store().findInitialAccessToken(initialAccessToken.hash, NOW)).toBeNull();
    });
  });
}

export function describeClientMetadataDocuments(store: StoreOfTest): void {
  describe('client metadata documents', () => {
    it('caches a client metadata document completely, with and without validators', async () => {
      const copies = [newClientDocument(), newClientDocument({ etag: null, lastModified: null })];
      for (const copy of copies) {
        expect(await store().findClientMetadataDocument(copy.url)).toBeNull();
        await store().saveClientMetadataDocument(copy);
        expect(await store().findClientMetadataDocument(copy.url)).toEqual(copy);
      }
    });

    it('replaces a client metadata document with a newer copy, and keeps its last use and expiry', async () => {
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

    it('replaces a client metadata document with a later copy of the same second', async () => {
      const copy = newClientDocument();
      await store().saveClientMetadataDocument(copy);
      const other = { ...copy, digest: newHash() };
      await store().saveClientMetadataDocument(other);
      expect(await store().findClientMetadataDocument(copy.url)).toEqual(other);
    });

    it('ignores an older copy of a client metadata document that arrives late', async () => {
      const copy = newClientDocument({ fetchedAt: NOW + 10 });
      await store().saveClientMetadataDocument(copy);
      await store().saveClientMetadataDocument({ ...copy, digest: newHash(), fetchedAt: NOW });
      expect(await store().findClientMetadataDocument(copy.url)).toEqual(copy);
    });

    it('replaces a copy of a client metadata document that a clock more than a minute ahead fetched', async () => {
      const copy = newClientDocument({ fetchedAt: NOW + 1000 });
      await store().saveClientMetadataDocument(copy);
      const saved = async (at: number) => {
        await store().saveClientMetadataDocument({ ...copy, fetchedAt: NOW + at });
        return ((await store().findClientMetadataDocument(copy.url))?.fetchedAt ?? 0) - NOW;
      };
      expect([await saved(940), await saved(939)]).toEqual([1000, 939]);
    });

    it('keeps one copy of a client metadata document when many processes save it', async () => {
      const copy = newClientDocument();
      await Promise.all(
        times(20, (index) => store().saveClientMetadataDocument({ ...copy, fetchedAt: NOW + index })),
      );
      expect((await store().findClientMetadataDocument(copy.url))?.fetchedAt).toBe(NOW + 19);
    });

    it('lists client metadata documents page by page, ordered by URL', async () => {
      const copies = times(3, () => newClientDocument()).toSorted((one, other) =>
        one.url < other.url ? -1 : 1,
      );
      for (const copy of copies.toReversed()) await store().saveClientMetadataDocument(copy);
      const [first, second, third] = copies;
      expect(await store().listClientMetadataDocuments('', 2)).toEqual([first, second]);
      expect(await store().listClientMetadataDocuments(second?.url ?? '', 2)).toEqual([third]);
    });

    it('verifies the client of a metadata document until its digest changes, and does not sweep it', async () => {
      const copy = newClientDocument();
      await store().saveClientMetadataDocument(copy);
      expect(await store().saveClientMetadataDocumentVerification(copy.url, newHash(), NOW)).toBe(false);
      expect(await store().findClientMetadataDocument(copy.url)).toEqual(copy);
      expect(await store().saveClientMetadataDocumentVerification(copy.url, copy.digest, NOW)).toBe(true);
      const renewed = { ...copy, fetchedAt: NOW + 10 };
      await store().saveClientMetadataDocument(renewed);
      expect(await store().findClientMetadataDocument(copy.url)).toEqual({ ...renewed, verifiedAt: NOW });
      await store().sweep(NOW + 86_400, 100);
      const retained = await store().findClientMetadataDocument(copy.url);
      expect(retained).toMatchObject({ verifiedAt: NOW, digest: copy.digest });
      await store().saveClientMetadataDocument({ ...renewed, digest: newHash(), fetchedAt: NOW + 20 });
      expect((await store().findClientMetadataDocument(copy.url))?.verifiedAt).toBeNull();
      await store().sweep((retained?.expiresAt ?? 0) + 1, 100);
      expect(await store().findClientMetadataDocument(copy.url)).toBeNull();
    });

    it('T143: sweeps an expired client metadata document, but never while its client has a live grant', async () => {
      const [idle, granted] = [newClientDocument(), newClientDocument()];
      for (const copy of [idle, granted]) await store().saveClientMetadataDocument(copy);
      const { grant } = await createGrant(store(), { grant: { clientId: granted.url } });
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
