/** Opens a PostgreSQL database and migrates its schema. */
import { Client, type ClientConfig, Pool, types } from 'pg';
import { type Database, type Steps, StoreError } from '../database.ts';
import { postgresDialect } from '../schema/dialect.ts';
import { migrate, pendingMigrations } from '../schema/migrate.ts';
import { createPostgresDatabase, runStepsAsync } from './postgres-database.ts';

/** Any number that other programs on the server are unlikely to lock by: "portcull" in ASCII. */
const MIGRATION_LOCK = '8102099357864587372';

const BIGINT = 20;

/**
 * @param busyTimeout seconds to wait for a connection, and for a result
 * @param poolSize the most connections that this process opens
 */
export async function openPostgres(
  location: string,
  busyTimeout: number,
  poolSize: number,
): Promise<Database> {
  const config: ClientConfig = {
    connectionString: location,
    connectionTimeoutMillis: busyTimeout * 1000,
    keepAlive: true,
    fallback_application_name: 'portcullis',
    types: { getTypeParser: readNumbers },
  };
  await migrateDatabase(config);
  const pool = new Pool({
    ...config,
    query_timeout: busyTimeout * 1000,
    max: poolSize,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
  });
  // An idle connection was lost. The pool has dropped it; unhandled, the event would end the process.
  pool.on('error', () => {});
  // A connection may be lost between two uses: for that moment it has no other listener.
  pool.on('connect', (client) => client.on('error', () => {}));
  return createPostgresDatabase(pool);
}

/** Times are far below 2^53. */
const readNumbers: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === BIGINT ? Number : types.getTypeParser(oid, format);

async function migrateDatabase(config: ClientConfig): Promise<void> {
  let client: Client | undefined;
  try {
    client = new Client(config);
    client.on('error', () => {});
    await client.connect();
    await migrateUnderLock(client);
  } catch (error) {
    throw explain(error);
  } finally {
    await client?.end().catch(() => {});
  }
}

/** An up-to-date database is only read: then the role needs no right to change the schema. */
async function migrateUnderLock(client: Client): Promise<void> {
  const run = <T>(steps: Steps<T>) =>
    runStepsAsync(
      steps,
      async ({ template, values }) => (await client.query(template.postgres, [...values])).rows,
    );
  const pending = await run(pendingMigrations(postgresDialect));
  if (pending.length === 0) return;
  await client.query('BEGIN');
  await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
  await run(migrate(postgresDialect, Math.floor(Date.now() / 1000)));
  await client.query('COMMIT');
}

/** The location may hold a password and is not repeated. */
function explain(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const reason =
    error instanceof AggregateError ? error.errors.map(String).join(', ') : (error as Error).message;
  return new StoreError(`The PostgreSQL database cannot be opened: ${reason}.`, { cause: error });
}
