/** SQLite as a database of facts: statements prepared once, and facts that arrive together committed together. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Database, Fact, Steps } from '../database.ts';
import type { Query, Template } from '../sql.ts';

interface Waiting {
  /** Runs its statements and answers what tells the caller so, after the commit. */
  run(): () => void;
  reject(error: unknown): void;
}

export function createSqliteDatabase(connection: DatabaseSync): Database {
  const statements = new Map<Template, StatementSync>();
  let waiting: Waiting[] = [];

  function run(query: Query): readonly unknown[] {
    let statement = statements.get(query.template);
    if (statement === undefined) {
      statement = connection.prepare(query.template.sqlite);
      statements.set(query.template, statement);
    }
    return statement.all(...query.values);
  }

  function take<T>(steps: Steps<T>): T {
    let step = steps.next([]);
    while (!step.done) step = steps.next(run(step.value));
    return step.value;
  }

  function wait<T>(fact: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (waiting.length === 0) setImmediate(commit);
      waiting.push({
        run() {
          const outcome = fact();
          return () => resolve(outcome);
        },
        reject,
      });
    });
  }

  function commit(): void {
    const batch = waiting;
    waiting = [];
    try {
      for (const tell of attempt(batch)) tell();
    } catch (error) {
      if (batch.length === 1) batch[0]?.reject(error);
      else for (const one of batch) commitAlone(one);
    }
  }

  function commitAlone(one: Waiting): void {
    try {
      for (const tell of attempt([one])) tell();
    } catch (error) {
      one.reject(error);
    }
  }

  function attempt(batch: readonly Waiting[]): readonly (() => void)[] {
    connection.exec('BEGIN IMMEDIATE');
    try {
      const outcomes = batch.map((one) => one.run());
      connection.exec('COMMIT');
      return outcomes;
    } catch (error) {
      if (connection.isTransaction) connection.exec('ROLLBACK');
      throw error;
    }
  }

  return {
    async read<Row>(query: Query) {
      return run(query) as readonly Row[];
    },
    change: <Row>(query: Query) => wait(() => run(query) as readonly Row[]),
    fact: <T>(fact: Fact<T>) => wait(() => take(fact.steps())),
    async close() {
      if (waiting.length > 0) commit();
      connection.close();
    },
  };
}
