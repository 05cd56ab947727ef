/** The store on SQLite, in memory. */
import { openStore } from '@portcullis/store';
import { expect, it } from 'vitest';

it('opens an empty store in memory', async () => {
  const store = await openStore(':memory:');
  expect(await store.hasAccounts()).toBe(false);
  await store.close();
});
