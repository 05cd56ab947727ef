/** The SQLite database of a credential file: its tables, and statements that are prepared once. */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { preparePrivateFile, storeUnusable } from './private-file.ts';

export type CredentialDatabase = ReturnType<typeof openCredentialDatabase>;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS records (
    server TEXT NOT NULL, account TEXT NOT NULL, issuer TEXT NOT NULL, actor TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (server, account, issuer, actor)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS pending_authorizations (
    state TEXT PRIMARY KEY, body TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at INTEGER NOT NULL) STRICT;
`;

/**
 * Opens the file; creates it and its folder where they do not exist.
 * @throws ClientError `store_unusable`
 */
export function openCredentialDatabase(path: string) {
  preparePrivateFile(path);
  const database = openDatabase(path);
  const statements = new Map<string, StatementSync>();
  return {
    statement,
    /** No other process writes between the statements of `act`. */
    transaction<T>(act: () => T): T {
      statement('BEGIN IMMEDIATE').run();
      try {
        const result = act();
        statement('COMMIT').run();
        return result;
      } catch (error) {
        if (database.isTransaction) statement('ROLLBACK').run();
        throw error;
      }
    },
    close: (): void => database.close(),
  };

  /** Prepared on first use. */
  function statement(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const prepared = database.prepare(sql);
    statements.set(sql, prepared);
    return prepared;
  }
}

function openDatabase(path: string): DatabaseSync {
  try {
    const database = new DatabaseSync(path, { timeout: 5_000 });
    database.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;');
    database.exec(SCHEMA);
    return database;
  } catch (cause) {
    throw storeUnusable(path, 'it cannot be read as a credential store', cause);
  }
}
