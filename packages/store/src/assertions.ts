/** Spent assertions as facts of a database. */
import type { AssertionStore } from '@portcullis/authorization-server/store';
import type { Database } from './database.ts';
import { sql } from './sql.ts';

export function createAssertionStore(database: Database): AssertionStore {
  return {
    async consumeClientAssertion(hash, expiresAt) {
      const spent = await database.change(
        sql`INSERT INTO spent_assertions (hash, expires_at) VALUES (${hash}, ${expiresAt})
          ON CONFLICT (hash) DO NOTHING RETURNING hash`,
      );
      return spent.length > 0;
    },
  };
}
