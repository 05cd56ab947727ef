/** What the rooms of facts ask of a database, whichever it is. */
import type { Query } from './sql.ts';

/** A fact of several statements, in the order of time. It yields each and is resumed with the rows that it returned. */
export type Steps<T> = Generator<Query, T, readonly unknown[]>;

/** A fact of several statements. */
export interface Fact<T> {
  /** Statements of one transaction. They may run again from the beginning, so they change nothing but the database. */
  readonly steps: () => Steps<T>;
  /** The same fact as PostgreSQL does it. */
  readonly postgres: AtOnce<T> | UnderLock;
}

/** All statements in one, which is one round trip. */
export interface AtOnce<T> {
  readonly query: Query;
  readonly read: (rows: readonly unknown[]) => T;
}

/** The steps, in a transaction that nobody else who locks the table runs beside: for what happens seldom. */
export interface UnderLock {
  readonly lock: 'accounts' | 'signing_keys';
}

/** A row's type is the caller's claim: the schema is its proof. */
export interface Database {
  /** Runs a statement that only reads. */
  read<Row>(query: Query): Promise<readonly Row[]>;
  /** Runs one statement that changes something; answers the rows that it returns. */
  change<Row>(query: Query): Promise<readonly Row[]>;
  /** Runs a fact of several statements, whole or not at all. */
  fact<T>(fact: Fact<T>): Promise<T>;
  /** What is under way ends first. */
  close(): Promise<void>;
}
