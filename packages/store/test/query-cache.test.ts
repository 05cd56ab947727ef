/** The query cache: rows are never returned after they have changed. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { sql } from '../src/sql.ts';
import { tableChangedBy } from '../src/sqlite/query-cache.ts';
import { createSqliteDatabase } from '../src/sqlite/sqlite-database.ts';
import { sqliteFiles } from './databases.ts';

const place = sqliteFiles();

interface Named {
  readonly name: string;
}

function connect(location: string) {
  const connection = new DatabaseSync(location, { timeout: 0 });
  connection.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS clients (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS others (id INTEGER PRIMARY KEY) STRICT`);
  const database = createSqliteDatabase(connection, 0.05);
  const made: Named[] = [];
  const find = (id: number) =>
    database.readCached(
      'clients',
      sql`SELECT name FROM clients WHERE id = ${id}`,
      ([row]: readonly Named[]) => {
        if (row === undefined) return null;
        made.push({ name: row.name });
        return made.at(-1) ?? null;
      },
    );
  const rename = (id: number, name: string) =>
    database.write(sql`UPDATE clients SET name = ${name} WHERE id = ${id} RETURNING 1 AS one`);
  const insert = (id: number) =>
    database.write(sql`INSERT INTO clients (id, name) VALUES (${id}, ${`name ${id}`})`);
  return { connection, database, made, find, rename, insert };
}

describe('the query cache', () => {
  it('converts a cached row once for all readers, single and batched', async () => {
    const { find, insert, made, database } = connect(await place());
    for (const id of [1, 2]) await insert(id);
    const first = await find(1);
    const [again, other] = await Promise.all([find(1), find(2)]);
    expect(again).toBe(first);
    expect(other).toEqual({ name: 'name 2' });
    await database.write(sql`INSERT INTO others (id) VALUES (${1})`);
    expect(await find(1)).toBe(first);
    expect(made).toHaveLength(2);
    await database.close();
  });

  it('invalidates cached rows after a write of the same store, also one that is rolled back', async () => {
    const { find, insert, rename, connection, database } = connect(await place());
    await insert(1);
    await find(1);
    await rename(1, 'new');
    expect(await find(1)).toEqual({ name: 'new' });
    const failing = database.transact(function* () {
      yield sql`UPDATE clients SET name = 'never' WHERE id = 1`;
      yield sql`INSERT INTO clients (id, name) VALUES (1, 'there already')`;
    }, null);
    const [outcome, beside] = await Promise.allSettled([failing, find(1)]);
    expect(outcome.status).toBe('rejected');
    expect(beside).toMatchObject({ value: { name: 'new' } });
    expect(await find(1)).toEqual({ name: 'new' });
    expect(connection.isTransaction).toBe(false);
    await database.close();
  });

  it.each(['alone', 'together'])(
    'invalidates cached rows after a write of another connection (%s)',
    async (how) => {
      const location = await place();
      const [here, there] = [connect(location), connect(location)];
      await here.insert(1);
      await here.insert(2);
      const look = async (id: number) =>
        how === 'alone' ? [await here.find(id)] : Promise.all([here.find(id), here.find(id)]);
      await look(1);
      for (const name of ['second', 'third']) {
        await there.rename(1, name);
        for (const seen of await look(1)) expect(seen).toEqual({ name });
      }
      await there.database.write(sql`DELETE FROM clients WHERE id = ${1}`);
      for (const seen of await look(1)) expect(seen).toBeNull();
      expect(await here.find(2)).toEqual({ name: 'name 2' });
      await here.database.close();
      await there.database.close();
    },
  );

  it('caches neither missing rows nor more than a thousand', async () => {
    const { find, insert, made, database } = connect(await place());
    expect(await find(1)).toBeNull();
    await insert(1);
    expect(await find(1)).toEqual({ name: 'name 1' });
    for (let id = 2; id <= 1001; id += 1) void insert(id);
    await insert(1002);
    for (let id = 1; id <= 1000; id += 1) await find(id);
    const before = made.length;
    await find(1000);
    expect(made).toHaveLength(before);
    await find(1001);
    await find(1);
    expect(made.length).toBe(before + 2);
    await database.close();
  });
});

describe('the table that a statement writes to', () => {
  it.each([
    ['SELECT name FROM clients', ''],
    ['\n  SELECT 1', ''],
    ['INSERT INTO clients (id) VALUES (?)', 'clients'],
    ['INSERT OR ROLLBACK INTO grants (id) SELECT id FROM clients', 'grants'],
    ['UPDATE client_metadata_documents SET url = ?', 'client_metadata_documents'],
    ['\n      DELETE FROM clients WHERE id IN (SELECT id FROM grants)', 'clients'],
    ['WITH gone AS (SELECT 1) DELETE FROM clients', '*'],
    ['REPLACE INTO clients VALUES (?)', '*'],
    ['DROP TABLE clients', '*'],
    ['update clients set name = ?', '*'],
  ])('is read from %j', (statement, table) => {
    expect(tableChangedBy(statement)).toBe(table);
  });
});
