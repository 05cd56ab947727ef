/**
 * Measures latency and throughput of the operations of a store: sequentially, and 50 concurrently.
 * `node --conditions=portcullis-source bench/store.ts [location]…`; without a location on a temporary SQLite file.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuthorizationStore, RefreshTokenRecord } from '@portcullis/authorization-server/store';
import { openStore } from '@portcullis/store';
import {
  grantOf,
  NOW,
  newAccount,
  newAccountLink,
  newCode,
  newRefreshToken,
  newTransaction,
  successorOf,
} from '../packages/store/testing/samples.ts';

/** Milliseconds per measurement. */
const DURATION = 1500;
const GRANTS = 10_000;

type Work = (store: AuthorizationStore) => Promise<unknown>;

const chains: { readonly grantId: string; token: RefreshTokenRecord }[] = [];
const owner = newAccount();
let next = 0;

/** Each token family is used by one worker at a time: there are far more families than workers. */
function nextChain(): (typeof chains)[number] {
  next = (next + 1) % chains.length;
  const chain = chains[next];
  if (chain === undefined) throw new Error('there are no grants yet');
  return chain;
}

async function authorize(store: AuthorizationStore): Promise<void> {
  const [transaction, code] = [newTransaction(), newCode({ accountId: owner.id })];
  await store.openTransaction(transaction);
  await store.findTransaction(transaction.id, NOW);
  await store.setTransactionAccount(transaction.id, code.accountId);
  await store.findTransaction(transaction.id, NOW);
  await store.completeTransaction(transaction.id, code);
  await store.findCode(code.hash);
  const token = newRefreshToken({ expiresAt: NOW + 1_000_000 });
  await store.redeemCode(code.hash, grantOf(code, { expiresAt: NOW + 1_000_000 }), token, NOW);
  chains.push({ grantId: code.grantId, token });
}

const works: Readonly<Record<string, Work>> = {
  'find a refresh token': (store) => store.findGrant(nextChain().grantId),
  'find and rotate a refresh token': async (store) => {
    const chain = nextChain();
    const successor = successorOf(chain.token, { expiresAt: NOW + 1_000_000 });
    await store.findGrant(chain.grantId);
    if ((await store.rotateRefreshToken(chain.grantId, chain.token.hash, successor, null)) !== 'rotated')
      throw new Error('not rotated');
    chain.token = successor;
  },
  'check an access token': (store) => store.isAccessTokenLive('jti', nextChain().grantId),
  'authorize from request to tokens (7 facts)': authorize,
};

async function measure(store: AuthorizationStore, work: Work, workers: number): Promise<string> {
  const times: number[] = [];
  const start = performance.now();
  const cpu = process.cpuUsage();
  const run = async () => {
    while (performance.now() - start < DURATION) {
      const before = performance.now();
      await work(store);
      times.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: workers }, run));
  const elapsed = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    ((times[Math.floor(times.length * share)] ?? 0) * 1000).toFixed(0).padStart(7);
  const rate = ((times.length / elapsed) * 1000).toFixed(0).padStart(8);
  const each = ((user + system) / times.length).toFixed(1).padStart(7);
  return `${rate} ${at(0.5)} ${at(0.99)} ${each}`;
}

async function run(name: string, store: AuthorizationStore): Promise<void> {
  console.log(
    `\n${name}, ${GRANTS} grants${' '.repeat(Math.max(0, 40 - name.length))}at once      /s  p50 µs  p99 µs CPU µs`,
  );
  chains.length = 0;
  await store.createAccount(owner, newAccountLink(owner.id));
  for (let made = 0; made < GRANTS; made += 100) {
    await Promise.all(Array.from({ length: 100 }, () => authorize(store)));
  }
  for (const [work, run] of Object.entries(works)) {
    for (const workers of [1, 50]) {
      console.log(`${work.padEnd(52)} ${String(workers).padStart(7)} ${await measure(store, run, workers)}`);
    }
  }
  await store.close();
}

const locations = process.argv.slice(2);
if (locations.length === 0) {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-bench-'));
  await run('a SQLite file', await openStore(join(folder, 'portcullis.db')));
  await rm(folder, { recursive: true });
}
for (const location of locations) {
  await run(location.replace(/^(postgres)[^:]*:.*/u, 'PostgreSQL'), await openStore(location));
}
