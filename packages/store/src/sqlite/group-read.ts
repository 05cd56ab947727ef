/** Reads that arrive together share one transaction: outside of one, each takes and lets go a lock on the file. */
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy, toldOutage } from './outage.ts';

export interface Reader {
  /** Runs a question, which may happen more than once; answers its outcome. */
  read<T>(question: () => T): Promise<T>;
  /** Does at once what is waiting. */
  flush(): void;
}

/** A question that waits for its batch. */
interface OpenQuestion {
  question(): unknown;
  answer(outcome: unknown): void;
}

/**
 * A batch is what arrived while the event loop turned once. It sees one state of the database, with all
 * that was committed before any of its reads was asked for.
 * @param begun is called before each batch, and before each read that is done alone: others may have written since the last one
 * @param busyTimeout seconds that a read waits for a lock before it is refused
 */
export function createReader(connection: DatabaseSync, begun: () => void, busyTimeout: number): Reader {
  const begin = connection.prepare('BEGIN');
  const end = connection.prepare('COMMIT');
  let waiting: OpenQuestion[] = [];

  function flush(): void {
    const batch = waiting;
    waiting = [];
    const outcomes = batch.length > 1 ? readTogether(batch) : null;
    for (const [index, one] of batch.entries()) {
      one.answer(outcomes === null ? readAlone(one) : outcomes[index]);
    }
  }

  /** `null` when one of them failed: which, and why, shows when each is done alone. */
  function readTogether(batch: readonly OpenQuestion[]): readonly unknown[] | null {
    begun();
    try {
      begin.run();
      const outcomes = batch.map((one) => one.question());
      end.run();
      return outcomes;
    } catch {
      if (connection.isOpen && connection.isTransaction) connection.exec('ROLLBACK');
      return null;
    }
  }

  async function readAlone(one: OpenQuestion): Promise<unknown> {
    const until = performance.now() + busyTimeout * 1000;
    for (;;) {
      begun();
      try {
        return one.question();
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw toldOutage(error);
        await sleep(2);
      }
    }
  }

  return {
    flush,
    read: <T>(question: () => T) =>
      new Promise<T>((answer) => {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ question, answer: answer as OpenQuestion['answer'] });
      }),
  };
}
