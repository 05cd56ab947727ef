/** Brings a database from whatever number it has to the newest. */
import type { Steps } from '../database.ts';
import { literal, type Query, sql } from '../sql.ts';
import { StoreError } from '../store-error.ts';
import type { Dialect } from './dialect.ts';
import { type Migration, migrations } from './migrations.ts';

/**
 * The migrations that a database lacks. Only reads.
 * @throws StoreError when the database is newer than this program, or another program's
 */
export function* pendingMigrations(dialect: Dialect): Steps<readonly Migration[]> {
  const ours = yield dialect.isOurs();
  if (ours.length === 0) {
    const foreign = yield dialect.isForeign();
    if (foreign.length === 0) return migrations;
    // Between the two looks another process may have brought it up to date, which happens all at once.
    if ((yield dialect.isOurs()).length === 0) {
      throw new StoreError(
        'The database holds tables of another program: give Portcullis a database of its own.',
      );
    }
  }
  const [found] = (yield newestNumber()) as readonly { readonly number: number }[];
  const done = found?.number ?? 0;
  const known = migrations.at(-1)?.number ?? 0;
  if (done > known) {
    throw new StoreError(
      `The database was made by a newer Portcullis (schema ${done}, this one knows ${known}): run that version or a later one.`,
    );
  }
  return migrations.filter(({ number }) => number > done);
}

/**
 * Applies what is lacking. The caller runs it in one transaction that keeps other processes from doing the same.
 * @param now epoch seconds
 */
export function* migrate(dialect: Dialect, now: number): Steps<void> {
  const pending = yield* pendingMigrations(dialect);
  if (pending.length === 0) return;
  yield literal(
    `CREATE TABLE IF NOT EXISTS portcullis_migrations (
      number ${dialect.integer} PRIMARY KEY NOT NULL,
      name ${dialect.text} NOT NULL,
      applied_at ${dialect.integer} NOT NULL
    ) ${dialect.table}`,
  );
  for (const { number, name, statements } of pending) {
    for (const statement of statements(dialect)) yield literal(statement);
    yield sql`INSERT INTO portcullis_migrations (number, name, applied_at) VALUES (${number}, ${name}, ${now})`;
  }
}

function newestNumber(): Query {
  return sql`SELECT MAX(number) AS number FROM portcullis_migrations`;
}
