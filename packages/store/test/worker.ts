/** A process that makes and refreshes grants until it is killed, and tells the hash of each token that was stored. */
import { writeSync } from 'node:fs';
import { openStore } from '@portcullis/store';
import { makeGrant, NOW, newRefreshToken, times } from '../src/contract/samples.ts';

const store = await openStore(process.argv[2] ?? '');
const tell = (hash: string) => writeSync(1, `${hash}\n`);

await Promise.all(
  times(8, async () => {
    for (;;) {
      const { grant, token } = await makeGrant(store);
      tell(token.hash);
      const successor = newRefreshToken(grant.id);
      if ((await store.rotateRefreshToken(token.hash, successor, NOW, 30)) === 'rotated')
        tell(successor.hash);
    }
  }),
);
