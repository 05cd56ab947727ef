/** Replay detection for DPoP proofs in a database that several processes share. Optional. */
import { createLruCache, SKEW_TOLERANCE, tooManyRequests } from '@portcullis/protocol';
import type { ReplayStore } from '../replay-cache.ts';

/** The part of `DatabaseSync` of `node:sqlite`, or of a similar driver, that is used. */
interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: (string | number)[]): { readonly changes: number | bigint } };
}

/** The part of a `Pool` or `Client` of `pg`, or of a similar driver, that is used. */
interface PostgresDatabase {
  query(sql: string, values?: (string | number)[]): Promise<{ readonly rowCount: number | null }>;
}

/** Options of a shared replay store. */
interface SqlReplayOptions {
  /** The table, of letters, digits and underscores; `dpop_proofs` by default. Created if it does not exist. */
  readonly table?: string;
  /**
   * Proofs of one key that this process accepts in the lifetime of a proof; 100,000 by default. Further ones are
   * rejected, so that no client alone can fill the table.
   */
  readonly maxProofsPerKey?: number;
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** Seconds between deletions of expired proofs. */
const SWEEP_INTERVAL = 60;

/** Retention of a proof after its expiry, because another process whose clock is slow still accepts it. Seconds. */
const RETENTION = 600;

/** The maximum number of rows per deletion, to keep it short. */
const MAX_SWEPT = 10_000;

/**
 * Stores proofs in an SQLite file that processes on one computer share. Open it with a `timeout`, since writers wait
 * for each other.
 * @throws TypeError for a table name that would need quotes
 */
export function sqliteReplayStore(database: SqliteDatabase, options: SqlReplayOptions = {}): ReplayStore {
  const table = tableName(options);
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${table} (proof TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
     CREATE INDEX IF NOT EXISTS ${table}_until ON ${table} (until)`,
  );
  const insert = database.prepare(`INSERT INTO ${table} VALUES (?, ?) ON CONFLICT (proof) DO NOTHING`);
  const deletion = database.prepare(deleteExpired(table, '?'));
  const sweeps = createSweepTimer(options);
  return limitedReplayStore((proof, until) => {
    const before = sweeps.due();
    if (before !== null) sweeps.record(Number(deletion.run(before).changes));
    return Number(insert.run(proof, Math.ceil(until)).changes) === 1;
  }, options);
}

/**
 * Stores proofs in PostgreSQL, for any number of processes.
 * @throws TypeError for a table name that would need quotes
 */
export function postgresReplayStore(database: PostgresDatabase, options: SqlReplayOptions = {}): ReplayStore {
  const table = tableName(options);
  const insert = `INSERT INTO ${table} VALUES ($1, $2) ON CONFLICT (proof) DO NOTHING`;
  // Processes that delete at the same time skip each other's rows, rather than wait or deadlock.
  const deletion = deleteExpired(table, '$1', 'FOR UPDATE SKIP LOCKED');
  const sweeps = createSweepTimer(options);
  let made: Promise<unknown> | null = null;

  async function make(): Promise<void> {
    // Concurrent creation of the same table fails even with IF NOT EXISTS, so processes take turns.
    await database.query(
      `DO $$ BEGIN
         PERFORM pg_advisory_xact_lock(hashtext('${table}'));
         CREATE TABLE IF NOT EXISTS ${table} (proof text PRIMARY KEY, until bigint NOT NULL);
         CREATE INDEX IF NOT EXISTS ${table}_until ON ${table} (until);
       END $$`,
    );
  }

  return limitedReplayStore(async (proof, until) => {
    made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    });
    await made;
    const before = sweeps.due();
    if (before !== null) sweeps.record((await database.query(deletion, [before])).rowCount ?? 0);
    const { rowCount } = await database.query(insert, [proof, Math.ceil(until)]);
    return rowCount === 1;
  }, options);
}

function systemSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function tableName({ table = 'dpop_proofs' }: SqlReplayOptions): string {
  if (/^[a-z_][a-z0-9_]{0,50}$/.test(table)) return table;
  throw new TypeError('The table of proofs must have a name of lowercase letters, digits and underscores.');
}

function deleteExpired(table: string, before: string, locking = ''): string {
  return `DELETE FROM ${table} WHERE proof IN
    (SELECT proof FROM ${table} WHERE until < ${before} ORDER BY until LIMIT ${MAX_SWEPT} ${locking})`;
}

/** The proofs of one key, until the first of them expires. */
interface ProofCount {
  readonly proofs: number;
  /** Epoch seconds. */
  readonly endsAt: number;
}

/** Keys whose proofs are counted. A client that uses more of them at once has as many quotas. */
const COUNTED_KEYS = 10_000;

/**
 * A replay store in which no client alone can fill the table, for a database of your own. The proofs of each key are counted
 * until the first of them expires, then from zero.
 * @param remember stores a proof; `false` if it is stored already
 */
export function limitedReplayStore(
  remember: ReplayStore['remember'],
  {
    maxProofsPerKey = 100_000,
    clock = systemSeconds,
  }: Pick<SqlReplayOptions, 'maxProofsPerKey' | 'clock'> = {},
): ReplayStore {
  const counts = createLruCache<ProofCount>({ entries: COUNTED_KEYS });

  function countOf(key: string, now: number): ProofCount | null {
    const count = counts.get(key);
    return count !== undefined && now < count.endsAt ? count : null;
  }

  return {
    remember(proof, until, key) {
      const now = clock();
      const used = countOf(key, now);
      if (used !== null && used.proofs >= maxProofsPerKey)
        throw tooManyRequests('more proofs of one key than can be remembered', Math.ceil(used.endsAt - now));
      const count = (isNew: boolean): boolean => {
        const { proofs, endsAt } = countOf(key, clock()) ?? { proofs: 0, endsAt: until };
        if (isNew) counts.set(key, { proofs: proofs + 1, endsAt });
        return isNew;
      };
      const stored = remember(proof, until, key);
      return stored instanceof Promise ? stored.then(count) : count(stored);
    },
  };
}

/** When expired proofs are deleted: once per interval, and at each call while as many as possible were deleted by the last. */
function createSweepTimer({ clock = systemSeconds }: SqlReplayOptions): {
  /** If a deletion is due, returns the time before which deleted proofs have expired, and `null` otherwise. */
  due(): number | null;
  record(deleted: number): void;
} {
  let dueAt = clock() + SWEEP_INTERVAL;
  return {
    due() {
      const now = clock();
      // A later time is of a clock that was ahead.
      if (now < dueAt && dueAt <= now + SWEEP_INTERVAL + SKEW_TOLERANCE) return null;
      dueAt = now + SWEEP_INTERVAL;
      return now - RETENTION;
    },
    record(deleted) {
      if (deleted >= MAX_SWEPT) dueAt = Number.NEGATIVE_INFINITY;
    },
  };
}
