/** What the overview of the console says about deliveries that fail: webhooks and mail. */
import { afterAll, beforeAll, expect, it } from 'vitest';
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
