/** The tables of third parties: departures, persons, bonds, and the keys that seal them. */
import type { Dialect } from './dialect.ts';

/**
 * A bond has the identifier of its grant and is made before it: the grant begins when its code is redeemed. What is renewed
 * or checked often (`checked_at`, `version`, the lease) stands in no index.
 */
export function identityProviders({ text, integer, bytes, table }: Dialect): readonly string[] {
  return [
    `ALTER TABLE transactions ADD COLUMN third_party ${text}`,
    `ALTER TABLE transactions ADD COLUMN bond ${text}`,
    `CREATE TABLE departures (
      state_hash ${text} PRIMARY KEY NOT NULL,
      browser_hash ${text} NOT NULL,
      third_party ${text} NOT NULL,
      transaction_id ${text},
      page ${text},
      account_id ${text},
      approved ${text} NOT NULL,
      workspace ${text},
      sealed_secrets ${bytes} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX departures_by_expiry ON departures (expires_at)',
    'CREATE INDEX departures_by_transaction ON departures (transaction_id) WHERE transaction_id IS NOT NULL',
    `CREATE TABLE persons (
      issuer ${text} NOT NULL,
      subject ${text} NOT NULL,
      account_id ${text} NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
      PRIMARY KEY (issuer, subject)
    ) ${table}`,
    `CREATE TABLE data_keys (
      id ${text} PRIMARY KEY NOT NULL,
      sealed_key ${bytes} NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE bonds (
      grant_id ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL,
      third_party ${text} NOT NULL,
      issuer ${text} NOT NULL,
      subject ${text} NOT NULL,
      name ${text},
      sealed_tokens ${bytes},
      data_key_id ${text} NOT NULL,
      scopes ${text} NOT NULL,
      expires_at ${integer},
      is_renewable ${integer} NOT NULL,
      renew_from ${integer},
      checked_at ${integer} NOT NULL,
      version ${integer} NOT NULL,
      lease_holder ${text},
      lease_until ${integer},
      created_at ${integer} NOT NULL,
      ended_at ${integer},
      end_reason ${text},
      due_at ${integer},
      farewells ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX bonds_by_account ON bonds (account_id) WHERE ended_at IS NULL',
    'CREATE INDEX bonds_by_person ON bonds (issuer, subject) WHERE ended_at IS NULL',
    'CREATE INDEX bonds_by_due ON bonds (due_at) WHERE due_at IS NOT NULL',
    'CREATE INDEX bonds_by_end ON bonds (ended_at) WHERE ended_at IS NOT NULL',
    'CREATE INDEX bonds_by_data_key ON bonds (data_key_id) WHERE sealed_tokens IS NOT NULL',
  ];
}
