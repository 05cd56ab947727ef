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
afterAll(() => database?.client.end());

async function openPostgres(): Promise<FullStore> {
  if (database === undefined) {
    const location = await databases();
    database = { location, client: new Client({ connectionString: location }) };
    await database.client.connect();
  } else {
    await database.client.query(EMPTY);
  }
  return openTestStore(database.location);
}

const stores: Readonly<Record<string, () => Promise<FullStore>>> = {
  SQLite: async () => openMigratedStore(await files()),
  PostgreSQL: openPostgres,
};
for (const [name, open] of Object.entries(stores)) {
  describeStoreContract(name, open);
  describeDefinitionPinContract(name, open);
}

/** Faster than a new database for each test, and than TRUNCATE, which creates new files. */
const EMPTY = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'portcullis_migrations'
  LOOP EXECUTE format('DELETE FROM %I', name); END LOOP; END $$`;
