/** The statement cache: each query template is prepared once per connection. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { Steps } from '../database.ts';
import type { Query, Template, Value } from '../sql.ts';

/** A prepared statement: runs it with its values. */
type Prepared = (values: readonly Value[]) => readonly unknown[];

/** Runs queries, each with the prepared statement of its template. */
export function createStatementCache(connection: DatabaseSync): (query: Query) => readonly unknown[] {
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
  // Node builds an object with named columns for every row, which costs as much as reading it: here the names are known in advance.
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

/** Rows of one statement: columns are getters by name, nothing is copied. */
function defineRow(names: readonly string[]): typeof Row {
  const NamedRow = class extends Row {};
  for (const [index, name] of names.entries()) {
    Object.defineProperty(NamedRow.prototype, name, {
      get(this: Row) {
        return this.columns[index];
      },
    });
  }
  return NamedRow;
}

/** What `RETURNING 1 AS one` would have returned. */
function rowsOf(changes: number): readonly unknown[] {
  return changes === 1 ? ONE_ROW : Array.from({ length: changes }, () => ROW);
}

const ROW: unknown = Object.freeze({ one: 1 });
const ONE_ROW: readonly unknown[] = Object.freeze([ROW]);

/** Runs the steps without yielding to the event loop. */
export function runSteps<T>(steps: Steps<T>, run: (query: Query) => readonly unknown[]): T {
  let step = steps.next([]);
  while (!step.done) step = steps.next(run(step.value));
  return step.value;
}
