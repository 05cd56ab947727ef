/** Replay detection for DPoP proofs in a database that several processes share. Optional. */
import { SKEW_TOLERANCE, tooManyRequests } from '@portcullis/protocol';
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

function tableName({ table = 'dpop_proofs' }: SqlReplayOptions): string {
  if (/^[a-z_][a-z0-9_]{0,50}$/.test(table)) return table;
  throw new TypeError('The table of proofs must have a name of lowercase letters, digits and underscores.');
}

function deleteExpired(table: string, before: string, locking = ''): string {
  return `DELETE FROM ${table} WHERE proof IN
    (SELECT proof FROM ${table} WHERE until < ${before} ORDER BY until LIMIT ${MAX_SWEPT} ${locking})`;
}

/**
 * A replay store in which no client alone can fill the table, for a database of your own.
 * @param remember stores a proof; `false` if it is stored already
 */
export function limitedReplayStore(
  remember: ReplayStore['remember'],
  options: Pick<SqlReplayOptions, 'maxProofsPerKey' | 'clock'> = {},
): ReplayStore {
  const quotas = createProofQuotas(options);
  return {
    remember(proof, until, key) {
      quotas.check(key);
      const count = (isNew: boolean): boolean => {
        if (isNew) quotas.count(key, until);
        return isNew;
      };
      const stored = remember(proof, until, key);
      return stored instanceof Promise ? stored.then(count) : count(stored);
    },
  };
}

/** Counts the proofs of each key until the first of them expires, then starts over. */
function createProofQuotas({
  maxProofsPerKey: maxPerKey = 100_000,
  clock = () => Math.floor(Date.now() / 1000),
}: SqlReplayOptions): {
  /** @throws OAuthError 429 for a key that has used its quota */
  check(key: string): void;
  count(key: string, until: number): void;
} {
  const used = new Map<string, { readonly proofs: number; readonly endsAt: number }>();
  let sweptAt = clock();

  function sweep(now: number): void {
    sweptAt = now;
    for (const [key, { endsAt }] of used) if (endsAt <= now) used.delete(key);
  }

  return {
    check(key) {
      const now = clock();
      if (now >= sweptAt + SWEEP_INTERVAL || sweptAt > now + SKEW_TOLERANCE) sweep(now);
      const { proofs = 0, endsAt = 0 } = used.get(key) ?? {};
      if (now < endsAt && proofs >= maxPerKey)
        throw tooManyRequests('more proofs of one key than can be remembered', Math.ceil(endsAt - now));
    },
    count(key, until) {
      const known = used.get(key);
      const isRunning = known !== undefined && clock() < known.endsAt;
      used.set(key, isRunning ? { ...known, proofs: known.proofs + 1 } : { proofs: 1, endsAt: until });
    },
  };
}

/** When expired proofs are deleted: once per interval, and at each call while as many as possible were deleted by the last. */
function createSweepTimer({ clock = () => Math.floor(Date.now() / 1000) }: SqlReplayOptions): {
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
