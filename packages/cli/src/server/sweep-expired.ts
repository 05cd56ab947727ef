/** Deletes expired records from the store, in small batches. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { reasonOf } from '../errors.ts';
import type { Log } from './log.ts';

const INTERVAL = 60_000;
/** Rows of each kind per batch, so that no sweep delays a request for long. */
const BATCH_SIZE = 500;
/** Batches per sweep; the rest waits for the next sweep. */
const MAX_BATCHES = 200;

/** Sweeps every minute. @returns a function that stops it, after a sweep in progress */
export function startSweeping(store: AuthorizationStore, log: Log): () => Promise<void> {
  let current: Promise<void> | null = null;
  const timer = setInterval(() => {
    current ??= sweepOnce(store, log).finally(() => {
      current = null;
    });
  }, INTERVAL);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await current;
  };
}

async function sweepOnce(store: AuthorizationStore, log: Log): Promise<void> {
  try {
    await sweepAll(store, Math.floor(Date.now() / 1000));
  } catch (error) {
    log({ type: 'sweep.failed', reason: reasonOf(error) });
  }
}

/** Sweeps in batches, yielding to requests in between, until nothing is left or the maximum is reached. */
export async function sweepAll(store: Pick<AuthorizationStore, 'sweep'>, now: number): Promise<void> {
  for (let step = 0; step < MAX_BATCHES; step++) {
    if ((await store.sweep(now, BATCH_SIZE)) < BATCH_SIZE) return;
    await immediate();
  }
}
