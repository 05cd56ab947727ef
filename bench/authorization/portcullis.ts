/** Portcullis as started by `portcullis up`: a SQLite file with synchronous=FULL, ES256 JWTs, rate limits, audit events and log. */
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Begin, form, load, request, type Step, walk } from '../harness/load.ts';
import { freePort, nodeCommand, type Server, start } from '../harness/server.ts';
import {
  authorization,
  CHAINS,
  type Contender,
  check,
  codeOf,
  type FlowName,
  flowNames,
  introspectionFlow,
  locationOf,
  REDIRECT_URI,
  redemption,
  refreshFlow,
  registrationFlow,
  registrationOf,
  tokenFlow,
  tokenStep,
} from './flows.ts';
import { seedUsers, type Users } from './users.ts';

export const SCOPE = 'notes:read notes:write';
/** A pre-registered client, whose consent can be remembered. */
const APP_REDIRECT_URI = 'https://app.example/callback';
const APP = {
  client_id: 'app',
  client_name: 'An app',
  redirect_uris: [APP_REDIRECT_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_method: 'none',
};

/** A client that uses client credentials and introspects its own tokens. */
const MACHINE = {
  client_id: 'machine',
  client_secret: 'a-secret-of-forty-three-characters-0123456789',
  client_name: 'A machine',
  scope: SCOPE,
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'client_secret_basic',
};

/** Enabled, with high limits: a single network may not send this load. */
const LIMITS = Object.fromEntries(
  ['refreshes', 'clientTokens', 'registrations', 'authorizations'].map((name) => [
    name,
    { burst: 1_000_000_000, perMinute: 60 },
  ]),
);

/** The limit on unused clients, which is 20,000 by default. */
const REGISTRATION = { maxUnusedClients: 100_000_000 };

const machineFields: Readonly<Record<string, string>> = {
  authorization: `Basic ${Buffer.from(`${MACHINE.client_id}:${MACHINE.client_secret}`).toString('base64')}`,
};
const machineRequest: string = form(
  '/token',
  { grant_type: 'client_credentials', scope: SCOPE },
  machineFields,
);

/** The program as published; requires `npm run build`. */
export const BUILT = 'packages/cli/bin.js';

export function isBuilt(): boolean {
  return existsSync(new URL('../../packages/cli/dist/main.js', import.meta.url));
}

/** Options of an instance. */
export interface Instance {
  /** The data folder; a new one by default. */
  readonly folder?: string;
  /** `portcullis.db` in the data folder by default. */
  readonly database?: string;
  /** Several processes of one deployment share one URL. */
  readonly publicUrl?: string;
  readonly core?: number | null;
  /** Options for Node. */
  readonly nodeOptions?: readonly string[];
  readonly main?: string;
  /** The root of a program of another commit. */
  readonly root?: string;
  /** Further settings; with `servers`, there is no application. */
  readonly settings?: { readonly clients?: readonly object[]; readonly servers?: readonly object[] };
}

const folders: string[] = [];
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Creates a folder that is removed at the end. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
  folders.push(folder);
  return folder;
}

/** A running instance. */
export interface RunningInstance extends Server {
  readonly database: string;
}

export async function startPortcullis(instance: Instance = {}): Promise<RunningInstance> {
  const { folder = newFolder(), database = join(folder, 'portcullis.db'), publicUrl, core, root } = instance;
  const { clients = [], servers } = instance.settings ?? {};
  const port = await freePort();
  databases.set(port, database);
  const config = join(folder, 'config.json');
  writeFileSync(
    config,
    JSON.stringify({
      clients: [MACHINE, APP, ...clients],
      rateLimits: LIMITS,
      registration: REGISTRATION,
      servers,
    }),
  );
  const main = instance.main ?? 'packages/cli/bin.js';
  const [node, ...words] = nodeCommand(root === undefined ? main : join(root, main), 'up');
  // The build depends on builds.
  const rest = words.filter((word) => instance.main === undefined || !word.startsWith('--conditions'));
  const [, , typed = ''] = nodeCommand('bench/servers/application.ts');
  const application = instance.main === undefined ? typed : withoutTypes(typed, folder);
  const server = await start({
    command: [node, ...(instance.nodeOptions ?? []), ...rest],
    port,
    ready: '/.well-known/oauth-authorization-server',
    output: openSync(join(folder, 'log.jsonl'), 'a'),
    ...(core !== undefined && { core }),
    environment: {
      ...(servers === undefined && { PORTCULLIS_APP: application }),
      PORTCULLIS_CONFIG: config,
      PORTCULLIS_PORT: String(port),
      PORTCULLIS_DATABASE: database,
      PORTCULLIS_KEY_FILE: join(folder, 'portcullis.key'),
      PORTCULLIS_PUBLIC_URL: publicUrl ?? `http://localhost:${port}`,
      PORTCULLIS_LOG: 'json',
    },
  });
  return { ...server, database };
}

/** The application for the build is compiled too, so that no types are stripped at run time. */
function withoutTypes(file: string, folder: string): string {
  const built = join(folder, 'application.js');
  writeFileSync(built, stripTypeScriptTypes(readFileSync(file, 'utf8')));
  return built;
}

export async function register(port: number, scope: string = SCOPE): Promise<string> {
  let clientId = '';
  const text = JSON.stringify(registrationOf(scope));
  await walk(port, () => ({
    request: request('POST', '/register', { 'content-type': 'application/json' }, text),
    read({ status, body }) {
      check(status === 201, `status ${status}`);
      clientId = JSON.parse(body).client_id;
      return null;
    },
  }));
  return clientId;
}

/** The fields that the first form of a page would submit, in order. */
function fieldsOf(page: string): [string, string][] {
  const [form = ''] = page.split('</form>', 1);
  const inputs = form.matchAll(/<input [^>]*name="([^"]+)" value="([^"]*)"/g);
  return [...inputs].map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]);
}

export const resourceAt = (port: number): string => `http://localhost:${port}/mcp`;

/**
 * With consent: four requests, namely the authorization request, the consent page, its submission, and the code redemption.
 * With remembered consent: two, the first and the last.
 */
export function codeFlow(
  { clientId, browsers, scope = SCOPE }: Users,
  resource: string,
  consent: 'asked' | 'remembered',
  take: (refreshToken: string) => void = () => {},
): Begin {
  const redirectUri = clientId === APP.client_id ? APP_REDIRECT_URI : REDIRECT_URI;
  const authorize = authorization('/authorize', clientId, scope, resource, redirectUri);
  const beginnings = browsers.map((fields) => ({ fields, text: request('GET', authorize, fields) }));
  let next = 0;
  return () => {
    next = (next + 1) % beginnings.length;
    const { fields = {}, text = '' } = beginnings[next] ?? {};
    const read: Step['read'] =
      consent === 'remembered'
        ? (answer) => redeem(codeOf(answer, redirectUri))
        : (answer) => ask(request('GET', locationOf(answer), fields), fields);
    return { request: text, read };
  };

  function ask(text: string, fields: Readonly<Record<string, string>>): Step {
    return {
      request: text,
      read({ status, body }) {
        check(status === 200 && body.includes('Allow access'), `status ${status}, not the page of consent`);
        const answer = form('/consent', [...fieldsOf(body), ['decision', 'allow']], fields);
        return { request: answer, read: (redirect) => redeem(codeOf(redirect, redirectUri)) };
      },
    };
  }

  function redeem(code: string): Step {
    const text = redemption('/token', clientId, code, resource, redirectUri);
    return tokenStep(text, { jwt: true }, (tokens) => {
      check(typeof tokens.refresh_token === 'string', 'no refresh token');
      take(tokens.refresh_token);
      return null;
    });
  }
}

/** Creates grants. @returns their refresh tokens */
export async function makeChains(port: number, users: Users, resource: string): Promise<readonly string[]> {
  const chains: string[] = [];
  const begin = codeFlow(users, resource, 'asked', (refreshToken) => chains.push(refreshToken));
  await load([port], begin, { flows: CHAINS });
  check(chains.length === CHAINS, 'not every chain could be begun');
  return chains;
}

export function refreshFlowOf(clientId: string, chains: readonly string[]): Begin {
  return refreshFlow(chains, { jwt: true }, (refreshToken) =>
    form('/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }),
  );
}

export const machineFlow: Begin = tokenFlow(machineRequest, { jwt: true });

/** The database of each instance, by port. */
const databases = new Map<number, string>();

/** Has users consent to the pre-registered client. */
async function rememberUsers(port: number, browsers: Users['browsers'], scope: string): Promise<Users> {
  const users = { clientId: APP.client_id, browsers, scope };
  const { issue } = await load([port], codeFlow(users, resourceAt(port), 'asked'), {
    flows: browsers.length,
  });
  check(issue === null, issue ?? '');
  return users;
}

/** The flows of a server, each newly prepared. @param browsersOf browsers of users without a grant */
export function flowsAt(
  port: number,
  browsersOf: () => Users['browsers'],
  scope: string = SCOPE,
): Readonly<Record<FlowName, () => Promise<Begin>>> {
  const resource = resourceAt(port);
  const inviteUsers = async () => ({ clientId: await register(port, scope), browsers: browsersOf(), scope });
  return {
    async refresh() {
      const users = await inviteUsers();
      return refreshFlowOf(users.clientId, await makeChains(port, users, resource));
    },
    'client credentials': async () => machineFlow,
    'authorization code': async () =>
      codeFlow(await rememberUsers(port, browsersOf(), scope), resource, 'remembered'),
    'authorization code, asked': async () => codeFlow(await inviteUsers(), resource, 'asked'),
    registration: async () => registrationFlow('/register', registrationOf(scope)),
    async introspection() {
      const tokens: string[] = [];
      await load([port], () => machineToken((token) => tokens.push(token)), { flows: CHAINS });
      return introspectionFlow(tokens.map((token) => form('/introspect', { token }, machineFields)));
    },
  };
}

/** An access token by client credentials. */
export function machineToken(take: (token: string) => void): Step {
  return tokenStep(machineRequest, { jwt: true }, (answer) => {
    take(answer.access_token);
    return null;
  });
}

export const portcullis: Contender = {
  name: 'Portcullis',
  about: 'ES256 JWT; SQLite file, synchronous=FULL; limits, events and log on',
  start: () => startPortcullis(),
  flows: Object.fromEntries(
    flowNames.map((name) => [
      name,
      (port: number) =>
        flowsAt(port, () => seedUsers(databases.get(port) ?? '', `http://localhost:${port}`))[name](),
    ]),
  ),
};
