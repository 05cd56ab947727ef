/** The contract of stored clients. */
import type { AuthorizationCodeRecord } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import {
  grantOf,
  issueCode,
  makeGrant,
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
    it('keeps public and confidential clients with every word of their metadata', async () => {
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

    it('takes any text for an identifier that it does not know', async () => {
      const client = newClient();
      await store().saveClient(client);
      const strangers = [
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
      for (const id of [...strangers, 'x'.repeat(100_000)]) expect(await store().findClient(id)).toBeNull();
      expect(await store().findClient(client.id)).toEqual(client);
    });

    it('never lets one client take the place of another', async () => {
      const client = newClient();
      await store().saveClient(client);
      expect(await store().saveClient(newClient({ id: client.id, secretHash: newHash() }))).toBe(false);
      expect(await store().findClient(client.id)).toEqual(client);
    });

    it('lists them page by page', async () => {
      const clients = times(5, () => newClient());
      for (const client of clients) await store().saveClient(client);
      const sorted = clients.toSorted((left, right) => (left.id < right.id ? -1 : 1));
      expect(await store().listClients('', 3)).toEqual(sorted.slice(0, 3));
      expect(await store().listClients(sorted[2]?.id ?? '', 3)).toEqual(sorted.slice(3));
    });

    it('changes what a client registered, and nothing else', async () => {
      const [client, other] = [newClient(), newClient()];
      for (const one of [client, other]) await store().saveClient(one);
      const change = { metadata: { ...client.metadata, client_name: 'New' }, secretHash: newHash() };
      expect(await store().updateClient(client.id, change)).toBe(true);
      expect(await store().findClient(client.id)).toEqual({ ...client, ...change });
      expect(await store().findClient(other.id)).toEqual(other);
      expect(await store().updateClient('client_nobody', change)).toBe(false);
    });

    it('counts those that were never used and may expire', async () => {
      const [unused, used, kept] = [newClient(), newClient(), newClient({ expiresAt: null })];
      expect(await store().countUnusedClients()).toBe(0);
      for (const client of [unused, used, kept]) await store().saveClient(client);
      expect(await store().countUnusedClients()).toBe(2);
      await store().recordClientUse(used.id, NOW + 5, NOW + 1000);
      expect(await store().countUnusedClients()).toBe(1);
      expect(await store().findClient(used.id)).toEqual({
        ...used,
        lastUsedAt: NOW + 5,
        expiresAt: NOW + 1000,
      });
    });

    it('T043: counts those that were never used by the network from which they registered', async () => {
      const turn = (key: string) => ({ key, limit: { burst: 9, interval: 1 }, now: NOW });
      const [used, removed, swept] = [newClient(), newClient(), newClient({ expiresAt: NOW + 9 })];
      expect(await store().countUnusedClientsByNetwork()).toEqual(new Map());
      for (const client of [used, removed, swept, newClient()])
        expect(await store().registerClient(client, turn('one'), 'network-1')).toBe(0);
      expect(await store().registerClient(newClient(), null, 'network-2')).toBe(0);
      expect(await store().registerClient(newClient(), turn('one'), null)).toBe(0);
      await store().saveClient(newClient());
      const counted = async () => Object.fromEntries(await store().countUnusedClientsByNetwork());
      expect(await counted()).toEqual({ 'network-1': 4, 'network-2': 1 });
      expect(await store().countUnusedClients()).toBe(7);
      // The network is nothing that is told of a client.
      expect(await store().findClient(used.id)).toEqual(used);
      await store().recordClientUse(used.id, NOW, NOW + 1000);
      expect(await counted()).toEqual({ 'network-1': 3, 'network-2': 1 });
      await store().removeClient(removed.id, NOW);
      await store().sweep(NOW + 9 + 3600, 100);
      expect(await counted()).toEqual({ 'network-1': 1, 'network-2': 1 });
    });

    it('T143: removes a client with all that was given to it, so that its successor inherits nothing', async () => {
      const [client, other] = [newClient(), newClient()];
      for (const one of [client, other]) await store().saveClient(one);
      const mine = { clientId: client.id };
      const transaction = newTransaction(mine);
      await store().openTransaction(transaction);
      const code = await issueCode(store(), newCode(mine));
      const { grant, token } = await makeGrant(store(), { grant: mine });
      const theirs = await makeGrant(store(), { grant: { clientId: other.id } });

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

    it('T143: disables a client with all that was given to it, until it is enabled, and nothing comes back', async () => {
      const [client, other] = [newClient(), newClient()];
      for (const one of [client, other]) await store().saveClient(one);
      const mine = { clientId: client.id };
      const transaction = newTransaction(mine);
      await store().openTransaction(transaction);
      const code = await issueCode(store(), newCode(mine));
      const { grant } = await makeGrant(store(), { grant: mine });
      const theirs = await makeGrant(store(), { grant: { clientId: other.id } });

      expect(await store().disableClient(client.id, NOW)).toBe(true);
      expect(await store().disableClient(client.id, NOW + 9)).toBe(true);
      expect(await store().findClient(client.id)).toEqual({ ...client, disabledAt: NOW });
      expect(await store().findTransaction(transaction.id, NOW)).toBeNull();
      expect(await store().findCode(code.hash)).toBeNull();
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(false);
      expect(await store().isAccessTokenLive('jti', theirs.grant.id)).toBe(true);

      expect(await store().enableClient(client.id)).toBe(true);
      expect(await store().findClient(client.id)).toEqual(client);
      expect(await store().isAccessTokenLive('jti', grant.id)).toBe(false);
      expect(await store().findClient(other.id)).toEqual(other);
      expect(await store().disableClient('client_nobody', NOW)).toBe(false);
      expect(await store().enableClient('client_nobody')).toBe(false);
    });

    it(`leaves nothing alive when ${RACERS} codes are redeemed while their client is removed`, async () => {
      const client = newClient();
      await store().saveClient(client);
      const codes = await Promise.all(
        times(RACERS, () => issueCode(store(), newCode({ clientId: client.id }))),
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

    it('T143: sweeps whose time is over, used or not, but never one with a live grant or without an end', async () => {
      const end = NOW + 86_400;
      const [unused, used, granted, kept] = [
        newClient({ expiresAt: end }),
        newClient({ expiresAt: end, lastUsedAt: NOW }),
        newClient({ expiresAt: end, lastUsedAt: NOW }),
        newClient({ expiresAt: null }),
      ];
      for (const client of [unused, used, granted, kept]) await store().saveClient(client);
      const { grant } = await makeGrant(store(), { grant: { clientId: granted.id } });
      await store().sweep(end - 1, 100);
      expect(await store().findClient(unused.id)).toEqual(unused);
      expect(await store().findClient(used.id)).toEqual(used);

      await store().sweep(end, 1);
      await store().sweep(end, 1);
      expect(await store().findClient(used.id)).toBeNull();
      // Whoever began to sign in with it before its end may end that.
      await store().sweep(end + 3599, 1);
      expect(await store().findClient(unused.id)).toEqual(unused);
      await store().sweep(end + 3600, 1);
      expect(await store().findClient(unused.id)).toBeNull();
      expect(await store().findClient(granted.id)).not.toBeNull();
      expect(await store().findClient(kept.id)).toEqual(kept);

      await store().revokeGrant(grant.id, end);
      await store().sweep(end + 100 * 86_400, 100);
      expect(await store().findClient(granted.id)).toBeNull();
      expect(await store().findClient(kept.id)).toEqual(kept);
    });
  });
}
