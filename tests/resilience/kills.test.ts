/** A server that is killed at any moment, under load, has afterwards all that its clients were told, and no half of a fact. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { signIn } from './browser.ts';
import { checkSurvivors, publishedKeys } from './check-survivors.ts';
import { countSteps, createLedger } from './ledger.ts';
import { load } from './load.ts';
import { kinds } from './places.ts';
import { createRandom } from './random.ts';
import { startProcess } from './servers.ts';
import { sizes, TIMEOUT } from './sizes.ts';

describe.concurrent.each(kinds)('$name', (kind) => {
  it(
    `T139: keeps its word when its server is killed ${sizes.kills} times under load`,
    async ({ onTestFinished: atEnd }) => {
      const random = createRandom();
      const place = await kind.make(atEnd);
      let server = await startProcess(place.location, atEnd);
      const signedIn = await signIn(server);
      const keys = await publishedKeys(server);
      const ledger = createLedger();
      let families = 0;
      for (let kill = 1; kill <= sizes.kills; kill += 1) {
        const underWay = load(server, signedIn, ledger, random);
        // With its first requests, or amid many; counted, so that a slow machine is tried as hard.
        const enough = countSteps(ledger) + random.next() * 120;
        const gone = underWay.then(() => Promise.reject(new Error('the server went by itself')));
        while (countSteps(ledger) < enough) await Promise.race([sleep(5), gone]);
        gone.catch(() => null);
        await sleep(random.next() * 20);
        await server.kill();
        await underWay;
        families += ledger.families.length;
        server = await startProcess(place.location, atEnd);
        await checkSurvivors(server, place, ledger, keys).catch((error: unknown) => {
          throw new Error(`after kill ${kill}, SEED=${random.seed}`, { cause: error });
        });
      }
      // Otherwise nothing was tried.
      expect(families).toBeGreaterThan(sizes.kills);
      expect(await server.stop()).toBe(0);
    },
    TIMEOUT,
  );
});
