/** The schema, as the numbered steps that made it. A step that was ever released is never changed. */

/** What the two dialects call the same thing. */
export interface Dialect {
  /** Text compared byte by byte. */
  readonly text: string;
  /** Epoch seconds and other whole numbers of 64 bits. */
  readonly integer: string;
  readonly bytes: string;
  /** After the columns of a table whose rows are small and found by their key. */
  readonly keyed: string;
  /** After the columns of any other table. */
  readonly table: string;
}

export const sqliteDialect: Dialect = {
  text: 'TEXT',
  integer: 'INTEGER',
  bytes: 'BLOB',
  keyed: 'STRICT, WITHOUT ROWID',
  table: 'STRICT',
};

export const postgresDialect: Dialect = {
  text: 'TEXT COLLATE "C"',
  integer: 'BIGINT',
  bytes: 'BYTEA',
  keyed: '',
  table: '',
};

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly statements: (dialect: Dialect) => readonly string[];
}

export const migrations: readonly Migration[] = [{ number: 1, name: 'the beginning', statements: beginning }];

/** Lists and documents are JSON in text; times are epoch seconds; hashes are base64url SHA-256. */
function beginning({ text, integer, bytes, keyed, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE accounts (
      id ${text} PRIMARY KEY NOT NULL,
      email ${text} NOT NULL,
      email_key ${text} NOT NULL UNIQUE,
      password_hash ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      disabled_at ${integer}
    ) ${table}`,
    `CREATE TABLE setup_links (
      hash ${text} PRIMARY KEY NOT NULL,
      created_at ${integer} NOT NULL
    ) ${keyed}`,
    `CREATE TABLE sessions (
      hash ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${keyed}`,
    'CREATE INDEX sessions_by_account ON sessions (account_id)',
    'CREATE INDEX sessions_by_expiry ON sessions (expires_at)',
    `CREATE TABLE clients (
      id ${text} PRIMARY KEY NOT NULL,
      origin ${text} NOT NULL,
      metadata ${text} NOT NULL,
      secret_hash ${text},
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE transactions (
      id ${text} PRIMARY KEY NOT NULL,
      browser_hash ${text} NOT NULL,
      client_id ${text} NOT NULL,
      redirect_uri ${text} NOT NULL,
      redirect_uri_sent ${integer} NOT NULL,
      state ${text},
      code_challenge ${text} NOT NULL,
      scopes ${text} NOT NULL,
      resources ${text} NOT NULL,
      account_id ${text},
      approved ${text},
      fresh_login ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX transactions_by_expiry ON transactions (expires_at)',
    `CREATE TABLE codes (
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
      spent_at ${integer}
    ) ${keyed}`,
    'CREATE INDEX codes_by_expiry ON codes (expires_at)',
    `CREATE TABLE grants (
      id ${text} PRIMARY KEY NOT NULL,
      client_id ${text} NOT NULL,
      account_id ${text} NOT NULL,
      scopes ${text} NOT NULL,
      resources ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      revoked_at ${integer}
    ) ${keyed}`,
    'CREATE INDEX grants_by_expiry ON grants (expires_at)',
    'CREATE INDEX grants_by_revocation ON grants (revoked_at) WHERE revoked_at IS NOT NULL',
    `CREATE TABLE refresh_tokens (
      hash ${text} PRIMARY KEY NOT NULL,
      grant_id ${text} NOT NULL,
      issued_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      rotated_at ${integer}
    ) ${keyed}`,
    'CREATE INDEX refresh_tokens_by_grant ON refresh_tokens (grant_id)',
    'CREATE INDEX refresh_tokens_by_expiry ON refresh_tokens (expires_at)',
    `CREATE TABLE revoked_access_tokens (
      id ${text} PRIMARY KEY NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${keyed}`,
    'CREATE INDEX revoked_access_tokens_by_expiry ON revoked_access_tokens (expires_at)',
    `CREATE TABLE signing_keys (
      id ${text} PRIMARY KEY NOT NULL,
      algorithm ${text} NOT NULL,
      public_jwk ${text} NOT NULL,
      sealed_private_key ${bytes} NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
  ];
}
