/** Both databases pass the contract: SQLite in memory and in a file, and a real PostgreSQL. */
import { openStore } from '@portcullis/store';
import { describeStoreContract } from '@portcullis/store/testing';
import { postgresDatabases, queryPostgres, sqliteFiles } from './databases.ts';

describeStoreContract('SQLite in memory', () => openStore(':memory:'));

const files = sqliteFiles();
describeStoreContract('a SQLite file', async () => openStore(await files()));

const databases = postgresDatabases();
let location: string | undefined;
describeStoreContract('PostgreSQL', async () => {
  if (location === undefined) location = await databases();
  else await queryPostgres(location, EMPTY);
  return openStore(location);
});

/** Faster than a new database for each test, and than TRUNCATE, which creates new files. */
const EMPTY = `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'portcullis_migrations'
  LOOP EXECUTE format('DELETE FROM %I', name); END LOOP; END $$`;
