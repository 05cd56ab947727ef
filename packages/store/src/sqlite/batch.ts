/** A batch of operations in one transaction; when one of them fails, the others are committed without it. */
import type { DatabaseSync } from 'node:sqlite';
import { asSqliteOutage, isSqliteBusy } from './outage.ts';

/** A pending operation. */
export interface PendingOperation {
  /** When its busy timeout ends, on the clock of `performance.now()`. */
  readonly until: number;
  /** @returns its outcome, which counts once it is committed */
  run(): unknown;
  resolve(outcome: unknown): void;
  reject(error: unknown): void;
}

export type Batch = readonly PendingOperation[];

/**
 * Commits batches. Nothing yields between BEGIN and COMMIT, so no other statement runs in between.
 * @param beforeCommit throws if nothing may be committed
 * @returns commits a batch and settles its operations, except those returned: to retry, because another process holds the lock
 */
export function createBatchCommit(
  connection: DatabaseSync,
  beforeCommit: () => void,
): (batch: Batch) => Batch {
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const end = connection.prepare('COMMIT');

  function commit(batch: Batch): void {
    begin.run();
    try {
      const outcomes = batch.map((one) => one.run());
      beforeCommit();
      end.run();
      for (const [index, one] of batch.entries()) one.resolve(outcomes[index]);
    } catch (error) {
      // SQLite itself rolls back when the disk is full.
      if (connection.isTransaction) connection.exec('ROLLBACK');
      throw error;
    }
  }

  /** After a failure, each operation runs in its own transaction. */
  function commitSeparately(batch: Batch): Batch {
    for (const [index, one] of batch.entries()) {
      try {
        commit([one]);
      } catch (error) {
        if (isSqliteBusy(error)) return rejectTimedOut(batch.slice(index), error);
        one.reject(asSqliteOutage(error));
      }
    }
    return [];
  }

  return (batch) => {
    try {
      commit(batch);
      return [];
    } catch (error) {
      // The batch had no effect.
      if (isSqliteBusy(error)) return rejectTimedOut(batch, error);
      if (batch.length > 1 && asSqliteOutage(error) === error) return commitSeparately(batch);
      for (const one of batch) one.reject(asSqliteOutage(error));
      return [];
    }
  };
}

/** Rejects operations whose busy timeout has ended. @returns the others */
function rejectTimedOut(batch: Batch, error: unknown): Batch {
  const now = performance.now();
  for (const one of batch) if (one.until <= now) one.reject(asSqliteOutage(error));
  return batch.filter((one) => one.until > now);
}
