/** Requests of provisioning take turns, so that others are served in between, however many an identity provider sends at once. */
import { setImmediate } from 'node:timers/promises';

/** Runs an operation when it is its turn. */
export type InTurn = <Outcome>(perform: () => Promise<Outcome>) => Promise<Outcome>;

/**
 * Operations at the same time, which SQLite flushes to the disk together. On PostgreSQL, more would wait for the lock that all writes of
 * provisioning take, each with a connection to the database that a token request needs.
 */
const CONCURRENCY = 4;

export function createTurns(): InTurn {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (perform) => {
    if (running >= CONCURRENCY) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      // What has arrived meanwhile comes first.
      await setImmediate();
      return await perform();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
