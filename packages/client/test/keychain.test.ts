/** The encryption key of the credential file: in the system keychain, otherwise in its own file. */

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CredentialRecord } from '../src/index.ts';
import { findKeychainKey, type OpenKeychainEntry } from '../src/node/keychain.ts';
import { openCredentialStore, openFileStore } from '../src/node.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keychain-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A keychain in memory. */
function createKeychain(): { open: OpenKeychainEntry; held: Map<string, string> } {
  const held = new Map<string, string>();
  return {
    held,
    open: async (service, account) => ({
      getPassword: () => held.get(`${service}/${account}`) ?? null,
      setPassword: (text) => void held.set(`${service}/${account}`, text),
    }),
  };
}

const closed: OpenKeychainEntry = () => Promise.reject(new Error('access denied'));

const record: CredentialRecord = {
  key: { server: 'https://mcp.example/mcp', issuer: 'https://as.example', account: 'default', kind: 'user' },
  since: null,
  registration: {
    ...{ method: 'ask-user', clientId: 'c', clientSecret: 'canary', authentication: 'client_secret_basic' },
    ...{ redirectUris: [], secretExpiresAt: null },
  },
  tokens: null,
};

it('creates one key of 32 bytes in the keychain at first use', async () => {
  const { open, held } = createKeychain();
  const key = await findKeychainKey('notes', '7', open);
  expect(key?.byteLength).toBe(32);
  expect(await findKeychainKey('notes', '7', open)).toEqual(key);
  expect([...held.keys()]).toEqual(['notes/credential store 7']);
  held.set('notes/credential store 7', 'something else');
  expect(await findKeychainKey('notes', '7', open)).toBeNull();
  expect(await findKeychainKey('notes', '7', closed)).toBeNull();
});

it('[C-STORE-1] encrypts the credential file and describes its key', async () => {
  const { open } = createKeychain();
  const path = join(folder, 'credentials.db');
  const store = await openCredentialStore(path, 'notes', open);
  await store.save(record);
  expect(store.location).toBe(`the file ${path}, encrypted with a key in the system's keychain`);
  store.close();
  expect(readFileSync(path).includes('canary')).toBe(false);
  expect(readdirSync(folder)).toEqual(['credentials.db']);

  const again = await openCredentialStore(path, 'notes', open);
  expect(await again.find(record.key)).toEqual(record);
  again.close();
});

it('two files whose first programs start at the same time have keys of their own', async () => {
  const { open, held } = createKeychain();
  // Another program sees no entry yet, although the first one creates it meanwhile.
  const late: OpenKeychainEntry = async (service, account) => {
    const entry = await open(service, account);
    let reads = 0;
    return { ...entry, getPassword: () => (reads++ === 0 ? null : entry.getPassword()) };
  };
  const paths = [join(folder, 'a.db'), join(folder, 'b.db')] as const;
  for (const [path, entries] of [[paths[0], open] as const, [paths[1], late] as const]) {
    const store = await openCredentialStore(path, 'notes', entries);
    await store.save(record);
    store.close();
  }
  expect(new Set(held.values()).size).toBe(2);
  // Also where the file is moved to another name.
  renameSync(paths[0], join(folder, 'moved.db'));
  for (const path of [join(folder, 'moved.db'), paths[1]]) {
    const again = await openCredentialStore(path, 'notes', open);
    expect(await again.find(record.key)).toEqual(record);
    again.close();
  }
  expect(held.size).toBe(2);
});

it('opens a file with the key that all files of an earlier version shared', async () => {
  const { open, held } = createKeychain();
  const key = new Uint8Array(32).fill(3);
  held.set('notes/credential store', Buffer.from(key).toString('base64url'));
  const path = join(folder, 'credentials.db');
  const earlier = openFileStore(path, { key });
  await earlier.save(record);
  earlier.close();
  for (let time = 0; time < 2; time += 1) {
    const store = await openCredentialStore(path, 'notes', open);
    expect(await store.find(record.key)).toEqual(record);
    store.close();
    // From then on the file has an entry of its own.
    held.delete('notes/credential store');
  }
  expect(held.size).toBe(1);
});

it('reports a locked keychain and creates no other key', async () => {
  const { open } = createKeychain();
  const path = join(folder, 'credentials.db');
  const store = await openCredentialStore(path, 'notes', open);
  await store.save(record);
  store.close();
  await expect(openCredentialStore(path, 'notes', closed)).rejects.toMatchObject({
    code: 'store_unusable',
    message: expect.stringContaining('keychain'),
  });
  expect(readdirSync(folder)).toEqual(['credentials.db']);
});

it('creates no other key in a keychain that lacks the key of an encrypted file', async () => {
  const path = join(folder, 'credentials.db');
  const [first, second] = [createKeychain(), createKeychain()];
  const store = await openCredentialStore(path, 'notes', first.open);
  await store.save(record);
  store.close();
  await expect(openCredentialStore(path, 'notes', second.open)).rejects.toMatchObject({
    code: 'store_unusable',
    message: expect.stringContaining('keychain'),
  });
  expect(second.held.size).toBe(0);
  const again = await openCredentialStore(path, 'notes', first.open);
  expect(await again.all()).toEqual([record]);
  again.close();
});

describe('without a keychain', () => {
  const path = () => join(folder, 'credentials.db');

  it('[C-STORE-1] T145 without a keychain, stores the key in a file that only its owner can read', async () => {
    const before = process.umask(0);
    const store = await openCredentialStore(path(), 'notes', closed);
    process.umask(before);
    await store.save(record);
    expect(store.location).toBe(`the file ${path()}, encrypted with the key in ${path()}.key`);
    store.close();
    expect(readFileSync(path()).includes('canary')).toBe(false);
    expect(statSync(`${path()}.key`).mode & 0o777).toBe(0o600);
  });

  it('keeps using the key file when a keychain appears later', async () => {
    const first = await openCredentialStore(path(), 'notes', closed);
    await first.save(record);
    first.close();
    const { open, held } = createKeychain();
    const later = await openCredentialStore(path(), 'notes', open);
    expect(await later.find(record.key)).toEqual(record);
    expect(held.size).toBe(0);
    later.close();
  });

  it.each<[string, (key: string) => void]>([
    ['a symbolic link', (key) => symlinkSync('/dev/null', key)],
    ['readable for others', (key) => writeFileSync(key, 'A'.repeat(43), { mode: 0o644 })],
    ['something else', (key) => writeFileSync(key, 'hello', { mode: 0o600 })],
    ['a folder', (key) => mkdirSync(key, { mode: 0o700 })],
  ])('T145 refuses a key file that is %s', async (_what, make) => {
    make(`${path()}.key`);
    await expect(openCredentialStore(path(), 'notes', closed)).rejects.toMatchObject({
      code: 'store_unusable',
    });
  });

  it('a program that starts waits for the one that creates the key, and for none once there is a key', async () => {
    const other = openFileStore(path());
    const unlock = await other.lock('key of the store');
    const waiting = openCredentialStore(path(), 'notes', closed);
    expect(readdirSync(folder)).toEqual(['credentials.db']);
    await unlock();
    (await waiting).close();
    const relock = await other.lock('key of the store');
    (await openCredentialStore(path(), 'notes', closed)).close();
    await relock();
    other.close();
  });

  it('two programs that start at the same time use one key', async () => {
    const [first, second] = await Promise.all([1, 2].map(() => openCredentialStore(path(), 'notes', closed)));
    await first?.save(record);
    expect(await second?.find(record.key)).toEqual(record);
    first?.close();
    second?.close();
  });
});

it('two programs that start at the same time use one key', async () => {
  const { open } = createKeychain();
  const path = join(folder, 'credentials.db');
  const [first, second] = await Promise.all([1, 2].map(() => openCredentialStore(path, 'notes', open)));
  await first?.save(record);
  expect(await second?.find(record.key)).toEqual(record);
  first?.close();
  second?.close();
});

it('opens a store on a machine with or without a keychain', async () => {
  const store = await openCredentialStore(join(folder, 'credentials.db'), 'portcullis-test');
  await store.save(record);
  expect(await store.find(record.key)).toEqual(record);
  store.close();
});
