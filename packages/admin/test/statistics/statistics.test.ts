/** Statistics of a store with events of several days: what is counted when, once, and what a search need not read. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { openStore } from '@portcullis/store';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openEmptyStore } from '../../../../tests/support/migrated-store.ts';
import { listEvents } from '../../src/operations/events.ts';
import { countRecentActivity } from '../../src/operations/recent-activity.ts';
import { countMissing } from '../../src/operations/statistics/count-hours.ts';
import { HOUR, hourOf, idPrefixOf } from '../../src/operations/statistics/event-time.ts';
import { createStatistics } from '../../src/operations/statistics/statistics.ts';

type Store = Awaited<ReturnType<typeof openStore>>;

/** Half past an hour. */
const NOW = hourOf(Date.now()) + HOUR / 2;
const clock = () => NOW;

let count = 0;
function event(at: number, more: Partial<AuditEventRecord> = {}): AuditEventRecord {
  count += 1;
  return {
    ...{ id: `${idPrefixOf(at)}-${String(count).padStart(7, '0')}-x`, at, type: 'token.issued' },
    ...{ clientId: 'notes', accountId: 'user_ada', grantId: null, resource: null, transactionId: null },
    ...{ details: {}, expiresAt: Math.floor(NOW / 1000) + 1_000_000, ...more },
  };
}

/** A store that reports what is read of its events. */
async function observedStore() {
  const whole = await openEmptyStore();
  onTestFinished(() => whole.close());
  const reads: string[] = [];
  const store: Store = {
    ...whole,
    listEvents(after, limit) {
      if (after !== '') reads.push('list');
      return whole.listEvents(after, limit);
    },
    searchEvents(search, limit) {
      reads.push('search');
      return whole.searchEvents(search, limit);
    },
  };
  return { store, reads };
}

let store: Store;
let reads: string[];
beforeEach(async () => {
  ({ store, reads } = await observedStore());
});

const totals = async (
  statistics: ReturnType<typeof createStatistics>,
  from: number,
  step: 'hour' | 'day' | 'minute',
) => {
  const { buckets, isComplete } = await statistics.count(from, NOW, step);
  return { isComplete, totals: buckets.map(({ counts }) => counts.events['token.issued'] ?? 0) };
};

describe('statistics', () => {
  it('count an hour once when it is over, and the current one as events are written', async () => {
    await store.appendEvents([
      event(NOW - 5 * HOUR),
      event(NOW - 3 * HOUR),
      event(NOW - 3 * HOUR),
      event(NOW - 1000),
    ]);
    const statistics = createStatistics(store, clock);
    const from = NOW - 5 * HOUR;
    expect(await totals(statistics, from, 'hour')).toEqual({ isComplete: false, totals: [0, 0, 0, 0, 0, 1] });
    await countMissing(store, clock, null);
    expect(await totals(statistics, from, 'hour')).toEqual({ isComplete: true, totals: [1, 0, 2, 0, 0, 1] });
    await store.appendEvents([event(NOW - 500)]);
    expect(await totals(statistics, from, 'hour')).toEqual({ isComplete: true, totals: [1, 0, 2, 0, 0, 2] });
    reads.length = 0;
    expect(await countMissing(store, clock, NOW)).toBe(NOW);
    expect(reads).toEqual([]);
  });

  it('are the same in each process, whichever counted an hour', async () => {
    await store.appendEvents([1, 2, 3, 4, 5].map((hours) => event(NOW - hours * HOUR)));
    await Promise.all([countMissing(store, clock, null), countMissing(store, clock, null)]);
    for (const statistics of [createStatistics(store, clock), createStatistics(store, clock)])
      expect(await totals(statistics, NOW - 5 * HOUR, 'hour')).toEqual({
        isComplete: true,
        totals: [1, 1, 1, 1, 1, 0],
      });
  });

  it('count minutes of the last hours', async () => {
    await store.appendEvents([event(NOW - 60_000), event(NOW - 59_000), event(NOW - 10 * 60_000)]);
    const { isComplete, totals: minutes } = await totals(
      createStatistics(store, clock),
      NOW - 11 * 60_000,
      'minute',
    );
    expect([isComplete, minutes]).toEqual([true, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2]]);
  });

  it('count an hour again when its events were stored late', async () => {
    const [early, late] = [NOW - 6 * HOUR, NOW - 4 * HOUR];
    await store.appendEvents([event(early)]);
    const from = await countMissing(store, () => late, null);
    const delayed = [event(early + 1), event(early + 2)];
    const details = { first: delayed[0]?.id, last: delayed[1]?.id, count: 2 };
    await store.appendEvents([...delayed, event(late, { type: 'audit.delayed', details })]);
    await countMissing(store, clock, from);
    const hours = await store.listEventHours(0, NOW / 1000);
    expect(hours[0]).toMatchObject({ at: hourOf(early) / 1000, counts: { events: { 'token.issued': 3 } } });
  });

  it('keep how much was live at the end of an hour, and say how much is now', async () => {
    await store.appendEvents([event(NOW - 5 * HOUR)]);
    await countMissing(store, clock, null);
    const { buckets } = await createStatistics(store, clock).count(NOW - 5 * HOUR, NOW, 'hour');
    const nothing = { grants: 0, clients: 0, sessions: 0 };
    expect(buckets.map(({ live }) => live)).toEqual(
      [null, null, null, nothing, nothing, nothing].map((live, index) => (index === 4 ? nothing : live)),
    );
  });
});

describe('a search', () => {
  it('reads only the hours that may have a match', async () => {
    const rare = event(NOW - 50 * HOUR, {
      type: 'key.rotated',
      accountId: 'user_bob',
      details: { reference: 'K7M5-PMRH' },
    });
    await store.appendEvents([
      ...Array.from({ length: 100 }, (_, index) => event(NOW - (index + 2) * HOUR)),
      rare,
    ]);
    await countMissing(store, clock, null);
    for (const criteria of [
      { type: 'key.rotated' },
      { type: 'key.*' },
      { user: 'user_bob' },
      { reference: 'K7M5-PMRH' },
    ]) {
      reads.length = 0;
      expect((await listEvents(store, criteria, '', 10)).events).toEqual([rare]);
      // The hours that are not counted yet, the one of the event, and few in vain.
      expect(reads.length).toBeLessThan(6);
    }
  });

  it('that ends late has searched everything, and says so', async () => {
    let now = 0;
    const clocked = vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 10_000;
      return now;
    });
    onTestFinished(() => clocked.mockRestore());
    await store.appendEvents([event(NOW - 60_000)]);
    expect(await listEvents(store, { user: 'user_bob' }, '', 10)).toEqual({ events: [], before: null });
    expect(await countRecentActivity({ store }, { user: 'user_bob' })).toMatchObject({ since: null });
    await store.appendEvents([event(NOW - 50 * HOUR)]);
    expect(await listEvents(store, { user: 'user_bob' }, '', 10)).toMatchObject({
      before: expect.any(String),
    });
    expect(await countRecentActivity({ store }, { user: 'user_bob' })).toMatchObject({
      since: expect.any(Number),
    });
  });
});
