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

/** What the schema of a database is, whatever way it came about: columns, what they refer to, and each index with its words. */
const SQLITE_SCHEMA = `SELECT t.name AS place, c.name, c.type || coalesce(c.dflt_value, '') AS type, c."notnull" + 2 * c.pk AS required
    FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'
  UNION ALL SELECT t.name, f."from", f."table" || f.on_delete, 0 FROM sqlite_schema t, pragma_foreign_key_list(t.name) f
    WHERE t.type = 'table'
  UNION ALL SELECT tbl_name, name, coalesce(sql, ''), 0 FROM sqlite_schema WHERE type = 'index' ORDER BY 1, 2, 3`;
const POSTGRES_SCHEMA = `SELECT table_name::text AS place, column_name::text AS name,
    data_type::text || coalesce(collation_name, '') || coalesce(column_default, '') AS type, is_nullable::text AS required
    FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT conrelid::regclass::text, contype::text, pg_get_constraintdef(oid), '' FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'f', 'u', 'c')
  UNION ALL SELECT tablename::text, '', indexdef, '' FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2, 3`;

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
    `INSERT INTO clients (id, origin, metadata, created_at) VALUES ('client_registered', 'registered', '${JSON.stringify(metadata)}', ${NOW})`,
    `INSERT INTO sessions (hash, account_id, created_at, expires_at) VALUES ('session_old', 'user_ada', 1, ${NOW + 1000})`,
    `INSERT INTO transactions (id, browser_hash, client_id, redirect_uri, redirect_uri_sent, state, code_challenge, scopes, resources,
        approved, fresh_login, created_at, expires_at)
      VALUES ('flow_old', 'browser', 'client_old', 'https://app.example/callback', 1, '"xyz"', 'challenge', '["notes:read"]',
        '["https://mcp.example/notes"]', 'null', 0, 1, ${NOW + 1000})`,
    `INSERT INTO setup_links (hash, created_at) VALUES ('link_old', 1)`,
  ];
}

/** The key of number 1, as the dialect writes bytes. */
const KEY = {
  SQLite: `INSERT INTO signing_keys (id, algorithm, public_jwk, sealed_private_key, created_at) VALUES ('key_old', 'ES256', '{}', x'0102', 77)`,
  PostgreSQL: `INSERT INTO signing_keys (id, algorithm, public_jwk, sealed_private_key, created_at) VALUES ('key_old', 'ES256', '{}', '\\x0102', 77)`,
} as const;

/** Rows of tables that came later, as they were when they came: the number, and what a statement of that time wrote. */
const LATER: readonly (readonly [number, string])[] = [
  [2, `INSERT INTO client_documents (url, metadata, digest, fetched_at, fresh_until, expires_at)
      VALUES ('https://app.example/c', '${JSON.stringify(newClient().metadata)}', 'digest', 1, 2, ${NOW + 1000})`],
  [2, `INSERT INTO spent_assertions (hash, expires_at) VALUES ('assertion_old', ${NOW + 1000})`],
  [4, `INSERT INTO account_links (hash, account_id, purpose, created_at, expires_at) VALUES ('reset_old', 'user_ada', 'reset', 1, ${NOW + 1000})`],
  [6, `INSERT INTO passkeys (id, account_id, public_key, counter, transports, name, created_at)
      VALUES ('passkey_old', 'user_ada', 'key', 3, '["usb"]', 'Key', 1)`],
  [8, `INSERT INTO second_factors (account_id, sealed_secret, last_step, created_at) VALUES ('user_ada', 'sealed', 9, 1)`],
  [8, `INSERT INTO recovery_codes (account_id, hash) VALUES ('user_ada', 'recovery_old')`],
  [13, `INSERT INTO clients (id, origin, metadata, created_at, expires_at)
      VALUES ('client_unused', 'registered', '${JSON.stringify(newClient().metadata)}', 1, ${NOW + 1000})`],
]; // biome-ignore format: a table

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

/** One migration, and behind it the rows of its time. */
function stepTo(number: number, dialect: Dialect, name: string): readonly string[] {
  const { text, integer, table } = dialect;
  const first = `CREATE TABLE portcullis_migrations (number ${integer} PRIMARY KEY NOT NULL, name ${text} NOT NULL, applied_at ${integer} NOT NULL) ${table}`;
  const done = migrations.find((migration) => migration.number === number);
  return [
    ...(number === 1 ? [first] : []),
    ...(done?.statements(dialect) ?? []),
    `INSERT INTO portcullis_migrations VALUES (${number}, 'x', 1)`,
    ...(number === 1 ? [...rowsOfOld(), ...TOKENS, KEY[name === 'SQLite' ? 'SQLite' : 'PostgreSQL']] : []),
    ...LATER.filter(([since]) => since === number).map(([, statement]) => statement),
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
])('a database of an earlier number on $name', ({ name, places, dialect, schema, run }) => {
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
      expect((await store.findCode('code_old'))?.consumedAt).toBeNull();
      expect(await store.redeemCode('code_old', grantOf(code), null, NOW)).toBe('redeemed');
      await store.appendEvents([newEvent()]);
      expect(await store.listLatestEvents(10)).toHaveLength(1);
      await store.close();
    },
  );

  it('each number is reached from the one before, with rows of every time', async () => {
    const location = await places();
    for (const { number } of migrations) {
      for (const statement of stepTo(number, dialect, name)) await run(location, statement);
    }
    const store = await openStore(location);
    // What was not noted at that time is what it can only have been.
    expect(await store.findClient('client_registered')).toMatchObject({
      lastUsedAt: NOW,
      expiresAt: NOW + 90 * 86_400,
      managementHash: null,
      disabledAt: null,
    });
    expect(await store.findClient('client_old')).toMatchObject({ lastUsedAt: null, expiresAt: null });
    expect(await store.listSigningKeys()).toMatchObject([{ id: 'key_old', createdAt: 77, signsFrom: 77 }]);
    expect([...((await store.listSigningKeys())[0]?.encryptedPrivateKey ?? [])]).toEqual([1, 2]);
    expect((await store.findGrant('grant_old'))?.grant).toMatchObject({
      lastUsedAt: 1,
      consentDigest: '',
      workspace: null,
    });
    expect((await store.findGrant('grant_old'))?.token).toMatchObject({ hash: 'live', generation: 0 });
    const [session] = await store.listSessions('user_ada', NOW);
    expect(session).toMatchObject({ hash: 'session_old', address: null, browser: null });
    expect(await store.findTransaction('flow_old', NOW)).toMatchObject({
      state: 'xyz',
      approvedScopes: null,
      identityProvider: null,
      linkedGrantId: null,
    });
    expect(await store.findClientMetadataDocument('https://app.example/c')).toMatchObject({
      digest: 'digest',
    });
    expect(await store.consumeClientAssertion('assertion_old', NOW)).toBe(false);
    expect(await store.findAccountLink('reset_old', NOW)).toMatchObject({ purpose: 'reset' });
    expect(await store.listPasskeys('user_ada')).toMatchObject([{ id: 'passkey_old', counter: 3 }]);
    expect(await store.findTotpFactor('user_ada')).toMatchObject({ lastStep: 9 });
    expect(await store.countRecoveryCodes('user_ada')).toBe(1);
    // Clients from before are of no network, and new ones are counted beside them.
    expect(await store.countUnusedClientsByNetwork()).toEqual(new Map());
    expect(await store.registerClient(newClient(), null, 'network')).toBe(0);
    expect(await store.countUnusedClientsByNetwork()).toEqual(new Map([['network', 1]]));
    expect(await store.countUnusedClients()).toBe(2);
    await store.close();
  });

  it.each(migrations.filter(({ number }) => number < 11).map(({ number }) => number))(
    '%i keeps the live refresh tokens: they are found, and rotated',
    async (number) => {
      const location = await places();
      for (const statement of statementsUpTo(number, dialect)) await run(location, statement);
      const store = await openStore(location);
      expect(await store.findFormerToken('live')).toBe('grant_old');
      expect(await store.findFormerToken('ancestor')).toBeNull();
      const token = {
        hash: 'live',
        generation: 0,
        seed: '',
        issuedAt: 2,
        expiresAt: NOW + 900,
        rotations: '',
      };
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
