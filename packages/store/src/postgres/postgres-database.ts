/** PostgreSQL as a database of facts: a pool of connections, and one round trip for nearly every fact. */
import { hash } from 'node:crypto';
import { temporarilyUnavailable } from '@portcullis/protocol';
import type { Pool, PoolClient } from 'pg';
import type { Database, Fact, InSteps, Steps } from '../database.ts';
import type { Query, Template } from '../sql.ts';
import { isCollision, isCut, toldOutage } from './outage.ts';

/** How often a statement that met another transaction is tried in all. */
const TRIES = 5;

export function createPostgresDatabase(pool: Pool): Database {
  const run = createRunner();
  const underWay = new Set<Promise<unknown>>();
  let closing = false;

  /** The pool forgets who waits for a connection when it ends, so it ends when nobody does. */
  async function admit<T>(work: () => Promise<T>): Promise<T> {
    if (closing) throw temporarilyUnavailable('PostgreSQL: the store is closed');
    const promise = work();
    underWay.add(promise);
    try {
      return await promise;
    } catch (error) {
      throw toldOutage(error);
    } finally {
      underWay.delete(promise);
    }
  }

  return {
    read: <Row>(query: Query) => admit(() => read(pool, run, query)) as Promise<readonly Row[]>,
    recall: <Row, T>(_table: string, query: Query, make: (rows: readonly Row[]) => T | null) =>
      admit(async () => make((await read(pool, run, query)) as readonly Row[])),
    change: <Row>(query: Query) => admit(() => persist(() => run(pool, query))) as Promise<readonly Row[]>,
    fact: <T>({ steps, postgres }: Fact<T>) =>
      admit(() =>
        persist(async () =>
          'lock' in postgres
            ? inSteps(pool, run, postgres.lock, steps())
            : postgres.read(await run(pool, postgres.query())),
        ),
      ),
    beforeCommit(call, within) {
      setTimeout(call, within).unref();
    },
    async close() {
      closing = true;
      await Promise.allSettled(underWay);
      if (!pool.ending) await pool.end();
    },
  };
}

/** No row holds U+0000: PostgreSQL cannot store it, and would take the question for an error. */
async function read(pool: Pool, run: Run, query: Query): Promise<readonly unknown[]> {
  if (query.values.some((value) => typeof value === 'string' && value.includes('\0'))) return [];
  try {
    return await run(pool, query);
  } catch (error) {
    // What only reads may be asked again.
    if (isCut(error)) return await run(pool, query);
    throw error;
  }
}

type Run = (connection: Pool | PoolClient, query: Query) => Promise<readonly unknown[]>;

/** Runs queries as named statements, which each connection prepares once. */
function createRunner(): Run {
  const names = new WeakMap<Template, string>();
  return async (connection, { template, values }) => {
    let name = names.get(template);
    if (name === undefined) {
      // From the text, so that behind a connection pooler two versions of this program never mean different things by it.
      name = `portcullis_${hash('sha256', template.postgres, 'base64url').slice(0, 22)}`;
      names.set(template, name);
    }
    const { rows } = await connection.query<Record<string, unknown>>({
      name,
      text: template.postgres,
      values: [...values],
    });
    return rows;
  };
}

async function inSteps<T>(pool: Pool, run: Run, table: InSteps['lock'], steps: Steps<T>): Promise<T> {
  const connection = await pool.connect();
  // Losing the connection between two statements is seen by the next one.
  let failed = true;
  try {
    await connection.query('BEGIN');
    if (table !== null) await connection.query(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`);
    const outcome = await walk(steps, (query) => run(connection, query));
    await connection.query('COMMIT');
    failed = false;
    return outcome;
  } finally {
    // Closing the connection rolls back.
    connection.release(failed);
  }
}

export async function walk<T>(
  steps: Steps<T>,
  run: (query: Query) => Promise<readonly unknown[]>,
): Promise<T> {
  let step = steps.next([]);
  while (!step.done) step = steps.next(await run(step.value));
  return step.value;
}

/** One statement, or one transaction, that met another may simply try again. */
async function persist<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isCollision(error) || tries === TRIES) throw error;
    }
  }
}
