/** Both databases pass the contract: SQLite in memory and in a file, and a real PostgreSQL. */
import { openStore } from '@portcullis/store';
import { describeStoreContract } from '@portcullis/store/contract';
import { ask, postgresDatabases, sqliteFiles } from './places.ts';

describeStoreContract('SQLite in memory', () => openStore(':memory:'));

const files = sqliteFiles();
describeStoreContract('a SQLite file', async () => openStore(await files()));

const databases = postgresDatabases();
let location: string | undefined;
describeStoreContract('PostgreSQL', async () => {
  if (location === undefined) location = await databases();
  else await ask(location, EMPTY);
  return openStore(location);
});

/** Quicker than a new database for each test. */
const EMPTY = `TRUNCATE accounts, setup_links, sessions, clients, transactions, codes, grants, refresh_tokens,
  revoked_access_tokens, signing_keys, client_documents, spent_assertions`;
