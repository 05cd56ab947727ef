/** SQLite as a database: one connection, batched reads, group commit. */
import type { DatabaseSync } from 'node:sqlite';
import type { Database, Steps } from '../database.ts';
import type { Query } from '../sql.ts';
import { createFileCheck } from './file-check.ts';
import { createGroupCommit } from './group-commit.ts';
import { createQueryCache } from './query-cache.ts';
import { createReadBatcher } from './read-batch.ts';
import { createStatementCache, runSteps } from './statement-cache.ts';

/** @param busyTimeout seconds to wait for a lock that another process holds */
export function createSqliteDatabase(connection: DatabaseSync, busyTimeout: number): Database {
  const file = createFileCheck(connection.location());
  const queryCache = createQueryCache(connection);
  const run = createStatementCache(connection);
  const read = (query: Query) => {
    file.checkIfLost();
    return run(query);
  };
  const write = (query: Query) => {
    queryCache.invalidate(query.template);
    return run(query);
  };
  const reads = createReadBatcher(connection, queryCache.revalidate, busyTimeout);
  const commits = createGroupCommit(connection, busyTimeout, file.checkIdentity);
  return {
    partitionsEvents: false,
    read: <Row>(query: Query) => reads.read(() => read(query) as readonly Row[]),
    readCached: <Row, T>(table: string, query: Query, make: (rows: readonly Row[]) => T | null) =>
      reads.read(() =>
        queryCache.read(table, query.values[0] ?? null, () => make(read(query) as readonly Row[])),
      ),
    write: (query) => commits.commit(() => void write(query)),
    writeRows: <Row>(query: Query) => commits.commit(() => write(query) as readonly Row[]),
    changes: (query) => commits.commit(() => write(query).length > 0),
    transact: <T>(steps: () => Steps<T>) => commits.commit(() => runSteps(steps(), write)),
    beforeCommit: commits.beforeCommit,
    check: () => reads.read(file.checkContent),
    readClock: async () => null,
    async close() {
      // An empty operation: its commit implies that all earlier ones are committed.
      await commits.commit(() => {}).catch(() => {});
      reads.flush();
      if (connection.isOpen) connection.close();
    },
  };
}
