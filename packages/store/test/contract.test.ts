/** Both databases pass the contract: SQLite, and a real PostgreSQL. */

import type { FullStore } from '@portcullis/store';
import { describeDefinitionPinContract, describeStoreContract } from '@portcullis/store/testing';
import { Client } from 'pg';
import { afterAll } from 'vitest';
import { openMigratedStore } from '../../../tests/support/migrated-store.ts';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { postgresDatabases, sqliteFiles } from './databases.ts';

const files = sqliteFiles();

const databases = postgresDatabases();
let database: { readonly location: string; readonly client: Client } | undefined;
let shared: FullStore | undefined;
afterAll(async () => {
  await shared?.close();
  await database?.client.end();
});

/** Opens the store that tests share: its connections and their prepared statements cost more than most tests. */
async function openPostgres(): Promise<FullStore> {
  if (database === undefined) {
    const location = await databases();
    database = { location, client: new Client({ connectionString: location }) };
    await database.client.connect();
  } else {
    await database.client.query(EMPTY);
  }
  shared ??= await openTestStore(database.location);
  const store = shared;
  return {
    ...store,
    close() {
      shared = undefined;
      return store.close();
    },
  };
}

describeStoreContract('SQLite', async () => openMigratedStore(await files()));
describeStoreContract('PostgreSQL', openPostgres, async () => {});
describeDefinitionPinContract('SQLite', async () => openMigratedStore(await files()));
describeDefinitionPinContract('PostgreSQL', openPostgres);

/** Faster than a new database for each test, and than TRUNCATE, which creates new files. */
const EMPTY = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'portcullis_migrations'
  LOOP EXECUTE format('DELETE FROM %I', name); END LOOP; END $$`;
