/** The system's keychain: it keeps the key that seals the credential file, so that a copy of the file is worth nothing. */
import { randomBytes } from 'node:crypto';
import { type FileStore, openFileStore } from './file-store.ts';

/** One entry of a keychain. */
export interface KeychainEntry {
  /** `null`: there is none. Throws where the keychain cannot be used. */
  getPassword(): string | null;
  setPassword(text: string): void;
}

export type OpenEntry = (service: string, account: string) => Promise<KeychainEntry>;

/**
 * The key for a credential file, made at its first use. `null`: there is no keychain here, or it does not let us in.
 * @param service under which the person finds it in the keychain
 */
export async function findKeychainKey(
  service: string,
  openEntry: OpenEntry = openSystemEntry,
): Promise<Uint8Array | null> {
  try {
    const entry = await openEntry(service, 'credential store');
    if (entry.getPassword() === null) entry.setPassword(randomBytes(32).toString('base64url'));
    // What the keychain really holds counts.
    const key = Buffer.from(entry.getPassword() ?? '', 'base64url');
    return key.byteLength === 32 ? key : null;
  } catch {
    return null;
  }
}

/**
 * Opens a credential file that is sealed with a key of the keychain, or, where there is no keychain, protected by its
 * mode alone. `place` says which.
 * @throws ClientError `store_unusable`
 */
export async function openCredentialStore(
  path: string,
  service = 'portcullis',
  openEntry: OpenEntry = openSystemEntry,
): Promise<FileStore> {
  const plain = openFileStore(path);
  // Two programs that start for the first time must not make two keys.
  const release = await plain.lock('key of the store');
  try {
    const key = await findKeychainKey(service, openEntry);
    return openFileStore(path, key === null ? {} : { key });
  } finally {
    await release();
    plain.close();
  }
}

/** On Linux the desktop's secret service only: the kernel's keyring forgets when the machine restarts. */
async function openSystemEntry(service: string, account: string): Promise<KeychainEntry> {
  const { Entry } = await import('@napi-rs/keyring');
  return new Entry(service, account, { linux: { store: 'secret-service' } });
}
