/** Empty databases for tests: temporary files, and databases of a real PostgreSQL. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll } from 'vitest';
import { type Postgres, startPostgres } from '../../../tests/support/postgres.ts';

/** Creates an empty database and returns its location. All are removed after the tests of the file. */
export type CreateDatabase = () => Promise<string>;

export function sqliteFiles(): CreateDatabase {
  const folders: string[] = [];
  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true });
  });
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), 'portcullis-store-'));
    folders.push(folder);
    return join(folder, 'portcullis.db');
  };
}

export function postgresDatabases(): CreateDatabase {
  let postgres: Promise<Postgres> | undefined;
  afterAll(async () => (await postgres)?.stop());
  return async () => {
    postgres ??= startPostgres();
    return (await postgres).createDatabase();
  };
}

/** Queries a PostgreSQL database directly, bypassing the store. */
export async function queryPostgres(
  location: string,
  text: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: location });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
