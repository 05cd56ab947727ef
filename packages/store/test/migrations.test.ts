/** Migrations: a filled database is upgraded with all its rows, on SQLite and PostgreSQL. */
import { DatabaseSync } from 'node:sqlite';
import type { AuthorizationStore, ConnectedAccountRecord } from '@portcullis/authorization-server/store';
import { openStore } from '@portcullis/store';
import { Client, types } from 'pg';
import { describe, expect, it } from 'vitest';
import { createConnections } from '../src/postgres/connections.ts';
import { migratePostgres } from '../src/postgres/migrate-postgres.ts';
import { createPostgresDatabase } from '../src/postgres/postgres-database.ts';
import { postgresDialect, sqliteDialect } from '../src/schema/dialect.ts';
import { migrate, pendingMigrations } from '../src/schema/migrate.ts';
import { type Migration, migrations } from '../src/schema/migrations.ts';
import { createSqliteDatabase } from '../src/sqlite/sqlite-database.ts';
import { createStatementCache, runSteps } from '../src/sqlite/statement-cache.ts';
import { createStore } from '../src/store.ts';
import {
  createGrant,
  NOW,
  newAccount,
  newClient,
  newEvent,
  newHash,
  newKey,
  newSession,
  PASSWORD_HASH,
  successorOf,
  times,
} from '../testing/samples.ts';
import { POSTGRES_SCHEMA, SQLITE_SCHEMA } from '../testing/schema-text.ts';
import { postgresDatabases, queryPostgres, sqliteFiles } from './databases.ts';

const NEXT = (migrations.at(-1)?.number ?? 0) + 1;

/** How a later version may change the schema: a new column with data, an index, a renamed table. */
const next: Migration = {
  number: NEXT,
  name: 'labels of grants',
  statements: ({ text }) => [
    `ALTER TABLE grants ADD COLUMN label ${text}`,
    'UPDATE grants SET label = client_id',
    'CREATE INDEX grants_by_label ON grants (label)',
    'ALTER TABLE setup_links RENAME TO first_account_links',
  ],
};

const broken: Migration = {
  ...next,
  statements: (dialect) => [...next.statements(dialect), 'UPDATE no_such_table SET label = 1'],
};

async function migrateSqlite(location: string, known: readonly Migration[]): Promise<void> {
  const connection = new DatabaseSync(location);
  try {
    connection.exec('BEGIN IMMEDIATE');
    runSteps(migrate(sqliteDialect, NOW, known), createStatementCache(connection));
    connection.exec('COMMIT');
  } finally {
    // Closing rolls back.
    connection.close();
  }
}

const upgradePostgres = (location: string, known: readonly Migration[]) =>
  migratePostgres(() => connectPostgres(location), known);

async function connectPostgres(location: string): Promise<Client> {
  const client = new Client({ connectionString: location });
  await client.connect();
  return client;
}

function openSqlitePastCheck(location: string): AuthorizationStore {
  return createStore(createSqliteDatabase(new DatabaseSync(location), 5));
}

/** Opens the store without the check of its schema, as a later version would. */
function openPostgresPastCheck(location: string): AuthorizationStore {
  const getTypeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
    oid === 20 ? Number : types.getTypeParser(oid, format);
  return createStore(
    createPostgresDatabase(
      createConnections({ connectionString: location, types: { getTypeParser } }, 5_000),
      true,
    ),
  );
}

/** Fills a database. @returns a check that all of it is present */
async function fill(store: AuthorizationStore): Promise<(store: AuthorizationStore) => Promise<void>> {
  const [account, client, key, event] = [newAccount(), newClient(), newKey(), newEvent()];
  expect(await store.createFirstAccount(account, null)).toBe('created');
  const session = newSession(account.id);
  await store.saveSession(session, PASSWORD_HASH);
  await store.saveClient(client);
  await store.addSigningKey(key, null);
  await store.appendEvents([event]);
  const { grant, token } = await createGrant(store, {
    grant: { accountId: account.id, clientId: client.id },
  });
  const { grant: revoked } = await createGrant(store);
  await store.revokeGrant(revoked.id, NOW);
  const jti = newHash();
  await store.revokeAccessToken(jti, NOW + 1000);
  return async (upgraded) => {
    expect(await upgraded.findAccount(account.id)).toEqual(account);
    expect(await upgraded.findSession(session.hash, NOW)).toEqual({ session, account });
    expect(await upgraded.findClient(client.id)).toEqual(client);
    expect(await upgraded.listSigningKeys()).toEqual([key]);
    expect(await upgraded.listLatestEvents(10)).toEqual([event]);
    expect(await upgraded.findGrant(grant.id)).toMatchObject({ grant, token });
    expect(await upgraded.isAccessTokenLive(jti, grant.id)).toBe(false);
    expect(await upgraded.isAccessTokenLive('jti', revoked.id)).toBe(false);
    expect(await upgraded.isAccessTokenLive('jti', grant.id)).toBe(true);
    expect(await upgraded.rotateRefreshToken(grant.id, token.hash, successorOf(token), null)).toBe('rotated');
  };
}

describe.each([
  {
    name: 'SQLite',
    places: sqliteFiles(),
    schema: SQLITE_SCHEMA,
    upgrade: migrateSqlite,
    openPastCheck: openSqlitePastCheck,
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
    schema: POSTGRES_SCHEMA,
    upgrade: upgradePostgres,
    openPastCheck: openPostgresPastCheck,
    run: queryPostgres,
  },
])('migrations on $name', ({ places, schema, upgrade, openPastCheck, run }) => {
  it('migrates a filled database with all its rows to the same schema as an empty one', async () => {
    const [location, fresh] = [await places(), await places()];
    const store = await openStore(location);
    const expectAll = await fill(store);
    await store.close();

    await upgrade(location, [...migrations, next]);
    await upgrade(fresh, [...migrations, next]);
    expect(await run(location, schema)).toEqual(await run(fresh, schema));
    const upgraded = openPastCheck(location);
    await expectAll(upgraded);
    await upgraded.close();
    expect(await run(location, 'SELECT count(*) AS labels FROM grants WHERE label = client_id')).toEqual(
      await run(location, 'SELECT count(*) AS labels FROM grants'),
    );
    expect(
      await run(location, 'SELECT number, name FROM portcullis_migrations ORDER BY number'),
    ).toMatchObject([...migrations, next].map(({ name }) => ({ name })));

    // Another run changes nothing, and this version refuses a database of a later one.
    await upgrade(location, [...migrations, next]);
    await expect(openStore(location)).rejects.toThrow(`newer version of Portcullis (schema ${NEXT};`);
  });

  it('moves tokens and registrations at backends to columns of their own, and no other row', async () => {
    const location = await places();
    await upgrade(
      location,
      migrations.filter(({ number }) => number < 18),
    );
    const text = (value: string | null) => (value === null ? 'NULL' : `'${value}'`);
    const bytes = location.startsWith('postgres') ? "'\\x0102'::bytea" : "x'0102'";
    const saveTokens = (grantId: string, backendGrantId: string | null, issuedBy: string) =>
      run(
        location,
        `INSERT INTO provider_tokens (grant_id, backend_grant_id, account_id, identity_provider, issuer, subject, encrypted_tokens,
          data_key_id, scopes, expires_at, is_refreshable, refresh_from, checked_at, version, created_at, due_at, revocation_attempts)
        VALUES (${text(grantId)}, ${text(backendGrantId)}, 'user_1', ${text(issuedBy)}, 'https://as.example', 'connection_1', ${bytes},
          'data-key_1', '["a"]', 20, 1, 19, 11, 3, 10, 30, 2)`,
      );
    const saveRegistration = (backend: string) =>
      run(
        location,
        `INSERT INTO backend_registrations (backend, issuer, encrypted_registration, data_key_id, created_at)
          VALUES (${text(backend)}, 'https://as.example', ${bytes}, 'data-key_1', 10)`,
      );
    await saveTokens('grant_1', null, 'github');
    await saveTokens('grant_1 /files', 'grant_1', '/files');
    await saveTokens('grant_2 discarded /files', 'grant_2 discarded', '/files');
    await saveRegistration('/files');
    await saveRegistration('/files client with spaces');

    await upgrade(location, migrations);
    const store = await openStore(location);
    const encryptedTokens = Uint8Array.of(1, 2);
    const account: ConnectedAccountRecord = {
      ...{ grantId: 'grant_1', backend: '/files', connection: 'connection_1', accountId: 'user_1' },
      ...{ encryptedTokens, dataKeyId: 'data-key_1', scopes: ['a'], expiresAt: 20, isRefreshable: true },
      ...{ refreshFrom: 19, checkedAt: 11, version: 3, leaseHolder: null, leaseUntil: null, createdAt: 10 },
      ...{ endedAt: null, endReason: null, dueAt: 30, revocationAttempts: 2 },
    };
    expect(await store.findConnectedAccount(account)).toEqual(account);
    // Tokens that no grant was to use.
    const discarded = { ...account, grantId: 'grant_2 discarded' };
    expect(await store.findConnectedAccount(discarded)).toEqual(discarded);
    expect(await run(location, 'SELECT grant_id FROM provider_tokens')).toMatchObject([
      { grant_id: 'grant_1' },
    ]);
    expect(await store.findProviderTokens('grant_1')).toMatchObject({
      identityProvider: 'github',
      version: 3,
    });
    for (const clientId of [null, 'client with spaces']) {
      expect(await store.listBackendRegistrations('/files', clientId)).toEqual([
        {
          ...{ backend: '/files', clientId, issuer: 'https://as.example', dataKeyId: 'data-key_1' },
          ...{ encryptedRegistration: encryptedTokens, createdAt: 10 },
        },
      ]);
    }
    await store.close();
  });

  it('moves pins of tools to a table with a row for each definition, where whole definitions replace them', async () => {
    const location = await places();
    await upgrade(
      location,
      migrations.filter(({ number }) => number < 19),
    );
    await run(
      location,
      `INSERT INTO tool_pins (server, tool, approved_hash, approved_definition, pending_hash, pending_definition, rejected_hash, changed_at)
        VALUES ('/files ["a","b c"]', 'read', 'one', '{}', 'two', '{"a":1}', NULL, 10),
          ('/files ["a","b c"]', 'purge', NULL, NULL, NULL, NULL, 'three', 11),
          ('/wiki http://a/mcp', 'read', 'one', '{}', NULL, NULL, NULL, 12)`,
    );

    await upgrade(location, migrations);
    const store = await openStore(location);
    const list = { server: '/files', backend: '["a","b c"]', kind: 'tool' } as const;
    const old = { covers: 'members' } as const;
    const pins = [
      { ...old, name: 'purge', hash: 'three', status: 'rejected', definition: null, changedAt: 11 },
      { ...old, name: 'read', hash: 'one', status: 'approved', definition: '{}', changedAt: 10 },
      { ...old, name: 'read', hash: 'two', status: 'pending', definition: '{"a":1}', changedAt: 10 },
    ];
    expect(await store.findPins(list)).toEqual(pins);
    expect(await store.listPendingPins(9)).toMatchObject([
      { ...list, hash: 'two', approvedDefinition: '{}' },
    ]);
    const wiki = { server: '/wiki', backend: 'http://a/mcp', kind: 'tool' } as const;
    expect(await store.findPins(wiki)).toMatchObject([{ name: 'read', hash: 'one', status: 'approved' }]);

    const whole = (name: string, hash: string, membersHash: string) => ({
      name,
      hash,
      membersHash,
      definition: `{"_meta":"${hash}"}`,
    });
    await store.replaceMemberPins(list, [
      ...[whole('read', 'eight', 'one'), whole('read', 'nine', 'one'), whole('purge', 'three', 'three')],
      ...[whole('other', 'ten', 'one'), whole('read', 'eleven', 'unknown')],
    ]);
    const [purge, , waiting] = pins;
    const replaced = { name: 'read', status: 'approved', covers: 'whole', changedAt: 10 };
    expect(await store.findPins(list)).toEqual([
      { ...purge, covers: 'whole' },
      { ...replaced, hash: 'eight', definition: '{"_meta":"eight"}' },
      { ...replaced, hash: 'nine', definition: '{"_meta":"nine"}' },
      waiting,
    ]);
    expect(await store.findPins(wiki)).toHaveLength(1);
    await store.close();
  });

  it('moves backends of connection requests to a column of their own', async () => {
    const location = await places();
    const name = 'backends of connection requests';
    await upgrade(
      location,
      migrations.slice(
        0,
        migrations.findIndex((migration) => migration.name === name),
      ),
    );
    const bytes = location.startsWith('postgres') ? "'\\x0102'::bytea" : "x'0102'";
    await run(
      location,
      `INSERT INTO federated_logins (state_hash, browser_hash, identity_provider, account_id, approved_scopes, encrypted_secrets, expires_at)
        VALUES ('at a provider', 'browser', 'github', NULL, '[]', ${bytes}, 20), ('at a backend', 'browser', '/files', 'user_1', '[]', ${bytes}, 20)`,
    );

    await upgrade(location, migrations);
    const store = await openStore(location);
    const login = {
      ...{ browserHash: 'browser', transactionId: null, returnTo: null, approvedScopes: [], workspace: null },
      ...{ encryptedSecrets: Uint8Array.of(1, 2), expiresAt: 20 },
    };
    expect(await store.findFederatedLogin('at a provider', 10)).toEqual({
      ...login,
      ...{ stateHash: 'at a provider', identityProvider: 'github', backend: null, accountId: null },
    });
    expect(await store.findFederatedLogin('at a backend', 10)).toEqual({
      ...login,
      ...{ stateHash: 'at a backend', identityProvider: null, backend: '/files', accountId: 'user_1' },
    });
    await store.close();
  });

  it('status lists of the previous version hide neither a grant nor a revocation of those in them, and stay writable for it', async () => {
    const location = await places();
    await upgrade(location, migrations);
    const grant = (id: string, revokedAt: string) =>
      run(
        location,
        `INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at, revoked_at, last_used_at, consent_digest)
          VALUES ('${id}', 'client', 'user', '[]', '[]', ${NOW}, ${NOW + 100}, ${revokedAt}, ${NOW}, '')`,
      );
    await grant('grant_live', 'NULL');
    await grant('grant_ended', String(NOW));
    await run(location, 'INSERT INTO status_index_counter (one, allocated) VALUES (1, 256)');
    await run(
      location,
      `INSERT INTO status_indexes (status_index, owner_kind, owner_id, allocated_at, expires_at)
        VALUES (1, 'grant', 'grant_live', ${NOW}, ${NOW + 100}), (2, 'grant', 'grant_ended', ${NOW}, ${NOW + 100}),
          (3, 'client', 'machine', ${NOW}, ${NOW + 100})`,
    );
    // The identifiers of such tokens ended with their entry.
    await run(
      location,
      `INSERT INTO revoked_access_tokens (id, expires_at) VALUES ('token_xa', ${NOW + 100})`,
    );
    const store = await openStore(location);
    expect(await store.isAccessTokenLive('token_x9', 'grant_live')).toBe(true);
    expect(await store.isAccessTokenLive('token_xa', 'grant_live')).toBe(false);
    expect(await store.isAccessTokenLive('token_xh', 'grant_ended')).toBe(false);
    expect(await store.listRevokedGrants(NOW)).toEqual(['grant_ended']);
    await store.close();
    await run(location, 'DELETE FROM status_indexes WHERE expires_at <= 0');
  });

  it('leaves a filled database unchanged when a migration fails', async () => {
    const location = await places();
    const store = await openStore(location);
    const expectAll = await fill(store);
    await store.close();
    const before = await run(location, schema);

    await expect(upgrade(location, [...migrations, broken])).rejects.toThrow('no_such_table');
    expect(await run(location, schema)).toEqual(before);
    const reopened = await openStore(location);
    await expectAll(reopened);
    await reopened.close();
  });
});

describe('a database that another process migrates between two reads', () => {
  const ROW = [{ one: 1 }];
  const NEWEST = migrations.map(({ number, name }) => ({ number, name }));
  /** The results of the reads, in order: our tables, other tables, our tables again, the migrations. */
  const look = (...found: readonly (readonly unknown[])[]) => {
    const left = [...found];
    return () => runSteps(pendingMigrations(postgresDialect), () => left.shift() ?? []);
  };

  it('recognizes a database that another process has just migrated', () => {
    expect(look([], ROW, ROW, NEWEST)()).toEqual([]);
    expect(look(ROW, NEWEST)()).toEqual([]);
  });

  it('takes every table of this version for one of another program, if there is no record of migrations', async () => {
    const query = postgresDialect.isForeign().template.postgres;
    const tables = [
      migrations.flatMap((migration) =>
        'statements' in migration ? migration.statements(postgresDialect) : [],
      ),
    ]
      .flat()
      .flatMap((statement) => /^CREATE TABLE (\w+)/.exec(statement)?.[1] ?? []);
    expect(tables.length).toBeGreaterThan(25);
    expect(tables.filter((table) => !query.includes(`'${table}'`))).toEqual([]);
  });

  it('distinguishes a database of a development version by the names of its migrations', () => {
    expect(look(ROW, NEWEST.slice(0, -1))()).toEqual([migrations.at(-1)]);
    const named = NEWEST.with(-2, { number: NEXT - 2, name: 'another one' });
    const says =
      /by a development version of Portcullis: its migration \d+ is "another one"; in this version it is "[^"]+"\..+Restore a backup/;
    expect(look(ROW, named)).toThrow(says);
    // Also with more migrations than this version has: no newer version would help.
    expect(look(ROW, [...named, { number: NEXT, name: 'more' }])).toThrow(says);
    expect(look(ROW, NEWEST.toSpliced(-2, 1))).toThrow(`its migration ${NEXT - 2} is missing`);
    expect(look(ROW, [...NEWEST, { number: NEXT, name: 'more' }])).toThrow('by a newer version');
  });

  it('distinguishes a database of another program and an empty one from a migrated one', () => {
    expect(look([], ROW, [])).toThrow('tables of another program');
    expect(look([], [])()).toEqual(migrations);
  });
});

describe('migrations of a PostgreSQL database in use', () => {
  const places = postgresDatabases();
  const GRANTS = 20_000;
  const indexed: Migration = {
    number: NEXT,
    name: 'grants by label',
    indexes: { grants_by_label: 'grants (last_used_at)' },
  };
  const column: Migration = {
    number: NEXT,
    name: 'label',
    statements: () => ['ALTER TABLE grants ADD COLUMN label TEXT'],
  };
  const insert = `INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at, last_used_at, consent_digest)
    SELECT 'grant_' || n, 'client', 'user', '[]', '[]', n, n, n, '' FROM generate_series(1, ${GRANTS}) n`;

  async function filled(): Promise<string> {
    const location = await places();
    await (await openStore(location)).close();
    await queryPostgres(location, insert);
    return location;
  }

  it('builds an index while a write under way holds its table, without blocking other writes', async () => {
    const location = await filled();
    const writer = await connectPostgres(location);
    await writer.query("BEGIN; UPDATE grants SET last_used_at = 1 WHERE id = 'grant_1'");
    let isDone = false;
    const upgrade = upgradePostgres(location, [...migrations, indexed]).then(() => {
      isDone = true;
    });
    const building = "SELECT 1 AS one FROM pg_class WHERE relname = 'grants_by_label'";
    await expect.poll(() => queryPostgres(location, building)).toEqual([{ one: 1 }]);
    // Behind the build, which waits for the first writer.
    const other = await connectPostgres(location);
    await other.query("SET lock_timeout = 1000; UPDATE grants SET last_used_at = 2 WHERE id = 'grant_2'");
    expect(isDone).toBe(false);
    await writer.query('COMMIT');
    await upgrade;
    await Promise.all([writer.end(), other.end()]);
    expect(await queryPostgres(location, VALID)).toEqual([{ is_valid: true }]);
  });

  it('builds an index for longer than the statement timeout of the role or database allows', async () => {
    const location = await filled();
    const database = new URL(location).pathname.slice(1);
    await queryPostgres(location, `ALTER DATABASE ${database} SET statement_timeout = 200`);
    const writer = await connectPostgres(location);
    await writer.query("BEGIN; UPDATE grants SET last_used_at = 1 WHERE id = 'grant_1'");
    const upgrade = upgradePostgres(location, [...migrations, indexed]);
    // Rejected by the time that it is awaited, if at all.
    upgrade.catch(() => {});
    const old = `SELECT 1 AS one FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX%'
      AND now() - query_start > interval '400 ms'`;
    await expect.poll(() => Promise.race([upgrade, queryPostgres(location, old)])).toEqual([{ one: 1 }]);
    await writer.query('COMMIT');
    await upgrade;
    await writer.end();
    expect(await queryPostgres(location, VALID)).toEqual([{ is_valid: true }]);
  });

  const VALID = `SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass('grants_by_label')`;

  it('builds an index once more whose build was interrupted, and once when processes race', async () => {
    const location = await filled();
    await queryPostgres(location, 'CREATE INDEX grants_by_label ON grants (last_used_at)');
    await queryPostgres(
      location,
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass('grants_by_label')`,
    );
    await Promise.all(times(3, () => upgradePostgres(location, [...migrations, indexed])));
    expect(await queryPostgres(location, VALID)).toEqual([{ is_valid: true }]);
  });

  it('builds an index although another process asks for the lock at that moment', async () => {
    const location = await filled();
    const writer = await connectPostgres(location);
    await writer.query("BEGIN; UPDATE grants SET last_used_at = 1 WHERE id = 'grant_1'");
    const first = upgradePostgres(location, [...migrations, indexed]);
    const building = "SELECT 1 AS one FROM pg_class WHERE relname = 'grants_by_label'";
    await expect.poll(() => queryPostgres(location, building)).toEqual([{ one: 1 }]);
    // Its statements last, so that the build meets one of them.
    const second = migratePostgres(() => connectSlow(location), [...migrations, indexed]);
    const asking = "SELECT 1 AS one FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    await expect.poll(() => queryPostgres(location, asking), { interval: 5 }).toEqual([{ one: 1 }]);
    await writer.query('COMMIT');
    await Promise.all([first, second, writer.end()]);
    expect(await queryPostgres(location, VALID)).toEqual([{ is_valid: true }]);
  });

  /** A process that asks for the lock of migrations takes half a second for it. */
  async function connectSlow(location: string): Promise<Client> {
    const client = await connectPostgres(location);
    const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<unknown>;
    const slowly = (text: string, values?: unknown[]) =>
      query(text.includes('pg_try_advisory') ? `${text}, pg_sleep(0.5)` : text, values);
    return Object.assign(client, { query: slowly });
  }

  it('lets writes pass while a change of a table waits for a long statement', async () => {
    const location = await filled();
    const reader = await connectPostgres(location);
    await reader.query('BEGIN; SELECT count(*) FROM grants');
    const upgrade = upgradePostgres(location, [...migrations, column]);
    const writer = await connectPostgres(location);
    await expect.poll(() => queryPostgres(location, QUEUED), { interval: 5 }).toEqual([{ one: 1 }]);
    // It would wait until the reader commits, which is after it.
    await writer.query("UPDATE grants SET last_used_at = 2 WHERE id = 'grant_2'");
    await reader.query('COMMIT');
    await upgrade;
    await Promise.all([reader.end(), writer.end()]);
    expect(await queryPostgres(location, "SELECT label FROM grants WHERE id = 'grant_2'")).toEqual([
      { label: null },
    ]);
  });

  const QUEUED = `SELECT 1 AS one FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted AND relation = to_regclass('grants')`;
});
