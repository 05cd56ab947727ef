/** The stores of these tests: a SQLite file, and a database of a real PostgreSQL; and how to look into each behind a server's back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { startPostgres } from '../support/postgres.ts';
import type { AtEnd } from './servers.ts';

export interface Place {
  readonly location: string;
  ask(query: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface Kind {
  readonly name: string;
  /** Makes an empty store, which goes when the test has ended. */
  make(atEnd: AtEnd): Promise<Place>;
}

const sqlite: Kind = {
  name: 'SQLite',
  async make(atEnd) {
    const folder = await mkdtemp(join(tmpdir(), 'portcullis-resilience-'));
    atEnd(() => rm(folder, { recursive: true }));
    const location = join(folder, 'portcullis.db');
    return {
      location,
      async ask(query) {
        const connection = new DatabaseSync(location);
        try {
          return connection.prepare(query).all();
        } finally {
          connection.close();
        }
      },
    };
  },
};

const postgres: Kind = {
  name: 'PostgreSQL',
  async make(atEnd) {
    const server = await startPostgres();
    const location = await server.createDatabase();
    atEnd(() => server.stop());
    return { location, ask: (query) => askPostgres(location, query) };
  },
};

export const kinds: readonly Kind[] = [sqlite, postgres];

export async function askPostgres(
  location: string,
  query: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: location });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(query)).rows;
  } finally {
    await client.end();
  }
}
