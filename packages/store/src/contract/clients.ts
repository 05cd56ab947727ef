/** The contract of stored clients. */
import { describe, expect, it } from 'vitest';
import { newClient, newHash, type StoreOfTest } from './samples.ts';

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
      });
      await store().saveClient(open);
      await store().saveClient(confidential);
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
      await expect(store().saveClient(newClient({ id: client.id, secretHash: newHash() }))).rejects.toThrow();
      expect(await store().findClient(client.id)).toEqual(client);
    });
  });
}
