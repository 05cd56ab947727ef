/** The keychain: the key of the credential file is there, and the file goes without it where there is none. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CredentialRecord } from '../src/index.ts';
import { findKeychainKey, type OpenEntry, openCredentialStore } from '../src/node.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keychain-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A keychain in memory. */
function createKeychain(): { open: OpenEntry; held: Map<string, string> } {
  const held = new Map<string, string>();
  return {
    held,
    open: async (service, account) => ({
      getPassword: () => held.get(`${service}/${account}`) ?? null,
      setPassword: (text) => void held.set(`${service}/${account}`, text),
    }),
  };
}

const closed: OpenEntry = () => Promise.reject(new Error('access denied'));

const record: CredentialRecord = {
  key: { server: 'https://mcp.example/mcp', issuer: 'https://as.example', account: 'default' },
  registration: {
    ...{ way: 'ask-user', clientId: 'c', clientSecret: 'canary', authentication: 'client_secret_basic' },
    ...{ redirectUris: [], secretExpiresAt: null },
  },
  tokens: null,
};

it('holds one key of 32 bytes for all, made at its first use', async () => {
  const { open, held } = createKeychain();
  const key = await findKeychainKey('notes', open);
  expect(key?.byteLength).toBe(32);
  expect(await findKeychainKey('notes', open)).toEqual(key);
  expect([...held.keys()]).toEqual(['notes/credential store']);
  held.set('notes/credential store', 'something else');
  expect(await findKeychainKey('notes', open)).toBeNull();
  expect(await findKeychainKey('notes', closed)).toBeNull();
});

it('[C-STORE-1] seals the credential file, and says so; without it the mode protects it, and it says that', async () => {
  const { open } = createKeychain();
  const path = join(folder, 'credentials.db');
  const store = await openCredentialStore(path, 'notes', open);
  await store.save(record);
  expect(store.place).toBe(`the file ${path}, sealed`);
  store.close();
  expect(readFileSync(path).includes('canary')).toBe(false);

  const again = await openCredentialStore(path, 'notes', open);
  expect(await again.find(record.key)).toEqual(record);
  again.close();

  const locked = await openCredentialStore(path, 'notes', closed);
  expect(locked.place).toBe(`the file ${path}`);
  await expect(locked.find(record.key)).rejects.toMatchObject({ code: 'store_unusable' });
  locked.close();
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

it('a machine with or without a keychain gets a store', async () => {
  const store = await openCredentialStore(join(folder, 'credentials.db'), 'portcullis-test');
  await store.save(record);
  expect(await store.find(record.key)).toEqual(record);
  store.close();
});
