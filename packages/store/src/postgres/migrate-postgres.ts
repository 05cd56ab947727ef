/** Migrates a PostgreSQL database while servers use it: no migration blocks their writes for longer than a second. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Steps } from '../database.ts';
import { postgresDialect } from '../schema/dialect.ts';
import { applyMigration, pendingMigrations, recordMigration } from '../schema/migrate.ts';
import { type IndexMigration, type Migration, migrations } from '../schema/migrations.ts';
import { errorCode } from './outage.ts';
import { runStepsAsync } from './postgres-database.ts';

/** Advisory lock key that other programs are unlikely to use: "portcull" in ASCII. */
const MIGRATION_LOCK = '8102099357864587372';

/**
 * Milliseconds that a statement of a migration waits for a lock, while later writes queue behind it. Then it is cancelled, lets them pass and is
 * tried again.
 */
const LOCK_TIMEOUT = 500;
const LOCK_TRIES = 120;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * An up-to-date database is only read: then the role needs no right to change the schema.
 * @param connect opens a connection, which is closed here
 * @param known every migration of this version
 */
export async function migratePostgres(
  connect: () => Promise<Client>,
  known: readonly Migration[] = migrations,
): Promise<void> {
  const client = await connect();
  const pending = () => runOn(client, pendingMigrations(postgresDialect, known));
  try {
    if ((await pending()).length === 0) return;
    await withLock(connect, async () => {
      for (const migration of await pending()) {
        if ('indexes' in migration) await buildIndexes(client, migration);
        else await applyInTransaction(client, migration);
      }
    });
  } finally {
    await client.end().catch(() => {});
  }
}

/** Runs statements on one connection. */
export function runOn<T>(client: Client, steps: Steps<T>): Promise<T> {
  return runStepsAsync(
    steps,
    async ({ template, values }) => (await client.query(template.postgres, [...values])).rows,
  );
}

/** The lock belongs to a transaction, which works through a connection pooler too. */
const BEGIN_TURN = 'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0';

/**
 * Runs while another connection holds the lock. `CREATE INDEX CONCURRENTLY` waits for the end of every transaction that runs a statement, so
 * other processes neither wait for the lock in a statement nor poll for it in one transaction: each would wait for the other for ever.
 */
async function withLock(connect: () => Promise<Client>, work: () => Promise<void>): Promise<void> {
  const holder = await connect();
  try {
    await holder.query(BEGIN_TURN);
    while (!(await tryLock(holder))) {
      await holder.query('ROLLBACK');
      await sleep(100);
      await holder.query(BEGIN_TURN);
    }
    await work();
    await holder.query('COMMIT');
  } finally {
    await holder.end().catch(() => {});
  }
}

async function tryLock(holder: Client): Promise<boolean> {
  const { rows } = await holder.query<{ readonly locked: boolean }>(
    `SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS locked`,
  );
  return rows[0]?.locked === true;
}

async function applyInTransaction(client: Client, migration: Migration): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT}`);
      await runOn(client, applyMigration(postgresDialect, now(), migration));
      await client.query('COMMIT');
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      if (errorCode(error) !== LOCK_NOT_AVAILABLE || tries === LOCK_TRIES) throw error;
      await sleep(LOCK_TIMEOUT);
    }
  }
}

/** An interrupted build leaves an invalid index, which is rebuilt. */
async function buildIndexes(client: Client, migration: IndexMigration): Promise<void> {
  for (const [name, on] of Object.entries(migration.indexes)) {
    const { rows } = await client.query<{ readonly is_valid: boolean }>(
      'SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass($1)',
      [name],
    );
    if (rows[0]?.is_valid === true) continue;
    // The role or database may set a timeout that suits requests, not migrations.
    await client.query('SET statement_timeout = 0');
    if (rows[0] !== undefined) await client.query(`DROP INDEX CONCURRENTLY ${name}`);
    await client.query(`CREATE INDEX CONCURRENTLY ${name} ON ${on}`);
    await client.query('RESET statement_timeout');
  }
  await runOn(client, recordMigration(postgresDialect, now(), migration));
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}
