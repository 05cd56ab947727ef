/** What the two databases call the same thing. */
import { type Query, sql } from '../sql.ts';

export interface Dialect {
  /** Text compared byte by byte. */
  readonly text: string;
  /** Whole numbers of 64 bits. */
  readonly integer: string;
  readonly bytes: string;
  /** What stands after the columns of a table. */
  readonly table: string;
  /** Finds a row when the table of migrations exists. */
  readonly isOurs: () => Query;
  /** Finds a row when other tables stand where ours would. */
  readonly isForeign: () => Query;
}

export const sqliteDialect: Dialect = {
  text: 'TEXT',
  integer: 'INTEGER',
  bytes: 'BLOB',
  table: 'STRICT',
  isOurs: () => sql`SELECT 1 AS one FROM sqlite_schema WHERE name = 'portcullis_migrations'`,
  isForeign: () => sql`SELECT 1 AS one FROM sqlite_schema WHERE type = 'table' LIMIT 1`,
};

export const postgresDialect: Dialect = {
  text: 'TEXT COLLATE "C"',
  integer: 'BIGINT',
  bytes: 'BYTEA',
  table: '',
  // From the catalogue, not by to_regclass, whose answer of a moment ago may be remembered.
  isOurs: () => sql`SELECT 1 AS one FROM pg_catalog.pg_tables
    WHERE schemaname = ANY (current_schemas(false)) AND tablename = 'portcullis_migrations'`,
  isForeign: () => sql`SELECT 1 AS one FROM pg_catalog.pg_tables
    WHERE schemaname = current_schema() AND tablename IN ('accounts', 'setup_links', 'sessions', 'clients', 'signing_keys',
      'transactions', 'codes', 'grants', 'refresh_tokens', 'former_refresh_tokens', 'revoked_access_tokens', 'client_documents', 'spent_assertions', 'turns', 'events',
      'account_links', 'passkeys', 'second_factors', 'recovery_codes', 'departures', 'persons', 'data_keys', 'bonds', 'status_places',
      'lent_places', 'client_invitations')`,
};
