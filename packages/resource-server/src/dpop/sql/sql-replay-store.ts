/** Remembers proofs in a database, so that of all processes that share it one alone takes each of them. */
import { tooManyRequests } from '@portcullis/protocol/protected-resource';
import type { ReplayStore } from '../replay-cache.ts';

/** What is used of `DatabaseSync` of `node:sqlite`, or of a driver like it. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: (string | number)[]): { readonly changes: number | bigint } };
}

/** What is used of a `Pool` or `Client` of `pg`, or of a driver like it. */
export interface PostgresDatabase {
  query(sql: string, values?: (string | number)[]): Promise<{ readonly rowCount: number | null }>;
}

/** Where proofs are remembered, and how many. */
export interface SqlReplayOptions {
  /** A name of letters, digits and underscores; `dpop_proofs` when left out. Made where it does not exist. */
  readonly table?: string;
  /**
   * Proofs of one key that this process remembers in the time that one is good for; 100,000 when left out. What is beyond
   * is turned away, so that no client alone can fill the table.
   */
  readonly maxProofsPerKey?: number;
  /** Epoch seconds. */
  readonly clock?: () => number;
}

/** Seconds between two times that old proofs are thrown away. */
const SWEEP_INTERVAL = 60;

/** At one time no more of them, so that nobody waits for long. */
const MAX_SWEPT = 10_000;

/**
 * Remembers proofs in an SQLite file that processes of one computer share. Open it with a `timeout`, for they take turns.
 * @throws TypeError for a table name that would need quotes.
 */
export function sqliteReplayStore(database: SqliteDatabase, options: SqlReplayOptions = {}): ReplayStore {
  const table = tableName(options);
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${table} (proof TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
     CREATE INDEX IF NOT EXISTS ${table}_until ON ${table} (until)`,
  );
  const insert = database.prepare(`INSERT INTO ${table} VALUES (?, ?) ON CONFLICT (proof) DO NOTHING`);
  const sweep = database.prepare(deleteExpired(table, '?'));
  const isDue = sweepTimer(options);
  const allowances = createProofQuotas(options);
  return {
    remember(proof, until, key) {
      const now = isDue();
      if (now !== null) sweep.run(now);
      allowances.check(key);
      const isNew = Number(insert.run(proof, Math.ceil(until)).changes) === 1;
      if (isNew) allowances.count(key, until);
      return isNew;
    },
  };
}

/**
 * Remembers proofs in PostgreSQL, for processes anywhere.
 * @throws TypeError for a table name that would need quotes.
 */
export function postgresReplayStore(database: PostgresDatabase, options: SqlReplayOptions = {}): ReplayStore {
  const table = tableName(options);
  const insert = `INSERT INTO ${table} VALUES ($1, $2) ON CONFLICT (proof) DO NOTHING`;
  const isDue = sweepTimer(options);
  const allowances = createProofQuotas(options);
  let made: Promise<unknown> | null = null;

  async function make(): Promise<void> {
    // Two processes that make the same table at once get in each other's way, although it may exist: they take turns.
    await database.query(
      `DO $$ BEGIN
         PERFORM pg_advisory_xact_lock(hashtext('${table}'));
         CREATE TABLE IF NOT EXISTS ${table} (proof text PRIMARY KEY, until bigint NOT NULL);
         CREATE INDEX IF NOT EXISTS ${table}_until ON ${table} (until);
       END $$`,
    );
  }

  return {
    async remember(proof, until, key) {
      made ??= make().catch((error: unknown) => {
        made = null;
        throw error;
      });
      await made;
      const now = isDue();
      if (now !== null) await database.query(deleteExpired(table, '$1'), [now]);
      allowances.check(key);
      const { rowCount } = await database.query(insert, [proof, Math.ceil(until)]);
      if (rowCount === 1) allowances.count(key, until);
      return rowCount === 1;
    },
  };
}

function tableName({ table = 'dpop_proofs' }: SqlReplayOptions): string {
  if (/^[a-z_][a-z0-9_]{0,50}$/.test(table)) return table;
  throw new TypeError('The table of proofs must have a name of lowercase letters, digits and underscores.');
}

function deleteExpired(table: string, now: string): string {
  return `DELETE FROM ${table} WHERE proof IN
    (SELECT proof FROM ${table} WHERE until < ${now} ORDER BY until LIMIT ${MAX_SWEPT})`;
}

/** How many proofs each key has had remembered, until the first of them is forgotten; then it is counted anew. */
function createProofQuotas({
  maxProofsPerKey: mostEach = 100_000,
  clock = () => Math.floor(Date.now() / 1000),
}: SqlReplayOptions): {
  /** @throws OAuthError 429 for a key that has had its share. */
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
      if (now >= sweptAt + SWEEP_INTERVAL) sweep(now);
      const { proofs = 0, endsAt = 0 } = used.get(key) ?? {};
      if (now < endsAt && proofs >= mostEach)
        throw tooManyRequests('more proofs of one key than can be remembered', Math.ceil(endsAt - now));
    },
    count(key, until) {
      const known = used.get(key);
      const isRunning = known !== undefined && clock() < known.endsAt;
      used.set(key, isRunning ? { ...known, proofs: known.proofs + 1 } : { proofs: 1, endsAt: until });
    },
  };
}

/** Says what time it is when old proofs are to be thrown away, and `null` otherwise. */
function sweepTimer({ clock = () => Math.floor(Date.now() / 1000) }: SqlReplayOptions): () => number | null {
  let sweptAt = clock();
  return () => {
    const now = clock();
    if (now < sweptAt + SWEEP_INTERVAL) return null;
    sweptAt = now;
    return now;
  };
}
