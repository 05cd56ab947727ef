/** The contract of invitations: one client each, until they are used, taken back or over. */
import { describe, expect, it } from 'vitest';
import {
  NOW,
  newClient,
  newClientInvitation,
  newHash,
  RACERS,
  race,
  type StoreOfTest,
  times,
} from './samples.ts';

export function describeClientInvitations(store: StoreOfTest): void {
  const save = async (changes: Parameters<typeof newClientInvitation>[0] = {}) => {
    const invitation = newClientInvitation(changes);
    await store().saveClientInvitation(invitation);
    return invitation;
  };

  describe('invitations of clients', () => {
    it('are found by their token until their time is over', async () => {
      const invitation = await save();
      expect(await store().findClientInvitation(invitation.hash, NOW)).toEqual(invitation);
      expect(await store().findClientInvitation(newHash(), NOW)).toBeNull();
      expect(await store().findClientInvitation(invitation.hash, invitation.expiresAt - 1)).not.toBeNull();
      expect(await store().findClientInvitation(invitation.hash, invitation.expiresAt)).toBeNull();
    });

    it('are listed in the order in which they were made, page by page, without those that are over', async () => {
      const [b, over, a, c] = [
        await save({ id: 'invite_2' }),
        await save({ id: 'invite_3', expiresAt: NOW }),
        await save({ id: 'invite_1' }),
        await save({ id: 'invite_4' }),
      ];
      expect(await store().listClientInvitations('', 2, NOW)).toEqual([a, b]);
      expect(await store().listClientInvitations(b.id, 2, NOW)).toEqual([c]);
      expect(await store().listClientInvitations('', 9, NOW - 1)).toContainEqual(over);
    });

    it('register one client each, and say which', async () => {
      const [invitation, another] = [await save(), await save()];
      const [client, second] = [newClient(), newClient()];
      expect(await store().registerInvitedClient(client, invitation.hash)).toBe(true);
      expect(await store().findClient(client.id)).toEqual(client);
      expect(await store().findClientInvitation(invitation.hash, NOW)).toEqual({
        ...invitation,
        clientId: client.id,
      });
      expect(await store().registerInvitedClient(second, invitation.hash)).toBe(false);
      expect(await store().findClient(second.id)).toBeNull();
      expect(await store().registerInvitedClient(second, another.hash)).toBe(true);
      // What is known of it outlives the client.
      await store().removeClient(client.id, NOW);
      expect((await store().findClientInvitation(invitation.hash, NOW))?.clientId).toBe(client.id);
    });

    it('register nobody when they are unknown, or over', async () => {
      const invitation = await save();
      for (const [hash, createdAt] of [
        [newHash(), NOW],
        [invitation.hash, invitation.expiresAt],
      ] as const) {
        const client = newClient({ createdAt });
        expect(await store().registerInvitedClient(client, hash)).toBe(false);
        expect(await store().findClient(client.id)).toBeNull();
      }
      expect(await store().findClientInvitation(invitation.hash, NOW)).toEqual(invitation);
    });

    it(`T031: of ${RACERS} clients that come with one at once, one is registered`, async () => {
      const invitation = await save();
      const clients = times(RACERS, () => newClient());
      const outcomes = await race(
        clients.map((client) => () => store().registerInvitedClient(client, invitation.hash)),
      );
      expect(outcomes).toEqual({ true: 1, false: RACERS - 1 });
      const stored = await store().listClients('', RACERS);
      expect(stored).toHaveLength(1);
      expect((await store().findClientInvitation(invitation.hash, NOW))?.clientId).toBe(stored[0]?.id);
    });

    it('are taken back one by one, and register nobody then', async () => {
      const [invitation, kept, used] = [await save(), await save(), await save()];
      await store().registerInvitedClient(newClient(), used.hash);
      expect(await store().takeBackClientInvitation(invitation.id)).toBe('taken-back');
      expect(await store().takeBackClientInvitation(invitation.id)).toBe('unknown');
      expect(await store().takeBackClientInvitation(used.id)).toBe('used');
      expect(await store().findClientInvitation(invitation.hash, NOW)).toBeNull();
      expect(await store().registerInvitedClient(newClient(), invitation.hash)).toBe(false);
      expect(await store().registerInvitedClient(newClient(), kept.hash)).toBe(true);
    });

    it('are either used or taken back when both come at once', async () => {
      for (const invitation of [await save(), await save(), await save()]) {
        const client = newClient();
        const [registered, outcome] = await Promise.all([
          store().registerInvitedClient(client, invitation.hash),
          store().takeBackClientInvitation(invitation.id),
        ]);
        expect(outcome).toBe(registered ? 'used' : 'taken-back');
        expect((await store().findClient(client.id)) !== null).toBe(registered);
      }
    });

    it('are forgotten when their time is over', async () => {
      const invitation = await save();
      expect(await store().sweep(invitation.expiresAt - 1, 100)).toBe(0);
      expect(await store().findClientInvitation(invitation.hash, NOW)).toEqual(invitation);
      expect(await store().sweep(invitation.expiresAt, 100)).toBe(1);
      expect(await store().findClientInvitation(invitation.hash, NOW)).toBeNull();
    });
  });
}
