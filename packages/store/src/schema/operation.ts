/** The schema of what a server keeps for itself: signing keys, limits that processes share, the audit log. */
import type { Dialect } from './dialect.ts';

export function signingKeys({ text, integer, bytes, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE signing_keys (
      id ${text} PRIMARY KEY NOT NULL,
      algorithm ${text} NOT NULL,
      public_jwk ${text} NOT NULL,
      sealed_private_key ${bytes} NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
  ];
}

/** A key from before signs since it was made. */
export function keyLife({ integer }: Dialect): readonly string[] {
  return [
    `ALTER TABLE signing_keys ADD COLUMN signs_from ${integer} NOT NULL DEFAULT 0`,
    'UPDATE signing_keys SET signs_from = created_at',
  ];
}

/** The keys are hashes: of whom they are, nobody can read. */
export function sharedLimits({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE turns (
      key ${text} PRIMARY KEY NOT NULL,
      due_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX turns_by_due ON turns (due_at)',
  ];
}

/** Rows arrive in the order of their identifiers, so each is written at the end of the table and of one index. */
export function auditLog({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE events (
      id ${text} PRIMARY KEY NOT NULL,
      at ${integer} NOT NULL,
      type ${text} NOT NULL,
      client_id ${text},
      account_id ${text},
      grant_id ${text},
      resource ${text},
      flow_id ${text},
      details ${text} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX events_by_flow ON events (flow_id) WHERE flow_id IS NOT NULL',
    'CREATE INDEX events_by_expiry ON events (expires_at)',
  ];
}
