/** The columns of a record, declared once: the member `createdAt` is in the column `created_at`. */
import type { Database } from './database.ts';
import { readFrozenJson, readJson, readList } from './json.ts';
import { defineTemplate, type Query, type Value } from './sql.ts';

/** How a member is stored, where its value is not the column's. `NULL` is `null`. */
interface Kind {
  readonly read: (value: NonNullable<Value>) => unknown;
  readonly write: (member: unknown) => Value;
}

const KINDS = {
  json: { read: (value) => readJson(String(value)), write: JSON.stringify },
  /** Immutable, for records that are cached. */
  frozen: { read: (value) => readFrozenJson(String(value)), write: JSON.stringify },
  /** Strings. */
  list: { read: (value) => readList(String(value)), write: JSON.stringify },
  // PostgreSQL returns a `Buffer`.
  bytes: { read: (value) => new Uint8Array(value as Uint8Array), write: (member) => member as Uint8Array },
  boolean: { read: (value) => value === 1, write: Number },
} satisfies Readonly<Record<string, Kind>>;

/** How records of one type are selected, read and inserted. */
export interface RecordColumns<Stored> {
  /** For `SELECT` and `RETURNING`. @param table its alias and a dot, in a join */
  select(table?: string): string;
  read(row: unknown): Stored;
  readFirst(rows: readonly unknown[]): Stored | null;
  readAll(rows: readonly unknown[]): readonly Stored[];
  /** Runs a query that selects these columns. @returns the first record; `null`: none */
  findFirst(database: Pick<Database, 'read'>, query: Query): Promise<Stored | null>;
  /** The same. @returns all records */
  findAll(database: Pick<Database, 'read'>, query: Query): Promise<readonly Stored[]>;
  /** For `INSERT`: the columns, a mark for each, and their values. */
  readonly names: string;
  readonly marks: string;
  /** @param stored `null`: all are `NULL` */
  values(stored: Stored | null): readonly Value[];
  /** @param suffix follows the values */
  insertInto(table: string, suffix?: string): (stored: Stored) => Query;
}

/**
 * A record of sixteen members costs 0.3 µs more than with a reader of its own, a fifth of what its query costs.
 * @param members of the record, separated by spaces, with the kinds of those that need one: `id scopes:json`. One with a question
 * mark, such as `name?`, is absent instead of `null`.
 * @param prefix of all columns, for a record that is part of a row
 */
export function defineRecordColumns<Stored extends object>(
  members: string,
  prefix = '',
): RecordColumns<Stored> {
  const columns = members.split(/\s+/).map((member) => {
    const [, name = '', optional, kind] = /^(\w+)(\?)?(?::(\w+))?$/.exec(member) ?? [];
    const alias = prefix === '' ? name : `${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
    const column = alias.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return {
      name,
      alias,
      column,
      isOptional: optional !== undefined,
      kind: kind === undefined ? null : (KINDS[kind as keyof typeof KINDS] as Kind),
    };
  });
  const names = columns.map(({ column }) => column).join(', ');
  const marks = columns.map(() => '?').join(', ');
  const read = (row: unknown): Stored => {
    const stored: Record<string, unknown> = {};
    for (const { name, alias, kind, isOptional } of columns) {
      const value = (row as Readonly<Record<string, Value>>)[alias] ?? null;
      if (value !== null || !isOptional)
        stored[name] = kind === null || value === null ? value : kind.read(value);
    }
    return stored as Stored;
  };
  const values = (stored: Stored | null): readonly Value[] =>
    columns.map(({ name, kind }) => {
      const member = (stored as Readonly<Record<string, unknown>> | null)?.[name] ?? null;
      return kind === null || member === null ? (member as Value) : kind.write(member);
    });
  const readFirst = ([row]: readonly unknown[]) => (row === undefined ? null : read(row));
  const readAll = (rows: readonly unknown[]) => rows.map(read);
  return {
    select: (table = '') => columns.map(({ alias, column }) => `${table}${column} AS "${alias}"`).join(', '),
    read,
    readFirst,
    readAll,
    findFirst: (database, query) => database.read(query).then(readFirst),
    findAll: (database, query) => database.read(query).then(readAll),
    names,
    marks,
    values,
    insertInto(table, suffix = '') {
      const template = defineTemplate(`INSERT INTO ${table} (${names}) VALUES (${marks}) ${suffix}`.trim());
      return (stored) => ({ template, values: values(stored) });
    },
  };
}
