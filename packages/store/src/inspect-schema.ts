/** Reports which migrations a database lacks, without changing it. */
import { existsSync } from 'node:fs';
import { sqliteDialect } from './schema/dialect.ts';
import { pendingMigrations } from './schema/migrate.ts';
import { type Migration, migrations } from './schema/migrations.ts';

/** The state of a database schema, compared with this version. */
export interface SchemaState {
  /** The newest schema number of this version. */
  readonly newest: number;
  /** The pending migrations, in order; none: the schema is up to date. */
  readonly pending: readonly { readonly number: number; readonly name: string }[];
}

/**
 * Reports the pending migrations of a database, without changing it.
 * @param location as for `openStore`; a missing file lacks every migration, and is not created
 * @throws StoreError when a PostgreSQL database cannot be opened, or a database is newer than this version, of a development version or of another program
 */
export async function inspectSchema(location: string): Promise<SchemaState> {
  const pending = /^postgres(?:ql)?:\/\//i.test(location)
    ? await (await import('./postgres/open.ts')).inspectPostgres(location)
    : existsSync(location)
      ? await inspectSqlite(location)
      : migrations;
  return {
    newest: migrations.at(-1)?.number ?? 0,
    pending: pending.map(({ number, name }) => ({ number, name })),
  };
}

async function inspectSqlite(location: string): Promise<readonly Migration[]> {
  const [{ DatabaseSync }, { createStatementCache, runSteps }] = await Promise.all([
    import('node:sqlite'),
    import('./sqlite/statement-cache.ts'),
  ]);
  const connection = new DatabaseSync(location, { readOnly: true, timeout: 5_000 });
  try {
    return runSteps(pendingMigrations(sqliteDialect), createStatementCache(connection));
  } finally {
    connection.close();
  }
}
