/** Batched reads: each gets its own rows, and a failing one fails alone. */
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { sql } from '../src/sql.ts';
import { createSqliteDatabase } from '../src/sqlite/sqlite-database.ts';

function open() {
  const connection = new DatabaseSync(':memory:');
  connection.exec('CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT');
  const database = createSqliteDatabase(connection, 0.05);
  const save = (id: number) =>
    database.write(sql`INSERT INTO things (id, name) VALUES (${id}, ${`thing ${id}`})`);
  const find = async (id: number) => {
    const rows = await database.read<{ readonly name: string }>(
      sql`SELECT name FROM things WHERE id = ${id}`,
    );
    return rows.map(({ name }) => name);
  };
  return { connection, database, save, find };
}

describe('batched reads', () => {
  it('returns to each of several batched reads its own rows', async () => {
    const { save, find } = open();
    await Promise.all([1, 2, 3].map(save));
    const found = await Promise.all([3, 1, 9, 2].map(find));
    expect(found).toEqual([['thing 3'], ['thing 1'], [], ['thing 2']]);
  });

  it('shows batched reads what was committed before they were requested', async () => {
    const { save, find } = open();
    const early = find(1);
    await save(1);
    expect(await find(1)).toEqual(['thing 1']);
    expect(await early).toHaveLength(0);
  });

  it('rejects failing reads of a batch individually, and leaves no transaction open', async () => {
    const { connection, database, save, find } = open();
    await save(1);
    const wrong = database.read(sql`SELECT name FROM nothing`);
    const [outcome, found] = await Promise.allSettled([wrong, find(1)]);
    expect(outcome.status).toBe('rejected');
    expect(found).toEqual({ status: 'fulfilled', value: ['thing 1'] });
    expect(connection.isTransaction).toBe(false);
    await save(2);
  });

  it('completes pending reads before the database closes, and rejects later ones', async () => {
    const { database, save, find } = open();
    await save(1);
    const [found] = await Promise.all([find(1), database.close()]);
    expect(found).toEqual(['thing 1']);
    await expect(find(1)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  });
});
