/** Opens a PostgreSQL database and migrates its schema. */
import { Client, type ClientConfig, types } from 'pg';
import { type Database, type PoolStatistics, StoreError } from '../database.ts';
import { postgresDialect } from '../schema/dialect.ts';
import { pendingMigrations } from '../schema/migrate.ts';
import type { Migration } from '../schema/migrations.ts';
import { createConnections } from './connections.ts';
import { migratePostgres, runOn } from './migrate-postgres.ts';
import { createPostgresDatabase } from './postgres-database.ts';
import { keepsPreparedStatements } from './prepared-statements.ts';

const BIGINT = 20;

/**
 * @param busyTimeout seconds to wait for a connection, and for a result
 * @param poolSize the most connections that this process opens
 */
export async function openPostgres(
  location: string,
  busyTimeout: number,
  poolSize: number,
  statistics?: PoolStatistics,
): Promise<Database> {
  const config: ClientConfig = {
    connectionString: location,
    connectionTimeoutMillis: busyTimeout * 1000,
    keepAlive: true,
    fallback_application_name: 'portcullis',
    types: { getTypeParser: readNumbers },
  };
  const connect = () => connectTo(config);
  const isPrepared = await openingDatabase(async () => {
    await migratePostgres(connect);
    return keepsPreparedStatements(connect);
  });
  const pool = { ...config, max: poolSize, idleTimeoutMillis: 60_000, allowExitOnIdle: true };
  return createPostgresDatabase(createConnections(pool, busyTimeout * 1000, statistics), isPrepared);
}

/** The pending migrations of a database, which is only read. @throws StoreError */
export function inspectPostgres(location: string): Promise<readonly Migration[]> {
  return openingDatabase(async () => {
    const client = await connectTo({ connectionString: location, connectionTimeoutMillis: 5_000 });
    return runOn(client, pendingMigrations(postgresDialect)).finally(() => client.end().catch(() => {}));
  });
}

/** Times are far below 2^53. */
const readNumbers: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === BIGINT ? Number : types.getTypeParser(oid, format);

async function connectTo(config: ClientConfig): Promise<Client> {
  const client = new Client(config);
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function openingDatabase<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(error);
  }
}

/** The location may hold a password and is not repeated. */
function explain(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const reason =
    error instanceof AggregateError ? error.errors.map(String).join(', ') : (error as Error).message;
  return new StoreError(`The PostgreSQL database cannot be opened: ${reason}.`, { cause: error });
}
