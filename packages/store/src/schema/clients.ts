/** The schema of clients that are stored: their life, the documents that describe some, and what proves others. */
import type { Dialect } from './dialect.ts';

export function clients({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE clients (
      id ${text} PRIMARY KEY NOT NULL,
      origin ${text} NOT NULL,
      metadata ${text} NOT NULL,
      secret_hash ${text},
      created_at ${integer} NOT NULL
    ) ${table}`,
  ];
}

/**
 * Clients that expire stand in one of two indexes: those never used, which are counted, and the others. Clients from before
 * have ninety days from their beginning, or as long as they hold a grant.
 */
export function clientLife({ text, integer }: Dialect): readonly string[] {
  return [
    `ALTER TABLE clients ADD COLUMN management_hash ${text}`,
    `ALTER TABLE clients ADD COLUMN last_used_at ${integer}`,
    `ALTER TABLE clients ADD COLUMN expires_at ${integer}`,
    `UPDATE clients SET last_used_at = created_at, expires_at = created_at + 7776000 WHERE origin = 'registered'`,
    'CREATE INDEX clients_unused ON clients (expires_at) WHERE last_used_at IS NULL AND expires_at IS NOT NULL',
    'CREATE INDEX clients_used ON clients (expires_at) WHERE last_used_at IS NOT NULL AND expires_at IS NOT NULL',
    'CREATE INDEX grants_by_client ON grants (client_id)',
  ];
}

/**
 * From which network an unused client registered, as a keyed hash. It stands in the index of the unused ones behind what makes
 * rows arrive in order, so each registration writes at the end; all that is asked of it stands there too, and no row is read.
 */
export function networksOfClients({ text }: Dialect): readonly string[] {
  return [
    `ALTER TABLE clients ADD COLUMN network ${text}`,
    'DROP INDEX clients_unused',
    `CREATE INDEX clients_unused ON clients (expires_at, id, last_used_at, network)
      WHERE last_used_at IS NULL AND expires_at IS NOT NULL`,
  ];
}

export function clientDocuments({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE client_documents (
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
    'CREATE INDEX client_documents_by_expiry ON client_documents (expires_at)',
  ];
}

export function assertions({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE spent_assertions (
      hash ${text} PRIMARY KEY NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX spent_assertions_by_expiry ON spent_assertions (expires_at)',
  ];
}
