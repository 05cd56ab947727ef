/** The schema's syntax in SQLite and PostgreSQL. */
import { type Query, sql } from '../sql.ts';

export interface Dialect {
  /** Text compared byte by byte. */
  readonly text: string;
  /** 64-bit integers. */
  readonly integer: string;
  readonly bytes: string;
  /** Options after the columns of a table. */
  readonly table: string;
  /** The function for the position of a text in another one: from 1; 0: it is not in it. */
  readonly position: string;
  /** Fill factor of a table: updated rows stay on their page, and no index changes. */
  readonly fill: (table: string, percent: number) => readonly string[];
  /** Finds a row when the migrations table exists. */
  readonly isOurs: () => Query;
  /** Finds a row when tables of another program exist. */
  readonly isForeign: () => Query;
}

export const sqliteDialect: Dialect = {
  text: 'TEXT',
  integer: 'INTEGER',
  bytes: 'BLOB',
  table: 'STRICT',
  position: 'instr',
  fill: () => [],
  isOurs: () => sql`SELECT 1 AS one FROM sqlite_schema WHERE name = 'portcullis_migrations'`,
  isForeign: () => sql`SELECT 1 AS one FROM sqlite_schema WHERE type = 'table' LIMIT 1`,
};

export const postgresDialect: Dialect = {
  text: 'TEXT COLLATE "C"',
  integer: 'BIGINT',
  bytes: 'BYTEA',
  table: '',
  position: 'strpos',
  fill: (table, percent) => [`ALTER TABLE ${table} SET (fillfactor = ${percent})`],
  // From the catalogue rather than `to_regclass`, which may use a stale cache.
  isOurs: () => sql`SELECT 1 AS one FROM pg_catalog.pg_tables
    WHERE schemaname = ANY (current_schemas(false)) AND tablename = 'portcullis_migrations'`,
  isForeign: () => sql`SELECT 1 AS one FROM pg_catalog.pg_tables
    WHERE schemaname = current_schema() AND tablename IN ('accounts', 'setup_links', 'account_links', 'sessions', 'passkeys',
      'totp_factors', 'recovery_codes', 'clients', 'used_client_assertions', 'initial_access_tokens', 'client_metadata_documents',
      'authorization_transactions', 'authorization_codes', 'grants', 'revoked_access_tokens', 'federated_logins',
      'linked_identities', 'data_keys', 'provider_tokens', 'status_index_counter', 'status_indexes', 'signing_keys',
      'rate_limits', 'audit_events', 'user_profiles', 'sweep_lease', 'personal_access_tokens', 'backend_registrations',
      'asserted_identities', 'tool_pins', 'device_authorizations', 'connected_accounts', 'registrations_at_backends',
      'definition_pins', 'approvals', 'scim_resources', 'scim_keys', 'scim_tokens',
      'webhooks', 'event_hours', 'event_streams')`,
};
