/** The numbered migrations of the schema. A released migration never changes: each schema change is a new one. */
import type { Dialect } from './dialect.ts';
import { createSchema } from './schema.ts';

interface NumberedMigration {
  /** Ascending. */
  readonly number: number;
  readonly name: string;
}

/** Statements of one transaction, none of which takes long on a large table. */
interface SchemaMigration extends NumberedMigration {
  readonly statements: (dialect: Dialect) => readonly string[];
}

/** Indexes on tables that may be large. PostgreSQL builds them while writes continue, and not in a transaction. */
export interface IndexMigration extends NumberedMigration {
  /** By name, such as `grants (client_id) WHERE revoked_at IS NULL`. */
  readonly indexes: Readonly<Record<string, string>>;
}

export type Migration = SchemaMigration | IndexMigration;

/** Fill factor in percent: leaves space for two or three new row versions, so that updates stay on their page (HOT). */
const GRANTS_FILL = 85;

export const migrations: readonly Migration[] = [
  { number: 1, name: 'initial schema', statements: createSchema },
  {
    number: 2,
    name: 'networks of authorization requests',
    statements: ({ text }) => [
      `ALTER TABLE authorization_transactions ADD COLUMN network ${text}`,
      `CREATE INDEX authorization_transactions_anonymous ON authorization_transactions (expires_at, network)
        WHERE network IS NOT NULL`,
    ],
  },
  {
    number: 3,
    name: 'user profiles',
    statements: ({ text, table }) => [
      `CREATE TABLE user_profiles (
        account_id ${text} PRIMARY KEY NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
        email ${text},
        name ${text},
        user_groups ${text} NOT NULL
      ) ${table}`,
    ],
  },
  {
    number: 4,
    name: 'previous secrets of clients',
    statements: ({ text, integer }) => [
      `ALTER TABLE clients ADD COLUMN previous_secret_hash ${text}`,
      `ALTER TABLE clients ADD COLUMN previous_secret_expires_at ${integer}`,
    ],
  },
  {
    number: 5,
    name: 'one sweep at a time',
    statements: ({ text, integer, table }) => [
      `CREATE TABLE sweep_lease (
        one ${integer} PRIMARY KEY NOT NULL CHECK (one = 1),
        holder ${text} NOT NULL,
        expires_at ${integer} NOT NULL
      ) ${table}`,
    ],
  },
  {
    number: 6,
    name: 'personal access tokens',
    statements: ({ text, table }) => [
      `CREATE TABLE personal_access_tokens (
        grant_id ${text} PRIMARY KEY NOT NULL REFERENCES grants (id) ON DELETE CASCADE,
        hash ${text} NOT NULL,
        name ${text} NOT NULL
      ) ${table}`,
    ],
  },
  {
    number: 7,
    name: 'keys of DPoP-bound grants',
    statements: ({ text }) => [
      `ALTER TABLE authorization_transactions ADD COLUMN key_thumbprint ${text}`,
      `ALTER TABLE authorization_codes ADD COLUMN key_thumbprint ${text}`,
      `ALTER TABLE grants ADD COLUMN key_thumbprint ${text}`,
    ],
  },
  {
    number: 8,
    name: 'tokens of backends',
    statements: ({ text, integer, bytes, table }) => [
      `ALTER TABLE provider_tokens ADD COLUMN backend_grant_id ${text}`,
      `CREATE TABLE backend_registrations (
        backend ${text} NOT NULL,
        issuer ${text} NOT NULL,
        encrypted_registration ${bytes} NOT NULL,
        data_key_id ${text} NOT NULL,
        created_at ${integer} NOT NULL,
        PRIMARY KEY (backend, issuer)
      ) ${table}`,
    ],
  },
  {
    number: 9,
    name: 'indexes of tokens and registrations of backends',
    indexes: {
      backend_registrations_by_data_key: 'backend_registrations (data_key_id)',
      provider_tokens_by_backend_grant:
        'provider_tokens (backend_grant_id) WHERE backend_grant_id IS NOT NULL',
    },
  },
  {
    number: 10,
    name: 'grants that an organization manages',
    statements: ({ text, table }) => [
      `ALTER TABLE grants ADD COLUMN managed_by ${text}`,
      `CREATE TABLE asserted_identities (
        issuer ${text} NOT NULL,
        subject ${text} NOT NULL,
        account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
        PRIMARY KEY (issuer, subject),
        UNIQUE (account_id, issuer)
      ) ${table}`,
    ],
  },
  {
    number: 11,
    name: 'pins of tool definitions',
    statements: ({ text, integer, table }) => [
      `CREATE TABLE tool_pins (
        server ${text} NOT NULL,
        tool ${text} NOT NULL,
        approved_hash ${text},
        approved_definition ${text},
        pending_hash ${text},
        pending_definition ${text},
        rejected_hash ${text},
        changed_at ${integer} NOT NULL,
        PRIMARY KEY (server, tool)
      ) ${table}`,
      'CREATE INDEX tool_pins_pending ON tool_pins (server, tool) WHERE pending_hash IS NOT NULL',
    ],
  },
  {
    number: 12,
    name: 'device authorization',
    statements: ({ text, integer, table }) => [
      `CREATE TABLE device_authorizations (
        hash ${text} PRIMARY KEY NOT NULL,
        user_code_hash ${text} NOT NULL UNIQUE,
        client_id ${text} NOT NULL,
        scopes ${text},
        resource ${text},
        code_challenge ${text} NOT NULL,
        requested_from ${text},
        created_at ${integer} NOT NULL,
        expires_at ${integer} NOT NULL,
        poll_interval ${integer} NOT NULL,
        last_polled_at ${integer} NOT NULL,
        outcome ${text},
        code_hash ${text}
      ) ${table}`,
      'CREATE INDEX device_authorizations_by_expiry ON device_authorizations (expires_at)',
    ],
  },
  {
    number: 13,
    name: 'authentication of users',
    statements: ({ text }) => [
      `ALTER TABLE sessions ADD COLUMN methods ${text}`,
      `ALTER TABLE authorization_transactions ADD COLUMN acr_values ${text}`,
      `ALTER TABLE authorization_codes ADD COLUMN authentication ${text}`,
      `ALTER TABLE grants ADD COLUMN authentication ${text}`,
    ],
  },
  {
    number: 14,
    name: 'index of the grants of a client',
    // The planner cannot infer the second condition, so it never uses this index for one account at one client,
    // which would read all grants of the client. Statements about a whole client state the condition.
    indexes: { grants_of_client: "grants (client_id) WHERE revoked_at IS NULL AND id <> ''" },
  },
  {
    number: 15,
    name: 'space for grants and codes to change',
    statements: ({ fill }) => [
      'DROP INDEX grants_by_client',
      ...fill('grants', GRANTS_FILL),
      // Each is redeemed once, shortly after its insertion.
      ...fill('authorization_codes', 50),
    ],
  },
  {
    number: 16,
    name: 'grants that are bound to a DPoP key later',
    statements: ({ integer }) => [`ALTER TABLE grants ADD COLUMN key_bound_from ${integer}`],
  },
  {
    number: 17,
    name: 'times of sign-ins at identity providers',
    statements: ({ integer }) => [`ALTER TABLE sessions ADD COLUMN authenticated_at ${integer}`],
  },
  { number: 18, name: 'connected accounts', statements: moveConnectedAccounts },
  { number: 19, name: 'pins of definitions', statements: moveToolPins },
  {
    number: 20,
    name: 'accounts by verified address',
    statements: () => ['CREATE INDEX user_profiles_by_email ON user_profiles (lower(email))'],
  },
  { number: 21, name: 'backends of connection requests', statements: separateBackends },
  { number: 22, name: 'approvals of calls', statements: createApprovals },
  {
    number: 23,
    name: 'sessions at identity providers',
    statements: ({ text }) => [`ALTER TABLE sessions ADD COLUMN provider_session ${text}`],
  },
  {
    number: 24,
    name: 'index of sessions at identity providers',
    indexes: {
      sessions_by_provider_session: 'sessions (provider_session) WHERE provider_session IS NOT NULL',
    },
  },
  { number: 25, name: 'provisioned users and groups', statements: createProvisioning },
  {
    number: 26,
    name: 'roles of accounts',
    statements: ({ text }) => [`ALTER TABLE accounts ADD COLUMN role ${text}`],
  },
  {
    number: 27,
    name: 'delivery of events to webhooks',
    statements: ({ text, integer, table }) => [
      `CREATE TABLE webhooks (
        name ${text} PRIMARY KEY NOT NULL,
        cursor ${text} NOT NULL,
        attempts ${integer} NOT NULL,
        next_attempt_at ${integer} NOT NULL,
        last_error ${text},
        delivered_at ${integer},
        holder ${text},
        leased_until ${integer} NOT NULL
      ) ${table}`,
    ],
  },
  {
    number: 28,
    name: 'counted hours of the audit log',
    statements: ({ text, integer, bytes, table }) => [
      `CREATE TABLE event_hours (
        at ${integer} PRIMARY KEY NOT NULL,
        counts ${text} NOT NULL,
        keys ${bytes} NOT NULL
      ) ${table}`,
    ],
  },
  {
    number: 29,
    name: 'languages of sessions',
    statements: ({ text }) => [`ALTER TABLE sessions ADD COLUMN language ${text}`],
  },
  {
    number: 30,
    name: 'verified clients',
    statements: ({ integer }) =>
      ['clients', 'client_metadata_documents'].map(
        (table) => `ALTER TABLE ${table} ADD COLUMN verified_at ${integer}`,
      ),
  },
  {
    number: 31,
    name: 'event streams of receivers',
    statements: ({ text, integer, bytes, table }) => [
      `CREATE TABLE event_streams (
        id ${text} PRIMARY KEY NOT NULL,
        client_id ${text} NOT NULL,
        endpoint ${text},
        encrypted_authorization ${bytes},
        events_requested ${text} NOT NULL,
        description ${text},
        status ${text} NOT NULL,
        reason ${text},
        removed_accounts ${text} NOT NULL,
        cursor ${text} NOT NULL,
        acknowledged ${text},
        verification_requested_at ${integer} NOT NULL,
        created_at ${integer} NOT NULL,
        version ${integer} NOT NULL
      ) ${table}`,
    ],
  },
  {
    number: 32,
    name: 'mailed account links',
    statements: ({ integer }) => [
      `ALTER TABLE account_links ADD COLUMN is_mailed ${integer} NOT NULL DEFAULT 0`,
    ],
  },
  {
    number: 33,
    name: 'clients that were enabled again',
    statements: ({ integer }) => [`ALTER TABLE clients ADD COLUMN enabled_at ${integer}`],
  },
];

/**
 * Tokens and registrations of users at backends were rows of other tables, with a key of several parts in one column: `grant_id` was
 * grant and backend, `backend` was backend and client, with a space between them. Servers of the previous version may
 * still run: what they read remains, empty.
 */
function moveConnectedAccounts({ text, integer, bytes, table, position }: Dialect): readonly string[] {
  const tokens = `account_id, encrypted_tokens, data_key_id, scopes, expires_at, is_refreshable, refresh_from, checked_at, version,
    lease_holder, lease_until, created_at, ended_at, end_reason, due_at, revocation_attempts`;
  const space = `${position}(backend, ' ')`;
  return [
    `CREATE TABLE connected_accounts (
      grant_id ${text} NOT NULL,
      backend ${text} NOT NULL,
      connection ${text} NOT NULL,
      account_id ${text} NOT NULL,
      encrypted_tokens ${bytes},
      data_key_id ${text} NOT NULL,
      scopes ${text} NOT NULL,
      expires_at ${integer},
      is_refreshable ${integer} NOT NULL,
      refresh_from ${integer},
      checked_at ${integer} NOT NULL,
      version ${integer} NOT NULL,
      lease_holder ${text},
      lease_until ${integer},
      created_at ${integer} NOT NULL,
      ended_at ${integer},
      end_reason ${text},
      due_at ${integer},
      revocation_attempts ${integer} NOT NULL,
      PRIMARY KEY (grant_id, backend)
    ) ${table}`,
    `INSERT INTO connected_accounts (grant_id, backend, connection, ${tokens})
      SELECT backend_grant_id, identity_provider, subject, ${tokens} FROM provider_tokens WHERE backend_grant_id IS NOT NULL`,
    'CREATE INDEX connected_accounts_by_account ON connected_accounts (account_id) WHERE ended_at IS NULL',
    'CREATE INDEX connected_accounts_by_due ON connected_accounts (due_at) WHERE due_at IS NOT NULL',
    'CREATE INDEX connected_accounts_by_end ON connected_accounts (ended_at) WHERE ended_at IS NOT NULL',
    'CREATE INDEX connected_accounts_by_data_key ON connected_accounts (data_key_id) WHERE encrypted_tokens IS NOT NULL',
    `CREATE TABLE registrations_at_backends (
      backend ${text} NOT NULL,
      client_id ${text} NOT NULL,
      issuer ${text} NOT NULL,
      encrypted_registration ${bytes} NOT NULL,
      data_key_id ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      PRIMARY KEY (backend, client_id, issuer)
    ) ${table}`,
    `INSERT INTO registrations_at_backends (backend, client_id, issuer, encrypted_registration, data_key_id, created_at)
      SELECT CASE WHEN ${space} = 0 THEN backend ELSE substr(backend, 1, CAST(${space} - 1 AS INTEGER)) END,
        CASE WHEN ${space} = 0 THEN '' ELSE substr(backend, CAST(${space} + 1 AS INTEGER)) END,
        issuer, encrypted_registration, data_key_id, created_at
      FROM backend_registrations`,
    'CREATE INDEX registrations_at_backends_by_data_key ON registrations_at_backends (data_key_id)',
    'DELETE FROM provider_tokens WHERE backend_grant_id IS NOT NULL',
    'DELETE FROM backend_registrations',
  ];
}

function createApprovals({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE approvals (
      id ${text} PRIMARY KEY NOT NULL,
      call_hash ${text} NOT NULL,
      subject ${text} NOT NULL,
      client_id ${text} NOT NULL,
      grant_id ${text} REFERENCES grants (id) ON DELETE CASCADE,
      server ${text} NOT NULL,
      tool ${text} NOT NULL,
      arguments_hash ${text} NOT NULL,
      rule ${text} NOT NULL,
      arguments ${text} NOT NULL,
      definition ${text},
      approver_groups ${text},
      reusable_for ${integer},
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      outcome ${text},
      decided_by ${text},
      decided_at ${integer},
      reason ${text},
      is_reusable ${integer} NOT NULL,
      consumed_at ${integer}
    ) ${table}`,
    'CREATE INDEX approvals_by_call ON approvals (call_hash)',
    'CREATE INDEX approvals_by_grant ON approvals (grant_id) WHERE grant_id IS NOT NULL',
    'CREATE INDEX approvals_by_expiry ON approvals (expires_at)',
    'CREATE INDEX approvals_pending ON approvals (created_at, id) WHERE outcome IS NULL',
    'CREATE INDEX approvals_pending_of_subject ON approvals (subject, created_at) WHERE outcome IS NULL',
    'CREATE INDEX approvals_pending_at_server ON approvals (server) WHERE outcome IS NULL',
    `CREATE INDEX approvals_pending_of_groups ON approvals (approver_groups, created_at)
      WHERE outcome IS NULL AND approver_groups IS NOT NULL`,
  ];
}

/** A resource is found by its keys; the key `members` of a group is the identifier of a user. */
function createProvisioning({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE scim_resources (
      id ${text} PRIMARY KEY NOT NULL,
      identity_provider ${text} NOT NULL,
      kind ${text} NOT NULL,
      name ${text} NOT NULL,
      attributes ${text} NOT NULL,
      is_active ${integer} NOT NULL,
      account_id ${text} REFERENCES accounts (id) ON DELETE SET NULL,
      disabled_account ${integer} NOT NULL,
      version ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      modified_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX scim_resources_by_kind ON scim_resources (identity_provider, kind, id)',
    'CREATE INDEX scim_resources_by_activity ON scim_resources (identity_provider, kind, is_active, id)',
    'CREATE INDEX scim_resources_by_change ON scim_resources (identity_provider, kind, modified_at)',
    'CREATE INDEX scim_resources_by_account ON scim_resources (account_id) WHERE account_id IS NOT NULL',
    `CREATE TABLE scim_keys (
      identity_provider ${text} NOT NULL,
      kind ${text} NOT NULL,
      attribute ${text} NOT NULL,
      value ${text} NOT NULL,
      id ${text} NOT NULL,
      PRIMARY KEY (identity_provider, kind, attribute, value, id)
    ) ${table}`,
    'CREATE INDEX scim_keys_by_resource ON scim_keys (id, attribute, value)',
    `CREATE TABLE scim_tokens (
      id ${text} PRIMARY KEY NOT NULL,
      hash ${text} NOT NULL UNIQUE,
      identity_provider ${text} NOT NULL,
      note ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX scim_tokens_by_expiry ON scim_tokens (expires_at)',
  ];
}

/**
 * Path and backend of a server were one column, with a space between them, and a tool had one approved definition. Servers of the
 * previous version may still run: what they read remains.
 */
function moveToolPins({ text, integer, table, position }: Dialect): readonly string[] {
  const space = `${position}(server, ' ')`;
  const copy = (status: string, hash: string, definition: string) =>
    `INSERT INTO definition_pins (server, backend, kind, name, hash, covers, status, definition, changed_at)
      SELECT CASE WHEN ${space} = 0 THEN server ELSE substr(server, 1, CAST(${space} - 1 AS INTEGER)) END,
        CASE WHEN ${space} = 0 THEN '' ELSE substr(server, CAST(${space} + 1 AS INTEGER)) END,
        'tool', tool, ${hash}, 'members', '${status}', ${definition}, changed_at
      FROM tool_pins WHERE ${hash} IS NOT NULL ON CONFLICT DO NOTHING`;
  return [
    `CREATE TABLE definition_pins (
      server ${text} NOT NULL,
      backend ${text} NOT NULL,
      kind ${text} NOT NULL,
      name ${text} NOT NULL,
      hash ${text} NOT NULL,
      covers ${text} NOT NULL,
      status ${text} NOT NULL,
      definition ${text},
      changed_at ${integer} NOT NULL,
      PRIMARY KEY (server, backend, kind, name, hash)
    ) ${table}`,
    copy('approved', 'approved_hash', 'approved_definition'),
    copy('pending', 'pending_hash', 'pending_definition'),
    copy('rejected', 'rejected_hash', 'NULL'),
    `CREATE INDEX definition_pins_pending ON definition_pins (server, backend, kind, name) WHERE status = 'pending'`,
  ];
}

/**
 * The path of a backend was in the column of identity providers, whose identifiers have no slash. SQLite cannot make that column
 * optional, so the table is created again: its rows live for minutes.
 */
function separateBackends({ text, integer, bytes, table }: Dialect): readonly string[] {
  const others =
    'state_hash, browser_hash, transaction_id, return_to, account_id, approved_scopes, workspace, encrypted_secrets, expires_at';
  return [
    'ALTER TABLE federated_logins RENAME TO old_federated_logins',
    `CREATE TABLE federated_logins (
      state_hash ${text} PRIMARY KEY NOT NULL,
      browser_hash ${text} NOT NULL,
      identity_provider ${text},
      backend ${text},
      transaction_id ${text},
      return_to ${text},
      account_id ${text},
      approved_scopes ${text} NOT NULL,
      workspace ${text},
      encrypted_secrets ${bytes} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    `INSERT INTO federated_logins (identity_provider, backend, ${others})
      SELECT CASE WHEN identity_provider LIKE '/%' THEN NULL ELSE identity_provider END,
        CASE WHEN identity_provider LIKE '/%' THEN identity_provider END, ${others}
      FROM old_federated_logins`,
    'DROP TABLE old_federated_logins',
    'CREATE INDEX federated_logins_by_expiry ON federated_logins (expires_at)',
    'CREATE INDEX federated_logins_by_transaction ON federated_logins (transaction_id) WHERE transaction_id IS NOT NULL',
  ];
}
