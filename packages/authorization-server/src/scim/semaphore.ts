/** The semaphore of provisioning: others are served in between, however many requests an identity provider sends at once. */
import { setImmediate } from 'node:timers/promises';

/** Runs an operation when a slot is free. */
export type RunInSlot = <Outcome>(perform: () => Promise<Outcome>) => Promise<Outcome>;

/**
 * Operations at the same time, which SQLite flushes to the disk together. On PostgreSQL, more would wait for the lock that all writes of
 * provisioning take, each with a connection to the database that a token request needs.
 */
const CONCURRENCY = 4;

export function createScimSemaphore(): RunInSlot {
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
