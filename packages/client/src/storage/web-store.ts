/** A credential store over a browser's `localStorage` or `sessionStorage`, shared by the pages of one origin. */
import { type CredentialStore, isListed, keyText, mayReplace, type Unlock } from './credential-store.ts';
import type { CredentialRecord, PendingAuthorization } from './credentials.ts';
import { createLockQueue } from './lock-queue.ts';

/** The part of `Storage` in use. */
export interface WebStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/** The part of `navigator.locks` in use. */
interface WebLocks {
  request(name: string, hold: () => Promise<void>): Promise<unknown>;
}

/** The browser features to use. */
export interface WebStoreOptions {
  /** `sessionStorage` ends with the tab, `localStorage` does not. Every script of the origin can read both. */
  readonly storage: WebStorage;
  /** `navigator.locks`; without it, pages that are open at the same time do not coordinate. */
  readonly locks?: WebLocks;
  /** Prefix of every name; `portcullis` by default. */
  readonly prefix?: string;
}

/** Creates a store over a browser's storage. */
export function createWebStore({ storage, locks, prefix = 'portcullis' }: WebStoreOptions): CredentialStore {
  const recordName = (text: string): string => `${prefix}:record:${text}`;
  const pendingName = (state: string): string => `${prefix}:pending:${state}`;

  return {
    location: "this browser's storage",
    async find(key) {
      return read<CredentialRecord>(recordName(keyText(key)));
    },
    async list(server, account) {
      return names()
        .filter((name) => name.startsWith(recordName('')))
        .flatMap((name) => read<CredentialRecord>(name) ?? [])
        .filter(({ key }) => isListed(key, server, account));
    },
    async save(record, replaced) {
      const name = recordName(keyText(record.key));
      if (!mayReplace(read<CredentialRecord>(name), replaced)) return false;
      storage.setItem(name, JSON.stringify(record));
      return true;
    },
    async remove(key) {
      storage.removeItem(recordName(keyText(key)));
    },
    async savePending(pending) {
      removeExpired();
      storage.setItem(pendingName(pending.state), JSON.stringify(pending));
    },
    async takePending(state) {
      const pending = read<PendingAuthorization>(pendingName(state));
      storage.removeItem(pendingName(state));
      return pending;
    },
    lock: locks === undefined ? createLockQueue() : (name) => lockWith(locks, `${prefix}:${name}`),
  };

  /** Abandoned sign-ins: a code verifier and a key must not outlive their use. */
  function removeExpired(): void {
    for (const name of names()) {
      if (name.startsWith(pendingName('')) && isExpired(name)) storage.removeItem(name);
    }
  }

  /** One that cannot be read has no use left. */
  function isExpired(name: string): boolean {
    try {
      return (read<PendingAuthorization>(name)?.expiresAt ?? 0) < Date.now();
    } catch {
      return true;
    }
  }

  function names(): readonly string[] {
    return Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '');
  }

  function read<T>(name: string): T | null {
    const text = storage.getItem(name);
    return text === null ? null : (JSON.parse(text) as T);
  }
}

/** The browser releases a lock when its page is closed. */
function lockWith(locks: WebLocks, name: string): Promise<Unlock> {
  return new Promise((resolve, reject) => {
    const released = Promise.withResolvers<void>();
    const hold = (): Promise<void> => {
      resolve(async () => released.resolve());
      return released.promise;
    };
    locks.request(name, hold).catch(reject);
  });
}
