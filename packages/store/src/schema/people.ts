/** The schema of accounts: how people sign in, and where they are signed in. */
import type { Dialect } from './dialect.ts';

export function accounts({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE accounts (
      id ${text} PRIMARY KEY NOT NULL,
      email ${text} NOT NULL,
      email_key ${text} NOT NULL UNIQUE,
      password_hash ${text} NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
      created_at ${integer} NOT NULL,
      disabled_at ${integer}
    ) ${table}`,
    `CREATE TABLE setup_links (
      hash ${text} PRIMARY KEY NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE sessions (
      hash ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX sessions_by_account ON sessions (account_id)',
    'CREATE INDEX sessions_by_expiry ON sessions (expires_at)',
  ];
}

export function accountLinks({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE account_links (
      hash ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      purpose ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX account_links_by_account ON account_links (account_id)',
    'CREATE INDEX account_links_by_expiry ON account_links (expires_at)',
  ];
}

export function passkeys({ text, integer, table }: Dialect): readonly string[] {
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
  ];
}

export function totpFactors({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE second_factors (
      account_id ${text} PRIMARY KEY NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      sealed_secret ${text} NOT NULL,
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
