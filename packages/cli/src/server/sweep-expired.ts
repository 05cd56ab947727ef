/** Deletes expired records from the store, in small batches, and counts what is pending. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { reasonOf } from '../errors.ts';
import type { Log } from './log.ts';
import { repeat } from './repeat.ts';

const INTERVAL = 60_000;
/** Rows of each kind per batch, small enough not to delay requests. */
const BATCH_SIZE = 500;
/** Pending approvals that are told apart: more are too many in any case. */
const MAX_COUNTED = 1000;

/** Statistics of the sweeps of this process. */
export interface SweepProgress {
  /** Rows deleted since the start. */
  deleted: number;
  /** Epoch seconds when no expired rows remained, or another process was sweeping. */
  caughtUpAt: number;
  /** At the last sweep; at most 1,000. */
  pendingApprovals: number;
}

/** Sweeps every minute. @returns a function that stops it, after a batch in progress */
export function startSweeping(
  store: AuthorizationStore,
  log: Log,
  progress: SweepProgress,
): () => Promise<void> {
  const stopping = new AbortController();
  const stop = repeat(INTERVAL, () => sweepOnce(store, log, progress, stopping.signal));
  return () => {
    stopping.abort();
    return stop();
  };
}

async function sweepOnce(
  store: AuthorizationStore,
  log: Log,
  progress: SweepProgress,
  stopping: AbortSignal,
): Promise<void> {
  try {
    const clock = () => Math.floor(Date.now() / 1000);
    await sweepAll(store, clock, progress, stopping);
    progress.pendingApprovals = await store.countPendingApprovals(clock(), MAX_COUNTED);
  } catch (error) {
    log({ type: 'sweep.failed', reason: reasonOf(error) });
  }
}

/**
 * Sweeps in batches until no expired rows remain. It pauses for the duration of each batch: at least half of the database's
 * time remains for requests.
 * @param clock epoch seconds
 */
export async function sweepAll(
  store: Pick<AuthorizationStore, 'sweep'>,
  clock: () => number,
  progress: Omit<SweepProgress, 'pendingApprovals'>,
  stopping?: AbortSignal,
): Promise<void> {
  while (stopping?.aborted !== true) {
    const start = performance.now();
    const deleted = await store.sweep(clock(), BATCH_SIZE);
    progress.deleted += deleted;
    if (deleted < BATCH_SIZE) {
      progress.caughtUpAt = clock();
      return;
    }
    await sleep(Math.min(performance.now() - start, 1000));
  }
}
