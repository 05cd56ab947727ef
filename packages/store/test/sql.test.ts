/** Templates become statements of both dialects. */
import { describe, expect, it } from 'vitest';
import { defineQuery, defineRows, literal, sql } from '../src/sql.ts';

describe('an SQL query', () => {
  it('numbers the values of a query for PostgreSQL and marks them for SQLite', () => {
    const { template, values } = sql`SELECT a FROM t WHERE b = ${'x'} AND c > ${7} AND d = ${null}`;
    expect(template.sqlite).toBe('SELECT a FROM t WHERE b = ? AND c > ? AND d = ?');
    expect(template.postgres).toBe('SELECT a FROM t WHERE b = $1 AND c > $2 AND d = $3');
    expect(values).toEqual(['x', 7, null]);
  });

  it('never puts a value into the SQL text', () => {
    const { template, values } = sql`SELECT ${"'; DROP TABLE t; --"}`;
    expect(template).toEqual({ sqlite: 'SELECT ?', postgres: 'SELECT $1', counts: false });
    expect(values).toEqual(["'; DROP TABLE t; --"]);
  });

  it('has one template per call site, so that each statement is prepared once', () => {
    const make = (id: string) => sql`SELECT ${id}`;
    expect(make('a').template).toBe(make('b').template);
    expect(sql`SELECT ${'a'}`.template).not.toBe(make('a').template);
  });

  it('counts changed rows without returning rows from SQLite', () => {
    const { template } = sql`UPDATE t SET a = ${1} WHERE b = ${2} RETURNING 1 AS one`;
    expect(template).toEqual({
      sqlite: 'UPDATE t SET a = ? WHERE b = ?',
      postgres: 'UPDATE t SET a = $1 WHERE b = $2 RETURNING 1 AS one',
      counts: true,
    });
    expect(sql`SELECT 1 AS one`.template.counts).toBe(false);
    expect(sql`DELETE FROM t RETURNING id`.template.counts).toBe(false);
  });

  it('inserts several rows with one query', () => {
    expect(defineRows('INSERT INTO t (a, b) VALUES', 2, 2, 'ON CONFLICT (a) DO NOTHING')).toEqual({
      sqlite: 'INSERT INTO t (a, b) VALUES (?, ?), (?, ?) ON CONFLICT (a) DO NOTHING',
      postgres: 'INSERT INTO t (a, b) VALUES ($1, $2), ($3, $4) ON CONFLICT (a) DO NOTHING',
      counts: false,
    });
  });

  it('reuses the template of a query composed of fragments', () => {
    const find = defineQuery('SELECT a FROM t WHERE b = ? AND c = ?');
    const query = find('one', 2);
    expect(query.values).toEqual(['one', 2]);
    expect(query.template).toEqual({
      sqlite: 'SELECT a FROM t WHERE b = ? AND c = ?',
      postgres: 'SELECT a FROM t WHERE b = $1 AND c = $2',
      counts: false,
    });
    expect(find('two', 3).template).toBe(query.template);
  });

  it('accepts a literal query without values, which PostgreSQL does not prepare', () => {
    expect(literal('SELECT 1')).toEqual({
      template: { sqlite: 'SELECT 1', postgres: 'SELECT 1', counts: false, isUnnamed: true },
      values: [],
    });
  });
});
