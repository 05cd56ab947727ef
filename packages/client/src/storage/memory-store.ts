/** A credential store in memory: its content ends with the process. */
import { type CredentialStore, isListed, keyText, mayReplace } from './credential-store.ts';
import type { CredentialRecord, PendingAuthorization } from './credentials.ts';
import { createLockQueue } from './lock-queue.ts';

/** Beyond this number the oldest abandoned authorizations are deleted. */
const MAX_PENDING = 100;

/** Creates an empty store. */
export function createMemoryStore(): CredentialStore {
  const records = new Map<string, CredentialRecord>();
  const pendingAuthorizations = new Map<string, PendingAuthorization>();
  return {
    location: 'memory, until this process ends',
    find: async (key) => records.get(keyText(key)) ?? null,
    list: async (server, account) =>
      [...records.values()].filter(({ key }) => isListed(key, server, account)),
    async save(record, replaced) {
      const name = keyText(record.key);
      if (!mayReplace(records.get(name) ?? null, replaced)) return false;
      records.set(name, record);
      return true;
    },
    remove: async (key) => void records.delete(keyText(key)),
    async savePending(pending) {
      pendingAuthorizations.set(pending.state, pending);
      for (const state of pendingAuthorizations.keys())
        if (pendingAuthorizations.size > MAX_PENDING) pendingAuthorizations.delete(state);
    },
    async takePending(state) {
      const pending = pendingAuthorizations.get(state) ?? null;
      pendingAuthorizations.delete(state);
      return pending;
    },
    lock: createLockQueue(),
  };
}
