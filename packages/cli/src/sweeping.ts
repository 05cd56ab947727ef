/** Clearing the store of what nobody can use any more, a little at a time. */
import type { AuthorizationStore } from '@portcullis/authorization-server/ports';
import { reasonOf } from './faults.ts';
import type { Log } from './log.ts';

const EVERY = 60_000;
/** Rows of each kind at a time, so that no sweep keeps a request waiting for long. */
const MOST = 500;

/** Sweeps every minute. The answer ends that, after a sweep under way. */
export function keepSwept(store: AuthorizationStore, log: Log): () => Promise<void> {
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
    await store.sweep(Math.floor(Date.now() / 1000), MOST);
  } catch (error) {
    log({ type: 'sweep.failed', reason: reasonOf(error) });
  }
}
