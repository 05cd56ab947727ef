/** Looks at the schema of a database without changing anything in it. */
import { existsSync } from 'node:fs';
import type { Steps } from './database.ts';
import { postgresDialect, sqliteDialect } from './schema/dialect.ts';
import { pendingMigrations } from './schema/migrate.ts';
import { type Migration, migrations } from './schema/migrations.ts';
import { StoreError } from './store-error.ts';

export interface SchemaState {
  /** The number to which this version brings a database. */
  readonly newest: number;
  /** The migrations that the database lacks, in their order; none: it is up to date. */
  readonly pending: readonly { readonly number: number; readonly name: string }[];
}

/** @param location as for `openStore`; a file that is missing lacks everything, and is not made */
export async function inspectSchema(location: string): Promise<SchemaState> {
  const pending = /^postgres(?:ql)?:\/\//i.test(location)
    ? await inspectPostgres(location)
    : existsSync(location)
      ? await inspectSqlite(location)
      : migrations;
  return {
    newest: migrations.at(-1)?.number ?? 0,
    pending: pending.map(({ number, name }) => ({ number, name })),
  };
}

async function inspectSqlite(location: string): Promise<readonly Migration[]> {
  const [{ DatabaseSync }, { createRunner, walk }] = await Promise.all([
    import('node:sqlite'),
    import('./sqlite/sqlite-database.ts'),
  ]);
  const connection = new DatabaseSync(location, { readOnly: true, timeout: 5_000 });
  try {
    return walk(pendingMigrations(sqliteDialect), createRunner(connection));
  } finally {
    connection.close();
  }
}

async function inspectPostgres(location: string): Promise<readonly Migration[]> {
  const [{ Client }, { walk }] = await Promise.all([import('pg'), import('./postgres/postgres-database.ts')]);
  const client = new Client({ connectionString: location, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const steps: Steps<readonly Migration[]> = pendingMigrations(postgresDialect);
    return await walk(
      steps,
      async ({ template, values }) => (await client.query(template.postgres, [...values])).rows,
    );
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`The PostgreSQL database cannot be opened: ${(error as Error).message}.`, {
      cause: error,
    });
  } finally {
    await client.end().catch(() => {});
  }
}
