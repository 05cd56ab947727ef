/** Replay stores: the contract that each must satisfy, and guards in separate processes that share one. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Postgres, startPostgres } from '../../../tests/support/postgres.ts';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { createReplayCache } from '../src/dpop/replay-cache.ts';
import { postgresReplayStore, sqliteReplayStore } from '../src/dpop/sql/sql-replay-store.ts';
import type { ReplayStore } from '../src/index.ts';
import { createHolder } from './support/holder.ts';
import { createIssuer, NOW, type TestIssuer } from './support/issuer.ts';

let folder: string;
let postgres: Postgres;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proofs-'));
  postgres = await startPostgres();
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

afterAll(async () => {
  await postgres.stop();
  await rm(folder, { recursive: true });
});

let now = NOW;
let serial = 0;

/** Two stores on one database, as in two processes. */
interface Place {
  readonly stores: readonly [ReplayStore, ReplayStore];
  /** One that takes three proofs of a key, on the same place. */
  readonly small: ReplayStore;
  /** Number of stored proofs; `null` if the test cannot count them. */
  count(): Promise<number | null>;
  /** Runs SQL on the table of the proofs; `null` without one. */
  readonly run: ((sql: string) => unknown) | null;
}

const clock = (): number => now;

async function openSqlite(): Promise<Place> {
  serial += 1;
  const location = join(folder, `${serial}.db`);
  const [one, other] = [location, location].map((path) => new DatabaseSync(path, { timeout: 100_000 }));
  if (one === undefined || other === undefined) throw new Error('no database');
  closing.push(
    () => one.close(),
    () => other.close(),
  );
  return {
    stores: [sqliteReplayStore(one, { clock }), sqliteReplayStore(other, { clock })],
    small: sqliteReplayStore(one, { clock, maxProofsPerKey: 3 }),
    count: async () => Number(one.prepare('SELECT count(*) AS n FROM dpop_proofs').get()?.['n']),
    run: (sql) => one.exec(sql),
  };
}

async function openPostgres(): Promise<Place> {
  const connectionString = await postgres.createDatabase();
  const [one, other] = [new Pool({ connectionString }), new Pool({ connectionString })];
  closing.push(
    () => one.end(),
    () => other.end(),
  );
  return {
    stores: [postgresReplayStore(one, { clock }), postgresReplayStore(other, { clock })],
    small: postgresReplayStore(one, { clock, maxProofsPerKey: 3 }),
    count: async () => Number((await one.query('SELECT count(*) AS n FROM dpop_proofs')).rows[0].n),
    run: (sql) => one.query(sql),
  };
}

async function openMemory(): Promise<Place> {
  const memory = createReplayCache(clock);
  return {
    stores: [memory, memory],
    small: createReplayCache(clock, { maxProofsPerKey: 3 }),
    count: async () => null,
    run: null,
  };
}

describe.each([
  ['in memory', openMemory],
  ['in SQLite', openSqlite],
  ['in PostgreSQL', openPostgres],
])('proofs %s', (_name, open) => {
  it('[X-DPOP-10] accepts a proof once, whichever process is first', async () => {
    const [one, other] = (await open()).stores;
    expect(await one.remember('a', NOW + 300, 'key')).toBe(true);
    expect(await other.remember('a', NOW + 300, 'key')).toBe(false);
    expect(await other.remember('b', NOW + 300, 'key')).toBe(true);
    expect(await one.remember('b', NOW + 300.5, 'key')).toBe(false);
  });

  it('[X-DPOP-10] accepts a proof once among concurrent uses', async () => {
    const [one, other] = (await open()).stores;
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) =>
        (index % 2 ? one : other).remember('raced', NOW + 300, 'key'),
      ),
    );
    expect(answers.filter(Boolean).length).toBe(1);
  });

  it('never lets proofs of one key fill the replay table, and accepts those of other keys', async () => {
    const { small, count } = await open();
    const take = async (proof: string, key: string): Promise<boolean> =>
      small.remember(proof, now + 300, key);
    for (const proof of ['a', 'b', 'c']) expect(await take(proof, 'flood')).toBe(true);
    await expect(take('d', 'flood')).rejects.toMatchObject({ status: 429 });
    expect([3, null]).toContain(await count());
    expect(await take('e', 'other')).toBe(true);
    now = NOW + 400;
    expect(await take('f', 'flood')).toBe(true);
    now = NOW;
  });

  it('deletes proofs some time after their expiry, and not before', async () => {
    const { stores, count } = await open();
    const [store] = stores;
    await store.remember('short', NOW + 10, 'key');
    await store.remember('long', NOW + 1000, 'key');
    now = NOW + 700;
    expect(await store.remember('another', NOW + 1000, 'key')).toBe(true);
    expect(await store.remember('long', NOW + 1000, 'key')).toBe(false);
    expect([2, null]).toContain(await count());
    now = NOW;
  });
});

describe.each([
  ['SQLite', openSqlite],
  ['PostgreSQL', openPostgres],
])('expired proofs in %s', (_name, open) => {
  it('[X-DPOP-10] accepts no proof again after a process whose clock is ahead has deleted expired ones', async () => {
    const [one, other] = (await open()).stores;
    const remember = (store: ReplayStore, proof: string) => store.remember(proof, NOW + 300, 'key');
    expect(await remember(one, 'a')).toBe(true);
    now = NOW + 390;
    expect(await remember(other, 'b')).toBe(true);
    now = NOW + 300;
    expect(await remember(one, 'a')).toBe(false);
    expect(await remember(one, 'c')).toBe(true);
    now = NOW;
  });

  it('deletes expired proofs at each call until few are left, however many a minute brings', async () => {
    const { stores, count, run } = await open();
    const [store] = stores;
    const fill = (name: string, proofs: number) =>
      run?.(`INSERT INTO dpop_proofs WITH RECURSIVE n (i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${proofs}) SELECT '${name}' || i, ${NOW - 600} FROM n`);
    const stored: (number | null)[] = [];
    const remember = async (proof: string): Promise<void> => {
      expect(await store.remember(proof, NOW + 1000, 'key')).toBe(true);
      stored.push(await count());
    };
    await remember('a');
    await fill('old-', 20_001);
    await remember('b');
    now = NOW + 60;
    for (const proof of ['c', 'd', 'e']) await remember(proof);
    await fill('few-', 3);
    await remember('f');
    now = NOW + 120;
    await remember('g');
    expect(stored).toEqual([1, 20_003, 10_004, 5, 5, 9, 7]);
    // The clock was ahead.
    now = NOW + 86_400;
    expect(await store.remember('h', now + 1000, 'key')).toBe(true);
    now = NOW + 130;
    await fill('more-', 2);
    await remember('i');
    expect(stored.at(-1)).toBe(2);
    now = NOW;
  });
});

it('rejects a replay table name that would need quotes', () => {
  const database = new DatabaseSync(':memory:');
  for (const table of ['x; DROP TABLE y', 'Proofs', '', '1a', '"a"']) {
    expect(() => sqliteReplayStore(database, { table })).toThrow(TypeError);
    expect(() => postgresReplayStore({ query: async () => ({ rowCount: 0 }) }, { table })).toThrow(TypeError);
  }
  sqliteReplayStore(database, { table: 'mine' }).remember('a', NOW, 'key');
  expect(database.prepare('SELECT proof FROM mine').all()).toEqual([{ proof: 'a' }]);
  database.close();
});

it('retries to create the replay table after a failure', async () => {
  let isDown = true;
  const asked: string[] = [];
  const store = postgresReplayStore({
    query: async (sql) => {
      if (isDown) throw new Error('down');
      asked.push(sql);
      return { rowCount: 1 };
    },
  });
  await expect(store.remember('a', NOW, 'key')).rejects.toThrow('down');
  isDown = false;
  expect(await store.remember('a', NOW, 'key')).toBe(true);
  expect(asked.length).toBe(2);
});

describe.each([
  ['SQLite', async () => join(folder, 'shared.db')],
  ['PostgreSQL', () => postgres.createDatabase()],
])('guards in two processes that share %s', (_name, place) => {
  it('[X-DPOP-10] accepts a proof once between two guards that share a store', async () => {
    const issuer = await createIssuer();
    const location = await place();
    const ports = await Promise.all([start(issuer, location), start(issuer, location)]);
    const holder = await createHolder();
    const token = await issuer.token({ cnf: { jkt: holder.thumbprint } });
    for (let round = 0; round < 5; round += 1) {
      const proof = await holder.prove(token, { htm: 'GET' });
      const statuses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => ask(ports[index % 2] ?? 0, token, proof)),
      );
      expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 401)]);
    }
  });
});

/** Starts a protected server in a separate process. */
async function start(issuer: TestIssuer, location: string): Promise<number> {
  const file = fileURLToPath(new URL('support/server-with-proofs.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [...sourceFlags(), file], {
    env: { ...process.env, KEYS: JSON.stringify({ keys: [issuer.publicJwk] }), LOCATION: location },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  closing.push(() => child.kill());
  return new Promise((resolve, reject) => {
    child.once('message', (port) => resolve(Number(port)));
    child.once('exit', () => reject(new Error('the server ended')));
  });
}

async function ask(port: number, token: string, proof: string): Promise<number> {
  const headers = { authorization: `DPoP ${token}`, dpop: proof };
  return (await fetch(`http://127.0.0.1:${port}/mcp`, { headers })).status;
}
