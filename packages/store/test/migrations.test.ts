/** Migrations: a filled database is upgraded with all its rows, on SQLite and PostgreSQL. */
import { DatabaseSync } from 'node:sqlite';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { openStore } from '@portcullis/store';
import { Client, Pool, types } from 'pg';
import { describe, expect, it } from 'vitest';
import { createPostgresDatabase, runStepsAsync } from '../src/postgres/postgres-database.ts';
import { postgresDialect, sqliteDialect } from '../src/schema/dialect.ts';
import { migrate, pendingMigrations } from '../src/schema/migrate.ts';
import { type Migration, migrations } from '../src/schema/migrations.ts';
import { createSqliteDatabase } from '../src/sqlite/sqlite-database.ts';
import { createStatementCache, runSteps } from '../src/sqlite/statement-cache.ts';
import { createStore } from '../src/store.ts';
import {
  createGrant,
  NOW,
  newAccount,
  newClient,
  newEvent,
  newHash,
  newKey,
  newSession,
  successorOf,
} from '../testing/samples.ts';
import { postgresDatabases, queryPostgres, sqliteFiles } from './databases.ts';

/** The schema of a database: columns, foreign keys, and each index with its text. */
const SQLITE_SCHEMA = `SELECT t.name AS place, c.name, c.type || coalesce(c.dflt_value, '') AS type, c."notnull" + 2 * c.pk AS required
    FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'
  UNION ALL SELECT t.name, f."from", f."table" || f.on_delete, 0 FROM sqlite_schema t, pragma_foreign_key_list(t.name) f
    WHERE t.type = 'table'
  UNION ALL SELECT tbl_name, name, coalesce(sql, ''), 0 FROM sqlite_schema WHERE type = 'index' ORDER BY 1, 2, 3`;
const POSTGRES_SCHEMA = `SELECT table_name::text AS place, column_name::text AS name,
    data_type::text || coalesce(collation_name, '') || coalesce(column_default, '') AS type, is_nullable::text AS required
    FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid), '' FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'f', 'u', 'c')
  UNION ALL SELECT tablename::text, '', indexdef, '' FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2, 3`;

const NEXT = (migrations.at(-1)?.number ?? 0) + 1;

/** How a later version may change the schema: a new column with data, an index, a renamed table. */
const next: Migration = {
  number: NEXT,
  name: 'labels of grants',
  statements: ({ text }) => [
    `ALTER TABLE grants ADD COLUMN label ${text}`,
    'UPDATE grants SET label = client_id',
    'CREATE INDEX grants_by_label ON grants (label)',
    'ALTER TABLE setup_links RENAME TO first_account_links',
  ],
};

const broken: Migration = {
  ...next,
  statements: (dialect) => [...next.statements(dialect), 'UPDATE no_such_table SET label = 1'],
};

async function migrateSqlite(location: string, known: readonly Migration[]): Promise<void> {
  const connection = new DatabaseSync(location);
  try {
    connection.exec('BEGIN IMMEDIATE');
    runSteps(migrate(sqliteDialect, NOW, known), createStatementCache(connection));
    connection.exec('COMMIT');
  } finally {
    // Closing rolls back.
    connection.close();
  }
}

async function migratePostgres(location: string, known: readonly Migration[]): Promise<void> {
  const client = new Client({ connectionString: location });
  await client.connect();
  try {
    await client.query('BEGIN');
    await runStepsAsync(
      migrate(postgresDialect, NOW, known),
      async ({ template, values }) => (await client.query(template.postgres, [...values])).rows,
    );
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
}

function openSqlitePastCheck(location: string): AuthorizationStore {
  return createStore(createSqliteDatabase(new DatabaseSync(location), 5));
}

/** Opens the store without the check of its schema, as a later version would. */
function openPostgresPastCheck(location: string): AuthorizationStore {
  const getTypeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
    oid === 20 ? Number : types.getTypeParser(oid, format);
  return createStore(
    createPostgresDatabase(new Pool({ connectionString: location, types: { getTypeParser } })),
  );
}

/** Fills a database. @returns a check that all of it is present */
async function fill(store: AuthorizationStore): Promise<(store: AuthorizationStore) => Promise<void>> {
  const [account, client, key, event] = [newAccount(), newClient(), newKey(), newEvent()];
  expect(await store.createFirstAccount(account, null)).toBe('created');
  const session = newSession(account.id);
  await store.saveSession(session);
  await store.saveClient(client);
  await store.addSigningKey(key, null);
  await store.appendEvents([event]);
  const { grant, token } = await createGrant(store, {
    grant: { accountId: account.id, clientId: client.id },
  });
  const { grant: revoked } = await createGrant(store);
  await store.revokeGrant(revoked.id, NOW);
  const jti = newHash();
  await store.revokeAccessToken(jti, NOW + 1000);
  return async (upgraded) => {
    expect(await upgraded.findAccount(account.id)).toEqual(account);
    expect(await upgraded.findSession(session.hash, NOW)).toEqual({ session, account });
    expect(await upgraded.findClient(client.id)).toEqual(client);
    expect(await upgraded.listSigningKeys()).toEqual([key]);
    expect(await upgraded.listLatestEvents(10)).toEqual([event]);
    expect(await upgraded.findGrant(grant.id)).toMatchObject({ grant, token });
    expect(await upgraded.isAccessTokenLive(jti, grant.id)).toBe(false);
    expect(await upgraded.isAccessTokenLive('jti', revoked.id)).toBe(false);
    expect(await upgraded.isAccessTokenLive('jti', grant.id)).toBe(true);
    expect(await upgraded.rotateRefreshToken(grant.id, token.hash, successorOf(token), null)).toBe('rotated');
  };
}

describe.each([
  {
    name: 'SQLite',
    places: sqliteFiles(),
    schema: SQLITE_SCHEMA,
    upgrade: migrateSqlite,
    openPastCheck: openSqlitePastCheck,
    run: async (location: string, text: string): Promise<readonly unknown[]> => {
      const connection = new DatabaseSync(location);
      try {
        return connection.prepare(text).all();
      } finally {
        connection.close();
      }
    },
  },
  {
    name: 'PostgreSQL',
    places: postgresDatabases(),
    schema: POSTGRES_SCHEMA,
    upgrade: migratePostgres,
    openPastCheck: openPostgresPastCheck,
    run: queryPostgres,
  },
])('migrations on $name', ({ places, schema, upgrade, openPastCheck, run }) => {
  it('migrates a filled database with all its rows to the same schema as an empty one', async () => {
    const [location, fresh] = [await places(), await places()];
    const store = await openStore(location);
    const expectAll = await fill(store);
    await store.close();

    await upgrade(location, [...migrations, next]);
    await upgrade(fresh, [...migrations, next]);
    expect(await run(location, schema)).toEqual(await run(fresh, schema));
    const upgraded = openPastCheck(location);
    await expectAll(upgraded);
    await upgraded.close();
    expect(await run(location, 'SELECT count(*) AS labels FROM grants WHERE label = client_id')).toEqual(
      await run(location, 'SELECT count(*) AS labels FROM grants'),
    );
    expect(
      await run(location, 'SELECT number, name FROM portcullis_migrations ORDER BY number'),
    ).toMatchObject([...migrations, next].map(({ name }) => ({ name })));

    // Another run changes nothing, and this version refuses a database of a later one.
    await upgrade(location, [...migrations, next]);
    await expect(openStore(location)).rejects.toThrow(`newer version of Portcullis (schema ${NEXT};`);
  });

  it('leaves a filled database unchanged when a migration fails', async () => {
    const location = await places();
    const store = await openStore(location);
    const expectAll = await fill(store);
    await store.close();
    const before = await run(location, schema);

    await expect(upgrade(location, [...migrations, broken])).rejects.toThrow('no_such_table');
    expect(await run(location, schema)).toEqual(before);
    const reopened = await openStore(location);
    await expectAll(reopened);
    await reopened.close();
  });
});

describe('a database that another process migrates between two reads', () => {
  const ROW = [{ one: 1 }];
  const NEWEST = [{ number: migrations.at(-1)?.number }];
  /** The results of the reads, in order: our tables, other tables, our tables again, the latest migration. */
  const look = (...found: readonly (readonly unknown[])[]) => {
    const left = [...found];
    return () => runSteps(pendingMigrations(postgresDialect), () => left.shift() ?? []);
  };

  it('recognizes a database that another process has just migrated', () => {
    expect(look([], ROW, ROW, NEWEST)()).toEqual([]);
    expect(look(ROW, NEWEST)()).toEqual([]);
  });

  it('distinguishes a database of another program and an empty one from a migrated one', () => {
    expect(look([], ROW, [])).toThrow('tables of another program');
    expect(look([], [])()).toEqual(migrations);
  });
});
