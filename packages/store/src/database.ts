/** What the rooms of facts ask of a database, whichever it is. */
import type { Query } from './sql.ts';

/** Statements in the order of time. Each is yielded, and the rows that it returned come back. */
export type Steps<T> = Generator<Query, T, readonly unknown[]>;

/** A fact of several statements. */
export interface Fact<T> {
  /** Statements of one transaction. They may run again from the beginning, so they change nothing but the database. */
  readonly steps: () => Steps<T>;
  /** How PostgreSQL does the same. */
  readonly postgres: AtOnce<T> | InSteps;
}

/** All statements in one: a fact then costs one round trip and needs no transaction. */
interface AtOnce<T> {
  readonly query: () => Query;
  readonly read: (rows: readonly unknown[]) => T;
}

/** The steps, in a transaction: for what happens seldom. */
export interface InSteps {
  /** A table that nobody else writes meanwhile; `null` where the rows that the steps change are lock enough. */
  readonly lock: 'accounts' | 'signing_keys' | 'data_keys' | null;
}

/** All methods reject with `temporarily_unavailable` while the database cannot answer. A row's type is the caller's claim: the schema is its proof. */
export interface Database {
  /** Runs a statement that only reads. */
  read<Row>(query: Query): Promise<readonly Row[]>;
  /**
   * Answers what `make` makes of a row that seldom changes, found in its table by the one value of the query; `null` when it is
   * not there. What was made may be remembered until somebody writes to the table, so nobody may change it.
   */
  recall<Row, T>(
    table: 'clients' | 'client_documents',
    query: Query,
    make: (rows: readonly Row[]) => T | null,
  ): Promise<T | null>;
  /** Runs one statement that changes something; answers the rows that it returns. */
  change<Row>(query: Query): Promise<readonly Row[]>;
  /** Runs a fact of several statements, whole or not at all. */
  fact<T>(fact: Fact<T>): Promise<T>;
  /** Calls once, right before something is committed, whose facts it may add to; at the latest after so many milliseconds. */
  beforeCommit(call: () => void, within: number): void;
  /** What is under way ends first. */
  close(): Promise<void>;
}
