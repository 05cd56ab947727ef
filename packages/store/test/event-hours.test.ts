/** Counted hours of the audit log: saved by several processes, listed, and swept after a year. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { createGrant, NOW, newSession, PASSWORD_HASH } from '../testing/samples.ts';
import { postgresDatabases, sqliteFiles } from './databases.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

describe.each([
  { name: 'a SQLite file', places: sqliteFiles() },
  { name: 'PostgreSQL', places: postgresDatabases() },
])('counted hours on $name', ({ places }) => {
  async function open() {
    const store = await openTestStore(await places());
    onTestFinished(() => store.close());
    return store;
  }
  const hour = (at: number, calls: number) => ({
    at,
    counts: { events: { 'call.finished': calls } },
    keys: new Uint8Array([calls, 0, 255]),
  });

  it('are listed by time, with what was saved last', async () => {
    const store = await open();
    await Promise.all([1, 2, 3].map((at) => store.saveEventHour(hour(at * HOUR, at))));
    await store.saveEventHour(hour(2 * HOUR, 9));
    const counted = (at: number, calls: number) => ({ at, counts: { events: { 'call.finished': calls } } });
    expect(await store.listEventHours(HOUR, 3 * HOUR)).toEqual([counted(HOUR, 1), counted(2 * HOUR, 9)]);
    expect(await store.listEventHours(0, HOUR)).toEqual([]);
    expect(await store.listEventHourKeys(2 * HOUR, 4 * HOUR)).toEqual([
      { at: 3 * HOUR, keys: new Uint8Array([3, 0, 255]) },
      { at: 2 * HOUR, keys: new Uint8Array([9, 0, 255]) },
    ]);
  });

  it('are swept 400 days later', async () => {
    const store = await open();
    for (const at of [NOW, NOW + HOUR]) await store.saveEventHour(hour(at, 1));
    expect(await store.sweep(NOW + 400 * DAY - 1, 10)).toBe(0);
    expect(await store.sweep(NOW + 400 * DAY, 10)).toBe(1);
    expect(await store.listEventHours(0, NOW + DAY)).toMatchObject([{ at: NOW + HOUR }]);
  });

  it('come with how many grants, used clients and sessions there are', async () => {
    const store = await open();
    expect(await store.countLive(NOW)).toEqual({ grants: 0, clients: 0, sessions: 0 });
    const { grant } = await createGrant(store);
    await createGrant(store);
    await store.saveSession(newSession(grant.accountId, { expiresAt: NOW + 10 }), PASSWORD_HASH);
    expect(await store.countLive(NOW)).toMatchObject({ grants: 2, sessions: 1 });
    await store.revokeGrant(grant.id, NOW);
    expect(await store.countLive(NOW)).toMatchObject({ grants: 1 });
    expect(await store.countLive(NOW + 10)).toMatchObject({ sessions: 0 });
  });
});
