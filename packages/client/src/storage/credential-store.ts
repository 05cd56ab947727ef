/** The port for credential storage, with the concurrency guarantee of each method. */
import type { CredentialKey, CredentialRecord, PendingAuthorization, Tokens } from './credentials.ts';

/** Releases a lock. */
export type Unlock = () => Promise<void>;

/** Stores credentials for one client or for several at once. */
export interface CredentialStore {
  /** Where credentials are stored, as text for users: `memory`, `the file …`. */
  readonly location: string;
  /**
   * Differs after another process that shares the store has changed it. Without it, a client notices a sign-in or sign-out elsewhere
   * when its token is rejected, or about to expire.
   */
  version?(): number;
  /** The record as last saved by any process that shares the store. */
  find(key: CredentialKey): Promise<CredentialRecord | null>;
  /** All records of an account at a server, for every issuer and actor; without an account, of all accounts. */
  list(server: string, account?: string): Promise<readonly CredentialRecord[]>;
  /**
   * Replaces the whole record atomically: a reader sees the old one or the new one.
   * @param replaced only while the record has these tokens: the lock of a process that was suspended has expired
   * @returns whether it was replaced
   */
  save(record: CredentialRecord, replaced?: Tokens): Promise<boolean>;
  /** Removes a record, if there is one. */
  remove(key: CredentialKey): Promise<void>;
  savePending(pending: PendingAuthorization): Promise<void>;
  /** Returns a pending authorization to exactly one caller and deletes it; `null` when there is none. */
  takePending(state: string): Promise<PendingAuthorization | null>;
  /**
   * Waits until no process that shares the store holds the lock of that name, and acquires it. The lock of a process
   * that died expires.
   * @param name any text
   */
  lock(name: string): Promise<Unlock>;
}

/** A key as one unambiguous text. */
export function keyText(key: CredentialKey): string {
  return JSON.stringify([key.server, key.issuer, key.account, ...actorOfKey(key)]);
}

/** Whether a key is among those that `list` is called for. */
export function isListed(key: CredentialKey, server: string, account?: string): boolean {
  return key.server === server && (account === undefined || key.account === account);
}

/** Whether `save` replaces the record that there is. */
export function mayReplace(record: CredentialRecord | null, replaced: Tokens | undefined): boolean {
  return replaced === undefined || record?.tokens?.accessToken === replaced.accessToken;
}

/** Kind and client of a program that acts for itself; empty for a user. */
export function actorOfKey({ kind, clientId = '' }: CredentialKey): readonly string[] {
  return kind === 'user' ? [] : [kind, clientId];
}

/** The name of the lock of a record begins with it. */
const RECORD_LOCK = 'refresh ';

/** Whether the holder of a lock changes a record, which takes as long as a refresh. */
export function isRecordLock(name: string): boolean {
  return name.startsWith(RECORD_LOCK);
}

/** Reads a record and holds the lock of its key until the change is done; `null`: there is no record yet. */
export async function withLockedRecord<T>(
  store: CredentialStore,
  key: CredentialKey,
  change: (record: CredentialRecord | null) => Promise<T>,
): Promise<T> {
  const unlock = await store.lock(`${RECORD_LOCK}${keyText(key)}`);
  try {
    return await change(await store.find(key));
  } finally {
    await unlock();
  }
}
