/** What the overview of the console says about deliveries that fail, and about signing keys. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEmptyStore } from '../../../../tests/support/migrated-store.ts';
import type { Administration } from '../../src/operations/administration.ts';
import { findAttention } from '../../src/operations/attention.ts';
import { type Installation, startInstallation } from '../installation.ts';
import { visitConsole } from './visitor.ts';

let t: Installation;
beforeAll(async () => {
  t = await startInstallation();
});
afterAll(() => t.stop());

it('the overview says why no mail is sent, until it is sent again or nothing tries any more', async () => {
  const now = Math.floor(Date.now() / 1000);
  const save = (attempts: number, nextAttemptAt: number) =>
    t.onStore(async (store) => {
      const progress = await store.leaseWebhook('.mail', 'test', '', now, now + 60);
      if (progress === null) throw new Error('another process delivers');
      const lastError = attempts === 0 ? null : '452 4.3.1 <b>full</b>';
      await store.saveWebhookProgress({ ...progress, attempts, nextAttemptAt, lastError }, 'test');
    });
  const visitor = await visitConsole(t);
  const read = async () => (await visitor.open('/admin')).html;
  const sentence = 'No mail is sent: 452 4.3.1 &lt;b&gt;full&lt;/b&gt;.';
  await save(3, now + 60);
  expect(await read()).toContain(sentence);
  await save(3, now - 7200);
  expect(await read()).not.toContain('No mail is sent');
  await save(0, 0);
  expect(await read()).not.toContain('No mail is sent');
});

it('the overview says how many names the apps have that registered and that no operator has verified', async () => {
  for (const client_name of ['Desk agent', 'Desk agent', 'Other'])
    await fetch(`${t.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://x.example/cb'], client_name }),
    });
  const visitor = await visitConsole(t);
  await expect
    .poll(async () => (await visitor.open('/admin')).html)
    .toContain('3 apps with 2 names registered in the last day, and no operator has verified them.');
});

describe('a signing key needs attention', () => {
  const DAY = 86_400;
  const now = Math.floor(Date.now() / 1000);
  const key = (state: string, days: number) => ({
    id: state,
    state,
    signsFrom: now - days * DAY,
    canDecrypt: true,
  });

  it.each([
    {
      description: 'is due and not replaced',
      rotation: 90,
      keys: [key('signing', 92)],
      expect: 'no process could',
    },
    {
      description: 'is due, and the next one is there',
      rotation: 90,
      keys: [key('next', -1), key('signing', 92)],
    },
    { description: 'is not due', rotation: 90, keys: [key('signing', 89)] },
    {
      description: 'is old, and nothing replaces it',
      rotation: null,
      keys: [key('signing', 400)],
      expect: 'is off',
    },
    { description: 'is young, and nothing replaces it', rotation: null, keys: [key('signing', 300)] },
  ])('if it $description: $expect', async ({ rotation, keys, expect: expected }) => {
    const store = await openEmptyStore();
    const admin = {
      ...{ store, clock: () => now, health: () => [], identityProviders: [] },
      ...{ keys: { list: async () => keys }, approvals: { list: async () => [] } },
      keyRotation: rotation === null ? null : rotation * DAY,
    };
    const sentences = (await findAttention(admin as unknown as Administration)).map(
      ({ sentence }) => sentence,
    );
    await store.close();
    expect(sentences).toEqual(expected === undefined ? [] : [expect.stringContaining(expected)]);
  });
});
