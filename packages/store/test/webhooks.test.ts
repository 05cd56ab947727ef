/** The delivery of events to webhooks: one process at a time holds the lease, and a replay takes it away. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { NOW } from '../testing/samples.ts';
import { postgresDatabases, sqliteFiles } from './databases.ts';

describe.each([
  { name: 'a SQLite file', places: sqliteFiles() },
  { name: 'PostgreSQL', places: postgresDatabases() },
])('webhooks on $name', ({ places }) => {
  async function openTwo() {
    const location = await places();
    const stores = [await openTestStore(location), await openTestStore(location)] as const;
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
    return stores;
  }
  const NEW = {
    name: 'siem',
    cursor: 'c0',
    attempts: 0,
    nextAttemptAt: 0,
    lastError: null,
    deliveredAt: null,
  };
  const NEXT = { ...NEW, cursor: 'c5', attempts: 2, nextAttemptAt: NOW + 15, lastError: 'status 503' };

  it('begin at the first cursor, and are leased by one process until the lease expires', async () => {
    const [one, other] = await openTwo();
    const leases = await Promise.all([
      one.leaseWebhook('siem', 'one', 'c0', NOW, NOW + 60),
      other.leaseWebhook('siem', 'other', 'c0', NOW, NOW + 60),
    ]);
    expect(leases.filter((lease) => lease !== null)).toEqual([NEW]);
    const [holder, loser] = leases[0] === null ? (['other', 'one'] as const) : (['one', 'other'] as const);
    expect(await one.leaseWebhook('siem', holder, 'c9', NOW + 1, NOW + 61)).toEqual(NEW);
    expect(await one.leaseWebhook('siem', loser, 'c9', NOW + 60, NOW + 120)).toBeNull();
    expect(await one.leaseWebhook('siem', loser, 'c9', NOW + 61, NOW + 121)).toEqual(NEW);
    expect(await one.leaseWebhook('mail', holder, 'c9', NOW, NOW + 60)).toMatchObject({ cursor: 'c9' });
  });

  it('save the progress of the holder only', async () => {
    const [one, other] = await openTwo();
    await one.leaseWebhook('siem', 'one', 'c0', NOW, NOW + 60);
    expect(await other.saveWebhookProgress(NEXT, 'other')).toBe(false);
    expect(await other.listWebhooks()).toEqual([NEW]);
    expect(await one.saveWebhookProgress(NEXT, 'one')).toBe(true);
    expect(await other.listWebhooks()).toEqual([NEXT]);
    await other.releaseWebhook('siem', 'other');
    expect(await other.leaseWebhook('siem', 'other', 'c0', NOW, NOW + 60)).toBeNull();
    await one.releaseWebhook('siem', 'one');
    expect(await other.leaseWebhook('siem', 'other', 'c0', NOW, NOW + 60)).toEqual(NEXT);
  });

  it('are rewound also while a process delivers, which then cannot save a later cursor', async () => {
    const [one, other] = await openTwo();
    await one.leaseWebhook('siem', 'one', 'c0', NOW, NOW + 60);
    await one.saveWebhookProgress(NEXT, 'one');
    expect(await other.rewindWebhook('unknown', 'c1')).toBe(false);
    expect(await other.listWebhooks()).toEqual([NEXT]);
    expect(await other.rewindWebhook('siem', 'c1')).toBe(true);
    expect(await one.saveWebhookProgress({ ...NEXT, cursor: 'c7' }, 'one')).toBe(false);
    expect(await one.listWebhooks()).toEqual([{ ...NEW, cursor: 'c1' }]);
  });

  it('are not rewound past events that are not delivered yet', async () => {
    const [one, other] = await openTwo();
    await one.leaseWebhook('siem', 'one', 'c4', NOW, NOW + 60);
    expect(await other.rewindWebhook('siem', 'c9')).toBe(true);
    expect(await one.listWebhooks()).toEqual([{ ...NEW, cursor: 'c4' }]);
    expect(await other.rewindWebhook('siem', 'c2')).toBe(true);
    expect(await one.listWebhooks()).toEqual([{ ...NEW, cursor: 'c2' }]);
    await other.setWebhookCursor('siem', 'c9');
    expect(await one.listWebhooks()).toEqual([{ ...NEW, cursor: 'c9' }]);
  });
});
