/** Migrates a database from its current schema to the newest. */
import { type Steps, StoreError } from '../database.ts';
import { literal, type Query, sql } from '../sql.ts';
import type { Dialect } from './dialect.ts';
import { type Migration, migrations } from './migrations.ts';

/**
 * The migrations that a database lacks. Only reads.
 * @param known every migration of this version
 * @throws StoreError when the database is newer than this version, of a development version, or of another program
 */
export function* pendingMigrations(
  dialect: Dialect,
  known: readonly Migration[] = migrations,
): Steps<readonly Migration[]> {
  const ours = yield dialect.isOurs();
  if (ours.length === 0) {
    const foreign = yield dialect.isForeign();
    if (foreign.length === 0) return known;
    // Another process may have migrated it between the two reads: a migration commits at once.
    if ((yield dialect.isOurs()).length === 0) {
      throw new StoreError(
        'The database contains tables of another program. Give Portcullis a database of its own.',
      );
    }
  }
  const recorded = (yield recordedMigrations()) as readonly RecordedMigration[];
  checkNames(recorded, known);
  const done = recorded.at(-1)?.number ?? 0;
  const newest = known.at(-1)?.number ?? 0;
  if (done > newest) {
    throw new StoreError(
      `The database was created by a newer version of Portcullis (schema ${done}; this version supports up to ${newest}). Run that version or a later one.`,
    );
  }
  return known.filter(({ number }) => number > done);
}

type RecordedMigration = Pick<Migration, 'number' | 'name'>;

/** A version in development may have had another migration under a number, or lacked one. Numbers alone would not show it. */
function checkNames(recorded: readonly RecordedMigration[], known: readonly Migration[]): void {
  const done = recorded.at(-1)?.number ?? 0;
  const names = new Map(recorded.map(({ number, name }) => [number, name]));
  const other = known.find(({ number, name }) => number <= done && names.get(number) !== name);
  if (other === undefined) return;
  const found = names.get(other.number);
  throw new StoreError(
    `The database was created by a development version of Portcullis: its migration ${other.number} is ${found === undefined ? 'missing' : `"${found}"`}; in this version it is "${other.name}". No migration leads from there to this version. Restore a backup from before that version, or name an empty database.`,
  );
}

/**
 * Applies the pending migrations. The caller runs it in one transaction, under a lock that excludes other processes.
 * @param now epoch seconds
 * @param known every migration of this version
 */
export function* migrate(
  dialect: Dialect,
  now: number,
  known: readonly Migration[] = migrations,
): Steps<void> {
  const pending = yield* pendingMigrations(dialect, known);
  for (const migration of pending) yield* applyMigration(dialect, now, migration);
}

/** Applies one migration, in one transaction. */
export function* applyMigration(dialect: Dialect, now: number, migration: Migration): Steps<void> {
  for (const statement of statementsOf(dialect, migration)) yield literal(statement);
  yield* recordMigration(dialect, now, migration);
}

function statementsOf(dialect: Dialect, migration: Migration): readonly string[] {
  if ('statements' in migration) return migration.statements(dialect);
  return Object.entries(migration.indexes).map(([name, on]) => `CREATE INDEX ${name} ON ${on}`);
}

export function* recordMigration(
  dialect: Dialect,
  now: number,
  { number, name }: Pick<Migration, 'number' | 'name'>,
): Steps<void> {
  yield literal(
    `CREATE TABLE IF NOT EXISTS portcullis_migrations (
      number ${dialect.integer} PRIMARY KEY NOT NULL,
      name ${dialect.text} NOT NULL,
      applied_at ${dialect.integer} NOT NULL
    ) ${dialect.table}`,
  );
  yield sql`INSERT INTO portcullis_migrations (number, name, applied_at) VALUES (${number}, ${name}, ${now})`;
}

/** Numbers as 32-bit integers: `pg` returns 64-bit ones as text. */
function recordedMigrations(): Query {
  return sql`SELECT CAST(number AS INTEGER) AS number, name FROM portcullis_migrations ORDER BY number`;
}
