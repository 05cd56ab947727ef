/**
 * Measures what a DPoP-bound token costs a guard: the proof, and remembering that it was used, in memory, in an SQLite file of its
 * own, and in the store that `portcullis up` shares with its authorization server. Processor time of the whole process, by sixteen
 * requests at once, against the same guard with bearer tokens. `node --conditions=portcullis-source bench/dpop.ts [requests] [rounds]`.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createGuard, type ReplayStore } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import { limitedReplayStore, sqliteReplayStore } from '@portcullis/resource-server/replays';
import { openStore } from '@portcullis/store';
import { createReplayCache } from '../packages/resource-server/src/dpop/replay-cache.ts';
import { createHolder } from '../packages/resource-server/test/support/holder.ts';
import { createIssuer, NOW, RESOURCE } from '../packages/resource-server/test/support/issuer.ts';

const [requests = 4000, rounds = 5] = process.argv.slice(2).map(Number);
const AT_ONCE = 16;
/** Proofs of one key that a store accepts by default. */
const MOST = 100_000;
if (requests * (rounds + 1) > MOST) throw new Error(`Choose at most ${MOST} proofs in all.`);

const folder = mkdtempSync(join(tmpdir(), 'portcullis-dpop-'));
const store = await openStore(join(folder, 'store.db'));
const database = new DatabaseSync(join(folder, 'proofs.db'));
database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
const issuer = await createIssuer();
const holder = await createHolder();
const bound = await issuer.token({ cnf: { jkt: holder.thumbprint } });
const plain = await issuer.token();

/** `null`: a bearer token. */
const kinds: Readonly<Record<string, ReplayStore | null>> = {
  'bearer token': null,
  'proof, not remembered': { remember: () => true },
  'proof, in memory': createReplayCache(() => NOW),
  'proof, in an SQLite file': sqliteReplayStore(database, { clock: () => NOW }),
  'proof, in the shared store': limitedReplayStore(
    (proof, until) => store.consumeClientAssertion(`guard:${proof}`, Math.ceil(until)),
    { clock: () => NOW },
  ),
};

const handlers = Object.entries(kinds).map(([name, replays]) => {
  const guard = createGuard({
    resource: RESOURCE,
    verifier: issuer.verifier(),
    clock: () => NOW,
    ...(replays !== null && { dpop: { replays } }),
  });
  return {
    name,
    isBound: replays !== null,
    costs: [] as number[],
    handle: protect(guard, () => new Response('ok')),
  };
});

async function makeRequests(isBound: boolean): Promise<Request[]> {
  const made: Request[] = [];
  for (let index = 0; index < requests; index += 1) {
    const headers = isBound
      ? { authorization: `DPoP ${bound}`, dpop: await holder.prove(bound) }
      : { authorization: `Bearer ${plain}` };
    made.push(new Request(RESOURCE, { method: 'POST', headers }));
  }
  return made;
}

/** Microseconds of processor time per request. */
async function measure(handle: (request: Request) => Promise<Response>, isBound: boolean): Promise<number> {
  const waiting = await makeRequests(isBound);
  const before = process.cpuUsage();
  const lane = async (): Promise<void> => {
    for (let request = waiting.pop(); request !== undefined; request = waiting.pop()) {
      const { status } = await handle(request);
      if (status !== 200) throw new Error(`status ${status}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}

try {
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { handle, isBound, costs } of handlers) {
      const cost = await measure(handle, isBound);
      if (round > 0) costs.push(cost);
    }
  }
  const median = (costs: readonly number[]) => costs.toSorted((a, b) => a - b)[costs.length >> 1] ?? 0;
  const verified = median(handlers[1]?.costs ?? []);
  for (const { name, costs } of handlers) {
    const cost = median(costs);
    const range = `${Math.min(...costs).toFixed(0)}..${Math.max(...costs).toFixed(0)}`;
    console.log(
      `${name.padEnd(28)} ${cost.toFixed(0)} µs (${range}), ${(cost / verified).toFixed(2)} of the proof alone`,
    );
  }
} finally {
  await store.close();
  database.close();
  rmSync(folder, { recursive: true });
}
