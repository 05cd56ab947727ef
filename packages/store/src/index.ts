/** Storage for the authorization server in SQLite or PostgreSQL: `openStore`. */
import { type PoolStatistics, StoreError } from './database.ts';
import { createStore, type FullStore } from './store.ts';

/** Options of `openStore`. */
export interface StoreOptions {
  /** Seconds that an operation waits for a locked or silent database before it is rejected. 5 by default. */
  readonly busyTimeout?: number;
  /** Maximum number of PostgreSQL connections of this process. 10 by default. */
  readonly poolSize?: number;
  /** Updated by the store. */
  readonly poolStatistics?: PoolStatistics;
}

/**
 * Opens a store and migrates its schema.
 * @param location the path of a SQLite file in a folder that exists, `:memory:`, or a `postgres://` URL
 * @throws StoreError when the location is invalid, or the database cannot be opened or migrated. Once it is open, every method
 * rejects with OAuthError `temporarily_unavailable` while the database is unavailable.
 * @see RFC 6749 §4.1.2.1, for that error code
 * @example
 * ```ts
 * import { openStore } from '@portcullis/store';
 *
 * const store = await openStore(':memory:'); // or 'portcullis.db', or 'postgres://…'
 * console.log(await store.findClient('unknown')); // null
 * await store.close();
 * ```
 */
export async function openStore(
  location: string,
  { busyTimeout = 5, poolSize: connections = 10, poolStatistics }: StoreOptions = {},
): Promise<FullStore> {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//iu.exec(location)?.[1]?.toLowerCase();
  if (scheme === 'postgres' || scheme === 'postgresql') {
    const { openPostgres } = await import('./postgres/open.ts');
    return createStore(await openPostgres(location, busyTimeout, connections, poolStatistics));
  }
  if (scheme !== undefined || location === '') {
    throw new StoreError('The location of the database must be a file path, :memory: or a postgres:// URL.');
  }
  const { openSqlite } = await import('./sqlite/open.ts');
  return createStore(await openSqlite(location, busyTimeout));
}

export { type PoolStatistics, StoreError } from './database.ts';
export { inspectSchema, type SchemaState } from './inspect-schema.ts';
export type { FullStore } from './store.ts';
