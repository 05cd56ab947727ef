/** Databases of an earlier version: the schema as its migrations made it, and the rows that were recorded when it was released. */
import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { migratePostgres } from '../../packages/store/src/postgres/migrate-postgres.ts';
import { sqliteDialect } from '../../packages/store/src/schema/dialect.ts';
import { migrate } from '../../packages/store/src/schema/migrate.ts';
import { migrations } from '../../packages/store/src/schema/migrations.ts';
import { createStatementCache, runSteps } from '../../packages/store/src/sqlite/statement-cache.ts';
import { POSTGRES_SCHEMA, SQLITE_SCHEMA } from '../../packages/store/testing/schema-text.ts';
import { askPostgres, kinds } from '../resilience/places.ts';
import type { AtEnd } from '../resilience/servers.ts';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** What a version has left in a database, and what its clients and browsers hold. */
export interface Recorded {
  /** Number of its last migration. */
  readonly schema: number;
  /** Hash of what its migrations make: they must not change any more. */
  readonly schemaHash: string;
  /** Epoch seconds. */
  readonly recordedAt: number;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly revokedRefreshToken: string;
  /** Of a browser that is signed in, and has allowed the client. */
  readonly cookie: string;
  readonly rows: Readonly<Record<string, Rows>>;
}

/** One of the two databases. */
export interface DatabaseKind {
  readonly name: string;
  /** An empty one. */
  make(atEnd: AtEnd): Promise<string>;
  /** Makes the schema of a version. */
  migrate(location: string, schema: number): Promise<void>;
  schemaHash(location: string): Promise<string>;
  /** The columns of each table. */
  columns(location: string): Promise<Readonly<Record<string, readonly string[]>>>;
  dump(location: string): Promise<Readonly<Record<string, Rows>>>;
  fill(location: string, rows: Recorded['rows']): Promise<void>;
}

export const newestSchema: number = migrations.at(-1)?.number ?? 0;

/** The migrations fill the first; a running server makes the tables of days of the other. */
const UNRECORDED = ['portcullis_migrations', 'audit_events'];

const upTo = (schema: number) => migrations.filter(({ number }) => number <= schema);

const hashOf = (rows: unknown): string => createHash('sha256').update(JSON.stringify(rows)).digest('hex');

function makeBy(name: string): DatabaseKind['make'] {
  return async (atEnd) => {
    const kind = kinds.find((one) => one.name === name);
    if (kind === undefined) throw new Error(`there is no ${name}`);
    return (await kind.make(atEnd)).location;
  };
}

const sqlite: DatabaseKind = {
  name: 'SQLite',
  make: makeBy('SQLite'),
  async migrate(location, schema) {
    withSqlite(location, (connection) => {
      connection.exec('BEGIN IMMEDIATE');
      runSteps(migrate(sqliteDialect, 0, upTo(schema)), createStatementCache(connection));
      connection.exec('COMMIT');
    });
  },
  schemaHash: async (location) =>
    withSqlite(location, (connection) => hashOf(connection.prepare(SQLITE_SCHEMA).all())),
  columns: async (location) =>
    withSqlite(location, (connection) =>
      columnsByTable(
        connection
          .prepare(
            "SELECT t.name AS tables, c.name AS columns FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'",
          )
          .all(),
      ),
    ),
  dump: async (location) =>
    withSqlite(location, (connection) => {
      const tables = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        .all()
        .map(({ name }) => String(name))
        .filter((name) => !UNRECORDED.includes(name));
      return Object.fromEntries(
        tables.map((name) => [name, connection.prepare(`SELECT * FROM ${name}`).all().map(toJson)]),
      );
    }),
  async fill(location, rows) {
    withSqlite(location, (connection) => {
      for (const [table, recorded] of Object.entries(rows)) {
        for (const row of recorded) {
          const names = Object.keys(row);
          connection
            .prepare(`INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => '?').join()})`)
            .run(...names.map((name) => fromJson(row[name])));
        }
      }
    });
  },
};

function columnsByTable(
  rows: readonly Readonly<Record<string, unknown>>[],
): Readonly<Record<string, readonly string[]>> {
  const tables = Object.groupBy(rows, (row) => String(row['tables']));
  return Object.fromEntries(
    Object.entries(tables).map(([table, all = []]) => [table, all.map((row) => String(row['columns']))]),
  );
}

function withSqlite<T>(location: string, work: (connection: DatabaseSync) => T): T {
  // Rows are filled in table by table.
  const connection = new DatabaseSync(location, { enableForeignKeyConstraints: false });
  try {
    return work(connection);
  } finally {
    connection.close();
  }
}

function toJson(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value,
    ]),
  );
}

function fromJson(value: unknown): string | number | null | Uint8Array {
  const { base64 } = Object(value) as { readonly base64?: string };
  return base64 === undefined ? (value as string | number | null) : Buffer.from(base64, 'base64');
}

async function connect(location: string): Promise<Client> {
  const client = new Client({ connectionString: location });
  await client.connect();
  return client;
}

const postgres: DatabaseKind = {
  name: 'PostgreSQL',
  make: makeBy('PostgreSQL'),
  migrate: (location, schema) => migratePostgres(() => connect(location), upTo(schema)),
  schemaHash: async (location) => hashOf(await askPostgres(location, POSTGRES_SCHEMA)),
  columns: async (location) =>
    columnsByTable(
      await askPostgres(
        location,
        `SELECT table_name::text AS tables, column_name::text AS columns FROM information_schema.columns WHERE table_schema = 'public'`,
      ),
    ),
  async dump(location) {
    const found = await askPostgres(
      location,
      `SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = 'public'
         AND table_name !~ '^audit_events_[0-9]+$' ORDER BY 1`,
    );
    const tables = found.map(({ name }) => String(name)).filter((name) => !UNRECORDED.includes(name));
    const whole = tables.map((name) => `SELECT '${name}' AS name, to_jsonb(t) AS row FROM ${name} t`);
    const rows = await askPostgres(location, whole.join(' UNION ALL '));
    const none = Object.fromEntries(tables.map((name) => [name, []]));
    const filled = Object.groupBy(rows, ({ name }) => String(name));
    return Object.fromEntries(
      Object.entries({ ...none, ...filled }).map(([name, all = []]) => [
        name,
        all.map(({ row }) => row as Record<string, unknown>),
      ]),
    );
  },
  async fill(location, rows) {
    const client = await connect(location);
    try {
      await client.query('SET session_replication_role = replica');
      for (const [table, recorded] of Object.entries(rows))
        await client.query(
          `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(null::${table}, $1)`,
          [JSON.stringify(recorded)],
        );
    } finally {
      await client.end();
    }
  },
};

export const databases: readonly DatabaseKind[] = [sqlite, postgres];
