/** Opens a PostgreSQL database and brings its schema up to date. */
import { Client, type ClientConfig, Pool, types } from 'pg';
import type { Database, Steps } from '../database.ts';
import { postgresDialect } from '../schema/dialect.ts';
import { migrate, pendingMigrations } from '../schema/migrate.ts';
import { StoreError } from '../store-error.ts';
import { createPostgresDatabase, walk } from './postgres-database.ts';

/** Any number that other programs on the server are unlikely to lock by: "portcull" in ASCII. */
const MIGRATION_LOCK = '8102099357864587372';

const BIGINT = 20;

/**
 * @param busyTimeout seconds to wait for a connection, and for an answer
 * @param connections the most that this process opens
 */
export async function openPostgres(
  location: string,
  busyTimeout: number,
  connections: number,
): Promise<Database> {
  const config: ClientConfig = {
    connectionString: location,
    connectionTimeoutMillis: busyTimeout * 1000,
    keepAlive: true,
    fallback_application_name: 'portcullis',
    types: { getTypeParser: readNumbers },
  };
  await bringUpToDate(config);
  const pool = new Pool({
    ...config,
    query_timeout: busyTimeout * 1000,
    max: connections,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
  });
  // An idle connection was cut. The pool has let go of it; unheard, the event would end the process.
  pool.on('error', () => {});
  // One that is on its way from one user to the next is cut: for that moment nobody else listens.
  pool.on('connect', (client) => client.on('error', () => {}));
  return createPostgresDatabase(pool);
}

/** Times are far below 2^53. */
const readNumbers: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === BIGINT ? Number : types.getTypeParser(oid, format);

async function bringUpToDate(config: ClientConfig): Promise<void> {
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

/** A database that is up to date is only read: then the role needs no right to change the schema. */
async function migrateUnderLock(client: Client): Promise<void> {
  const follow = <T>(steps: Steps<T>) =>
    walk(steps, async ({ template, values }) => (await client.query(template.postgres, [...values])).rows);
  const pending = await follow(pendingMigrations(postgresDialect));
  if (pending.length === 0) return;
  await client.query('BEGIN');
  await client.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
  await follow(migrate(postgresDialect, Math.floor(Date.now() / 1000)));
  await client.query('COMMIT');
}

/** The location may hold a password and is not repeated. */
function explain(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const reason =
    error instanceof AggregateError ? error.errors.map(String).join(', ') : (error as Error).message;
  return new StoreError(`The PostgreSQL database cannot be opened: ${reason}.`, { cause: error });
}
