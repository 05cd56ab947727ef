/** The numbered migrations of the schema. One that was released is never changed: a change of the schema is a new migration. */
import type { Dialect } from './dialect.ts';
import { createSchema } from './schema.ts';

export interface Migration {
  /** Ascending. */
  readonly number: number;
  readonly name: string;
  readonly statements: (dialect: Dialect) => readonly string[];
}

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
];
