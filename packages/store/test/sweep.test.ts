/** Sweeping at scale: one process at a time; on PostgreSQL the events of a day are dropped as one table. */

import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { NOW, newEvent, times } from '../testing/samples.ts';
import { type CreateDatabase, postgresDatabases, queryPostgres, sqliteFiles } from './databases.ts';

const DAY = 86_400;
const RETENTION = 90 * DAY;

function eventAt(at: number, id: string) {
  return newEvent({ id, at: at * 1000, expiresAt: at + RETENTION });
}

function withTwo(create: CreateDatabase) {
  return async (work: (one: AuthorizationStore, other: AuthorizationStore) => Promise<void>) => {
    const location = await create();
    const [one, other] = [await openTestStore(location), await openTestStore(location)];
    await work(one, other).finally(() => Promise.all([one.close(), other.close()]));
  };
}

describe.each([
  { name: 'SQLite', withStores: withTwo(sqliteFiles()) },
  { name: 'PostgreSQL', withStores: withTwo(postgresDatabases()) },
])('a sweep on $name', ({ withStores }) => {
  it('is done by one process at a time, and by another once that has finished', () =>
    withStores(async (one, other) => {
      await Promise.all(times(25, () => one.revokeAccessToken(`jti_${Math.random()}`, NOW)));
      const later = NOW + DAY;
      expect(await one.sweep(later, 10)).toBe(10);
      expect(await other.sweep(later, 10)).toBe(0);
      expect(await one.sweep(later, 10)).toBe(10);
      expect(await one.sweep(later, 10)).toBe(5);
      await one.revokeAccessToken('jti_last', NOW);
      expect(await other.sweep(later, 10)).toBe(1);
    }));

  it('is continued by another process a minute after the first vanished', () =>
    withStores(async (one, other) => {
      await Promise.all(times(25, () => one.revokeAccessToken(`jti_${Math.random()}`, NOW)));
      const later = NOW + DAY;
      expect(await one.sweep(later, 10)).toBe(10);
      expect(await other.sweep(later + 59, 100)).toBe(0);
      expect(await other.sweep(later + 60, 100)).toBe(15);
    }));

  it('is not held up by a lease that a clock ahead by a year has taken', () =>
    withStores(async (one, other) => {
      await Promise.all(times(25, () => one.revokeAccessToken(`jti_${Math.random()}`, NOW)));
      expect(await one.sweep(NOW + 365 * DAY, 10)).toBe(10);
      expect(await other.sweep(NOW + DAY, 100)).toBe(15);
    }));
});

describe('audit events on PostgreSQL', () => {
  const create = postgresDatabases();
  const TABLES = `SELECT relname::text AS name FROM pg_class WHERE relkind = 'r' AND relname LIKE 'audit_events%' ORDER BY 1`;
  const tablesOf = async (location: string) =>
    (await queryPostgres(location, TABLES)).map(({ name }) => name);
  const first = Date.parse('2026-03-01T12:00:00Z') / 1000;

  it('have a table a day, which is dropped when its last event has expired', async () => {
    const location = await create();
    const [one, other] = [await openTestStore(location), await openTestStore(location)];
    for (const day of [0, 1, 2]) {
      await Promise.all(
        [one, other].map((store, process) =>
          store.appendEvents(
            times(3, (index) => eventAt(first + day * DAY + index, `${day}-${process}-${index}`)),
          ),
        ),
      );
    }
    expect(await tablesOf(location)).toEqual([
      'audit_events',
      'audit_events_20260301',
      'audit_events_20260302',
      'audit_events_20260303',
    ]);
    expect((await one.listEvents('', 100)).map(({ id }) => id).length).toBe(18);
    expect((await one.listEvents('0-1-1', 3)).map(({ id }) => id)).toEqual(['0-1-2', '1-0-0', '1-0-1']);
    expect((await one.listLatestEvents(2)).map(({ id }) => id)).toEqual(['2-1-1', '2-1-2']);

    await one.sweep(first + RETENTION, 100);
    expect(await tablesOf(location)).toHaveLength(4);
    await one.sweep(first + RETENTION + 2, 100);
    expect(await tablesOf(location)).toEqual([
      'audit_events',
      'audit_events_20260302',
      'audit_events_20260303',
    ]);
    expect(await one.listEvents('', 100)).toHaveLength(12);
    await Promise.all([one.close(), other.close()]);
  });

  it('are stored once when a batch that was stored is sent again together with events of the next day', async () => {
    const store = await openTestStore(await create());
    const midnight = Date.parse('2026-03-02T00:00:00Z') / 1000;
    const [before, after] = [eventAt(midnight - 1, 'event_1'), eventAt(midnight, 'event_2')];
    await store.appendEvents([before]);
    // As after a lost confirmation.
    await store.appendEvents([before, after]);
    await store.appendEvents([before, after]);
    expect((await store.listEvents('', 100)).map(({ id }) => id)).toEqual(['event_1', 'event_2']);
    await store.close();
  });

  it('of earlier versions stay readable in their table until they expire', async () => {
    const location = await create();
    const store = await openTestStore(location);
    await queryPostgres(
      location,
      `INSERT INTO audit_events (id, at, type, details, expires_at)
        SELECT 'old-' || n, ${first}000, 'token.issued', '{}', ${first} + n FROM generate_series(1, 20) n`,
    );
    await store.appendEvents([eventAt(first, 'z-new')]);
    expect(await store.listEvents('', 100)).toHaveLength(21);
    expect(await store.sweep(first + 10, 100)).toBe(10);
    expect((await store.listLatestEvents(1)).map(({ id }) => id)).toEqual(['z-new']);
    await store.close();
  });

  /** The location for a new role that may write to the tables that exist, and create none. */
  async function asWriter(location: string, role: string): Promise<string> {
    await queryPostgres(
      location,
      `CREATE ROLE ${role} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`,
    );
    const url = new URL(location);
    url.username = role;
    return url.href;
  }

  it('share one table where the role may not create any', async () => {
    const location = await create();
    await (await openTestStore(location)).close();
    const store = await openTestStore(await asWriter(location, 'plain_writer'));
    await store.appendEvents([eventAt(first, 'a')]);
    await store.appendEvents([eventAt(first, 'b')]);
    expect(await tablesOf(location)).toEqual(['audit_events']);
    expect(await store.sweep(first + RETENTION, 100)).toBe(2);
    await store.close();
  });

  it('are stored and deleted by a role that may not write to the table of the day, because another role created it', async () => {
    const location = await create();
    const owner = await openTestStore(location);
    const store = await openTestStore(await asWriter(location, 'late_writer'));
    await owner.appendEvents([eventAt(first, 'a')]);
    await store.appendEvents([eventAt(first, 'b'), eventAt(first + DAY, 'c')]);
    await store.appendEvents([eventAt(first, 'd')]);
    expect(await tablesOf(location)).toEqual(['audit_events', 'audit_events_20260301']);
    expect((await store.listEvents('', 100)).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
    expect(await store.sweep(first + RETENTION, 100)).toBe(3);
    expect((await owner.listEvents('', 100)).map(({ id }) => id)).toEqual(['c']);
    await Promise.all([owner.close(), store.close()]);
  });

  it('of tables that another role owns are deleted as they expire, and everything else with them', async () => {
    const location = await create();
    const owner = await openTestStore(location);
    await owner.appendEvents([
      ...times(5, (index) => eventAt(first + index, `a-${index}`)),
      eventAt(first + DAY, 'b'),
    ]);
    await owner.revokeAccessToken('jti', first);
    const store = await openTestStore(await asWriter(location, 'other_writer'));
    const later = first + RETENTION + 3;
    expect(await store.sweep(later, 3)).toBe(4);
    expect((await store.listEvents('', 100)).map(({ id }) => id)).toEqual(['a-3', 'a-4', 'b']);
    expect(await store.sweep(later, 3)).toBe(1);
    expect(await store.sweep(later, 3)).toBe(0);
    expect((await store.listEvents('', 100)).map(({ id }) => id)).toEqual(['a-4', 'b']);

    // The owner drops the table.
    expect(await owner.sweep(later + 2, 3)).toBe(0);
    expect(await tablesOf(location)).toEqual(['audit_events', 'audit_events_20260302']);
    await Promise.all([owner.close(), store.close()]);
  });

  it('of a table that is locked hold up no other deletion', async () => {
    const location = await create();
    const store = await openTestStore(location);
    await store.appendEvents([eventAt(first, 'a')]);
    await Promise.all(times(2, (index) => store.revokeAccessToken(`jti_${index}`, first)));
    const backup = new Client({ connectionString: location });
    await backup.connect();
    await backup.query('BEGIN; LOCK TABLE audit_events_20260301 IN ACCESS SHARE MODE');
    const later = first + RETENTION;
    await expect(store.sweep(later, 100)).rejects.toMatchObject({
      reason: expect.stringContaining('lock timeout'),
    });
    expect(await queryPostgres(location, 'SELECT * FROM revoked_access_tokens')).toEqual([]);
    await backup.end();
    await store.sweep(later, 100);
    expect(await tablesOf(location)).toEqual(['audit_events']);
    await store.close();
  });
});
