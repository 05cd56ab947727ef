/** Facts that arrive together are committed together: one flush to the disk for all of them. */
import type { DatabaseSync } from 'node:sqlite';
import { type Batch, createBatchCommit, type Waiting } from './batch.ts';
import { createCompanions } from './companions.ts';
import { createGathering } from './gathering.ts';

export interface Committer {
  /** Runs a fact, which may happen more than once, in a transaction; answers its outcome when that is on the disk. In the order of the calls. */
  commit<T>(fact: () => T): Promise<T>;
  /** Calls right before the next batch is committed: facts that are brought by that call belong to it. Waits so many milliseconds at most. */
  beforeCommit(call: () => void, within: number): void;
}

/**
 * A batch is what arrives while facts keep coming, turn after turn: a flush costs more than twenty facts. SQLite's own waiting
 * for a lock would halt the process: it is switched off, and a batch that finds the database locked comes back a few
 * milliseconds later.
 * @param busyTimeout seconds that a fact waits for a lock before it is refused
 */
export function createCommitter(connection: DatabaseSync, busyTimeout: number): Committer {
  const commitBatch = createBatchCommit(connection);
  const companions = createCompanions();
  const gather = createGathering(() => waiting.length, flush);
  let waiting: Waiting[] = [];
  let isScheduled = false;

  function flush(): void {
    companions.depart();
    isScheduled = false;
    const batch = waiting;
    waiting = [];
    const left = commitBatch(batch);
    if (left.length > 0) comeBack(left);
  }

  function comeBack(batch: Batch): void {
    waiting = [...batch, ...waiting];
    isScheduled = true;
    setTimeout(flush, 1 + Math.random() * 4);
  }

  return {
    commit: (fact) =>
      new Promise((resolve, reject) => {
        const run = () => {
          const outcome = fact();
          return () => resolve(outcome);
        };
        waiting.push({ until: performance.now() + busyTimeout * 1000, run, refuse: reject });
        if (isScheduled) return;
        isScheduled = true;
        gather();
      }),
    beforeCommit: companions.join,
  };
}
