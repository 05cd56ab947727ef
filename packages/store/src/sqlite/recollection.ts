/** What was read of tables that seldom change, remembered for as long as nobody writes to them. */
import type { DatabaseSync } from 'node:sqlite';
import type { Template, Value } from '../sql.ts';

export interface Recollection {
  /** Others may have written since the last look: the next question looks again. */
  doubt(): void;
  /**
   * What was made of the rows of a key; read again when it is not remembered. Rows that are not there are not remembered.
   * Within a transaction all answers are of one moment.
   */
  recall<T>(table: string, key: Value, read: () => T | null): T | null;
  /** Forgets what a statement changes that is about to run. */
  forgetChanged(template: Template): void;
}

/** Rows that are remembered of a table. When there are more, all of it is read anew. */
const MOST = 1000;

/** What SQLite counts when another connection has committed. @see https://sqlite.org/pragma.html#pragma_data_version */
const VERSION = 'PRAGMA data_version';

export function createRecollection(connection: DatabaseSync): Recollection {
  const version = connection.prepare(VERSION);
  version.setReturnArrays(true);
  const tables = new Map<string, Map<Value, unknown>>();
  const changedBy = new WeakMap<Template, string>();
  let seen: unknown;
  let isDoubted = true;

  function look(): void {
    const [now] = version.get() as unknown as readonly unknown[];
    if (now !== seen) tables.clear();
    seen = now;
    isDoubted = false;
  }

  function keep(table: string, key: Value, made: unknown): void {
    const known = tables.get(table);
    const rows = known === undefined || known.size >= MOST ? new Map<Value, unknown>() : known;
    tables.set(table, rows.set(key, made));
  }

  return {
    doubt() {
      isDoubted = true;
    },
    recall<T>(table: string, key: Value, read: () => T | null): T | null {
      if (isDoubted) look();
      const known = tables.get(table)?.get(key) as T | undefined;
      if (known !== undefined) return known;
      const made = read();
      if (made !== null) keep(table, key, made);
      return made;
    },
    forgetChanged(template) {
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

/** The table that a statement writes to; empty when it only reads, `*` when that cannot be told. */
export function tableChangedBy(sqlite: string): string {
  if (/^\s*SELECT\b/.test(sqlite)) return NONE;
  return /^\s*(?:INSERT(?: OR [A-Z]+)? INTO|UPDATE|DELETE FROM) ([a-z_]+)\b/.exec(sqlite)?.[1] ?? ANY;
}
