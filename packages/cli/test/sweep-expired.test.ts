/** Sweeping: however much has expired since the last time, it goes, in steps. */
import { openStore } from '@portcullis/store';
import { expect, it } from 'vitest';
import { sweepAll } from '../src/server/sweep-expired.ts';

it('a sweep continues while batches are full', async () => {
  const store = await openStore(':memory:');
  const open = (id: string, expiresAt: number) =>
    store.openTransaction({
      id,
      browserHash: 'browser',
      clientId: 'client_a',
      redirectUri: 'https://app.example/callback',
      redirectUriSent: true,
      encryptedState: null,
      codeChallenge: 'challenge',
      scopes: [],
      resources: [],
      accountId: null,
      approvedScopes: null,
      forceLogin: false,
      identityProvider: null,
      linkedGrantId: null,
      createdAt: 0,
      expiresAt,
    });
  await Promise.all(Array.from({ length: 1300 }, (_, index) => open(`flow_${index}`, 100)));
  await open('flow_live', 10_000);

  const progress = { deleted: 0, caughtUpAt: 0 };
  await sweepAll(store, () => 5000, progress);
  expect(progress).toEqual({ deleted: 1300, caughtUpAt: 5000 });

  expect(await store.sweep(5000, 10)).toBe(0);
  expect(await store.findTransaction('flow_live', 5000)).not.toBeNull();
  await store.close();
});
