/** The schema of invitations by which clients register. */
import type { Dialect } from './dialect.ts';

/** Which client came by one is kept although the client may go, so it is no foreign key. */
export function initialAccessTokens({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE client_invitations (
      id ${text} PRIMARY KEY NOT NULL,
      hash ${text} NOT NULL UNIQUE,
      note ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      client_id ${text}
    ) ${table}`,
    'CREATE INDEX client_invitations_by_expiry ON client_invitations (expires_at)',
  ];
}
