/**
 * Audit events on PostgreSQL are partitioned by time: one table per day, inheriting from `audit_events`, is dropped when all of its
 * rows have expired. Rows of other versions stay in `audit_events` itself, and are deleted as they expire.
 */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { errorCode } from './postgres/outage.ts';
import { defineQuery, literal, type Query, sql } from './sql.ts';

/** Longer retentions use one table per month. Seconds. */
const LONG = 400 * 86_400;
/** Processes whose clocks are slow may still write to the last day. Seconds. */
const SKEW = 3600;

/** The SQLSTATE of a table that does not exist. @see PostgreSQL, appendix A */
const UNDEFINED_TABLE = '42P01';
/** A role that may not change the schema, or not write to the table of another role. */
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
  /** Tables that the role may neither create nor write to: their events stay in the parent table. */
  const refused = new Set<string>();

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
      if (errorCode(error) === INSUFFICIENT_PRIVILEGE) throw error;
      // Another process may have created it concurrently; otherwise the next statement fails as well.
    }
  }

  const appendToDay = (table: string, events: readonly AuditEventRecord[]) =>
    append(table, events).catch(async (error: unknown) => {
      if (errorCode(error) !== UNDEFINED_TABLE) throw error;
      await createDay(table);
      await append(table, events);
    });

  async function appendTo(table: string, events: readonly AuditEventRecord[]): Promise<void> {
    if (refused.has(table)) return append(PARENT, events);
    try {
      await appendToDay(table, events);
    } catch (error) {
      if (errorCode(error) !== INSUFFICIENT_PRIVILEGE) throw error;
      refused.add(table);
      await append(PARENT, events);
    }
  }

  return async (events) => {
    // Each event has one table, in whatever batch it is retried: identifiers are unique within a table.
    for (const [table, ofDay] of Map.groupBy(events, tableOf)) await appendTo(table, ofDay);
  };
}

function tableOf({ at, expiresAt }: AuditEventRecord): string {
  return `${PARENT}_${periodOf(at).slice(0, expiresAt - at / 1000 > LONG ? 6 : 8)}`;
}

/** `20261122` @param at epoch milliseconds */
function periodOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10).replaceAll('-', '');
}

const TABLES_OF_OTHERS = `ANY (ARRAY(SELECT c.oid FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass('${PARENT}') AND NOT pg_catalog.pg_has_role(c.relowner, 'USAGE')))`;
/**
 * Through the parent table, whose rights suffice for rows of all. Rows are found by position, without a join that reads all tables
 * where statistics are missing. The position may be that of a row in another table also, hence all conditions again.
 */
const deleteExpiredOfOthers = defineQuery(`DELETE FROM ${PARENT} WHERE ctid = ANY (ARRAY(
    SELECT e.ctid FROM ${PARENT} e WHERE e.expires_at <= ? AND e.tableoid = ${TABLES_OF_OTHERS} ORDER BY e.expires_at LIMIT ?))
  AND expires_at <= ? AND tableoid = ${TABLES_OF_OTHERS} RETURNING 1 AS one`);

/**
 * Drops the tables of past days whose events have all expired: fast, however many rows they have. Only its owner may drop a table:
 * of those of another role, about `limit` expired rows are deleted. @returns how many rows
 */
export async function sweepDays(database: Database, now: number, limit: number): Promise<number> {
  const today = periodOf((now - SKEW) * 1000);
  const tables = await database.read<{ readonly name: string; readonly is_own: boolean }>(
    sql`SELECT c.relname::text AS name, pg_catalog.pg_has_role(c.relowner, 'USAGE') AS is_own
      FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = to_regclass('audit_events') ORDER BY 1`,
  );
  const own = tables.filter(({ name, is_own: isOwn }) => {
    const period = /^audit_events_(\d{6}(?:\d\d)?)$/.exec(name)?.[1];
    return isOwn && period !== undefined && period < today.slice(0, period.length);
  });
  if (own.length > 0) await dropExpired(database, own, now);
  if (tables.every(({ is_own: isOwn }) => isOwn)) return 0;
  return (await database.writeRows(deleteExpiredOfOthers(now, limit, now))).length;
}

async function dropExpired(
  database: Database,
  tables: readonly { readonly name: string }[],
  now: number,
): Promise<void> {
  const ends = await database.read<{ readonly name: string; readonly expires_at: number | null }>(
    literal(tables.map(newestOf).join(' UNION ALL ')),
  );
  for (const { name, expires_at: end } of ends) {
    if ((end ?? 0) <= now) await database.transact(() => drop(name), null);
  }
}

function* drop(table: string): Steps<undefined> {
  // While it waits for a lock, those who read the log wait behind it.
  yield sql`SET LOCAL lock_timeout = '200ms'`;
  yield literal(`DROP TABLE IF EXISTS ${table}`);
}

/** Reads the end of an index, even without statistics; PostgreSQL would otherwise scan all rows to find that none is retained. */
function newestOf({ name }: { readonly name: string }): string {
  return `SELECT '${name}' AS name, (SELECT MAX(expires_at) FROM ${name}) AS expires_at`;
}
