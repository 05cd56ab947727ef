/** Batches of statements on PostgreSQL: what they share, what fails alone, and that they never wait for each other's rows. */

import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Postgres, startPostgres } from '../../../tests/support/postgres.ts';
import { openTestStore } from '../../../tests/support/test-store.ts';
import { createBatches } from '../src/postgres/batches.ts';
import { createPostgresDatabase } from '../src/postgres/postgres-database.ts';
import { literal, sql } from '../src/sql.ts';
import { createGrant, NOW, newClient, newRefreshToken, successorOf } from '../testing/samples.ts';
import { queryPostgres } from './databases.ts';

it('prepares statements of the program, and none whose text is composed at run time', async () => {
  const sent: (readonly [string, boolean])[] = [];
  const database = createPostgresDatabase(
    {
      use: (work) =>
        work(async (query) => {
          const { text, name } = typeof query === 'string' ? { text: query } : query;
          sent.push([text, name !== undefined]);
          return { rows: [], command: '', rowCount: 0, oid: 0, fields: [] };
        }),
      runBatch: async (statements) =>
        statements.map(({ text, name }) => {
          sent.push([text, name !== undefined]);
          return [];
        }),
      close: async () => {},
    },
    true,
  );
  await database.write(sql`DELETE FROM events`);
  await database.write(literal('DROP TABLE events_1'));
  await database.read(sql`SELECT 1`);
  await database.read(literal('SELECT MAX(id) FROM events_2'));
  expect(sent).toEqual([
    ['DELETE FROM events', true],
    ['DROP TABLE events_1', false],
    ['SELECT 1', true],
    ['SELECT MAX(id) FROM events_2', false],
  ]);
});

describe('batches', () => {
  /** Answers each statement with itself in capitals; `bad` fails. */
  function createRecorded() {
    const batches: string[][] = [];
    const run = createBatches<string, string>(
      async (items) => {
        batches.push([...items]);
        await new Promise((resolve) => setTimeout(resolve, 5));
        const failed = items.indexOf('bad');
        if (failed >= 0) throw Object.assign(new Error('bad'), { failed });
        if (items.includes('lost')) throw new Error('lost');
        return items.map((item) => item.toUpperCase());
      },
      (error) => (error as { readonly failed?: number }).failed ?? null,
    ).run;
    return { batches, run };
  }

  it('run statements that arrive together in one transaction, in the order in which rows are locked', async () => {
    const { batches, run } = createRecorded();
    expect(await Promise.all([run('c', '3'), run('a', '1'), run('b', '2')])).toEqual(['C', 'A', 'B']);
    expect(batches).toEqual([['a', 'b', 'c']]);
  });

  it('reject the statement that failed, and run the others again', async () => {
    const { batches, run } = createRecorded();
    const outcomes = await Promise.allSettled([run('a', '1'), run('bad', '2'), run('c', '3')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(batches).toEqual([
      ['a', 'bad', 'c'],
      ['a', 'c'],
    ]);
  });

  it('reject all when the outcome is unknown, and run none of them again', async () => {
    const { batches, run } = createRecorded();
    const outcomes = await Promise.allSettled([run('a'), run('lost')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(1);
  });

  it('gather what arrives while two are under way', async () => {
    const { batches, run } = createRecorded();
    const first = [run('a')];
    await new Promise(setImmediate);
    first.push(run('b'));
    await new Promise(setImmediate);
    first.push(run('c'), run('d'));
    await Promise.all(first);
    expect(batches).toEqual([['a'], ['b'], ['c', 'd']]);
  });
});

describe('concurrent requests on PostgreSQL', () => {
  let postgres: Postgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  async function open(): Promise<{ store: AuthorizationStore; location: string }> {
    const location = await postgres.createDatabase();
    const store = await openTestStore(location);
    onTestFinished(() => store.close());
    return { store, location };
  }

  it('rotate forty refresh tokens in a few transactions', async () => {
    const { store, location } = await open();
    const grants = await Promise.all(Array.from({ length: 40 }, () => createGrant(store)));
    const outcomes = await Promise.all(
      grants.map(({ grant, token }) =>
        store.rotateRefreshToken(grant.id, token.hash, successorOf(token), null),
      ),
    );
    expect(new Set(outcomes)).toEqual(new Set(['rotated']));
    // Each row has the number of the transaction that wrote it.
    const [row] = await queryPostgres(
      location,
      'SELECT count(DISTINCT xmin::text)::int AS count FROM grants',
    );
    expect(Number(row?.['count'])).toBeLessThan(8);
  });

  it('find one winner when a token is presented twice in one transaction', async () => {
    const { store } = await open();
    const { grant, token } = await createGrant(store);
    const rotate = () => store.rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null);
    expect((await Promise.all([rotate(), rotate(), rotate()])).toSorted()).toEqual([
      'conflict',
      'conflict',
      'rotated',
    ]);
  });

  it('are not affected by a statement that fails beside them', async () => {
    const { store } = await open();
    const { grant, token } = await createGrant(store);
    const outcomes = await Promise.allSettled([
      store.rotateRefreshToken(grant.id, token.hash, successorOf(token), null),
      // PostgreSQL's text holds no U+0000.
      store.saveClient({ ...newClient(), secretHash: 'a\0b' }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect((await store.findGrant(grant.id))?.token?.generation).toBe(token.generation + 1);
  });

  it('read a client once when they wait for the same batch, and never an earlier state of it', async () => {
    const { store, location } = await open();
    const other = await openTestStore(location);
    onTestFinished(() => other.close());
    const client = newClient();
    await store.saveClient(client);
    const [first, second] = await Promise.all([store.findClient(client.id), store.findClient(client.id)]);
    expect(first).toEqual(client);
    expect(second).toBe(first);

    const early = store.findClient(client.id);
    await new Promise(setImmediate);
    await other.disableClient(client.id, NOW);
    expect((await store.findClient(client.id))?.disabledAt).toBe(NOW);
    await early;
  });

  it('send values of any length and in any language', async () => {
    const { store } = await open();
    const names = ['', 'é', '\u{1f5dd}'.repeat(20_000), '\ud800'.toWellFormed(), 'x'.repeat(70_000)];
    const clients = names.map((name) => {
      const { metadata, ...client } = newClient();
      return { ...client, metadata: { ...metadata, client_name: name }, secretHash: name };
    });
    await Promise.all(clients.map((client) => store.saveClient(client)));
    expect(await Promise.all(clients.map(({ id }) => store.findClient(id)))).toEqual(clients);
  });

  it('of two processes never wait for each other in a circle', async () => {
    const location = await postgres.createDatabase();
    const stores = [await openTestStore(location), await openTestStore(location)];
    onTestFinished(async () => {
      for (const store of stores) await store.close();
    });
    const [first] = stores;
    if (first === undefined) throw new Error('no store');
    const grants = await Promise.all(Array.from({ length: 20 }, () => createGrant(first)));
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(
        stores.flatMap((store, index) => {
          const own = index === 0 ? grants : grants.toReversed();
          return own.flatMap(({ grant, token }) => [
            store.rotateRefreshToken(grant.id, token.hash, { ...token, issuedAt: NOW + round }, null),
            store.chargeRateLimit(`key ${grant.id}`, { burst: 1000, interval: 1 }, NOW),
          ]);
        }),
      );
    }
    const [row] = await queryPostgres(
      location,
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(row).toEqual({ deadlocks: 0 });
  });
});
