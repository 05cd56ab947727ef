/**
 * Fills an empty PostgreSQL store as if users had connected clients for months: rows of the shape that the product writes, generated
 * by SQL. Tokens and sessions are derived from the number of their row, so those of a sample are known and work.
 */
import { Client } from 'pg';

export interface Size {
  readonly grants: number;
  readonly users: number;
  readonly events: number;
}

/** What belongs to a grant of the sample. */
export interface SampleGrant {
  readonly token: string;
  readonly client: string;
  readonly grant: string;
  readonly account: string;
  readonly session: string;
}

/** Days of events, all within their retention of 90 days. */
const DAYS = 88;
const DAY = 86_400_000;
/** Milliseconds over which the grants were created; each lasts a year. */
const MONTHS = 300 * DAY;
/** Events of a sign-in and of the call after it. */
const EVENTS_EACH = 5;
/** Settings of the server while it loads: none of them needs a restart. */
const LOADING: Readonly<Record<string, string>> = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_wal_size: '4GB',
  checkpoint_timeout: '1h',
  autovacuum: 'off',
};

/** @param url a database with the schema of the product @param resource the protected resource of all grants */
export async function fillPostgres(url: string, size: Size, resource: string): Promise<void> {
  const client = await connectLoader(url);
  try {
    for (const [name, value] of Object.entries(LOADING))
      await client.query(`ALTER SYSTEM SET ${name} = '${value}'`);
    await client.query('SELECT pg_reload_conf()');
    await client.query('CREATE SCHEMA bench');
    await step('accounts', () => fillTable(client, 'accounts', accounts(size)));
    await step('sessions', () => fillTable(client, 'sessions', sessions(size)));
    await step('clients', () => fillTable(client, 'clients', clients(size)));
    await Promise.all([
      step('events', () => fillEvents(url, size, resource)),
      step('grants', () => fillTable(client, 'grants', grants(size, resource))),
    ]);

    await step('statistics', () =>
      client.query('VACUUM (ANALYZE, FREEZE) accounts, sessions, clients, grants'),
    );
    await step('statistics of events', () => client.query('ANALYZE audit_events'));
  } finally {
    for (const name of Object.keys(LOADING)) await client.query(`ALTER SYSTEM RESET ${name}`);
    await client.query('SELECT pg_reload_conf()');
    await step('checkpoint', () => client.query('CHECKPOINT'));
    await client.end();
  }
}

async function step(name: string, work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  console.log(`filled: ${name} in ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

/** SQL of values that the number `g` of a grant determines. Expressions, for calling SQL functions would take longer than all else. */
const encoded = (bytes: string): string => `translate(encode(${bytes}, 'base64'), '+/=', '-_')`;
const secret = (seed: string, bytes: number): string =>
  encoded(`substring(sha256((${seed})::text::bytea) FROM 1 FOR ${bytes})`);
/** All numbers of two digits to the base of 36, by which PostgreSQL finds two digits at once. */
const PAIRS = Array.from({ length: 36 ** 2 }, (_, pair) => pair.toString(36).padStart(2, '0')).join('');

/** A time as text, as the product's `sortableTime`. */
const sortable = (ms: string): string => {
  const pair = (power: number) =>
    `substring('${PAIRS}'::bytea FROM (1 + 2 * ((${ms}) / ${36 ** power} % 1296))::int FOR 2)`;
  return `'0' || encode(${[6, 4, 2, 0].map(pair).join(' || ')}, 'escape')`;
};

interface Names {
  /** Epoch milliseconds. */
  readonly created: string;
  readonly grant: string;
  /** Of the grant that `grant_id` is. */
  readonly token: string;
  readonly account: string;
  readonly session: string;
  readonly client: string;
}

function namesOf({ grants, users }: Size): Names {
  const began = Math.floor(Date.now() / DAY) * DAY - MONTHS;
  const created = (g: string) => `(${began} + ${g} * ${Math.floor(MONTHS / grants)})`;
  const name = `${sortable(created('g'))} || ${secret("'grant' || g", 12)}`;
  const client = `(g % ${clientsOf(users)})`;
  return {
    created: created('g'),
    grant: `'grant_' || ${name}`,
    token: `substr(grant_id, 7) || '~0~' || ${secret("'token' || g", 32)}`,
    account: `'user_' || ${secret(`'user' || g % ${users}`, 16)}`,
    session: secret(`'session' || g % ${users}`, 32),
    client: `'client_' || ${sortable(created(client))} || ${secret(`'client' || ${client}`, 12)}`,
  };
}

/** Clients register for each user on each of two machines. */
function clientsOf(users: number): number {
  return users * 2;
}

/** Without secondary indexes, which are built again as they were, and without WAL: the table is new in this transaction. */
async function fillTable(client: Client, table: string, statement: string): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT i.relname AS name, pg_get_indexdef(i.oid) AS definition FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
      WHERE x.indrelid = to_regclass($1) AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.oid)`,
    [table],
  );
  await client.query('BEGIN');
  await client.query(`TRUNCATE ${table} CASCADE`);
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  await client.query(statement);
  for (const { definition } of rows) await client.query(definition);
  await client.query('COMMIT');
}

const NOW = 'extract(epoch FROM now())::bigint';

function accounts(size: Size): string {
  return `INSERT INTO accounts (id, email, email_key, password_hash, created_at)
    SELECT id, mail, mail, '$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', ${NOW} - 26000000
    FROM (SELECT ${namesOf(size).account} AS id, 'an.owner.' || g || '@example.com' AS mail
      FROM generate_series(0::bigint, ${size.users - 1}) g) AS one`;
}

function sessions(size: Size): string {
  const { session, account } = namesOf(size);
  return `INSERT INTO sessions (hash, account_id, created_at, expires_at, address, browser, methods)
    SELECT ${encoded(`sha256((${session})::bytea)`)}, ${account}, ${NOW}, ${NOW} + 604800, '127.0.0.1', 'Firefox, Linux', '["pwd"]'
    FROM generate_series(0::bigint, ${size.users - 1}) g`;
}

function clients(size: Size): string {
  const { client, created } = namesOf(size);
  const metadata = JSON.stringify({
    redirect_uris: ['http://127.0.0.1:9999/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    client_name: 'My MCP client',
    application_type: 'native',
    scope: 'notes:read notes:write',
  });
  return `INSERT INTO clients (id, origin, metadata, created_at, management_hash, last_used_at, expires_at, network)
    SELECT ${client}, 'registered', '${metadata}', ${created} / 1000, ${secret("'management' || g", 32)},
      ${NOW} - g % 3600, ${NOW} + 7776000, ${secret("'network' || g % 5000", 8)}
    FROM generate_series(0::bigint, ${clientsOf(size.users) - 1}) g`;
}

/** All live; of each thousand, five were revoked within the last day. */
function grants(size: Size, resource: string): string {
  const { grant, client, account, created, token } = namesOf(size);
  return `INSERT INTO grants (id, client_id, account_id, scopes, resources, created_at, expires_at, revoked_at, last_used_at,
      last_used_from, consent_digest, refresh_token_hash, refresh_token_generation, refresh_token_seed, refresh_token_issued_at,
      refresh_token_expires_at, refresh_token_rotations, authentication)
    SELECT grant_id, ${client}, ${account}, '["notes:read","notes:write"]', '["${resource}"]',
      ${created} / 1000, ${created} / 1000 + 31536000, CASE WHEN g % 200 = 7 THEN ${NOW} - g % 80000 END, used,
      '127.0.0.1', 'tWr18_QVYRsqDPb-EZK11t7KgI_4Eb7bHdyqth_GZKk', ${encoded(`sha256((${token})::bytea)`)}, 0, ${secret("'seed' || g", 32)}, used,
      used + 2592000, '', '{"time":' || ${created} / 1000 || ',"methods":[]}'
    FROM (SELECT g, ${grant} AS grant_id, ${NOW} - g * 7919 % 2000000 AS used FROM generate_series(0::bigint, ${size.grants - 1}) g OFFSET 0) AS one`;
}

/** One day is generated; the others are copies at other times, each loaded before its indexes are built. */
async function fillEvents(url: string, size: Size, resource: string): Promise<void> {
  const first = await connectLoader(url);
  await first.query(`CREATE UNLOGGED TABLE bench.template AS ${dayOfEvents(size, resource)}`);
  const today = Math.floor(Date.now() / DAY) * DAY;
  const days = Array.from({ length: DAYS }, (_, index) => today - (index + 1) * DAY);
  await Promise.all([loadDays(first), connectLoader(url).then(loadDays)]);

  async function loadDays(client: Client): Promise<void> {
    for (let day = days.shift(); day !== undefined; day = days.shift()) await fillDay(client, day);
    await client.end();
  }
}

async function connectLoader(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("SET maintenance_work_mem = '256MB'; SET jit = off");
  return client;
}

/** @param day epoch milliseconds of its begin */
async function fillDay(client: Client, day: number): Promise<void> {
  const table = `audit_events_${new Date(day).toISOString().slice(0, 10).replaceAll('-', '')}`;
  await client.query('BEGIN');
  await client.query(`CREATE TABLE ${table} (LIKE audit_events INCLUDING DEFAULTS)`);
  await client.query(`INSERT INTO ${table}
    SELECT sortable || suffix, ${day} + ms, type, client_id, account_id, grant_id, resource, 'flow_' || sortable || flow, details,
      (${day} + ms) / 1000 + 7776000
    FROM (SELECT *, ${sortable(`${day} + ms`)} AS sortable FROM bench.template OFFSET 0) AS event`);
  await client.query(`ALTER TABLE ${table} ADD PRIMARY KEY (id)`);
  await client.query(`CREATE INDEX ON ${table} (transaction_id) WHERE transaction_id IS NOT NULL`);
  await client.query(`CREATE INDEX ON ${table} (expires_at)`);
  // Last, for it keeps others from doing the same.
  await client.query(`ALTER TABLE ${table} INHERIT audit_events`);
  await client.query('COMMIT');
}

/** Of each flow four events of the sign-in, and a call through the gateway, which belongs to no flow. */
function dayOfEvents(size: Size, resource: string): string {
  const count = Math.max(1, Math.floor(size.events / DAYS / EVENTS_EACH));
  const { grant, client, account } = namesOf(size);
  const scopes = '"scopes":["notes:read","notes:write"],"network":"127.0.0.1"';
  const kinds = [
    ['authorization.started', `{${scopes},"discovery":{"path":"/.well-known/openid-configuration","version":null,"before":10}}`], // biome-ignore format: one line each
    ['consent.allowed', `{${scopes}}`],
    ['authorization_code.issued', `{${scopes}}`],
    ['token.issued', `{"grantType":"authorization_code",${scopes}}`],
    ['call.finished', '{"server":"/files","method":"tools/call","tool":"read_file","decision":"allowed","outcome":"answered","status":200,"duration":12.41,"backendDuration":9.3,"requestBytes":130,"responseBytes":108,"argumentsHash":"u4Jjf6njuEPFtWanUbKvlshGKp0nQHH2FzP64IERllE"}'], // biome-ignore format: one line each
  ];
  const values = kinds.map(([type, details], index) => `(${index}, '${type}', '${details}')`).join(', ');
  return `SELECT f * ${DAY - 1000} / ${count} AS ms, '-' || lpad((f * 5 + kind)::text, 7, '0') || '-' || ${secret("'event' || f || kind", 3)} AS suffix,
      type, client AS client_id, CASE WHEN kind > 0 THEN account END AS account_id, CASE WHEN kind > 0 THEN name END AS grant_id,
      CASE WHEN kind IN (0, 3, 4) THEN '${resource}' END AS resource, CASE WHEN kind < 4 THEN flow END AS flow, details
    FROM (SELECT f, ${client} AS client, ${account} AS account, ${grant} AS name, ${secret("'flow' || f", 12)} AS flow
        FROM (SELECT f, f * ${size.grants} / ${count} AS g FROM generate_series(0::bigint, ${count - 1}) f) AS each OFFSET 0) AS of,
      (VALUES ${values}) AS event (kind, type, details) ORDER BY f, kind`;
}

/** Grants spread over all of them, in an order that has nothing to do with their age. */
export async function sampleGrants(
  client: Client,
  size: Size,
  count: number,
): Promise<readonly SampleGrant[]> {
  const most = Math.min(count, Math.floor(size.grants / 2));
  // Others in each run: tokens that were refreshed are used up.
  const first = Math.floor((Math.random() * size.grants) / most);
  const names = namesOf(size);
  const { rows } = await client.query<SampleGrant>(
    `SELECT ${names.token} AS token, ${names.client} AS client, grant_id AS "grant", ${names.account} AS account, ${names.session} AS session
      FROM (SELECT g, ${names.grant} AS grant_id
        FROM (SELECT ${first} + i * ${size.grants} / ${most} AS g FROM generate_series(0::bigint, ${most - 1}) i) AS every OFFSET 0) AS sample
      WHERE g % 200 <> 7 ORDER BY ${secret("'order' || g", 8)}`,
  );
  return rows;
}
