/** Counts the events of the last hours by the minute, as they are written: those that are not saved as an hour yet. */
import type { AuditEventRecord, AuditStore } from '@portcullis/authorization-server/store';
import { type Counts, countEvents, NO_COUNTS } from './counts.ts';
import { HOUR, hourOf, idPrefixOf, MINUTE } from './event-time.ts';

/** Events of one query. */
const PAGE = 1_000;
/** Milliseconds with which other processes write events late: younger ones are counted again each time. */
const SETTLED = 5_000;
/** Hours before the current one that are counted. */
const BEFORE = 2;

export interface RunningCounts {
  /** Epoch milliseconds of the first minute that it has; `null`: not all are counted yet. */
  readonly from: number | null;
  /** By the begin of the minute. */
  readonly minutes: ReadonlyMap<number, Counts>;
}

/** @param clock epoch milliseconds @returns counts what is new, for so many milliseconds at most */
export function createRunningCounts(
  store: Pick<AuditStore, 'listEvents'>,
  clock: () => number,
): (patience: number) => Promise<RunningCounts> {
  const minutes = new Map<number, Counts>();
  const start = hourOf(clock()) - BEFORE * HOUR;
  let cursor = idPrefixOf(start);
  let isBehind = true;
  let running: Promise<unknown> = Promise.resolve();

  /** Events that are settled advance the cursor. @returns those that are not */
  async function advance(until: number): Promise<readonly AuditEventRecord[]> {
    const settled = idPrefixOf(clock() - SETTLED);
    for (;;) {
      const page = await store.listEvents(cursor, PAGE);
      const older = page.filter(({ id }) => id < settled);
      addTo(minutes, older);
      cursor = older.at(-1)?.id ?? cursor;
      isBehind = older.length === PAGE && performance.now() > until;
      if (older.length < PAGE) return page.slice(older.length);
      if (isBehind) return [];
    }
  }

  async function count(patience: number): Promise<RunningCounts> {
    const fresh = await advance(performance.now() + patience);
    const from = hourOf(clock()) - BEFORE * HOUR;
    for (const minute of minutes.keys()) if (minute < from) minutes.delete(minute);
    const all = new Map(minutes);
    addTo(all, fresh);
    return { from: isBehind ? null : Math.max(from, start), minutes: all };
  }

  return (patience) => {
    const counted = running.then(() => count(patience));
    running = counted.catch(() => {});
    return counted;
  };
}

function addTo(minutes: Map<number, Counts>, events: readonly AuditEventRecord[]): void {
  const groups = Map.groupBy(events, ({ at }) => Math.floor(at / MINUTE) * MINUTE);
  for (const [minute, group] of groups)
    minutes.set(minute, countEvents(minutes.get(minute) ?? NO_COUNTS, group));
}
