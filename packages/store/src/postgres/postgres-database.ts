/** PostgreSQL as a database: a connection pool, one round trip for nearly every operation, retries, and outages. */
import { hash } from 'node:crypto';
import { temporarilyUnavailable } from '@portcullis/protocol';
import { createCommitHooks } from '../commit-hooks.ts';
import {
  type ContestedRow,
  type Database,
  type LockedTable,
  lockOrderOf,
  type PostgresOperation,
  type Steps,
} from '../database.ts';
import { type Query, sql, type Template } from '../sql.ts';
import type { BatchError } from './batch-query.ts';
import { createBatches } from './batches.ts';
import type { Connections, RunQuery } from './connections.ts';
import { asPostgresOutage, isConflict, isConnectionLost, isPreparedElsewhere } from './outage.ts';
import { warnOfUnpreparedStatements } from './prepared-statements.ts';

/** Maximum attempts of a statement that conflicts with another transaction. */
const TRIES = 5;

/** @param isPrepared whether prepared statements survive between queries of a connection */
export function createPostgresDatabase(connections: Connections, isPrepared: boolean): Database {
  const { run, runBatch } = createRunners(connections, isPrepared);
  const runAlone = (query: Query) => connections.use((connection) => run(connection, query));
  const hooks = createCommitHooks();
  const shared = createSharedReads();
  const reads = createBatches(runBatch, failedStatement, shared.end);
  const writes = createBatches(runBatch, failedStatement, hooks.run);
  const writeRow = (query: Query, row: ContestedRow) => writes.run(query, lockOrderOf(row));
  let underWay = 0;
  let allDone = (): void => {};
  let closing = false;

  const done = <T>(outcome: T): T => {
    underWay -= 1;
    if (underWay === 0) allDone();
    return outcome;
  };
  const failed = (error: unknown): never => {
    throw asPostgresOutage(done(error));
  };

  /** A closing pool drops waiting requests for a connection, so closing waits for pending operations first. */
  function track<T>(work: () => Promise<T>): Promise<T> {
    if (closing) return Promise.reject(temporarilyUnavailable('PostgreSQL: the store is closed'));
    underWay += 1;
    return work().then(done<T>, failed);
  }

  const write = (query: Query, row?: ContestedRow) =>
    track(() => retryConflicts(() => (row === undefined ? runAlone(query) : writeRow(query, row))));

  return {
    partitionsEvents: true,
    read: <Row>(query: Query) => track(() => read(reads.run, query)) as Promise<readonly Row[]>,
    readCached: <Row, T>(table: string, query: Query, make: (rows: readonly Row[]) => T | null) =>
      shared.join(`${table} ${query.values[0]}`, () =>
        track(async () => make((await read(reads.run, query)) as readonly Row[])),
      ),
    write: async (query, row) => void (await write(query, row)),
    writeRows: <Row>(query: Query, row?: ContestedRow) => write(query, row) as Promise<readonly Row[]>,
    changes: async (query, row) => (await write(query, row)).length > 0,
    transact: <T>(steps: () => Steps<T>, operation: PostgresOperation<T>) =>
      track(() =>
        retryConflicts(async () =>
          typeof operation === 'string' || operation === null
            ? inTransaction(connections, run, operation, steps())
            : operation.read(await writeRow(operation.query(), operation.row)),
        ),
      ),
    beforeCommit: hooks.add,
    // Every query reaches the server itself.
    async check() {},
    async readClock() {
      const rows = await track(() =>
        read(reads.run, sql`SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8 AS now`),
      );
      return (rows as readonly { readonly now: number }[])[0]?.now ?? null;
    },
    async close() {
      closing = true;
      if (underWay > 0) await new Promise<void>((resolve) => (allDone = resolve));
      await connections.close();
    },
  };
}

/** Requests of one batch that read the same row share one read. */
function createSharedReads() {
  let waiting = new Map<string, Promise<unknown>>();
  return {
    /** Returns the pending read of the same name, or adds one to the next batch. */
    join<T>(name: string, read: () => Promise<T>): Promise<T> {
      const known = waiting.get(name) as Promise<T> | undefined;
      if (known !== undefined) return known;
      const made = read();
      waiting.set(name, made);
      return made;
    },
    /** The batch is sent: later reads must see what was committed meanwhile. */
    end(): void {
      if (waiting.size > 0) waiting = new Map();
    },
  };
}

/** No row contains U+0000: PostgreSQL cannot store it, and would reject the query. */
function read(run: (query: Query) => Promise<readonly unknown[]>, query: Query): Promise<readonly unknown[]> {
  if (query.values.some((value) => typeof value === 'string' && value.includes('\0'))) {
    return Promise.resolve([]);
  }
  return run(query).catch((error: unknown) => {
    // Reads can be retried.
    if (isConnectionLost(error) || isPreparedElsewhere(error) || isConflict(error)) return run(query);
    throw error;
  });
}

type Run = (connection: RunQuery, query: Query) => Promise<readonly unknown[]>;

interface Runners {
  readonly run: Run;
  readonly runBatch: (queries: readonly Query[]) => Promise<readonly (readonly unknown[])[]>;
}

/** Runs queries as named statements, prepared once per connection; falls back to unnamed ones when a pooler has lost one. */
function createRunners(connections: Connections, isPrepared: boolean): Runners {
  let usesNames = true;
  const stopNaming = () => {
    if (usesNames) warnOfUnpreparedStatements();
    usesNames = false;
  };
  if (!isPrepared) stopNaming();
  const names = new WeakMap<Template, string>();
  const nameOf = (template: Template) => {
    if (!usesNames || template.isUnnamed) return undefined;
    let name = names.get(template);
    if (name === undefined) {
      // From the text: two versions of this program behind one connection pooler never share a name for different statements.
      name = `portcullis_${hash('sha256', template.postgres, 'base64url').slice(0, 22)}`;
      names.set(template, name);
    }
    return name;
  };
  const noteLostNames = (error: unknown): never => {
    if (isPreparedElsewhere(error)) stopNaming();
    throw error;
  };
  return {
    async run(connection, { template, values }) {
      const query = { text: template.postgres, values: [...values] };
      const name = nameOf(template);
      const { rows } = await connection(name === undefined ? query : { ...query, name }).catch(noteLostNames);
      return rows;
    },
    runBatch: (queries) => {
      const statements = queries.map(({ template, values }) => ({
        name: nameOf(template),
        text: template.postgres,
        values,
      }));
      return connections.runBatch(statements).catch(noteLostNames);
    },
  };
}

/** The outcome of a batch is unknown when its connection was lost or it was cancelled, so it is not retried. */
function failedStatement(error: unknown): number | null {
  return isConnectionLost(error) ? null : ((error as BatchError).statement ?? null);
}

/** Closing the connection rolls back. */
function inTransaction<T>(
  connections: Connections,
  run: Run,
  table: LockedTable,
  steps: Steps<T>,
): Promise<T> {
  return connections.use(async (connection) => {
    await connection('BEGIN');
    if (table !== null) await connection(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
    const outcome = await runStepsAsync(steps, (query) => run(connection, query));
    await connection('COMMIT');
    return outcome;
  });
}

export async function runStepsAsync<T>(
  steps: Steps<T>,
  run: (query: Query) => Promise<readonly unknown[]>,
): Promise<T> {
  let step = steps.next([]);
  while (!step.done) step = steps.next(await run(step.value));
  return step.value;
}

/** A statement or transaction that conflicts with another is retried. */
async function retryConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(isConflict(error) || isPreparedElsewhere(error)) || tries === TRIES) throw error;
    }
  }
}
