/** A database of any earlier number is brought up to date, with what it holds. */
import { DatabaseSync } from 'node:sqlite';
import { openStore } from '@portcullis/store';
import { describe, expect, it } from 'vitest';
import { grantOf, NOW, newClient, newCode, newEvent, successorOf } from '../src/contract/samples.ts';
import { type Dialect, postgresDialect, sqliteDialect } from '../src/schema/dialect.ts';
import { pendingMigrations } from '../src/schema/migrate.ts';
import { migrations } from '../src/schema/migrations.ts';
import { walk } from '../src/sqlite/sqlite-database.ts';
import { ask, postgresDatabases, sqliteFiles } from './places.ts';

/** What the schema of a database is, whatever way it came about. */
const SQLITE_SCHEMA = `SELECT t.name AS place, c.name, c.type, c."notnull" AS required FROM sqlite_schema t, pragma_table_info(t.name) c
  WHERE t.type = 'table' UNION ALL SELECT tbl_name, name, '', 0 FROM sqlite_schema WHERE type = 'index' ORDER BY 1, 2`;
const POSTGRES_SCHEMA = `SELECT table_name::text AS place, column_name::text AS name, data_type::text AS type, is_nullable::text AS required
  FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT tablename::text, indexname::text, '', '' FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2`;

/** Rows that the schema of number 1 takes, and that every later one has to keep. */
function rowsOfOld(): readonly string[] {
  const { metadata } = newClient();
  return [
    `INSERT INTO accounts (id, email, email_key, password_hash, created_at) VALUES ('user_ada', 'Ada@example.org', 'ada@example.org', '$argon2id$x', 1)`,
    `INSERT INTO clients (id, origin, metadata, created_at) VALUES ('client_old', 'administered', '${JSON.stringify(metadata)}', 1)`,
    `INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at)
      VALUES ('grant_old', 'client_old', 'user_ada', '["notes:read"]', '["https://mcp.example/notes"]', 1, ${NOW + 1000})`,
    `INSERT INTO codes (hash, grant_id, client_id, account_id, code_challenge, scopes, resources, issued_at, expires_at)
      VALUES ('code_old', 'grant_new', 'client_old', 'user_ada', 'challenge', '["notes:read"]', '["https://mcp.example/notes"]', 1, ${NOW + 1000})`,
    `INSERT INTO revoked_access_tokens (id, expires_at) VALUES ('jti_old', ${NOW + 1000})`,
  ];
}

/** Refresh tokens had rows of their own until number 11. */
const TOKENS = [
  `INSERT INTO refresh_tokens (hash, grant_id, issued_at, expires_at, rotated_at) VALUES ('ancestor', 'grant_old', 1, ${NOW + 500}, 2)`,
  `INSERT INTO refresh_tokens (hash, grant_id, issued_at, expires_at) VALUES ('live', 'grant_old', 2, ${NOW + 900})`,
];

function statementsUpTo(number: number, { text, integer, table, ...dialect }: Dialect): readonly string[] {
  const done = migrations.filter((migration) => migration.number <= number);
  return [
    `CREATE TABLE portcullis_migrations (number ${integer} PRIMARY KEY NOT NULL, name ${text} NOT NULL, applied_at ${integer} NOT NULL) ${table}`,
    ...done.flatMap(({ statements }) => statements({ text, integer, table, ...dialect })),
    ...done.map((migration) => `INSERT INTO portcullis_migrations VALUES (${migration.number}, 'x', 1)`),
    ...rowsOfOld(),
    ...(number < 11 ? TOKENS : []),
  ];
}

describe.each([
  {
    name: 'SQLite',
    places: sqliteFiles(),
    dialect: sqliteDialect,
    schema: SQLITE_SCHEMA,
    run: async (location: string, text: string): Promise<readonly unknown[]> => {
      const connection = new DatabaseSync(location);
      try {
        return connection.prepare(text).all();
      } finally {
        connection.close();
      }
    },
  },
  {
    name: 'PostgreSQL',
    places: postgresDatabases(),
    dialect: postgresDialect,
    schema: POSTGRES_SCHEMA,
    run: ask,
  },
])('a database of an earlier number on $name', ({ places, dialect, schema, run }) => {
  it.each(migrations.slice(0, -1).map(({ number }) => number))(
    '%i is brought up to date with all it holds',
    async (number) => {
      const [location, fresh] = [await places(), await places()];
      for (const statement of statementsUpTo(number, dialect)) await run(location, statement);
      const store = await openStore(location);
      await (await openStore(fresh)).close();
      expect(await run(location, schema)).toEqual(await run(fresh, schema));

      expect((await store.findAccount('user_ada'))?.email).toBe('Ada@example.org');
      expect((await store.findClient('client_old'))?.metadata).toEqual(newClient().metadata);
      expect(await store.isAccessTokenLive('jti_old', 'grant_old')).toBe(false);
      expect(await store.isAccessTokenLive('jti', 'grant_old')).toBe(true);
      expect((await store.listGrants('user_ada', NOW)).map(({ id }) => id)).toEqual(['grant_old']);
      const code = newCode({ hash: 'code_old', grantId: 'grant_new', accountId: 'user_ada' });
      expect((await store.findCode('code_old'))?.spentAt).toBeNull();
      expect(await store.redeemCode('code_old', grantOf(code), null, NOW)).toBe('redeemed');
      await store.appendEvents([newEvent()]);
      expect(await store.lastEvents(10)).toHaveLength(1);
      await store.close();
    },
  );

  it.each(migrations.filter(({ number }) => number < 11).map(({ number }) => number))(
    '%i keeps the live refresh tokens: they are found, and rotated',
    async (number) => {
      const location = await places();
      for (const statement of statementsUpTo(number, dialect)) await run(location, statement);
      const store = await openStore(location);
      expect(await store.findFormerToken('live')).toBe('grant_old');
      expect(await store.findFormerToken('ancestor')).toBeNull();
      const token = { hash: 'live', number: 0, seed: '', issuedAt: 2, expiresAt: NOW + 900, rotations: '' };
      expect((await store.findGrant('grant_old'))?.token).toEqual(token);
      expect(await store.rotateRefreshToken('grant_old', 'live', successorOf(token), null)).toBe('rotated');
      // So that a later use of it is seen.
      expect(await store.findFormerToken('live')).toBe('grant_old');
      expect(await store.sweep(NOW + 900, 10)).toBe(1);
      expect(await store.findFormerToken('live')).toBeNull();
      await store.close();
    },
  );
});

describe('a database that another process brings up to date between two looks', () => {
  const ROW = [{ one: 1 }];
  const NEWEST = [{ number: migrations.at(-1)?.number }];
  /** What the looks find, one after the other: is it ours, is it anybody's, is it ours now, its number. */
  const look = (...found: readonly (readonly unknown[])[]) => {
    const left = [...found];
    return () => walk(pendingMigrations(postgresDialect), () => left.shift() ?? []);
  };

  it('is ours, and needs nothing', () => {
    expect(look([], ROW, ROW, NEWEST)()).toEqual([]);
    expect(look(ROW, NEWEST)()).toEqual([]);
  });

  it("is not one that was another program's all the time, nor an empty one", () => {
    expect(look([], ROW, [])).toThrow('tables of another program');
    expect(look([], [])()).toEqual(migrations);
  });
});
