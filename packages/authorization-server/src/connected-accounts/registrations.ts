/** The registrations of this server as a client at the authorization servers of backends, encrypted. */
import type { ServerContext } from '../context.ts';
import type { TokenVault } from '../federation/token-vault.ts';
import type { BackendRegistrations, UserBackend } from './backend.ts';

/** @param appId the client that they are for, unless one client is configured for all */
export function createBackendRegistrations(
  { store, clock }: Pick<ServerContext, 'store' | 'clock'>,
  vault: TokenVault,
  { id: backend, hasConfiguredClient }: Pick<UserBackend, 'id' | 'hasConfiguredClient'>,
  appId: string,
): BackendRegistrations {
  const clientId = hasConfiguredClient ? null : appId;
  const contextOf = (issuer: string) =>
    ['backend registration', backend, ...(clientId === null ? [] : [clientId]), issuer].join(' ');
  return {
    async list() {
      const found = await store.listBackendRegistrations(backend, clientId);
      return Promise.all(
        found.map(async ({ issuer, encryptedRegistration }) => ({
          issuer,
          registration: await vault.decrypt<object>(encryptedRegistration, contextOf(issuer)),
        })),
      );
    },
    async save(issuer, registration) {
      const key = { backend, clientId, issuer };
      if (registration === null) return store.removeBackendRegistration(key);
      const { ciphertext, dataKeyId } = await vault.encrypt(registration, contextOf(issuer));
      const createdAt = clock();
      await store.saveBackendRegistration({
        ...key,
        encryptedRegistration: ciphertext,
        dataKeyId,
        createdAt,
      });
    },
  };
}
