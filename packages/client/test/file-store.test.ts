/** The credential store: file permissions, concurrency, locks, and encryption. */

import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type CredentialKey,
  type CredentialRecord,
  type CredentialStore,
  createMemoryStore,
  createWebStore,
  type PendingAuthorization,
} from '../src/index.ts';
import { type FileStore, type FileStoreOptions, openFileStore } from '../src/node.ts';
import type { WebStorage } from '../src/storage/web-store.ts';
import { shareSession } from './support/shared-session.ts';
import { calls, createWorld } from './support/world.ts';

let folder: string;
const open: FileStore[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'credentials-'));
});

afterEach(() => {
  for (const store of open.splice(0)) store.close();
  rmSync(folder, { recursive: true, force: true });
});

function openStore(
  options: FileStoreOptions = {},
  path = join(folder, 'inner', 'credentials.db'),
): FileStore {
  const store = openFileStore(path, options);
  open.push(store);
  return store;
}

it('a store whose folder cannot be created is an error that names its file', () => {
  writeFileSync(join(folder, 'file'), '');
  const path = join(folder, 'file', 'credentials.db');
  expect(() => openStore({}, path)).toThrow(
    `The credentials cannot be stored in ${path}: its folder cannot be created.`,
  );
  expect(() => openStore()).not.toThrow();
});

const key: CredentialKey = {
  server: 'https://mcp.example/mcp',
  issuer: 'https://as.example',
  account: 'default',
  kind: 'user',
};

function record(changes: Partial<CredentialRecord['key']> = {}, accessToken = 'canary'): CredentialRecord {
  return {
    key: { ...key, ...changes },
    registration: null,
    since: 1,
    tokens: {
      ...{
        accessToken,
        scheme: 'Bearer',
        expiresAt: 5,
        obtainedAt: 1,
        refreshToken: 'canary-too',
        scopes: ['a'],
      },
      ...{
        requestedScopes: ['a'],
        resource: null,
        tokenEndpoint: 'https://as.example/token',
        clientId: 'c',
        dpopKey: null,
      },
    },
  };
}

function pending(state: string, expiresAt = Date.now() + 60_000): PendingAuthorization {
  return {
    ...{
      state,
      codeVerifier: 'v',
      server: key.server,
      account: 'default',
      issuer: key.issuer,
      issuerAdvertised: true,
    },
    ...{
      issuerRule: 'rfc9207',
      tokenEndpoint: 'https://as.example/token',
      redirectUri: 'http://127.0.0.1:1/callback',
    },
    ...{ resource: null, scopes: [], dpopKey: null, binding: null, expiresAt },
    registration: {
      ...{
        method: 'dynamic',
        clientId: 'c',
        clientSecret: null,
        authentication: 'none',
        redirectUris: [],
        secretExpiresAt: null,
      },
    },
  };
}

/** As a browser's storage, kept in memory. */
function createStorage(): WebStorage {
  const values = new Map<string, string>();
  return {
    get length() {
      return values.size;
    },
    key: (index) => [...values.keys()][index] ?? null,
    getItem: (name) => values.get(name) ?? null,
    setItem: (name, value) => void values.set(name, value),
    removeItem: (name) => void values.delete(name),
  };
}

/** What every store does. */
const stores: readonly (readonly [string, () => CredentialStore])[] = [
  ['memory', createMemoryStore],
  ["a browser's storage", () => createWebStore({ storage: createStorage() })],
  [
    "a browser's storage with its locks",
    () => createWebStore({ storage: createStorage(), locks: navigator.locks }),
  ],
  ['a file', () => openStore()],
  ['an encrypted file', () => openStore({ key: new Uint8Array(32).fill(7) })],
];

describe.each(stores)('%s', (_name, create) => {
  it('[C-STORE-1 C-BIND-30] T148 stores records by server, issuer and account', async () => {
    const store = create();
    const records = [
      record(),
      record({ issuer: 'https://as2.example' }),
      record({ account: 'work' }),
      record({ server: 'https://other.example/mcp' }),
    ];
    for (const one of records) await store.save(one);
    for (const one of records) expect(await store.find(one.key)).toEqual(one);
    expect((await store.list(key.server, 'default')).map(({ key: { issuer } }) => issuer).toSorted()).toEqual(
      ['https://as.example', 'https://as2.example'],
    );
    expect((await store.list(key.server)).map(({ key: { account } }) => account).toSorted()).toEqual([
      'default',
      'default',
      'work',
    ]);
    await store.remove(key);
    expect(await store.find(key)).toBeNull();
    expect(await store.list(key.server, 'default')).toHaveLength(1);
    await store.save(record({ account: 'work' }, 'newer'));
    expect((await store.find({ ...key, account: 'work' }))?.tokens?.accessToken).toBe('newer');
  });

  it('replaces a record only while it has the tokens named, if any', async () => {
    const store = create();
    const { tokens } = record();
    const replaced = tokens ?? undefined;
    const refreshed = record({}, 'refreshed');
    expect(await store.save(refreshed, replaced)).toBe(false);
    expect(await store.find(key)).toBeNull();
    expect(await store.save(record())).toBe(true);
    expect(await store.save(refreshed, replaced)).toBe(true);
    expect(await store.save(record({}, 'late'), replaced)).toBe(false);
    expect(await store.find(key)).toEqual(refreshed);
    const removed = { ...record(), tokens: null };
    expect(await store.save(removed)).toBe(true);
    expect(await store.save(record({}, 'late'), replaced)).toBe(false);
    expect(await store.find(key)).toEqual(removed);
  });

  it('T115 returns a pending authorization to one caller', async () => {
    const store = create();
    await store.savePending(pending('s1'));
    const taken = await Promise.all(Array.from({ length: 20 }, () => store.takePending('s1')));
    expect(taken.filter((flow) => flow !== null)).toEqual([expect.objectContaining({ state: 's1' })]);
    expect(await store.takePending('s2')).toBeNull();
  });

  it('grants a lock to one holder at a time, in order', async () => {
    const store = create();
    const order: number[] = [];
    let inside = 0;
    await Promise.all(
      [0, 1, 2, 3].map(async (number) => {
        const release = await store.lock('x');
        inside += 1;
        expect(inside).toBe(1);
        order.push(number);
        await new Promise((resolve) => setTimeout(resolve, 5));
        inside -= 1;
        await release();
      }),
    );
    expect(order).toEqual([0, 1, 2, 3]);
    const first = await store.lock('y');
    await (await store.lock('z'))();
    await first();
  });
});

it("deletes abandoned sign-ins from a browser's storage at the next sign-in, and nothing else", async () => {
  const storage = createStorage();
  storage.setItem('other:pending:x', '{}');
  storage.setItem('portcullis:pending:unreadable', '{');
  const store = createWebStore({ storage });
  await store.save(record());
  await store.savePending(pending('current'));
  await store.savePending(pending('abandoned', Date.now() - 1));
  await store.savePending(pending('new'));
  const names = Array.from({ length: storage.length }, (_, index) => storage.key(index));
  expect(names.toSorted()).toEqual([
    'other:pending:x',
    'portcullis:pending:current',
    'portcullis:pending:new',
    expect.stringMatching(/^portcullis:record:/),
  ]);
  expect(await store.takePending('current')).not.toBeNull();
});

describe('the file', () => {
  const path = () => join(folder, 'inner', 'credentials.db');

  it.each([0o000, 0o022, 0o777])(
    '[C-STORE-1] T145 creates the file for its owner alone with umask %o',
    async (umask) => {
      const before = process.umask(umask);
      try {
        const store = openStore();
        await store.save(record());
        expect(statSync(path()).mode & 0o777).toBe(0o600);
        expect(statSync(join(folder, 'inner')).mode & 0o077).toBe(0);
        store.close();
        open.length = 0;
        chmodSync(path(), 0o644);
        openStore();
        expect(statSync(path()).mode & 0o777).toBe(0o600);
      } finally {
        process.umask(before);
      }
    },
  );

  it('[C-STORE-1] T145 refuses a symbolic link as the credential file', () => {
    const target = join(folder, 'victim');
    writeFileSync(target, 'precious');
    symlinkSync(target, join(folder, 'link'));
    expect(() => openStore({}, join(folder, 'link'))).toThrowError(
      expect.objectContaining({ code: 'store_unusable' }),
    );
    expect(readFileSync(target, 'utf8')).toBe('precious');
    expect(lstatSync(join(folder, 'link')).isSymbolicLink()).toBe(true);
  });

  it.each([
    ['777', 0o777],
    ['1777', 0o1777],
    ['1773', 0o1773],
  ])('T145 refuses a folder of mode %s, where other users can add a journal', (_text, mode) => {
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    chmodSync(shared, mode);
    expect(() => openStore({}, join(shared, 'c.db'))).toThrowError(
      expect.objectContaining({
        code: 'store_unusable',
        message: expect.stringContaining('other users can write to its folder'),
      }),
    );
    expect(readdirSync(shared)).toEqual([]);
    // A folder of the store's own in there is created for its owner alone.
    expect(() => openStore({}, join(shared, 'own', 'c.db'))).not.toThrow();
  });

  it.each([
    ['755', 0o755],
    ['775', 0o775],
    ['700', 0o700],
  ])('accepts a folder of mode %s of the user and their own group', (_text, mode) => {
    chmodSync(folder, mode);
    expect(() => openStore({}, join(folder, 'c.db'))).not.toThrow();
  });

  it.runIf(process.getuid?.() === 0).each([
    ['the folder of another user', 65_534, 0, 0o700],
    ['a folder that a group of others can write to', 0, 65_534, 0o770],
  ])('T145 refuses %s', (_what, uid, gid, mode) => {
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    chownSync(shared, uid, gid);
    chmodSync(shared, mode);
    expect(() => openStore({}, join(shared, 'c.db'))).toThrowError(
      expect.objectContaining({ code: 'store_unusable' }),
    );
    expect(readdirSync(shared)).toEqual([]);
  });

  it('T145 uses no record or sign-in that is not encrypted with its key', async () => {
    const plain = openStore();
    await plain.save(record());
    await plain.savePending(pending('planted'));
    expect(await plain.find(key)).toEqual(record());
    const store = openStore({ key: new Uint8Array(32).fill(1) });
    const refused = { code: 'store_unusable', message: expect.stringContaining('not encrypted') };
    await expect(store.find(key)).rejects.toMatchObject(refused);
    await expect(store.list(key.server, key.account)).rejects.toMatchObject(refused);
    await expect(store.takePending('planted')).rejects.toMatchObject(refused);
    await store.save(record());
    expect(await store.find(key)).toEqual(record());
  });

  it('explains why a file is not a credential file', () => {
    writeFileSync(join(folder, 'notes.txt'), 'these are my notes, '.repeat(100));
    expect(() => openStore({}, join(folder, 'notes.txt'))).toThrowError(
      expect.objectContaining({ code: 'store_unusable' }),
    );
    expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toMatch(/^these are my notes/);
    expect(() => openStore({}, folder)).toThrowError(expect.objectContaining({ code: 'store_unusable' }));
  });

  it('encrypts the whole file with a key, which is required to open it', async () => {
    const encryptionKey = new Uint8Array(32).fill(1);
    const store = openStore({ key: encryptionKey });
    await store.save(record());
    expect(readFileSync(path()).includes('canary')).toBe(false);
    await expect(openStore({ key: new Uint8Array(32).fill(2) }).find(key)).rejects.toMatchObject({
      code: 'store_unusable',
    });
    await expect(openStore().find(key)).rejects.toMatchObject({ code: 'store_unusable' });
    expect(await openStore({ key: encryptionKey }).find(key)).toEqual(record());
    expect(() => openStore({ key: new Uint8Array(16) })).toThrowError(
      expect.objectContaining({ code: 'configuration_invalid' }),
    );
    expect(store.location).toContain('encrypted');
  });

  it('deletes pending authorizations that were never completed', async () => {
    let now = Date.now();
    const store = openStore({ clock: () => now });
    await store.savePending(pending('old', now + 1000));
    now += 2000;
    await store.savePending(pending('new', now + 1000));
    expect(await store.takePending('old')).toBeNull();
    expect(await store.takePending('new')).not.toBeNull();
  });

  it('takes over the lock of a process that died', async () => {
    let now = Date.now();
    const first = openStore({ clock: () => now });
    await first.lock('x');
    const second = openStore({ clock: () => now });
    let taken = false;
    const waiting = second.lock('x').then((release) => {
      taken = true;
      return release;
    });
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(taken).toBe(false);
    now += 15_001;
    await (await waiting)();
  });

  it('takes over the lock of a process that died while the clock was ahead', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const now = Date.now();
    await openStore({ clock: () => now + 86_400_000 }).lock('x');
    await openStore({ clock: () => now + 10_000 }).lock('y');
    const store = openStore({ clock: () => now });
    const acquiring = store.lock('x');
    await vi.advanceTimersByTimeAsync(8_100);
    const release = await acquiring;
    // A clock that was set back a little takes nothing from a process that lives.
    let taken = false;
    const waiting = store.lock('y').then(() => {
      taken = true;
    });
    await release();
    await (await store.lock('x'))();
    await vi.advanceTimersByTimeAsync(8_100);
    expect(taken).toBe(false);
    store.close();
    const closed = expect(waiting).rejects.toMatchObject({ code: 'ERR_INVALID_STATE' });
    await vi.advanceTimersByTimeAsync(100);
    await closed;
    open.pop();
  });

  it('takes no lock of a process that lives when the clock is set back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    let now = Date.now();
    const clock = () => now;
    const release = await openStore({ clock }).lock('x');
    now -= 3_600_000;
    let taken = false;
    const waiting = openStore({ clock })
      .lock('x')
      .then((releaseIt) => {
        taken = true;
        return releaseIt;
      });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(taken).toBe(false);
    await release();
    await vi.advanceTimersByTimeAsync(100);
    await (await waiting)();
  });

  it.each([
    ['acquired', 'INSERT'],
    ['released', 'DELETE'],
  ])('keeps no lock after it could not be %s once', async (_what, write) => {
    let now = Date.now();
    const store = openStore({ clock: () => now });
    const other = new DatabaseSync(path());
    const breakWrites = () =>
      other.exec(
        `CREATE TRIGGER broken BEFORE ${write} ON leases BEGIN SELECT RAISE(ABORT, 'disk full'); END`,
      );
    if (write === 'INSERT') {
      breakWrites();
      await expect(store.lock('x')).rejects.toThrow('disk full');
    } else {
      const release = await store.lock('x');
      breakWrites();
      await release();
      // The lease that remains expires.
      now += 15_001;
    }
    other.exec('DROP TRIGGER broken');
    other.close();
    await (await store.lock('x'))();
    await (await openStore({ clock: () => now }).lock('x'))();
  });

  it('the next request notices a sign-in and a sign-out of another process', async () => {
    const world = await createWorld();
    const running = world.client({ store: openStore() });
    const terminal = world.client({ store: openStore() });
    await running.fetch(world.serverUrl);
    const first = await running.accessToken();
    await terminal.signIn();
    await running.fetch(world.serverUrl);
    const latest = calls(world).at(-1)?.headers.get('authorization');
    expect(latest).toBe(`Bearer ${await terminal.accessToken()}`);
    expect(latest).not.toContain(first);
    await terminal.signOut();
    expect(await running.accessToken()).toBeNull();
    expect(world.user.opened).toHaveLength(2);
  });

  it('T120 T124 T145 a session survives three processes that refresh it concurrently, also when a response is lost', async () => {
    const { failures, refreshes, lost, stale, signIns } = await shareSession(10, 3);
    expect({ failures, stale, signIns, lost }).toEqual({ failures: [], stale: 0, signIns: 0, lost: 2 });
    // One a round, and one more where the answer did not arrive.
    expect(refreshes).toEqual(refreshes.map((_, round) => (round % 5 === 4 ? 2 : 1)));
  });
});
