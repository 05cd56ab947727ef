/** The schema of published statuses: how many places were handed out, and which were lent. */
import type { Dialect } from './dialect.ts';

/** A grant carries its place in its identifier. Who cannot is lent one: clients that act for themselves, and older grants. */
export function statuses({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE status_places (
      one ${integer} PRIMARY KEY NOT NULL CHECK (one = 1),
      taken ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE lent_places (
      place ${integer} PRIMARY KEY NOT NULL,
      kind ${text} NOT NULL,
      holder ${text} NOT NULL,
      since ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX lent_places_by_holder ON lent_places (holder)',
    'CREATE INDEX lent_places_by_expiry ON lent_places (kind, expires_at)',
  ];
}
