/** Connections to PostgreSQL: a pool with deadlines on client and server, so that a stall neither leaves queries running nor exhausts the server. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient, PoolConfig, Pool as PostgresPool, QueryConfig, QueryResult } from 'pg';
import { Pool, types } from 'pg';
import type { PoolStatistics } from '../database.ts';
import { BatchQuery, type GetTypeParser, type KnownColumns } from './batch-query.ts';
import type { Statement } from './messages.ts';

/** Runs a query on one connection. @throws Error on timeout */
export type RunQuery = (query: QueryConfig | string) => Promise<QueryResult>;

export type Connections = ReturnType<typeof createConnections>;

/** Milliseconds between probes whether the server of an abandoned query is reachable. */
const PROBE_INTERVAL = 1_000;
/** Milliseconds after which an abandoned connection is closed, even if the server does not confirm that its query has ended. */
const MOST_ABANDONED = 300_000;

/** @param timeout milliseconds to wait for a connection, and for a result */
export function createConnections(
  config: PoolConfig,
  timeout: number,
  statistics: PoolStatistics = { busy: 0, waiting: 0, waits: 0, waitSeconds: 0 },
) {
  const pool = new Pool({ ...config, onConnect: (client) => limitSession(client as PoolClient, timeout) });
  // An idle connection was lost. The pool has dropped it; an unhandled event would end the process.
  pool.on('error', () => {});
  // A connection may be lost between two uses, when it has no other listener.
  pool.on('connect', (client) => client.on('error', () => {}));
  const acquire = countWaits(createAcquire(pool), statistics);
  pool.on('acquire', () => (statistics.busy += 1));
  pool.on('release', () => (statistics.busy -= 1));
  const closing = new AbortController();
  const columns: KnownColumns = new Map();
  const parserOf = ((config.types ?? types).getTypeParser as GetTypeParser).bind(config.types ?? types);

  /** @param limit rejects when a query exceeds its time, and abandons it */
  async function borrow<T>(
    work: (client: PoolClient, limit: <R>(result: Promise<R>) => Promise<R>) => Promise<T>,
  ): Promise<T> {
    const client = await acquire();
    let abandoned: Promise<unknown> | null = null;
    let failed = true;
    try {
      const outcome = await work(client, (result) =>
        limitTime(result, timeout, () => {
          abandoned = result;
        }),
      );
      failed = false;
      return outcome;
    } finally {
      if (abandoned === null) client.release(failed);
      else void untilEnded(client, abandoned, closing.signal).finally(() => client.release(true));
    }
  }

  return {
    /** Runs work on a dedicated connection, which is closed when the work fails. */
    use: <T>(work: (run: RunQuery) => Promise<T>): Promise<T> =>
      borrow((client, limit) => work((query) => limit(client.query(query as QueryConfig)))),
    /** Runs statements in one round trip and one transaction. @throws BatchError */
    runBatch: (statements: readonly Statement[]): Promise<readonly (readonly unknown[])[]> =>
      borrow((client, limit) => {
        const query = new BatchQuery(statements, columns, parserOf);
        client.query(query);
        return limit(query.finished);
      }),
    /** Closes all connections. */
    async close(): Promise<void> {
      closing.abort();
      if (!pool.ending) await pool.end();
    },
  };
}

/**
 * PostgreSQL times out before this process does. Otherwise a statement that waits for a lock is committed long after its request
 * has failed.
 */
function limitSession(client: PoolClient, timeout: number): Promise<void> {
  const settings = {
    lock_timeout: Math.floor(timeout * 0.75),
    statement_timeout: Math.floor(timeout * 0.8),
    // Releases the locks of a process that vanished in a transaction.
    idle_in_transaction_session_timeout: timeout,
  };
  const statements = Object.entries(settings).map(([name, value]) => `SET ${name} = ${value}`);
  const set = client.query(statements.join('; '));
  return limitTime(set, timeout, () => {}).then(() => undefined);
}

/** @param onTimeout called when there was no result within `timeout` milliseconds */
function limitTime<T>(result: Promise<T>, timeout: number, onTimeout: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      onTimeout();
      reject(new Error(`no result within ${timeout} ms`));
    }, timeout);
    result.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function countWaits(acquire: () => Promise<PoolClient>, statistics: PoolStatistics) {
  return async (): Promise<PoolClient> => {
    const start = performance.now();
    statistics.waiting += 1;
    try {
      return await acquire();
    } finally {
      statistics.waiting -= 1;
      statistics.waits += 1;
      statistics.waitSeconds += (performance.now() - start) / 1000;
    }
  };
}

/**
 * Acquires a connection from the pool. While the server is unreachable, one attempt runs at a time: each abandoned one may leave a
 * process at the server.
 */
function createAcquire(pool: PostgresPool): () => Promise<PoolClient> {
  let isSilent = false;
  let attempt: Promise<void> | null = null;

  const connectOnce = async () => {
    const client = await pool.connect();
    isSilent = false;
    client.release();
  };
  return async () => {
    if (isSilent) {
      attempt ??= connectOnce().finally(() => {
        attempt = null;
      });
      await attempt;
    }
    try {
      return await pool.connect();
    } catch (error) {
      isSilent ||= error instanceof Error && /connection timeout|no result within/.test(error.message);
      throw error;
    }
  };
}

/**
 * Waits until an abandoned query has ended or its server is unreachable: until then the connection counts against the pool, so a hanging
 * server never runs more queries than the pool has connections. The query is not cancelled: `statement_timeout` ends one that runs, and
 * cancelling a commit that waits for a synchronous replica would make it visible without the replica, so that a retry is acknowledged, and
 * then lost in a failover.
 * @see PostgreSQL, synchronous replication
 */
async function untilEnded(client: PoolClient, query: Promise<unknown>, closing: AbortSignal): Promise<void> {
  const settled = query.then(
    () => true,
    () => true,
  );
  const since = performance.now();
  while (performance.now() - since < MOST_ABANDONED && (await isServerReachable(client))) {
    const pause = sleep(PROBE_INTERVAL, false, { signal: closing, ref: false }).catch(() => true);
    if (await Promise.race([settled, pause])) return;
  }
}

/** Members of the driver's connection that its types omit. */
interface ConnectionInternals {
  readonly connection: {
    readonly stream: { readonly remoteAddress?: string; readonly remotePort?: number };
  };
}

/** Opens a connection to the server of a client, and closes it. */
function isServerReachable(client: PoolClient): Promise<boolean> {
  const { remoteAddress: host, remotePort: port } = (client as unknown as ConnectionInternals).connection
    .stream;
  if (host === undefined || port === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    let isReached = false;
    const socket = connect({ host, port, timeout: PROBE_INTERVAL }, () => {
      isReached = true;
      socket.destroy();
    });
    socket.once('timeout', () => socket.destroy());
    socket.on('error', () => {});
    socket.once('close', () => resolve(isReached));
  });
}
