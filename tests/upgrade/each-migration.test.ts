/** Each migration on a filled database: one that works on empty tables may fail on rows, or lose some. */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type DatabaseKind, databases, newestSchema, type Recorded } from './databases.ts';

const folder = new URL('released/', import.meta.url);
const [newest = ''] = readdirSync(folder).slice(-1);
const recorded: Readonly<Record<string, Recorded>> = JSON.parse(
  readFileSync(new URL(newest, folder), 'utf8'),
);

/** What there are columns for in an earlier schema. */
async function rowsFor(kind: DatabaseKind, location: string): Promise<Recorded['rows']> {
  const columns = await kind.columns(location);
  const all = Object.entries(recorded[kind.name]?.rows ?? {});
  const cut = all.map(([table, rows]) => {
    const names = columns[table] ?? [];
    const ofSchema = rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name))),
    );
    return [table, names.length === 0 ? [] : ofSchema] as const;
  });
  return Object.fromEntries(cut.filter(([, rows]) => rows.length > 0));
}

describe.each(databases)('on $name', (kind) => {
  let freshHash = '';
  beforeAll(async () => {
    const fresh = await kind.make(afterAll);
    await kind.migrate(fresh, newestSchema);
    freshHash = await kind.schemaHash(fresh);
  });

  it.each(Array.from({ length: newestSchema - 1 }, (_, index) => index + 2))(
    'migration %i and those after it keep every row of a filled database',
    async (number) => {
      const location = await kind.make(onTestFinished);
      await kind.migrate(location, number - 1);
      const before = await rowsFor(kind, location);
      expect(Object.values(before).flat().length).toBeGreaterThan(10);
      await kind.fill(location, before);

      await kind.migrate(location, newestSchema);
      const after = await kind.dump(location);
      for (const [table, rows] of Object.entries(before)) {
        const found = after[table] ?? [];
        expect(found).toHaveLength(rows.length);
        expect(found).toEqual(expect.arrayContaining(rows.map((row) => expect.objectContaining(row))));
      }
      expect(await kind.schemaHash(location)).toBe(freshHash);
    },
  );
});
