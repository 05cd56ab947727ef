/** Clearing the store of what nobody can use any more, a little at a time. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { reasonOf } from '../errors.ts';
import type { Log } from './log.ts';

const EVERY = 60_000;
/** Rows of each kind at a time, so that no sweep keeps a request waiting for long. */
const MOST = 500;
/** Steps of one sweep: what is left after them waits for the next. */
const MOST_STEPS = 200;

/** Sweeps every minute. The answer ends that, after a sweep under way. */
export function startSweeping(store: AuthorizationStore, log: Log): () => Promise<void> {
  let underWay: Promise<void> | null = null;
  const timer = setInterval(() => {
    underWay ??= sweepOnce(store, log).finally(() => {
      underWay = null;
    });
  }, EVERY);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await underWay;
  };
}

async function sweepOnce(store: AuthorizationStore, log: Log): Promise<void> {
  try {
    await sweepAll(store, Math.floor(Date.now() / 1000));
  } catch (error) {
    log({ type: 'sweep.failed', reason: reasonOf(error) });
  }
}

/** Sweeps in small steps, between which requests have their turn, until nothing is left or it has been enough. */
export async function sweepAll(store: Pick<AuthorizationStore, 'sweep'>, now: number): Promise<void> {
  for (let step = 0; step < MOST_STEPS; step++) {
    if ((await store.sweep(now, MOST)) < MOST) return;
    await immediate();
  }
}
