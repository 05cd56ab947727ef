/** SQLite as a database of facts: one connection, each statement prepared once. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { Database, Fact, Steps } from '../database.ts';
import type { Query, Template, Value } from '../sql.ts';
import { createCommitter } from './group-commit.ts';
import { createReader } from './group-read.ts';
import { createRecollection } from './recollection.ts';

/** @param busyTimeout seconds to wait for a lock that another process holds */
export function createSqliteDatabase(connection: DatabaseSync, busyTimeout: number): Database {
  const recollection = createRecollection(connection);
  const read = createRunner(connection);
  const change = (query: Query) => {
    recollection.forgetChanged(query.template);
    return read(query);
  };
  const reader = createReader(connection, recollection.doubt, busyTimeout);
  const committer = createCommitter(connection, busyTimeout);
  return {
    read: <Row>(query: Query) => reader.read(() => read(query) as readonly Row[]),
    recall: <Row, T>(table: string, query: Query, make: (rows: readonly Row[]) => T | null) =>
      reader.read(() =>
        recollection.recall(table, query.values[0] ?? null, () => make(read(query) as readonly Row[])),
      ),
    change: <Row>(query: Query) => committer.commit(() => change(query) as readonly Row[]),
    fact: <T>({ steps }: Fact<T>) => committer.commit(() => walk(steps(), change)),
    beforeCommit: committer.beforeCommit,
    async close() {
      // An empty fact: when it has ended, so have all before it.
      await committer.commit(() => {}).catch(() => {});
      reader.flush();
      if (connection.isOpen) connection.close();
    },
  };
}

/** A statement that is prepared: runs it with its values. */
type Prepared = (values: readonly Value[]) => readonly unknown[];

/** Runs queries; each place in the source that writes one has one prepared statement. */
export function createRunner(connection: DatabaseSync): (query: Query) => readonly unknown[] {
  const statements = new Map<Template, Prepared>();
  return ({ template, values }) => {
    let run = statements.get(template);
    if (run === undefined) {
      run = prepare(connection, template);
      statements.set(template, run);
    }
    return run(values);
  };
}

function prepare(connection: DatabaseSync, { sqlite, counts }: Template): Prepared {
  const statement = connection.prepare(sqlite);
  if (counts) return (values) => rowsOf(Number(statement.run(...values).changes));
  // Node looks up the name of each column for each row anew, for as much as the rest of a row costs: here they are known.
  statement.setReturnArrays(true);
  const NamedRow = defineRow(statement.columns().map(({ name }) => name));
  return (values) => statement.all(...values).map((columns) => new NamedRow(columns as unknown as Columns));
}

type Columns = readonly SQLOutputValue[];

class Row {
  readonly columns: Columns;
  constructor(columns: Columns) {
    this.columns = columns;
  }
}

/** The rows of one statement: read by name, and nothing is copied, since each name knows its place. */
function defineRow(names: readonly string[]): typeof Row {
  const NamedRow = class extends Row {};
  for (const [place, name] of names.entries()) {
    Object.defineProperty(NamedRow.prototype, name, {
      get(this: Row) {
        return this.columns[place];
      },
    });
  }
  return NamedRow;
}

/** What `RETURNING 1 AS one` would have answered. */
function rowsOf(changes: number): readonly unknown[] {
  return changes === 1 ? ONE_ROW : Array.from({ length: changes }, () => ROW);
}

const ROW: unknown = Object.freeze({ one: 1 });
const ONE_ROW: readonly unknown[] = Object.freeze([ROW]);

/** Goes through the steps without yielding to anything else. */
export function walk<T>(steps: Steps<T>, run: (query: Query) => readonly unknown[]): T {
  let step = steps.next([]);
  while (!step.done) step = steps.next(run(step.value));
  return step.value;
}
