/** Templates become statements of both dialects. */
import { describe, expect, it } from 'vitest';
import { literal, sql } from '../src/sql.ts';

describe('a query', () => {
  it('numbers its values for PostgreSQL and marks them for SQLite', () => {
    const { template, values } = sql`SELECT a FROM t WHERE b = ${'x'} AND c > ${7} AND d = ${null}`;
    expect(template.sqlite).toBe('SELECT a FROM t WHERE b = ? AND c > ? AND d = ?');
    expect(template.postgres).toBe('SELECT a FROM t WHERE b = $1 AND c > $2 AND d = $3');
    expect(values).toEqual(['x', 7, null]);
  });

  it('never lets a value into the text', () => {
    const { template, values } = sql`SELECT ${"'; DROP TABLE t; --"}`;
    expect(template).toEqual({ sqlite: 'SELECT ?', postgres: 'SELECT $1' });
    expect(values).toEqual(["'; DROP TABLE t; --"]);
  });

  it('has one template for each place that writes it, so that statements are prepared once', () => {
    const make = (id: string) => sql`SELECT ${id}`;
    expect(make('a').template).toBe(make('b').template);
    expect(sql`SELECT ${'a'}`.template).not.toBe(make('a').template);
  });

  it('may be a literal without values', () => {
    expect(literal('SELECT 1')).toEqual({
      template: { sqlite: 'SELECT 1', postgres: 'SELECT 1' },
      values: [],
    });
  });
});
