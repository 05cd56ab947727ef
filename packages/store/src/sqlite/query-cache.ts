/** The query cache: rows of tables that seldom change, cached until the next write to the table. */
import type { DatabaseSync } from 'node:sqlite';
import type { Template, Value } from '../sql.ts';

/** Maximum cached rows of a table. Beyond it, the table's cache is cleared. */
const MOST = 1000;

/** Incremented when another connection commits. @see https://sqlite.org/pragma.html#pragma_data_version */
const VERSION = 'PRAGMA data_version';

export function createQueryCache(connection: DatabaseSync) {
  const version = connection.prepare(VERSION);
  version.setReturnArrays(true);
  const tables = new Map<string, Map<Value, unknown>>();
  const changedBy = new WeakMap<Template, string>();
  let seen: unknown;
  let isStale = true;

  function look(): void {
    const [now] = version.get() as unknown as readonly unknown[];
    if (now !== seen) tables.clear();
    seen = now;
    isStale = false;
  }

  function keep(table: string, key: Value, made: unknown): void {
    const known = tables.get(table);
    const rows = known === undefined || known.size >= MOST ? new Map<Value, unknown>() : known;
    tables.set(table, rows.set(key, made));
  }

  return {
    /** Other connections may have written: the next read checks the data version. */
    revalidate(): void {
      isStale = true;
    },
    /** The cached result for a key, or a new one. `null` is not cached. Within a transaction all results are of one snapshot. */
    read<T>(table: string, key: Value, read: () => T | null): T | null {
      if (isStale) look();
      const known = tables.get(table)?.get(key) as T | undefined;
      if (known !== undefined) return known;
      const made = read();
      if (made !== null) keep(table, key, made);
      return made;
    },
    /** Invalidates what a statement may change, before it runs. */
    invalidate(template: Template): void {
      let table = changedBy.get(template);
      if (table === undefined) {
        table = tableChangedBy(template.sqlite);
        changedBy.set(template, table);
      }
      if (table === ANY) tables.clear();
      else if (table !== NONE) tables.delete(table);
    },
  };
}

const NONE = '';
const ANY = '*';

/** The table that a statement writes to; empty when it only reads, `*` when unknown. */
export function tableChangedBy(sqlite: string): string {
  if (/^\s*SELECT\b/.test(sqlite)) return NONE;
  return /^\s*(?:INSERT(?: OR [A-Z]+)? INTO|UPDATE|DELETE FROM) ([a-z_]+)\b/.exec(sqlite)?.[1] ?? ANY;
}
