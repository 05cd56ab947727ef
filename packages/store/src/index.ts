/** Storage for the authorization server: SQLite or PostgreSQL, by what its location says. */
import type { AuthorizationStore } from '@portcullis/authorization-server/ports';
import { openSqlite } from './sqlite/open.ts';
import { createStore } from './store.ts';

/**
 * Opens a store and brings its schema up to date.
 * @param location `:memory:` or the path of a SQLite file in a folder that exists
 * @throws StoreError when it cannot be opened, with a sentence for the operator
 */
export async function openStore(location: string): Promise<AuthorizationStore> {
  return createStore(openSqlite(location));
}

export { StoreError } from './store-error.ts';
