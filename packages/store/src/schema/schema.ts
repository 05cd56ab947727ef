/** The database schema: every table with its indexes, for SQLite and PostgreSQL. */
import type { Dialect } from './dialect.ts';

/**
 * Lists and documents are JSON in text. Times are epoch seconds. Hashes are base64url SHA-256. Every table that is swept
 * has an index on the time; rows are inserted in its order, so it costs almost nothing.
 */
export function createSchema(dialect: Dialect): readonly string[] {
  return [
    users,
    mfa,
    clients,
    registration,
    transactions,
    grants,
    federation,
    statusLists,
    operation,
  ].flatMap((tables) => tables(dialect));
}

function users({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE accounts (
      id ${text} PRIMARY KEY NOT NULL,
      email ${text} NOT NULL,
      email_key ${text} NOT NULL UNIQUE,
      password_hash ${text} NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
      created_at ${integer} NOT NULL,
      disabled_at ${integer}
    ) ${table}`,
    // Covering index: code redemption and refresh check whether the account is enabled without reading its row.
    'CREATE INDEX accounts_enabled ON accounts (id, disabled_at)',
    `CREATE TABLE setup_links (
      hash ${text} PRIMARY KEY NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE account_links (
      hash ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      purpose ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX account_links_by_account ON account_links (account_id)',
    'CREATE INDEX account_links_by_expiry ON account_links (expires_at)',
    `CREATE TABLE sessions (
      hash ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      address ${text},
      browser ${text}
    ) ${table}`,
    'CREATE INDEX sessions_by_account ON sessions (account_id)',
    'CREATE INDEX sessions_by_expiry ON sessions (expires_at)',
  ];
}

function mfa({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE passkeys (
      id ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      public_key ${text} NOT NULL,
      counter ${integer} NOT NULL,
      transports ${text} NOT NULL,
      name ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      last_used_at ${integer}
    ) ${table}`,
    'CREATE INDEX passkeys_by_account ON passkeys (account_id)',
    `CREATE TABLE totp_factors (
      account_id ${text} PRIMARY KEY NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      encrypted_secret ${text} NOT NULL,
      last_step ${integer} NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE recovery_codes (
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      hash ${text} NOT NULL,
      PRIMARY KEY (account_id, hash)
    ) ${table}`,
  ];
}

/**
 * `network` is a keyed hash of the network that an unused client registered from. Its index begins with the expiry, in whose
 * order rows are inserted, so each registration appends; it covers all queries about unused clients.
 */
function clients({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE clients (
      id ${text} PRIMARY KEY NOT NULL,
      origin ${text} NOT NULL,
      metadata ${text} NOT NULL,
      secret_hash ${text},
      created_at ${integer} NOT NULL,
      management_hash ${text},
      last_used_at ${integer},
      expires_at ${integer},
      disabled_at ${integer},
      network ${text}
    ) ${table}`,
    `CREATE INDEX clients_unused ON clients (expires_at, id, last_used_at, network)
      WHERE last_used_at IS NULL AND expires_at IS NOT NULL`,
    'CREATE INDEX clients_used ON clients (expires_at) WHERE last_used_at IS NOT NULL AND expires_at IS NOT NULL',
    `CREATE TABLE used_client_assertions (
      hash ${text} PRIMARY KEY NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX used_client_assertions_by_expiry ON used_client_assertions (expires_at)',
  ];
}

/** `client_id` of a token is not a foreign key: the token outlives its client. */
function registration({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE initial_access_tokens (
      id ${text} PRIMARY KEY NOT NULL,
      hash ${text} NOT NULL UNIQUE,
      note ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      client_id ${text}
    ) ${table}`,
    'CREATE INDEX initial_access_tokens_by_expiry ON initial_access_tokens (expires_at)',
    `CREATE TABLE client_metadata_documents (
      url ${text} PRIMARY KEY NOT NULL,
      metadata ${text} NOT NULL,
      digest ${text} NOT NULL,
      etag ${text},
      last_modified ${text},
      fetched_at ${integer} NOT NULL,
      fresh_until ${integer} NOT NULL,
      last_used_at ${integer},
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX client_metadata_documents_by_expiry ON client_metadata_documents (expires_at)',
  ];
}

/** `state` is JSON: the encrypted state, or null. */
function transactions({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE authorization_transactions (
      id ${text} PRIMARY KEY NOT NULL,
      browser_hash ${text} NOT NULL,
      client_id ${text} NOT NULL,
      redirect_uri ${text} NOT NULL,
      redirect_uri_sent ${integer} NOT NULL,
      state ${text} NOT NULL,
      code_challenge ${text} NOT NULL,
      scopes ${text} NOT NULL,
      resources ${text} NOT NULL,
      account_id ${text},
      approved_scopes ${text} NOT NULL,
      force_login ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      identity_provider ${text},
      linked_grant_id ${text}
    ) ${table}`,
    'CREATE INDEX authorization_transactions_by_expiry ON authorization_transactions (expires_at)',
  ];
}

/** The live refresh token is part of its grant's row: a rotation writes one page and no index. */
function grants({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE authorization_codes (
      hash ${text} PRIMARY KEY NOT NULL,
      grant_id ${text} NOT NULL,
      client_id ${text} NOT NULL,
      account_id ${text} NOT NULL,
      redirect_uri ${text},
      code_challenge ${text} NOT NULL,
      scopes ${text} NOT NULL,
      resources ${text} NOT NULL,
      issued_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      consumed_at ${integer},
      workspace ${text},
      consent_digest ${text} NOT NULL
    ) ${table}`,
    'CREATE INDEX authorization_codes_by_expiry ON authorization_codes (expires_at)',
    `CREATE TABLE grants (
      id ${text} PRIMARY KEY NOT NULL,
      client_id ${text} NOT NULL,
      account_id ${text} NOT NULL,
      scopes ${text} NOT NULL,
      resources ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      revoked_at ${integer},
      last_used_at ${integer} NOT NULL,
      last_used_from ${text},
      workspace ${text},
      consent_digest ${text} NOT NULL,
      refresh_token_hash ${text},
      refresh_token_generation ${integer},
      refresh_token_seed ${text},
      refresh_token_issued_at ${integer},
      refresh_token_expires_at ${integer},
      refresh_token_rotations ${text}
    ) ${table}`,
    'CREATE INDEX grants_by_expiry ON grants (expires_at)',
    'CREATE INDEX grants_by_revocation ON grants (revoked_at) WHERE revoked_at IS NOT NULL',
    'CREATE INDEX grants_by_client ON grants (client_id)',
    'CREATE INDEX grants_by_account_and_client ON grants (account_id, client_id, created_at) WHERE revoked_at IS NULL',
    `CREATE TABLE revoked_access_tokens (
      id ${text} PRIMARY KEY NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX revoked_access_tokens_by_expiry ON revoked_access_tokens (expires_at)',
  ];
}

/**
 * Provider tokens have the identifier of their grant and are stored before it: the grant is created when its code is redeemed.
 * Columns that change often (`checked_at`, `version`, the lease) are not indexed. Revoked rows that are due are the outbox of
 * revocation jobs.
 */
function federation({ text, integer, bytes, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE federated_logins (
      state_hash ${text} PRIMARY KEY NOT NULL,
      browser_hash ${text} NOT NULL,
      identity_provider ${text} NOT NULL,
      transaction_id ${text},
      return_to ${text},
      account_id ${text},
      approved_scopes ${text} NOT NULL,
      workspace ${text},
      encrypted_secrets ${bytes} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX federated_logins_by_expiry ON federated_logins (expires_at)',
    'CREATE INDEX federated_logins_by_transaction ON federated_logins (transaction_id) WHERE transaction_id IS NOT NULL',
    `CREATE TABLE linked_identities (
      issuer ${text} NOT NULL,
      subject ${text} NOT NULL,
      account_id ${text} NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
      PRIMARY KEY (issuer, subject)
    ) ${table}`,
    `CREATE TABLE data_keys (
      id ${text} PRIMARY KEY NOT NULL,
      encrypted_key ${bytes} NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE provider_tokens (
      grant_id ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL,
      identity_provider ${text} NOT NULL,
      issuer ${text} NOT NULL,
      subject ${text} NOT NULL,
      name ${text},
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
      revocation_attempts ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX provider_tokens_by_account ON provider_tokens (account_id) WHERE ended_at IS NULL',
    'CREATE INDEX provider_tokens_by_identity ON provider_tokens (issuer, subject) WHERE ended_at IS NULL',
    'CREATE INDEX provider_tokens_by_due ON provider_tokens (due_at) WHERE due_at IS NOT NULL',
    'CREATE INDEX provider_tokens_by_end ON provider_tokens (ended_at) WHERE ended_at IS NOT NULL',
    'CREATE INDEX provider_tokens_by_data_key ON provider_tokens (data_key_id) WHERE encrypted_tokens IS NOT NULL',
  ];
}

/** Unused: servers of the previous version, which may still run, write and delete its rows. */
function statusLists({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE status_index_counter (
      one ${integer} PRIMARY KEY NOT NULL CHECK (one = 1),
      allocated ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE status_indexes (
      status_index ${integer} PRIMARY KEY NOT NULL,
      owner_kind ${text} NOT NULL,
      owner_id ${text} NOT NULL,
      allocated_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX status_indexes_by_owner ON status_indexes (owner_id)',
    'CREATE INDEX status_indexes_by_expiry ON status_indexes (owner_kind, expires_at)',
  ];
}

/** Audit events are inserted in the order of their identifiers, so each appends to the table and to one index. */
function operation({ text, integer, bytes, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE signing_keys (
      id ${text} PRIMARY KEY NOT NULL,
      algorithm ${text} NOT NULL,
      public_jwk ${text} NOT NULL,
      encrypted_private_key ${bytes} NOT NULL,
      created_at ${integer} NOT NULL,
      signs_from ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE rate_limits (
      key ${text} PRIMARY KEY NOT NULL,
      full_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX rate_limits_by_full_at ON rate_limits (full_at)',
    `CREATE TABLE audit_events (
      id ${text} PRIMARY KEY NOT NULL,
      at ${integer} NOT NULL,
      type ${text} NOT NULL,
      client_id ${text},
      account_id ${text},
      grant_id ${text},
      resource ${text},
      transaction_id ${text},
      details ${text} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX audit_events_by_transaction ON audit_events (transaction_id) WHERE transaction_id IS NOT NULL',
    'CREATE INDEX audit_events_by_expiry ON audit_events (expires_at)',
  ];
}
