/** Group commit: concurrent operations share one transaction, and so one flush to disk. */
import type { DatabaseSync } from 'node:sqlite';
import { createCommitHooks } from '../commit-hooks.ts';
import { type Batch, createBatchCommit, type PendingOperation } from './batch.ts';

/**
 * A batch collects operations until a turn of the event loop adds none, because a flush costs more than twenty
 * operations. SQLite's own busy handler would block the process: it is off, and a batch that finds the database locked is
 * retried a few milliseconds later.
 * @param busyTimeout seconds that an operation waits for a lock before it is rejected
 * @param beforeCommit throws if nothing may be committed
 */
export function createGroupCommit(connection: DatabaseSync, busyTimeout: number, beforeCommit: () => void) {
  const commitBatch = createBatchCommit(connection, beforeCommit);
  const hooks = createCommitHooks();
  const scheduleFlush = createCommitDelay(() => pending.length, flush);
  let pending: PendingOperation[] = [];
  let isScheduled = false;

  function flush(): void {
    hooks.run();
    isScheduled = false;
    const batch = pending;
    pending = [];
    const left = commitBatch(batch);
    if (left.length > 0) retry(left);
  }

  function retry(batch: Batch): void {
    pending = [...batch, ...pending];
    isScheduled = true;
    setTimeout(flush, 1 + Math.random() * 4);
  }

  return {
    /** Runs an operation, possibly more than once, in a transaction. @returns its outcome, once it is on the disk. In call order. */
    commit: <T>(operation: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        pending.push({
          until: performance.now() + busyTimeout * 1000,
          run: operation,
          resolve: resolve as PendingOperation['resolve'],
          reject,
        });
        if (isScheduled) return;
        isScheduled = true;
        scheduleFlush();
      }),
    /** A commit hook: `call` runs right before the next commit, after `within` milliseconds at the latest; what it adds is part of it. */
    beforeCommit: hooks.add,
  };
}

/** Turns of the event loop without a new operation, after which a batch is complete. */
const QUIET_TURNS = 2;
/**
 * Maximum milliseconds that the first operation of a batch waits for others. Covers the processor time of all requests
 * that arrive in consecutive turns: 64 authorization codes need 6 ms; with less they are split into several flushes.
 */
const LONGEST_WAIT = 8;

/**
 * Delays a commit while operations keep arriving, turn after turn of the event loop.
 * @param complete called once, when the batch is complete
 * @returns starts the delay
 */
function createCommitDelay(count: () => number, complete: () => void): () => void {
  let [since, seen, quiet] = [0, 0, 0];

  function look(): void {
    const present = count();
    quiet = present > seen ? 0 : quiet + 1;
    seen = present;
    if (quiet >= QUIET_TURNS || performance.now() - since >= LONGEST_WAIT) complete();
    else setImmediate(look);
  }

  return () => {
    since = performance.now();
    seen = 0;
    quiet = 0;
    setImmediate(look);
  };
}
