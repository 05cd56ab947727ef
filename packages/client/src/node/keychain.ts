/** The encryption key of the credential file: in the system's keychain, so that a copied file is useless, else in a file of its own. */
import { randomBytes } from 'node:crypto';
import { type FileStore, openFileStore } from './file-store.ts';
import { createPrivateFile, readPrivateFile, storeUnusable } from './private-file.ts';

/** One entry of a keychain. */
interface KeychainEntry {
  /** `null`: there is none. Throws if the keychain is unavailable. */
  getPassword(): string | null;
  setPassword(text: string): void;
}

/** Opens an entry of the system's keychain. */
export type OpenKeychainEntry = (service: string, account: string) => Promise<KeychainEntry>;

/** The entry that all files of a user shared in earlier versions. */
const SHARED = 'credential store';

/**
 * The key for a credential file, created on first use. `null`: there is no keychain, or access to it is denied.
 * @param service the name of the entry in the keychain
 * @param file the identifier of the file. An entry that files share would be overwritten if two of them were new at once
 * @param mayCreate `false` for a file that is encrypted with another key already
 */
export async function findKeychainKey(
  service: string,
  file: string,
  openEntry: OpenKeychainEntry = openSystemEntry,
  mayCreate: () => boolean = () => true,
): Promise<Uint8Array | null> {
  try {
    const entry = await openEntry(service, `${SHARED} ${file}`);
    if (entry.getPassword() === null) {
      const shared = (await openEntry(service, SHARED)).getPassword();
      if (shared === null && !mayCreate()) return null;
      entry.setPassword(shared ?? randomBytes(32).toString('base64url'));
    }
    // Read back: another process may have been faster.
    return readKey(entry.getPassword() ?? '');
  } catch {
    return null;
  }
}

/**
 * Opens an encrypted credential file, with a key in the keychain or, without a keychain, in a file beside it. `location`
 * says which.
 * @throws ClientError `store_unusable`, also when access to the keychain with its key is denied.
 */
export async function openCredentialStore(
  path: string,
  service = 'portcullis',
  openEntry: OpenKeychainEntry = openSystemEntry,
): Promise<FileStore> {
  const keyFile = `${path}.key`;
  const stored = readPrivateFile(keyFile);
  // Invalid while another program is creating it.
  const key = stored === null ? null : readKey(stored);
  if (key !== null) return openFileStore(path, { key, keyLocation: locationOf(keyFile) });
  const plain = openFileStore(path);
  // Two programs that start for the first time must not create two keys.
  const unlock = await plain.lock('key of the store');
  try {
    return openFileStore(path, await findKey(plain, keyFile, service, openEntry));
  } finally {
    await unlock();
    plain.close();
  }
}

/** An encrypted file remains encrypted under its key, even if a keychain becomes available or unavailable. */
async function findKey(
  store: FileStore,
  keyFile: string,
  service: string,
  openEntry: OpenKeychainEntry,
): Promise<{ readonly key: Uint8Array; readonly keyLocation: string }> {
  const stored = readPrivateFile(keyFile);
  if (stored !== null) return { key: requireKey(keyFile, stored), keyLocation: locationOf(keyFile) };
  const key = await findKeychainKey(service, store.id(), openEntry, () => !store.hasEncrypted());
  if (key !== null) return { key, keyLocation: "a key in the system's keychain" };
  if (store.hasEncrypted()) {
    const why =
      'they were encrypted with a key in a keychain, and it is not in that of this system, or not accessible now';
    throw storeUnusable(keyFile.replace(/\.key$/, ''), why);
  }
  const text = randomBytes(32).toString('base64url');
  createPrivateFile(keyFile, text);
  return { key: requireKey(keyFile, text), keyLocation: locationOf(keyFile) };
}

function locationOf(keyFile: string): string {
  return `the key in ${keyFile}`;
}

function requireKey(path: string, text: string): Uint8Array {
  const key = readKey(text);
  if (key === null) throw storeUnusable(path, 'it contains no key');
  return key;
}

function readKey(text: string): Uint8Array | null {
  const key = Buffer.from(text.trim(), 'base64url');
  return key.byteLength === 32 ? key : null;
}

/** On Linux the desktop's secret service only: the kernel keyring is lost on restart. */
async function openSystemEntry(service: string, account: string): Promise<KeychainEntry> {
  const { Entry } = await import('@napi-rs/keyring');
  return new Entry(service, account, { linux: { store: 'secret-service' } });
}
