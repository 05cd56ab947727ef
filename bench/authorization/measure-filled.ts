/**
 * Measures a PostgreSQL store with a thousand grants beside one with many, users and events as well: flows, the statements that they
 * send, commands of operators, sweeping and migrations.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type EventCriteria, listEvents, type SearchedStore } from '@portcullis/admin/operations';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { openStore } from '@portcullis/store';
import { Client } from 'pg';
import { type SweepProgress, sweepAll } from '../../packages/cli/src/server/sweep-expired.ts';
import { migratePostgres } from '../../packages/store/src/postgres/migrate-postgres.ts';
import { migrations } from '../../packages/store/src/schema/migrations.ts';
import { startServer } from '../../tests/support/postgres.ts';
import { median, type Part } from '../harness/figures.ts';
import { type Begin, form, load, request } from '../harness/load.ts';
import type { Server } from '../harness/server.ts';
import { fillPostgres, type SampleGrant, type Size, sampleGrants } from './fill-postgres.ts';
import { check, refreshFlow, registrationFlow, registrationOf } from './flows.ts';
import { databaseCpu } from './measure-costs.ts';
import type { Effort } from './measure-flows.ts';
import { codeFlow, machineFlow, newFolder, register, SCOPE, startPortcullis } from './portcullis.ts';

const SMALL: Size = { grants: 1_000, users: 100, events: 10_000 };
/** By default: what a run in passing can fill. */
export const LARGE: Size = { grants: 100_000, users: 10_000, events: 1_000_000 };
/** Of both deployments: the cookies are named after it, and the grants are for its resource. */
const PUBLIC_URL = 'http://localhost:9000';
const RESOURCE: string = `${PUBLIC_URL}/mcp`;
/** Grants that are used, spread over the table. */
const ACTIVE = 20_000;

interface Deployment {
  readonly size: Size;
  readonly client: Client;
  readonly url: string;
  readonly server: Server;
  readonly sample: readonly SampleGrant[];
}

interface Sample {
  readonly grants: number;
  readonly flow: string;
  readonly perSecond: number;
  readonly own: number;
  readonly database: number;
  /** Pages of 8 KB that PostgreSQL looked at. */
  readonly pages: number;
  readonly issue: string | null;
}

/** Settings of the server: `minimal` for loading without WAL. */
const SETTINGS: Readonly<Record<string, string>> = {
  wal_level: 'minimal',
  max_wal_senders: '0',
  shared_buffers: '2GB',
  max_wal_size: '4GB',
  // Its work for what was loaded would be counted.
  autovacuum: 'off',
  shared_preload_libraries: 'pg_stat_statements',
};

/**
 * @param flow only the flows whose names contain it, and nothing else
 * @param filled the URL of a database that was filled with that size before; otherwise one is filled here
 */
export async function measureFilled(effort: Effort, size: Size, flow = '', filled?: string): Promise<Part> {
  const postgres = filled === undefined ? await startServer(SETTINGS) : null;
  const url = filled ?? postgres?.url ?? '';
  const samples: Sample[] = [];
  try {
    const small = await deploy(await prepareSmall(url), SMALL, true);
    const large = await deploy(url, size, filled === undefined);
    for (const name of Object.keys(flowsOf(small)).filter((one) => one.includes(flow))) {
      for (let round = 0; round < effort.rounds; round += 1) {
        for (const deployment of [small, large]) samples.push(await measureFlow(deployment, name, effort));
      }
    }
    await printStatements(small, large);
    await printSequentialScans(large);
    if (flow === '') {
      await measureOperation(large);
      await large.server.stop();
      await measureMigrations(large);
    }
    for (const { client, server } of [small, large]) {
      await server.stop();
      await client.end();
    }
  } finally {
    await postgres?.stop();
  }
  return report(samples);
}

async function prepareSmall(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('DROP DATABASE IF EXISTS small WITH (FORCE)');
  await client.query('CREATE DATABASE small');
  await client.end();
  return Object.assign(new URL(url), { pathname: '/small' }).href;
}

async function deploy(url: string, size: Size, isEmpty: boolean): Promise<Deployment> {
  if (isEmpty) {
    await (await openStore(url)).close();
    await fillPostgres(url, size, RESOURCE);
  }
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  await time(`${size.grants} grants: read into memory`, () =>
    client.query('SELECT sum(length(id)) FROM grants'),
  );
  // Of an earlier run, whose master key is lost.
  await client.query('DELETE FROM signing_keys');
  const sample = await sampleGrants(client, size, ACTIVE);
  await makeSpace(client, sample);
  const server = await startPortcullis({
    folder: newFolder(),
    database: url,
    publicUrl: PUBLIC_URL,
    core: null,
  });
  console.log(`${size.grants} grants: started in ${server.startedIn.toFixed(0)} ms`);
  return { size, client, url, server, sample };
}

/**
 * Moves one row from the page of each grant of the sample, as refreshes of months would have done: in pages that are filled to the last
 * byte the first refresh of each page touches all indexes.
 */
async function makeSpace(client: Client, sample: readonly SampleGrant[]): Promise<void> {
  await client.query(
    `UPDATE grants SET last_used_from = '127.0.0.2' WHERE id IN (SELECT next.id FROM unnest($1::text[]) one,
      LATERAL (SELECT id FROM grants WHERE id > one COLLATE "C" ORDER BY id LIMIT 1) next) AND NOT id = ANY ($1)`,
    [sample.map(({ grant }) => grant)],
  );
  // As if they refreshed every hour: what is recorded once a day was recorded.
  await client.query(
    `UPDATE clients SET last_used_at = ${Math.floor(Date.now() / 1000)} WHERE id = ANY ($1)`,
    [sample.map((one) => one.client)],
  );
}

async function time<T>(name: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const outcome = await work();
  console.log(`${name}: ${(performance.now() - began).toFixed(0)} ms`);
  return outcome;
}

const NAVIGATION = { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

type Flows = Readonly<Record<string, () => Promise<Begin>>>;

const prepared = new WeakMap<Deployment, Flows>();

/** Each flow of a deployment is prepared once: tokens of refreshed families are kept from round to round. */
function flowsOf(deployment: Deployment): Flows {
  const known = prepared.get(deployment) ?? mapEach(prepare(deployment), once);
  prepared.set(deployment, known);
  return known;
}

function mapEach<T>(
  record: Readonly<Record<string, T>>,
  change: (value: T) => T,
): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function prepare({ sample, server }: Deployment): Flows {
  // The second half of the sample stays unused for revocation.
  const refreshed = sample.slice(0, sample.length / 2);
  const clientOf = new Map(sample.map(({ token, client }) => [token.split('~')[0], client]));
  const browserOf = ({ session }: SampleGrant) => ({
    ...NAVIGATION,
    cookie: `portcullis-9000-session=${session}; portcullis-9000-browser=${session}`,
  });
  // One of each account: who has consented is not asked again.
  const browsers = [...new Map(sample.map((one) => [one.account, one])).values()].map(browserOf);
  const fields = (token: string) => ({
    client_id: clientOf.get(token.split('~')[0]) ?? '',
    ...{ grant_type: 'refresh_token', refresh_token: token },
  });
  const refresh = refreshFlow(refreshed.map(({ token }) => token), { jwt: true }, (token) => form('/token', fields(token))); // biome-ignore format: one line
  const rest = sample.slice(sample.length / 2).values();
  let page = 0;
  return {
    refresh: async () => refresh,
    'client credentials': async () => machineFlow,
    'code, asked': async () =>
      codeFlow(
        { clientId: await register(server.port), browsers: browsers.slice(0, 1000) },
        RESOURCE,
        'asked',
      ),
    'code, remembered': async () => {
      const users = { clientId: 'app', browsers: browsers.slice(0, 200) };
      const { issue } = await load([server.port], codeFlow(users, RESOURCE, 'asked'), {
        flows: users.browsers.length,
      });
      check(issue === null, issue ?? '');
      return codeFlow(users, RESOURCE, 'remembered');
    },
    registration: async () => registrationFlow('/register', registrationOf(SCOPE)),
    'page of connections': async () => () => {
      page += 1;
      return {
        request: request('GET', '/connections', browsers[page % browsers.length]),
        read({ status, body }) {
          check(status === 200 && body.includes('My MCP client'), `status ${status}, not the connections`);
          return null;
        },
      };
    },
    revocation: async () => () => {
      const next = rest.next().value;
      if (next === undefined) return null;
      return {
        request: form('/revoke', { client_id: next.client, token: next.token }),
        read({ status }) {
          check(status === 200, `status ${status} for a revocation`);
          return null;
        },
      };
    },
  };
}

async function measureFlow(deployment: Deployment, flow: string, effort: Effort): Promise<Sample> {
  const { server, client, size } = deployment;
  const begin = await flowsOf(deployment)[flow]?.();
  check(begin !== undefined, flow);
  const until =
    flow === 'revocation' ? { flows: Math.min(100, size.grants / 20) } : { seconds: effort.seconds };
  if (flow !== 'revocation') await load([server.port], begin, { seconds: effort.warmUp }, 16);
  const before = await readCounters(client);
  const cpu = server.cpu();
  const result = await load([server.port], begin, until, 16);
  const own = ((server.cpu() - cpu) * 1e6) / result.flows;
  const after = await readCounters(client);
  const sample = {
    grants: size.grants,
    flow,
    perSecond: result.flows / result.seconds,
    own,
    database: (after.cpu - before.cpu) / result.flows,
    pages: (after.pages - before.pages) / result.flows,
    issue: result.issue,
  };
  console.log(
    `${size.grants} ${flow}: ${sample.perSecond.toFixed(0)}/s, ${own.toFixed(0)} µs + ${sample.database.toFixed(0)} µs, ${sample.pages.toFixed(1)} pages ${result.issue ?? ''}`,
  );
  return sample;
}

async function readCounters(client: Client): Promise<{ readonly cpu: number; readonly pages: number }> {
  const { rows } = await client.query<{ pages: number }>(
    `SELECT coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 AS pages FROM pg_stat_statements
      WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query NOT LIKE '%pg_stat%'`,
  );
  return { pages: rows[0]?.pages ?? 0, cpu: await databaseCpu(client) };
}

interface Statement {
  readonly query: string;
  readonly calls: number;
  readonly us: number;
  readonly pages: number;
}

async function statementsOf({ client }: Deployment): Promise<ReadonlyMap<string, Statement>> {
  const { rows } = await client.query<Statement>(
    `SELECT query, calls::int, (total_exec_time * 1000 / calls)::float8 AS us, (shared_blks_hit + shared_blks_read)::float8 / calls AS pages
      FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND query ~ '^(SELECT|INSERT|UPDATE|DELETE|WITH)' AND query !~ 'pg_stat|bench|generate_series|sum\\(length' ORDER BY query`,
  );
  return new Map(rows.map((row) => [row.query, row]));
}

/** Every statement that both have sent. */
async function printStatements(small: Deployment, large: Deployment): Promise<void> {
  const few = await statementsOf(small);
  console.log('pages and µs of each statement: a thousand grants, many');
  for (const [query, many] of await statementsOf(large)) {
    const one = few.get(query);
    const of = (statement: Statement | undefined) =>
      statement === undefined ? '-' : `${statement.pages.toFixed(1)} p ${statement.us.toFixed(0)} µs`;
    console.log(
      `${of(one).padStart(18)} ${of(many).padStart(18)}  ${query.replaceAll(/\s+/g, ' ').slice(0, 130)}`,
    );
  }
}

/** Plans of the statements for any values: a table that is read as a whole must be small. */
async function printSequentialScans(deployment: Deployment): Promise<void> {
  const { client } = deployment;
  for (const query of (await statementsOf(deployment)).keys()) {
    const { rows } = await client
      .query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${query}`)
      .catch(() => ({ rows: [] }));
    const scans = rows.map((row) => row['QUERY PLAN']).filter((line) => line.includes('Seq Scan'));
    if (scans.length > 0) console.log(`${scans.join('; ')}  ${query.replaceAll(/\s+/g, ' ').slice(0, 130)}`);
  }
}

/** What operators and the product itself do now and then. */
async function measureOperation(deployment: Deployment): Promise<void> {
  const { url, client, sample } = deployment;
  const store = await time('open the store', () => openStore(url));
  const now = Math.floor(Date.now() / 1000);
  const { rows } = await client.query<{ id: string; flow: string; at: number }>(
    'SELECT id, transaction_id AS flow, at::float8 FROM audit_events WHERE transaction_id IS NOT NULL LIMIT 1',
  );
  const [one] = rows;
  const [grant] = sample;
  const account = grant?.account ?? '';
  await time('latest 1,000 events', () => store.listLatestEvents(1000));
  await time('1,000 events before one of the oldest', () => store.listLatestEvents(1000, one?.id));
  await time('1,000 events after a time', () => store.listEvents(one?.id ?? '', 1000));
  await time('events of a flow', () => store.listTransactionEvents(one?.flow ?? '', 1000));
  await time('1,000 accounts', () => store.listAccounts('an.owner.5', 1000));
  await time('1,000 clients', () => store.listClients('client_0', 1000));
  await time('grants of an account', () => store.listGrants(account, now, null, 50));
  await time('unused clients by network', () => store.countUnusedClientsByNetwork());
  const revoked = await time('revoked grants of an hour', () => store.listRevokedGrants(now - 3600));
  console.log(`revoked grants: ${revoked.length}`);
  await time('provider tokens of revoked grants', () =>
    store.endProviderTokensOfRevokedGrants(now - 600, now),
  );
  await time('a sweep that finds nothing', () => store.sweep(now, 500));
  for (const days of [1, 3])
    await time(`events of a user in ${days} days`, () => searchAll(store, { user: 'user_unknown' }, days));
  await time('events of a type in 3 days', () => searchAll(store, { type: 'client.disabled' }, 3));
  await measureSweep(store, deployment, now);
  await store.close();
}

async function searchAll(store: SearchedStore, criteria: EventCriteria, days: number): Promise<void> {
  const since = Date.now() - days * 86_400_000;
  const { events } = await listEvents(store, { ...criteria, since }, '', 1, Infinity);
  check(events.length === 0, 'an event of an unknown user or type');
}

async function measureSweep(store: AuthorizationStore, deployment: Deployment, now: number): Promise<void> {
  const { client, server, size } = deployment;
  const refresh = await flowsOf(deployment)['refresh']?.();
  check(refresh !== undefined, 'refresh');
  const alone = await load([server.port], refresh, { seconds: 5 }, 4);
  const first = Math.floor(now / 86_400) * 86_400_000 - 88 * 86_400_000;
  const day = `audit_events_${new Date(first).toISOString().slice(0, 10).replaceAll('-', '')}`;
  await time('make the events of a day expire', () =>
    client.query(`UPDATE ${day} SET expires_at = ${now - 9}`),
  );
  const count = Math.floor(size.grants / 200);
  // The server waits for what looks like another that sweeps.
  const lease = `'measurement', ${Math.floor(Date.now() / 1000) + 60}`;
  await client.query(
    `DELETE FROM sweep_lease; INSERT INTO sweep_lease (one, holder, expires_at) VALUES (1, ${lease})`,
  );
  await client.query(
    `UPDATE grants SET expires_at = ${now - 100_000} WHERE id IN (SELECT id FROM grants ORDER BY id LIMIT ${count})`,
  );
  await client.query('DELETE FROM sweep_lease');
  const progress = { deleted: 0, caughtUpAt: 0, pendingApprovals: 0 };
  const began = performance.now();
  const sweep = sweepUntilDone(store, client, now, progress);
  const beside = await load([server.port], refresh, { seconds: 5 }, 4);
  await sweep;
  const seconds = (performance.now() - began) / 1000;
  const { rows } = await client.query<{ table: string | null }>('SELECT to_regclass($1) AS table', [day]);
  console.log(
    `swept ${progress.deleted} of ${count} grants and a day of events (${rows[0]?.table ?? 'dropped'}) in ${seconds.toFixed(1)} s; refresh p50 ` +
      `${alone.p50.toFixed(1)} and p99 ${alone.p99.toFixed(1)} ms alone, ${beside.p50.toFixed(1)} and ${beside.p99.toFixed(1)} beside it`,
  );
}

/** The server may be sweeping itself: then this waits. */
async function sweepUntilDone(
  store: AuthorizationStore,
  client: Client,
  now: number,
  progress: SweepProgress,
): Promise<void> {
  for (;;) {
    await sweepAll(store, () => Math.floor(Date.now() / 1000), progress);
    const { rows } = await client.query(`SELECT 1 FROM grants WHERE expires_at <= ${now - 90_000} LIMIT 1`);
    if (rows.length === 0) return;
    await sleep(200);
  }
}

/** What the migrations after the first have changed. A new migration has to be named here. */
const ADDED = {
  tables: ['user_profiles', 'sweep_lease', 'personal_access_tokens', 'backend_registrations', 'asserted_identities', 'tool_pins', 'device_authorizations', 'connected_accounts', 'registrations_at_backends', 'definition_pins'], // biome-ignore format: one list
  columns: {
    authorization_transactions: ['network', 'key_thumbprint', 'acr_values'],
    clients: ['previous_secret_hash', 'previous_secret_expires_at'],
    authorization_codes: ['key_thumbprint', 'authentication'],
    grants: ['key_thumbprint', 'managed_by', 'authentication'],
    provider_tokens: ['backend_grant_id'],
    sessions: ['methods'],
  },
  indexes: ['DROP INDEX grants_of_client', 'CREATE INDEX grants_by_client ON grants (client_id)'],
};

/** Takes the database back to its first schema, and applies one migration after the other. */
async function measureMigrations({ url, client }: Deployment): Promise<void> {
  for (const table of ADDED.tables) await client.query(`DROP TABLE ${table}`);
  for (const [table, columns] of Object.entries(ADDED.columns))
    for (const column of columns) await client.query(`ALTER TABLE ${table} DROP COLUMN ${column}`);
  for (const change of ADDED.indexes) await client.query(change);
  await client.query('DELETE FROM portcullis_migrations WHERE number > 1');
  const connect = async () => {
    const own = new Client({ connectionString: url });
    await own.connect();
    return own;
  };
  for (const { number, name } of migrations.slice(1))
    await time(`migration ${number}, ${name}`, () => migratePostgres(connect, migrations.slice(0, number)));
}

function report(samples: readonly Sample[]): Part {
  const groups = Map.groupBy(samples, ({ grants, flow }) => `${flow}|${grants.toLocaleString('en')}`);
  return {
    title: 'PostgreSQL with the number of grants',
    notes: [
      'Processor time in µs for one flow, of the process and of all processes of PostgreSQL, and pages of 8 KB that its statements looked ' +
        'at. Both databases are on one server and take turns. Medians.',
    ],
    columns: ['flow', 'grants', 'flows/s', 'our µs', 'PostgreSQL µs', 'pages'],
    rows: [...groups].map(([name, group]) => [
      ...name.split('|'),
      median(group.map(({ perSecond }) => perSecond)).toFixed(0),
      median(group.map(({ own }) => own)).toFixed(0),
      median(group.map(({ database }) => database)).toFixed(0),
      median(group.map(({ pages }) => pages)).toFixed(1),
    ]),
    samples,
    issues: samples.flatMap(({ flow, grants, issue }) =>
      issue === null ? [] : [`${flow} among ${grants}: ${issue}`],
    ),
  };
}
