/** Opens a SQLite file or an in-memory database, and migrates its schema. */
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, StoreError } from '../database.ts';
import { sqliteDialect } from '../schema/dialect.ts';
import { migrate, pendingMigrations } from '../schema/migrate.ts';
import { checkFileWriters, restrictToOwner } from './file-modes.ts';
import { isSqliteBusy, sqliteResultCode } from './outage.ts';
import { createSqliteDatabase } from './sqlite-database.ts';
import { createStatementCache, runSteps } from './statement-cache.ts';

/** WAL: readers and the writer do not block each other. FULL: commits survive a loss of power. */
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA wal_autocheckpoint = 4000;
`;

const NOT_A_DATABASE = 26;

/** @param busyTimeout seconds to wait for a lock that another process holds */
export async function openSqlite(location: string, busyTimeout: number): Promise<Database> {
  if (location !== ':memory:') await touch(location);
  const until = performance.now() + busyTimeout * 1000;
  for (;;) {
    try {
      const connection = connect(location);
      if (location !== ':memory:') await restrictToOwner(location).catch(closing(connection));
      return createSqliteDatabase(connection, busyTimeout);
    } catch (error) {
      if (!isSqliteBusy(error) || performance.now() > until) throw explain(location, error);
      await sleep(5);
    }
  }
}

/** Creates the file if it is missing, readable by its owner only. @throws StoreError */
async function touch(location: string): Promise<void> {
  try {
    const file = await open(location, 'a', 0o600);
    const { mode } = await file.stat().finally(() => file.close());
    checkFileWriters(location, mode);
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw missing
      ? new StoreError(`The folder ${dirname(location)} does not exist. Create it first.`, { cause: error })
      : explain(location, error);
  }
}

/** Closes a connection whose file cannot be used, and returns the original error. */
function closing(connection: DatabaseSync): (error: unknown) => never {
  return (error) => {
    connection.close();
    throw error;
  };
}

function connect(location: string): DatabaseSync {
  const connection = new DatabaseSync(location, { timeout: 0 });
  try {
    const run = createStatementCache(connection);
    // A database of another program is rejected before anything in it is changed.
    runSteps(pendingMigrations(sqliteDialect), run);
    connection.exec(SETTINGS);
    connection.exec('BEGIN IMMEDIATE');
    runSteps(migrate(sqliteDialect, Math.floor(Date.now() / 1000)), run);
    connection.exec('COMMIT');
    return connection;
  } catch (error) {
    // Closing rolls back.
    connection.close();
    throw error;
  }
}

function explain(location: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (sqliteResultCode(error) === NOT_A_DATABASE) {
    return new StoreError(`The file ${location} is not a SQLite database. Choose another file.`, {
      cause: error,
    });
  }
  return new StoreError(`The SQLite file ${location} cannot be opened: ${(error as Error).message}.`, {
    cause: error,
  });
}
