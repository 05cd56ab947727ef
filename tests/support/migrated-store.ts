/** Stores on SQLite files whose schema is migrated already: the 140 statements of a new database cost more than most tests. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FullStore, openStore } from '@portcullis/store';

/** The bytes of an empty store, migrated once in each process that runs tests. */
let empty: Promise<Buffer> | undefined;

/** Opens a store on a new file, as `openStore` does. */
export async function openMigratedStore(file: string): Promise<FullStore> {
  empty ??= readEmptyStore();
  writeFileSync(file, await empty, { mode: 0o600, flag: 'wx' });
  return openStore(file);
}

/** Opens an empty store for a test, as `openStore(':memory:')` does, without its migrations. Closing it removes its file. */
export async function openEmptyStore(): Promise<FullStore> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-store-'));
  const store = await openMigratedStore(join(folder, 'store.db'));
  return {
    ...store,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function readEmptyStore(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-empty-'));
  try {
    const file = join(folder, 'store.db');
    await (await openStore(file)).close();
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
