/** Compares the clock of this process with that of the database, which all processes share. */
import type { CoreStore } from '@portcullis/authorization-server/store';
import type { Log } from './log.ts';
import { repeat } from './repeat.ts';

const INTERVAL = 60_000;
/** Tolerated clock skew in seconds: sweeps, expiry and event order allow for it. */
const TOLERATED = 5;

export interface ClockSkew {
  /** Seconds by which this process is ahead of the database, as measured last. */
  seconds: number;
}

/** Compares immediately and every minute. @returns a function that stops it */
export function watchClock(
  store: Pick<CoreStore, 'readClock'>,
  log: Log,
  skew: ClockSkew,
  clock: () => number = () => Date.now() / 1000,
): () => Promise<void> {
  let isSkewed = false;

  async function compare(): Promise<void> {
    const measured = await measureSkew(store, clock);
    if (measured === null) return;
    skew.seconds = measured.seconds;
    const exceeds = Math.abs(measured.seconds) - measured.uncertainty > TOLERATED;
    if (exceeds === isSkewed) return;
    isSkewed = exceeds;
    const seconds = Math.round(measured.seconds * 10) / 10;
    log({ type: exceeds ? 'clock.skewed' : 'clock.corrected', seconds });
  }

  // Other components report a database outage.
  void compare().catch(() => {});
  return repeat(INTERVAL, compare);
}

/** The database read its clock between the two local readings. */
async function measureSkew(
  store: Pick<CoreStore, 'readClock'>,
  clock: () => number,
): Promise<{ readonly seconds: number; readonly uncertainty: number } | null> {
  const before = clock();
  const shared = await store.readClock();
  if (shared === null) return null;
  const after = clock();
  return { seconds: (before + after) / 2 - shared, uncertainty: Math.abs(after - before) / 2 };
}
