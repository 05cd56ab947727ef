/** A store in memory that fails to save as often as a test says. */
import { type CredentialStore, createMemoryStore } from '../../src/index.ts';

export interface FailingStore extends CredentialStore {
  /** How many calls of `save` fail from now on. */
  failures: number;
}

export function createFailingStore(): FailingStore {
  const store = createMemoryStore();
  const failing: FailingStore = {
    ...store,
    failures: 0,
    async save(record, replaced) {
      if (failing.failures > 0) {
        failing.failures -= 1;
        throw new Error('database is locked');
      }
      return store.save(record, replaced);
    },
  };
  return failing;
}
