/** Opens a SQLite file, or one that lives in memory, and brings its schema up to date. */
import { DatabaseSync } from 'node:sqlite';
import type { Database } from '../database.ts';
import { type Migration, migrations, sqliteDialect } from '../migrations.ts';
import { StoreError } from '../store-error.ts';
import { createSqliteDatabase } from './sqlite-database.ts';

export function openSqlite(location: string): Database {
  let connection: DatabaseSync;
  try {
    connection = new DatabaseSync(location, { timeout: 5000 });
  } catch (cause) {
    throw new StoreError(`The SQLite file ${location} cannot be opened: ${(cause as Error).message}.`, {
      cause,
    });
  }
  try {
    connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
    migrate(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
  return createSqliteDatabase(connection);
}

function migrate(connection: DatabaseSync): void {
  connection.exec('BEGIN IMMEDIATE');
  try {
    connection.exec(
      'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT',
    );
    const row = connection.prepare('SELECT COALESCE(MAX(number), 0) AS number FROM migrations').get();
    const done = Number(row?.['number']);
    const newest = migrations.at(-1)?.number ?? 0;
    if (done > newest) {
      throw new StoreError(
        `The database has schema ${done}, this version knows ${newest}: use a newer Portcullis.`,
      );
    }
    for (const migration of migrations) if (migration.number > done) apply(connection, migration);
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.isTransaction) connection.exec('ROLLBACK');
    throw error;
  }
}

function apply(connection: DatabaseSync, { number, name, statements }: Migration): void {
  for (const statement of statements(sqliteDialect)) connection.exec(statement);
  connection.prepare('INSERT INTO migrations (number, name) VALUES (?, ?)').run(number, name);
}
