/**
 * Audit events on PostgreSQL are partitioned by time: one table per day, inheriting from `audit_events`, is dropped when all of its
 * rows have expired. Rows of other versions stay in `audit_events` itself, and are deleted as they expire.
 */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { Database } from './database.ts';
import { literal, type Query, sql } from './sql.ts';

/** Longer retentions use one table per month. Seconds. */
const LONG = 400 * 86_400;
/** Processes whose clocks are slow may still write to the last day. Seconds. */
const SKEW = 3600;

/** The SQLSTATE of a table that does not exist. @see PostgreSQL, appendix A */
const UNDEFINED_TABLE = '42P01';
/** A role that may not change the schema. */
const INSUFFICIENT_PRIVILEGE = '42501';

const PARENT = 'audit_events';

/**
 * Appends each event to the table of its day, which the first batch of a day creates.
 * @param insertInto builds the statement for a table
 */
export function createDailyAppend(
  database: Database,
  insertInto: (table: string, events: readonly AuditEventRecord[]) => Query,
): (events: readonly AuditEventRecord[]) => Promise<void> {
  let mayCreate = true;

  const append = (table: string, events: readonly AuditEventRecord[]) =>
    database.write(insertInto(table, events), ['audit_events', '']);

  async function createDay(table: string): Promise<void> {
    try {
      await database.write(
        literal(
          `CREATE TABLE IF NOT EXISTS ${table} (LIKE ${PARENT} INCLUDING DEFAULTS INCLUDING INDEXES) INHERITS (${PARENT})`,
        ),
      );
    } catch (error) {
      if (codeOf(error) === INSUFFICIENT_PRIVILEGE) mayCreate = false;
      // Another process may have created it concurrently; otherwise the next statement fails as well.
    }
  }

  async function appendTo(table: string, events: readonly AuditEventRecord[]): Promise<void> {
    try {
      await append(table, events);
    } catch (error) {
      if (codeOf(error) !== UNDEFINED_TABLE || table === PARENT) throw error;
      await createDay(table);
      await append(mayCreate ? table : PARENT, events);
    }
  }

  return async (events) => {
    // Each event has one table, in whatever batch it is retried: identifiers are unique within a table.
    const days = Map.groupBy(events, (event) => (mayCreate ? tableOf(event) : PARENT));
    for (const [table, ofDay] of days) await appendTo(table, ofDay);
  };
}

function tableOf({ at, expiresAt }: AuditEventRecord): string {
  return `${PARENT}_${periodOf(at).slice(0, expiresAt - at / 1000 > LONG ? 6 : 8)}`;
}

/** `20261122` @param at epoch milliseconds */
function periodOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10).replaceAll('-', '');
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Drops the tables of past days whose events have all expired: fast, however many rows they have. @returns how many tables */
export async function dropExpiredDays(database: Database, now: number): Promise<number> {
  const today = periodOf((now - SKEW) * 1000);
  const tables = await database.read<{ readonly name: string }>(
    sql`SELECT c.relname::text AS name FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = to_regclass('audit_events') ORDER BY 1`,
  );
  const past = tables.filter(({ name }) => {
    const period = /^audit_events_(\d{6}(?:\d\d)?)$/.exec(name)?.[1];
    return period !== undefined && period < today.slice(0, period.length);
  });
  if (past.length === 0) return 0;
  const ends = await database.read<{ readonly name: string; readonly expires_at: number | null }>(
    literal(past.map(newestOf).join(' UNION ALL ')),
  );
  const expired = ends.filter(({ expires_at: end }) => (end ?? 0) <= now);
  for (const { name } of expired) await database.write(literal(`DROP TABLE IF EXISTS ${name}`));
  return expired.length;
}

/** Reads the end of an index, even without statistics; PostgreSQL would otherwise scan all rows to find that none is retained. */
function newestOf({ name }: { readonly name: string }): string {
  return `SELECT '${name}' AS name, (SELECT MAX(expires_at) FROM ${name}) AS expires_at`;
}
