/** Facts that arrive together are committed together: one flush to the disk for all of them. */
import type { DatabaseSync } from 'node:sqlite';
import { isBusy, toldOutage } from './outage.ts';

export interface Committer {
  /** Runs a fact, which may happen more than once, in a transaction; answers its outcome when that is on the disk. In the order of the calls. */
  commit<T>(fact: () => T): Promise<T>;
  /** Calls right before the next batch is committed: facts that are brought by that call belong to it. Waits so many milliseconds at most. */
  beforeCommit(call: () => void, within: number): void;
}

interface Waiting {
  /** When patience ends, on the clock of `performance.now()`. */
  readonly until: number;
  /** Runs the fact; what it returns tells the caller the outcome. */
  run(): () => void;
  refuse(error: unknown): void;
}

/** Turns of the event loop in which no fact comes, after which nobody is waited for. */
const QUIET_TURNS = 2;
/** Milliseconds for which the first fact of a batch waits for others at most. */
const LONGEST_WAIT = 2;

/**
 * A batch is what arrives while facts keep coming, turn after turn: a flush costs more than twenty facts. Nothing yields between BEGIN and COMMIT, so no other statement
 * slips in. SQLite's own waiting for a lock would halt the process: it is switched off, and a batch that finds the
 * database locked comes back a few milliseconds later.
 * @param patience seconds that a fact waits for a lock before it is refused
 */
export function createCommitter(connection: DatabaseSync, patience: number): Committer {
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const end = connection.prepare('COMMIT');
  let waiting: Waiting[] = [];
  const companions = new Set<() => void>();
  let scheduled = false;
  /** Of the batch that gathers: since when, how many were there at the last look, and for how many turns no more. */
  let since = 0;
  let seen = 0;
  let quiet = 0;

  function gather(): void {
    scheduled = true;
    since = performance.now();
    seen = 0;
    quiet = 0;
    setImmediate(look);
  }

  function look(): void {
    quiet = waiting.length > seen ? 0 : quiet + 1;
    seen = waiting.length;
    if (quiet >= QUIET_TURNS || performance.now() - since >= LONGEST_WAIT) flush();
    else setImmediate(look);
  }

  function flush(): void {
    for (const join of [...companions]) join();
    scheduled = false;
    const batch = waiting;
    waiting = [];
    try {
      for (const tell of commitTogether(batch)) tell();
    } catch (error) {
      recover(batch, error);
    }
  }

  function commitTogether(batch: readonly Waiting[]): readonly (() => void)[] {
    begin.run();
    try {
      const outcomes = batch.map((one) => one.run());
      end.run();
      return outcomes;
    } catch (error) {
      // SQLite itself rolls back when the disk is full.
      if (connection.isTransaction) connection.exec('ROLLBACK');
      throw error;
    }
  }

  /** Nothing of the batch has happened. */
  function recover(batch: readonly Waiting[], error: unknown): void {
    const [first, ...rest] = batch;
    if (isBusy(error)) waitForTurn(batch, error);
    else if (rest.length === 0 || toldOutage(error) !== error) {
      for (const one of batch) one.refuse(toldOutage(error));
    } else if (first !== undefined) commitApart(batch);
  }

  /** One of them is at fault. The others must not suffer, so each gets a transaction of its own. */
  function commitApart(batch: readonly Waiting[]): void {
    for (const [index, one] of batch.entries()) {
      try {
        for (const tell of commitTogether([one])) tell();
      } catch (error) {
        if (isBusy(error)) {
          waitForTurn(batch.slice(index), error);
          return;
        }
        one.refuse(toldOutage(error));
      }
    }
  }

  function waitForTurn(batch: readonly Waiting[], error: unknown): void {
    const now = performance.now();
    for (const one of batch) if (one.until <= now) one.refuse(toldOutage(error));
    waiting = [...batch.filter((one) => one.until > now), ...waiting];
    if (waiting.length === 0) return;
    scheduled = true;
    setTimeout(flush, 1 + Math.random() * 4);
  }

  return {
    commit: (fact) =>
      new Promise((resolve, reject) => {
        const run = () => {
          const outcome = fact();
          return () => resolve(outcome);
        };
        waiting.push({ until: performance.now() + patience * 1000, run, refuse: reject });
        if (!scheduled) gather();
      }),
    beforeCommit(call, within) {
      const join = () => {
        clearTimeout(timer);
        companions.delete(join);
        call();
      };
      const timer = setTimeout(join, within).unref();
      companions.add(join);
    },
  };
}
