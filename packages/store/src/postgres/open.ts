/** Opens a PostgreSQL database and migrates its schema. */
import { Client, type ClientConfig, types } from 'pg';
import { type Database, StoreError } from '../database.ts';
import { createConnections } from './connections.ts';
import { migratePostgres } from './migrate-postgres.ts';
import { createPostgresDatabase } from './postgres-database.ts';

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
  const pool = { ...config, max: poolSize, idleTimeoutMillis: 60_000, allowExitOnIdle: true };
  return createPostgresDatabase(createConnections(pool, busyTimeout * 1000));
}

/** Times are far below 2^53. */
const readNumbers: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === BIGINT ? Number : types.getTypeParser(oid, format);

async function migrateDatabase(config: ClientConfig): Promise<void> {
  try {
    await migratePostgres(async () => {
      const client = new Client(config);
      client.on('error', () => {});
      await client.connect();
      return client;
    });
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
