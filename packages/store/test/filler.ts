/** A process that fills a SQLite file until the disk is full, and reports. */

import { OAuthError } from '@portcullis/protocol';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { newClient } from '../testing/samples.ts';

const store = await openTestStore(process.argv[2] ?? '');
const saved: string[] = [];
let refusal: OAuthError | undefined;
while (refusal === undefined && saved.length < 10_000) {
  const client = newClient();
  try {
    await store.saveClient(client);
    saved.push(client.id);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    refusal = error;
  }
}
// It still responds.
if (saved[0] === undefined || (await store.findClient(saved[0])) === null)
  throw new Error('nothing was saved');
console.log(JSON.stringify({ saved, refusal: { code: refusal?.code, reason: refusal?.reason } }));
await store.close();
