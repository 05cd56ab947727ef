/** Reads that arrive together share one transaction: outside of one, each takes and lets go a lock on the file. */
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Query } from '../sql.ts';
import { isBusy, toldOutage } from './outage.ts';

export interface Reader {
  read(query: Query): Promise<readonly unknown[]>;
  /** Does at once what is waiting. */
  flush(): void;
}

interface Waiting {
  readonly query: Query;
  answer(rows: readonly unknown[] | Promise<readonly unknown[]>): void;
}

/**
 * A batch is what arrived while the event loop turned once. It sees one state of the database, with all
 * that was committed before any of its reads was asked for.
 * @param patience seconds that a read waits for a lock before it is refused
 */
export function createReader(
  connection: DatabaseSync,
  run: (query: Query) => readonly unknown[],
  patience: number,
): Reader {
  const begin = connection.prepare('BEGIN');
  const end = connection.prepare('COMMIT');
  let waiting: Waiting[] = [];

  function flush(): void {
    const batch = waiting;
    waiting = [];
    const outcomes = batch.length > 1 ? readTogether(batch) : null;
    for (const [index, { query, answer }] of batch.entries()) answer(outcomes?.[index] ?? readAlone(query));
  }

  /** `null` when one of them failed: which, and why, shows when each is done alone. */
  function readTogether(batch: readonly Waiting[]): readonly (readonly unknown[])[] | null {
    try {
      begin.run();
      const outcomes = batch.map(({ query }) => run(query));
      end.run();
      return outcomes;
    } catch {
      if (connection.isOpen && connection.isTransaction) connection.exec('ROLLBACK');
      return null;
    }
  }

  async function readAlone(query: Query): Promise<readonly unknown[]> {
    const until = performance.now() + patience * 1000;
    for (;;) {
      try {
        return run(query);
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw toldOutage(error);
        await sleep(2);
      }
    }
  }

  return {
    flush,
    read: (query) =>
      new Promise((answer) => {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ query, answer });
      }),
  };
}
