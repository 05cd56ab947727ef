/** Event streams of receivers: changes at the same time, removal, and the resources that a user has granted. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { newEventStream } from '../testing/event-streams.ts';
import { NOW, newAccount, newHash } from '../testing/samples.ts';
import { postgresDatabases, sqliteFiles } from './databases.ts';

describe.each([
  { name: 'a SQLite file', places: sqliteFiles() },
  { name: 'PostgreSQL', places: postgresDatabases() },
])('event streams on $name', ({ places }) => {
  async function openTwo() {
    const location = await places();
    const stores = [await openTestStore(location), await openTestStore(location)] as const;
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
    return stores;
  }

  it('are found by every process as they were stored', async () => {
    const [one, other] = await openTwo();
    const streams = [
      newEventStream({ id: 'stream_a' }),
      newEventStream({ id: 'stream_b', endpoint: null, encryptedAuthorization: null, description: null }),
    ];
    for (const stream of streams) await one.createEventStream(stream, 5);
    expect(await other.listEventStreams()).toEqual(streams);
    expect(await other.findEventStream('stream_b')).toEqual(streams[1]);
    expect(await other.findEventStream('stream_c')).toBeNull();
  });

  it('are changed by one of two processes at the same time', async () => {
    const [one, other] = await openTwo();
    const stream = newEventStream();
    await one.createEventStream(stream, 5);
    const changes = [
      { ...stream, status: 'paused' as const, removedAccounts: ['user_ada'], version: 2 },
      { ...stream, cursor: 'c9', acknowledged: 'c9.0', version: 2 },
    ];
    const saved = await Promise.all([
      one.saveEventStream(changes[0] ?? stream),
      other.saveEventStream(changes[1] ?? stream),
    ]);
    expect(saved.toSorted()).toEqual([false, true]);
    expect(await one.findEventStream(stream.id)).toEqual(changes[saved.indexOf(true)]);
  });

  it('are limited by client, also by two processes at the same time', async () => {
    const stores = await openTwo();
    const create = (store: (typeof stores)[0]) => store.createEventStream(newEventStream(), 3);
    const created = await Promise.all([...stores, ...stores, ...stores].map(create));
    expect(created.filter(Boolean)).toHaveLength(3);
    expect(await stores[0].listEventStreams()).toHaveLength(3);
    expect(await stores[0].createEventStream(newEventStream({ clientId: 'other' }), 3)).toBe(true);
  });

  it('are removed with the progress of their delivery, and no other', async () => {
    const [one, other] = await openTwo();
    const [stream, kept] = [newEventStream(), newEventStream()];
    for (const { id, ...record } of [stream, kept]) {
      await one.createEventStream({ id, ...record }, 5);
      await one.leaseWebhook(id, 'one', 'c0', NOW, NOW + 60);
    }
    expect(await other.removeEventStream(stream.id)).toBe(true);
    expect(await other.removeEventStream(stream.id)).toBe(false);
    expect((await one.listEventStreams()).map(({ id }) => id)).toEqual([kept.id]);
    expect((await one.listWebhooks()).map(({ name }) => name)).toEqual([kept.id]);
    expect(await one.saveEventStream({ ...stream, version: 2 })).toBe(false);
  });

  it('find the resources of the grants that a user had at a time, also if they have ended since', async () => {
    const [store] = await openTwo();
    const account = newAccount();
    await store.createAccount(account, {
      ...{ hash: newHash(), accountId: account.id, purpose: 'invitation' },
      ...{ isMailed: false, createdAt: NOW, expiresAt: NOW + 60 },
    });
    const save = (id: string, resource: string, clientId: string) =>
      store.saveManagedGrant({
        ...{ id, clientId, accountId: account.id, workspace: null, consentDigest: newHash() },
        ...{ scopes: ['read'], resources: [resource], createdAt: NOW, expiresAt: NOW + 600 },
        ...{ lastUsedAt: NOW, lastUsedFrom: null, managedBy: 'https://idp.example' },
      });
    await save('grant_1', 'https://a.example', 'one');
    await save('grant_2', 'https://b.example', 'two');
    await store.revokeAccountGrants(account.id, 'grant_2', NOW + 100);
    const at = async (time: number) => (await store.listGrantedResources(account.id, time)).toSorted();
    expect(await at(NOW - 10)).toEqual([]);
    for (const time of [NOW, NOW + 50, NOW + 101])
      expect(await at(time)).toEqual(['https://a.example', 'https://b.example']);
    expect(await at(NOW + 200)).toEqual(['https://a.example']);
    expect(await store.listGrantedResources('user_other', NOW + 100)).toEqual([]);
  });
});
