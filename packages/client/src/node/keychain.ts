/** The key that seals the credential file: in the system's keychain, so that a copy of the file is worth nothing, else in a file of its own. */
import { randomBytes } from 'node:crypto';
import { type FileStore, openFileStore } from './file-store.ts';
import { createPrivateFile, readPrivateFile, storeUnusable } from './private-file.ts';

/** One entry of a keychain. */
export interface KeychainEntry {
  /** `null`: there is none. Throws where the keychain cannot be used. */
  getPassword(): string | null;
  setPassword(text: string): void;
}

/** Opens an entry of the keychain of the system. */
export type OpenKeychainEntry = (service: string, account: string) => Promise<KeychainEntry>;

/** A key, and where it is kept, for a person to read. */
interface KeptKey {
  readonly key: Uint8Array;
  readonly keyPlace: string;
}

/**
 * The key for a credential file, made at its first use. `null`: there is no keychain here, or it does not let us in.
 * @param service under which the person finds it in the keychain
 */
export async function findKeychainKey(
  service: string,
  openEntry: OpenKeychainEntry = openSystemEntry,
): Promise<Uint8Array | null> {
  try {
    const entry = await openEntry(service, 'credential store');
    if (entry.getPassword() === null) entry.setPassword(randomBytes(32).toString('base64url'));
    // What the keychain really holds counts.
    return readKey(entry.getPassword() ?? '');
  } catch {
    return null;
  }
}

/**
 * Opens a credential file that is sealed: with a key of the keychain, or, where there is no keychain, with one in a file
 * beside it. `place` says which.
 * @throws ClientError `store_unusable`, also when the keychain that holds its key does not let us in.
 */
export async function openCredentialStore(
  path: string,
  service = 'portcullis',
  openEntry: OpenKeychainEntry = openSystemEntry,
): Promise<FileStore> {
  const plain = openFileStore(path);
  // Two programs that start for the first time must not make two keys.
  const release = await plain.lock('key of the store');
  try {
    return openFileStore(path, await findKey(plain, `${path}.key`, service, openEntry));
  } finally {
    await release();
    plain.close();
  }
}

/** A file that was sealed with a key keeps to it, whatever the system can do today. */
async function findKey(
  store: FileStore,
  keyFile: string,
  service: string,
  openEntry: OpenKeychainEntry,
): Promise<KeptKey> {
  const kept = readPrivateFile(keyFile);
  if (kept !== null) return { key: requireKey(keyFile, kept), keyPlace: `the key in ${keyFile}` };
  const key = await findKeychainKey(service, openEntry);
  if (key !== null) return { key, keyPlace: "a key of the system's keychain" };
  if (store.hasEncrypted()) {
    const why = 'they were sealed with a key of the keychain, which does not let us in now';
    throw storeUnusable(keyFile.replace(/\.key$/, ''), why);
  }
  const text = randomBytes(32).toString('base64url');
  createPrivateFile(keyFile, text);
  return { key: requireKey(keyFile, text), keyPlace: `the key in ${keyFile}` };
}

function requireKey(path: string, text: string): Uint8Array {
  const key = readKey(text);
  if (key === null) throw storeUnusable(path, 'it holds no key');
  return key;
}

function readKey(text: string): Uint8Array | null {
  const key = Buffer.from(text.trim(), 'base64url');
  return key.byteLength === 32 ? key : null;
}

/** On Linux the desktop's secret service only: the kernel's keyring forgets when the machine restarts. */
async function openSystemEntry(service: string, account: string): Promise<KeychainEntry> {
  const { Entry } = await import('@napi-rs/keyring');
  return new Entry(service, account, { linux: { store: 'secret-service' } });
}
