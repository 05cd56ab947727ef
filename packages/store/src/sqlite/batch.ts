/** A batch of facts in one transaction; when that fails, whoever is not at fault does not suffer. */
import type { DatabaseSync } from 'node:sqlite';
import { isBusy, toldOutage } from './outage.ts';

/** A fact that waits to be committed. */
export interface Waiting {
  /** When patience ends, on the clock of `performance.now()`. */
  readonly until: number;
  /** Runs the fact; what it returns tells the caller the outcome. */
  run(): () => void;
  refuse(error: unknown): void;
}

export type Batch = readonly Waiting[];

/**
 * Commits batches. Nothing yields between BEGIN and COMMIT, so no other statement slips in.
 * @returns commits one and tells or refuses each; answers who has to come back, because another process holds the lock
 */
export function createBatchCommit(connection: DatabaseSync): (batch: Batch) => Batch {
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const end = connection.prepare('COMMIT');

  function commit(batch: Batch): void {
    begin.run();
    try {
      const outcomes = batch.map((one) => one.run());
      end.run();
      for (const tell of outcomes) tell();
    } catch (error) {
      // SQLite itself rolls back when the disk is full.
      if (connection.isTransaction) connection.exec('ROLLBACK');
      throw error;
    }
  }

  /** One of them is at fault. The others must not suffer, so each gets a transaction of its own. */
  function commitApart(batch: Batch): Batch {
    for (const [index, one] of batch.entries()) {
      try {
        commit([one]);
      } catch (error) {
        if (isBusy(error)) return refuseImpatient(batch.slice(index), error);
        one.refuse(toldOutage(error));
      }
    }
    return [];
  }

  return (batch) => {
    try {
      commit(batch);
      return [];
    } catch (error) {
      // Nothing of the batch has happened.
      if (isBusy(error)) return refuseImpatient(batch, error);
      if (batch.length > 1 && toldOutage(error) === error) return commitApart(batch);
      for (const one of batch) one.refuse(toldOutage(error));
      return [];
    }
  };
}

/** Refuses those whose patience has ended; answers the others. */
function refuseImpatient(batch: Batch, error: unknown): Batch {
  const now = performance.now();
  for (const one of batch) if (one.until <= now) one.refuse(toldOutage(error));
  return batch.filter((one) => one.until > now);
}
