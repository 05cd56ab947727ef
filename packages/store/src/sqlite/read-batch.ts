/** Batched reads: concurrent reads share one transaction, because each transaction locks and unlocks the file. */
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { asSqliteOutage, isSqliteBusy } from './outage.ts';

/** A read that waits for its batch. */
interface PendingRead {
  query(): unknown;
  resolve(outcome: unknown): void;
}

/**
 * A batch is all reads of one turn of the event loop. It sees one snapshot of the database, with everything committed
 * before the first of its reads was requested.
 * @param begun called before each batch, and before each read that runs alone: others may have written since the last one
 * @param busyTimeout seconds that a read waits for a lock before it is rejected
 */
export function createReadBatcher(connection: DatabaseSync, begun: () => void, busyTimeout: number) {
  const begin = connection.prepare('BEGIN');
  const end = connection.prepare('COMMIT');
  let pending: PendingRead[] = [];

  /** Runs pending reads at once. */
  function flush(): void {
    const batch = pending;
    pending = [];
    const outcomes = batch.length > 1 ? readTogether(batch) : null;
    for (const [index, one] of batch.entries()) {
      one.resolve(outcomes === null ? readAlone(one) : outcomes[index]);
    }
  }

  /** `null` when one of them failed: running each alone then shows which, and why. */
  function readTogether(batch: readonly PendingRead[]): readonly unknown[] | null {
    begun();
    try {
      begin.run();
      const outcomes = batch.map((one) => one.query());
      end.run();
      return outcomes;
    } catch {
      if (connection.isOpen && connection.isTransaction) connection.exec('ROLLBACK');
      return null;
    }
  }

  async function readAlone(one: PendingRead): Promise<unknown> {
    const until = performance.now() + busyTimeout * 1000;
    for (;;) {
      begun();
      try {
        return one.query();
      } catch (error) {
        if (!isSqliteBusy(error) || performance.now() > until) throw asSqliteOutage(error);
        await sleep(2);
      }
    }
  }

  return {
    flush,
    /** Runs a query, possibly more than once. @returns its result */
    read: <T>(query: () => T): Promise<T> =>
      new Promise<T>((resolve) => {
        if (pending.length === 0) setImmediate(flush);
        pending.push({ query, resolve: resolve as PendingRead['resolve'] });
      }),
  };
}
