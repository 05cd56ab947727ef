/** The database behind the store: what SQLite and PostgreSQL have in common. */
import type { Query } from './sql.ts';

/** Statements in order. Each is yielded; the result of `yield` is its rows. */
export type Steps<T> = Generator<Query, T, readonly unknown[]>;

/** How PostgreSQL runs an operation of several statements: in one statement, or, for a rare one, step by step with a table locked. */
export type PostgresOperation<T> = SingleStatement<T> | LockedTable;

/** All statements in one: one round trip. */
interface SingleStatement<T> {
  readonly query: () => Query;
  readonly read: (rows: readonly unknown[]) => T;
  readonly row: ContestedRow;
}

/** Tables in the order in which operations of several statements lock their rows. */
const LOCK_ORDER = [
  'accounts',
  'clients',
  'authorization_transactions',
  'authorization_codes',
  'grants',
  'used_client_assertions',
  'rate_limits',
  'audit_events',
] as const;

/**
 * The first contended row that a statement locks; any other row that it locks is new or belongs to that row.
 * Statements of different requests that declare theirs may share a transaction on PostgreSQL: they lock in one order, so they never
 * wait for each other.
 */
export type ContestedRow = readonly [table: (typeof LOCK_ORDER)[number], key: string];

/** Sorts by the order of tables, then by key. */
export function lockOrderOf([table, key]: ContestedRow): string {
  return `${LOCK_ORDER.indexOf(table)} ${key}`;
}

/** A table locked against other writers; `null` where row locks suffice. */
export type LockedTable =
  | 'accounts'
  | 'approvals'
  | 'signing_keys'
  | 'data_keys'
  | 'definition_pins'
  | 'scim_resources'
  | 'event_streams'
  | null;

/** All methods reject with `temporarily_unavailable` during an outage. Row types are not checked: the schema proves them. */
export interface Database {
  /** Whether audit events are partitioned into daily tables. */
  readonly partitionsEvents: boolean;
  /** Runs a statement that only reads. */
  read<Row>(query: Query): Promise<readonly Row[]>;
  /**
   * Runs a query for one row that seldom changes, by the only value of the query, and converts it with `make` (`null`: no row). The
   * result may be cached until anyone writes to the table, so it must be immutable.
   */
  readCached<Row, T>(
    table: 'clients' | 'client_metadata_documents',
    query: Query,
    make: (rows: readonly Row[]) => T | null,
  ): Promise<T | null>;
  /** Runs one statement that writes. @param row without one it shares no transaction */
  write(query: Query, row?: ContestedRow): Promise<void>;
  /** The same for a statement that returns rows, such as `1 AS one` for each that it changed. */
  writeRows<Row>(query: Query, row?: ContestedRow): Promise<readonly Row[]>;
  /** The same. @returns whether it returned a row */
  changes(query: Query, row?: ContestedRow): Promise<boolean>;
  /**
   * Runs an operation of several statements, atomically.
   * @param steps may run again from the start, so they have no side effects
   */
  transact<T>(steps: () => Steps<T>, postgres: PostgresOperation<T>): Promise<T>;
  /** A commit hook: runs once, right before the next commit, after so many milliseconds at the latest. */
  beforeCommit(call: () => void, within: number): void;
  /** Checks what queries on open connections do not detect: that a file still exists and is readable. */
  check(): Promise<void>;
  /** Epoch seconds, with fractions, by the clock of the database server; `null` for SQLite, which has none. */
  readClock(): Promise<number | null>;
  /** Waits for pending operations. */
  close(): Promise<void>;
}

/** Load of this process's connection pool, updated by the store; all zero with SQLite, which has one connection. */
export interface PoolStatistics {
  /** Connections in use. */
  busy: number;
  /** Operations waiting for a connection. */
  waiting: number;
  /** Operations that acquired a connection since startup, and the total seconds that they waited. */
  waits: number;
  waitSeconds: number;
}

/** A store cannot be opened. The message tells the operator what to do, without naming a setting. */
export class StoreError extends Error {
  /** `StoreError`. */
  override readonly name: string = 'StoreError';
}
