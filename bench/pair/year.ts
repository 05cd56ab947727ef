/** The users of a pair: each has what a user collects within a year, so that a cost which grows with it shows. */
import { DatabaseSync } from 'node:sqlite';
import type { FlowName } from '../authorization/flows.ts';
import { flowsAt, type RunningInstance } from '../authorization/portcullis.ts';
import { seedUsers } from '../authorization/users.ts';
import type { Begin } from '../harness/load.ts';
import { LOAD_CORE } from '../harness/machine.ts';
import { freePort, nodeCommand, type Server, start } from '../harness/server.ts';
import { gatewayFlow } from './gateway-flow.ts';

const USERS = 300;

/** What there is of each thing that grows. */
export interface History {
  /** Of each user. From two on, half of them are of one client, so that 200 stay below the bound for one user and client. */
  readonly grants: number;
  /** Scopes of the server and of each request. */
  readonly scopes: number;
  /** Clients in the configuration, besides those of the flows. */
  readonly clients: number;
}

export const YEAR: History = { grants: 200, scopes: 30, clients: 300 };
export const NEW: History = { grants: 1, scopes: 2, clients: 0 };

/** Rules of tools by pattern, as written. */
export type ToolRules = Readonly<Record<string, unknown>>;
/** What the flow of calls needs. */
export const PLAIN_RULES: ToolRules = { '*': ['notes:read'] };

const scopesOf = ({ scopes }: History): readonly string[] => [
  'notes:read',
  'notes:write',
  ...Array.from({ length: scopes - 2 }, (_, index) => `notes:area-${index}`),
];

const clientOf = (_: unknown, index: number): object => ({
  client_id: `app-${index}`,
  client_name: `App ${index}`,
  redirect_uris: [`https://app-${index}.example/callback`],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
});

export type LoadedFlow = FlowName | 'gateway call';

/** Starts the server behind the gateway. @returns it, and the settings of a program in front of it */
export async function startBackend(): Promise<{
  readonly backend: Server;
  readonly settingsFor: (history: History, tools?: ToolRules) => object;
}> {
  const backend = await start({
    command: nodeCommand('bench/gateway/backend.ts'),
    port: await freePort(),
    ready: '/ready',
    core: LOAD_CORE,
  });
  const settingsFor = (history: History, tools = PLAIN_RULES) => ({
    clients: Array.from({ length: history.clients }, clientOf),
    servers: [serverOf(`http://127.0.0.1:${backend.port}/mcp`, history, tools)],
  });
  return { backend, settingsFor };
}

/** Prepares a flow of a server with those settings. */
export type Prepare = (flow: LoadedFlow) => Promise<Begin>;

/** Gives a server its users, each with what they have, for all of its flows: 60,000 grants take seconds. */
export async function seedHistory({ port, database }: RunningInstance, history: History): Promise<Prepare> {
  const users = seedUsers(database, `http://localhost:${port}`, USERS);
  const flows = flowsAt(port, () => users, scopesOf(history).join(' '));
  const remembered = await flows['authorization code']();
  if (history.grants > 1) addGrants(database, history);
  return async (flow) => {
    if (flow === 'gateway call') return gatewayFlow(port);
    return flow === 'authorization code' ? remembered : flows[flow]();
  };
}

/** @returns one server of the gateway, whose backend is at a URL */
function serverOf(backend: string, history: History, tools: ToolRules): object {
  return {
    path: '/mcp',
    name: 'Notes',
    backend: { url: backend },
    scopes: Object.fromEntries(
      scopesOf(history).map((scope) => [scope, `Use ${scope.slice(6)} of your notes`]),
    ),
    tools,
    limits: { concurrency: 1000, callsPerMinute: false },
  };
}

/**
 * Copies the one grant that each user has, in whatever columns this program has, over 300 days of creation and 25 days of use.
 * Every second copy is of another client.
 */
function addGrants(file: string, { grants, clients }: History): void {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  const columns = database
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all('grants')
    .map(({ name }) => String(name));
  const changed: Readonly<Record<string, string>> = {
    id: 'substr(id, 1, 15) || lower(hex(randomblob(8))) || n',
    client_id: `CASE n % 2 WHEN 0 THEN client_id ELSE 'app-' || (n * 7 % ${clients}) END`,
    created_at: 'created_at - n * 129600',
    last_used_at: 'last_used_at - n * 10800',
    refresh_token_hash: 'refresh_token_hash || n',
  };
  const values = columns.map((column) => changed[column] ?? column);
  database.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${grants - 1})
    INSERT INTO grants (${columns.join(', ')}) SELECT ${values.join(', ')} FROM grants CROSS JOIN numbers`);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}
