/** Credentials that end with the process. */
import type { PendingAuthorization } from '../authorization/pending.ts';
import { type CredentialRecord, type CredentialStore, keyText } from './credential-store.ts';
import { createLockQueue } from './lock-queue.ts';

/** Flows that nobody finished are forgotten in the order of their start. */
const MOST_PENDING = 100;

/** Makes an empty store. */
export function createMemoryStore(): CredentialStore {
  const records = new Map<string, CredentialRecord>();
  const flows = new Map<string, PendingAuthorization>();
  return {
    location: 'memory, until this process ends',
    find: async (key) => records.get(keyText(key)) ?? null,
    list: async (server, account) =>
      [...records.values()].filter(({ key }) => key.server === server && key.account === account),
    save: async (record) => void records.set(keyText(record.key), record),
    remove: async (key) => void records.delete(keyText(key)),
    async savePending(pending) {
      flows.set(pending.state, pending);
      for (const state of flows.keys()) if (flows.size > MOST_PENDING) flows.delete(state);
    },
    async takePending(state) {
      const pending = flows.get(state) ?? null;
      flows.delete(state);
      return pending;
    },
    lock: createLockQueue(),
  };
}
