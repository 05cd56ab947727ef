/** A process that creates and refreshes grants until it is killed, and reports the generation of each stored refresh token. */

import { writeSync } from 'node:fs';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { createGrant, successorOf, times } from '../testing/samples.ts';

const store = await openTestStore(process.argv[2] ?? '');
const tell = (grantId: string, number: number) => writeSync(1, `${grantId} ${number}\n`);

await Promise.all(
  times(8, async () => {
    for (;;) {
      const { grant, token } = await createGrant(store);
      tell(grant.id, token.generation);
      const successor = successorOf(token);
      if ((await store.rotateRefreshToken(grant.id, token.hash, successor, null)) === 'rotated')
        tell(grant.id, successor.generation);
    }
  }),
);
