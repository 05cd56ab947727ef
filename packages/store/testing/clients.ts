/** The contract of clients and of client assertions, each of which is accepted once. */
import type { AuthorizationCodeRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { newDeviceAuthorization } from './device-authorizations.ts';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newClient,
  newCode,
  newHash,
  newRefreshToken,
  newTransaction,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeClients(store: StoreOfTest): void {
  describe('clients', () => {
    it('stores public and confidential clients with all their metadata', async () => {
      const open = newClient();
      const confidential = newClient({
        origin: 'administered',
        metadata: {
          ...open.metadata,
          token_endpoint_auth_method: 'client_secret_basic',
          scope: 'notes:read',
        },
        secretHash: newHash(),
        managementHash: null,
        expiresAt: null,
      });
      expect(await store().saveClient(open)).toBe(true);
      expect(await store().saveClient(confidential)).toBe(true);
      expect(await store().findClient(open.id)).toEqual(open);
      expect(await store().findClient(confidential.id)).toEqual(confidential);
    });

    it('accepts any text as an unknown client identifier', async () => {
      const client = newClient();
      await store().saveClient(client);
      const unknown = [
        '',
        ' ',
        `${client.id} `,
        `${client.id}\0`,
        '\0',
        '\ud800',
        "'; DROP TABLE clients; --",
        '%',
        '🗝',
      ];
      for (const id of [...unknown, 'x'.repeat(100_000)]) expect(await store().findClient(id)).toBeNull();
      expect(await store().findClient(client.id)).toEqual(client);
    });

    it('never overwrites a client with another of the same identifier', async () => {
      const client = newClient();
      await store().saveClient(client);
      expect(await store().saveClient(newClient({ id: client.id, secretHash: newHash() }))).toBe(false);
      expect(await store().findClient(client.id)).toEqual(client);
    });

    it('lists clients page by page', async () => {
      const clients = times(5, () => newClient());
      for (const client of clients) await store().saveClient(client);
      const sorted = clients.toSorted((left, right) => (left.id < right.id ? -1 : 1));
      expect(await store().listClients('', 3)).toEqual(sorted.slice(0, 3));
      expect(await store().listClients(sorted[2]?.id ?? '', 3)).toEqual(sorted.slice(3));
    });

    it('updates the registration of one client and changes nothing else', async () => {
      const [client, other] = [newClient(), newClient()];
      for (const one of [client, other]) await store().saveClient(one);
      const change = { metadata: { ...client.metadata, client_name: 'New' }, secretHash: newHash() };
      expect(await store().updateClient(client.id, change)).toBe(true);
      expect(await store().findClient(client.id)).toEqual({ ...client, ...change });
      expect(await store().findClient(other.id)).toEqual(other);
      expect(await store().updateClient('client_unknown', change)).toBe(false);
    });

    it('rotates the secret of a client, keeps the one before, and forgets it with the next change of the secret', async () => {
      const [first, second, third] = [newHash(), newHash(), newHash()];
      const client = newClient({ secretHash: first });
      const without = newClient();
      for (const one of [client, without]) await store().saveClient(one);
      expect(await store().rotateClientSecret(client.id, second, NOW + 60)).toBe(true);
      const rotated = { ...client, secretHash: second, previousSecret: { hash: first, expiresAt: NOW + 60 } };
      expect(await store().findClient(client.id)).toEqual(rotated);
      expect(await store().updateClient(client.id, { metadata: client.metadata })).toBe(true);
      expect(await store().findClient(client.id)).toEqual(rotated);
      expect(await store().rotateClientSecret(client.id, third, NOW)).toBe(true);
      expect((await store().findClient(client.id))?.previousSecret).toEqual({ hash: second, expiresAt: NOW });
      await store().updateClient(client.id, { metadata: client.metadata, secretHash: first });
      expect(await store().findClient(client.id)).toEqual(client);
      expect(await store().rotateClientSecret(without.id, second, NOW)).toBe(false);
      expect(await store().findClient(without.id)).toEqual(without);
      expect(await store().rotateClientSecret('client_unknown', second, NOW)).toBe(false);
    });

    it('counts unused clients that may expire', async () => {
      const [unused, used, retained] = [newClient(), newClient(), newClient({ expiresAt: null })];
      expect(await store().countUnusedClients()).toBe(0);
      for (const client of [unused, used, retained]) await store().saveClient(client);
      expect(await store().countUnusedClients()).toBe(2);
      await store().recordClientUse(used.id, NOW + 5, NOW + 1000);
      expect(await store().countUnusedClients()).toBe(1);
      expect(await store().findClient(used.id)).toEqual({
        ...used,
        lastUsedAt: NOW + 5,
        expiresAt: NOW + 1000,
      });
    });

    it('T043: counts unused clients by the network that registered them', async () => {
      const charge = (key: string) => ({ key, limit: { burst: 9, interval: 1 }, now: NOW });
      const [used, removed, swept] = [newClient(), newClient(), newClient({ expiresAt: NOW + 9 })];
      expect(await store().countUnusedClientsByNetwork()).toEqual(new Map());
      for (const client of [used, removed, swept, newClient()])
        expect(await store().registerClient(client, charge('one'), 'network-1')).toBe(0);
      expect(await store().registerClient(newClient(), null, 'network-2')).toBe(0);
      expect(await store().registerClient(newClient(), charge('one'), null)).toBe(0);
      await store().saveClient(newClient());
      const counted = async () => Object.fromEntries(await store().countUnusedClientsByNetwork());
      expect(await counted()).toEqual({ 'network-1': 4, 'network-2': 1 });
      expect(await store().countUnusedClients()).toBe(7);
      // The network is not part of the client record.
      expect(await store().findClient(used.id)).toEqual(used);
      await store().recordClientUse(used.id, NOW, NOW + 1000);
      expect(await counted()).toEqual({ 'network-1': 3, 'network-2': 1 });
      await store().removeClient(removed.id, NOW);
      await store().sweep(NOW + 9 + 3600, 100);
      expect(await counted()).toEqual({ 'network-1': 1, 'network-2': 1 });
    });

    it('T143: removes a client with everything issued to it, so a client of the same identifier inherits nothing', async () => {
      const [client, other] = [newClient(), newClient()];
      for (const one of [client, other]) await store().saveClient(one);
      const mine = { clientId: client.id };
      const transaction = newTransaction(mine);
      await store().openTransaction(transaction);
      const code = await issueSampleCode(store(), newCode(mine));
      const { grant, token } = await createGrant(store(), { grant: mine });
      const theirs = await createGrant(store(), { grant: { clientId: other.id } });

      expect(await store().removeClient(client.id, NOW)).toBe(true);
      expect(await store().findClient(client.id)).toBeNull();
      expect(await store().removeClient(client.id, NOW)).toBe(false);
      await store().saveClient(client);
      expect(await store().findTransaction(transaction.id, NOW)).toBeNull();
      expect(await store().completeTransaction(transaction.id, newCode(mine))).toBe(false);
      expect(await store().findCode(code.hash)).toBeNull();
      expect(await store().redeemCode(code.hash, grantOf(code), null, NOW)).toBe('already_used');
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(false);
      const successor = newRefreshToken();
      expect(await store().rotateRefreshToken(grant.id, token.hash, successor, null)).toBe('conflict');
      expect(await store().isAccessTokenLive('jti', theirs.grant.id)).toBe(true);
      expect(await store().findClient(other.id)).toEqual(other);
    });

    it('T143: disables a client and revokes everything issued to it, and enabling it restores only the client', async () => {
      const [client, other] = [newClient(), newClient()];
      for (const one of [client, other]) await store().saveClient(one);
      const mine = { clientId: client.id };
      const transaction = newTransaction(mine);
      await store().openTransaction(transaction);
      const code = await issueSampleCode(store(), newCode(mine));
      const { grant } = await createGrant(store(), { grant: mine });
      const theirs = await createGrant(store(), { grant: { clientId: other.id } });

      expect(await store().disableClient(client.id, NOW)).toBe(true);
      expect(await store().findClient(client.id)).toEqual({ ...client, disabledAt: NOW });
      // A later time each time: an operator who takes one back finds the other.
      for (const [at, disabledAt] of [
        [NOW, NOW + 1],
        [NOW + 9, NOW + 9],
      ] as const) {
        expect(await store().disableClient(client.id, at)).toBe(true);
        expect(await store().findClient(client.id)).toEqual({ ...client, disabledAt });
      }
      expect(await store().findTransaction(transaction.id, NOW)).toBeNull();
      expect(await store().findCode(code.hash)).toBeNull();
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(false);
      expect(await store().isAccessTokenLive('jti', theirs.grant.id)).toBe(true);

      expect(await store().enableClient(client.id, NOW + 20)).toBe(true);
      expect(await store().findClient(client.id)).toEqual({ ...client, enabledAt: NOW + 20 });
      expect(await store().enableClient(client.id, NOW + 30)).toBe(true);
      expect(await store().findClient(client.id)).toEqual({ ...client, enabledAt: NOW + 20 });
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(false);
      expect(await store().findClient(other.id)).toEqual(other);
      expect(await store().disableClient('client_unknown', NOW)).toBe(false);
      expect(await store().enableClient('client_unknown', NOW)).toBe(false);
    });

    it.each(['disableClient', 'removeClient'] as const)(
      'T143: %s ends the device authorizations of the client only',
      async (end) => {
        const client = newClient();
        await store().saveClient(client);
        const [mine, other] = [newDeviceAuthorization({ clientId: client.id }), newDeviceAuthorization()];
        for (const device of [mine, other]) await store().saveDeviceAuthorization(device);
        expect(await store()[end](client.id, NOW)).toBe(true);
        expect(await store().findDeviceAuthorizationByUserCode(mine.userCodeHash, NOW)).toBeNull();
        expect(await store().findDeviceAuthorization(other.hash)).toMatchObject(other);
      },
    );

    it('T143: enables a client in the second in which it was disabled as of the next one', async () => {
      const client = newClient();
      await store().saveClient(client);
      await store().disableClient(client.id, NOW);
      expect(await store().enableClient(client.id, NOW)).toBe(true);
      expect(await store().findClient(client.id)).toEqual({ ...client, enabledAt: NOW + 1 });
    });

    it('T143: enables a client that a clock more than a minute ahead disabled as of now', async () => {
      const client = newClient();
      await store().saveClient(client);
      const enabledFrom = async (at: number) => {
        await store().disableClient(client.id, NOW + 1000);
        await store().enableClient(client.id, NOW + at);
        return ((await store().findClient(client.id))?.enabledAt ?? 0) - NOW;
      };
      expect([await enabledFrom(940), await enabledFrom(939)]).toEqual([1001, 939]);
    });

    it('verifies a client with exactly the metadata that was looked at, until it changes', async () => {
      const client = newClient();
      await store().saveClient(client);
      const changed = { ...client.metadata, client_name: 'Another' };
      expect(await store().saveClientVerification(client.id, changed, NOW)).toBe(false);
      expect(await store().saveClientVerification('client_unknown', client.metadata, NOW)).toBe(false);
      expect(await store().findClient(client.id)).toEqual(client);
      expect(await store().saveClientVerification(client.id, client.metadata, NOW)).toBe(true);
      expect(await store().findClient(client.id)).toEqual({ ...client, verifiedAt: NOW });
      expect(await store().saveClientVerification(client.id, client.metadata, null)).toBe(true);
      expect(await store().findClient(client.id)).toEqual(client);
      await store().saveClientVerification(client.id, client.metadata, NOW);
      await store().updateClient(client.id, { metadata: changed });
      expect(await store().findClient(client.id)).toEqual({ ...client, metadata: changed });
    });

    it(`leaves no live grant when ${RACERS} codes are redeemed while their client is removed`, async () => {
      const client = newClient();
      await store().saveClient(client);
      const codes = await Promise.all(
        times(RACERS, () => issueSampleCode(store(), newCode({ clientId: client.id }))),
      );
      const redeem = (code: AuthorizationCodeRecord) =>
        store().redeemCode(code.hash, grantOf(code), null, NOW);
      const outcomes = await race<string | boolean>([
        ...codes.map((code) => () => redeem(code)),
        () => store().removeClient(client.id, NOW),
        ...codes.map((code) => () => redeem(code)),
      ]);
      expect(outcomes['true']).toBe(1);
      const live = await Promise.all(codes.map(({ grantId }) => store().isAccessTokenLive('jti', grantId)));
      expect(live.filter(Boolean)).toEqual([]);
    });

    it('T143: sweeps expired clients, used or not, but never one that has a live grant or does not expire', async () => {
      const end = NOW + 86_400;
      const [unused, used, granted, retained] = [
        newClient({ expiresAt: end }),
        newClient({ expiresAt: end, lastUsedAt: NOW }),
        newClient({ expiresAt: end, lastUsedAt: NOW }),
        newClient({ expiresAt: null }),
      ];
      for (const client of [unused, used, granted, retained]) await store().saveClient(client);
      const { grant } = await createGrant(store(), { grant: { clientId: granted.id } });
      await store().sweep(end - 1, 100);
      expect(await store().findClient(unused.id)).toEqual(unused);
      expect(await store().findClient(used.id)).toEqual(used);

      await store().sweep(end, 1);
      await store().sweep(end, 1);
      expect(await store().findClient(used.id)).toBeNull();
      // A login that the client began before it expired may still complete.
      await store().sweep(end + 3599, 1);
      expect(await store().findClient(unused.id)).toEqual(unused);
      await store().sweep(end + 3600, 1);
      expect(await store().findClient(unused.id)).toBeNull();
      expect(await store().findClient(granted.id)).not.toBeNull();
      expect(await store().findClient(retained.id)).toEqual(retained);

      await store().revokeGrant(grant.id, end);
      await store().sweep(end + 100 * 86_400, 100);
      expect(await store().findClient(granted.id)).toBeNull();
      expect(await store().findClient(retained.id)).toEqual(retained);
    });
  });
}

export function describeClientAssertions(store: StoreOfTest): void {
  describe('client assertions', () => {
    it('accepts a client assertion once', async () => {
      const [one, another] = [newHash(), newHash()];
      expect(await store().consumeClientAssertion(one, NOW + 60)).toBe(true);
      expect(await store().consumeClientAssertion(one, NOW + 60)).toBe(false);
      expect(await store().consumeClientAssertion(another, NOW + 60)).toBe(true);
    });

    it(`T031: accepts one of ${RACERS} concurrent uses of a client assertion`, async () => {
      const hash = newHash();
      const spenders = times(RACERS, () => () => store().consumeClientAssertion(hash, NOW + 60));
      expect(await race(spenders)).toEqual({ true: 1, false: RACERS - 1 });
    });

    it('remembers a used client assertion for ten minutes after it expires, for processes whose clocks are slow', async () => {
      const hash = newHash();
      await store().consumeClientAssertion(hash, NOW + 60);
      expect(await store().sweep(NOW + 659, 100)).toBe(0);
      expect(await store().consumeClientAssertion(hash, NOW + 60)).toBe(false);
      expect(await store().sweep(NOW + 660, 100)).toBe(1);
    });
  });
}
