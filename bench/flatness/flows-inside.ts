/**
 * Flows of an authorization server in this process, without sockets: the processor time of each, as JSON. Its first argument is a `Size`.
 * For `measure-flatness.ts`.
 */
import { createHash, hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import { openStore } from '@portcullis/store';
import { check, registrationOf } from '../authorization/flows.ts';
import { newFolder } from '../authorization/portcullis.ts';
import {
  accountRow,
  forSqlite,
  INSERT_ACCOUNT,
  INSERT_SESSION,
  newAccountId,
} from '../authorization/users.ts';
import { addHistory, type Size } from './growth.ts';

const ISSUER = 'http://localhost:9876';
const REDIRECT_URI = 'https://app.example/callback';
const USERS = 300;
/** Flows at once. */
const WIDTH = 64;
const [WARM_UP, ROUNDS, FLOWS] = [1500, 5, 200];
const VERIFIER = 'v'.repeat(64);
const SECRET = 'a-secret-of-forty-three-characters-0123456789';

type Fields = Readonly<Record<string, string>>;

const size: Size = JSON.parse(process.argv[2] ?? '');
const scopes = Array.from({ length: size.scopes }, (_, index) => `notes:area-${index}`);
const resource = `${ISSUER}/mcp`;
const file = join(newFolder(), 'portcullis.db');
const store = await openStore(file);
const server = await createAuthorizationServer({
  issuer: ISSUER,
  store,
  masterKey: randomBytes(32),
  events: () => {},
  clients: [
    {
      client_id: 'machine',
      client_secret: SECRET,
      client_name: 'A machine',
      scope: scopes.join(' '),
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
    ...Array.from({ length: size.configuredClients - 1 }, (_, index) => clientOf(index)),
  ],
  resources: Array.from({ length: size.servers }, (_, index) => ({
    resource: index === 0 ? resource : `${resource}-${index}`,
    name: `Notes ${index}`,
    scopes: Object.fromEntries(scopes.map((scope) => [scope, `Use ${scope}`])),
  })),
  rateLimits: Object.fromEntries(
    ['refreshes', 'clientTokens', 'registrations', 'authorizations'].map((name) => [
      name,
      { burst: 1_000_000_000, perMinute: 60 },
    ]),
  ),
  registration: { maxUnusedClients: 100_000_000 },
});
const browsers = addUsers();
let next = 0;
const nextBrowser = (): Fields => {
  next = (next + 1) % browsers.length;
  return browsers[next] ?? {};
};
const refreshTokens: string[] = [];

const flows: Readonly<Record<string, () => Promise<void>>> = {
  'authorization code, remembered': async () => {
    await redeem(codeOf(await get(authorizationOf(), nextBrowser())));
  },
  'authorization code, asked': async () => void (await consent(nextBrowser())),
  async refresh() {
    const refresh_token = refreshTokens.shift() ?? '';
    const response = await post('/token', { grant_type: 'refresh_token', client_id: 'app-0', refresh_token });
    refreshTokens.push(tokensOf(response).refresh_token);
  },
  'client credentials': async () => void (await machineToken()),
  async registration() {
    const body = JSON.stringify(registrationOf(scopes.join(' ')));
    expectStatus(await send('POST', '/register', { 'content-type': 'application/json' }, body), 201);
  },
  async introspection() {
    const response = expectStatus(await post('/introspect', { token: accessToken }, machineFields()), 200);
    check(String(response.body).includes('"active":true'), 'not active');
  },
  'page of connections': async () => void expectStatus(await get('/connections', nextBrowser()), 200),
};

for (let made = 0; made < USERS; made += 1) refreshTokens.push(await consent(nextBrowser()));
const database = new DatabaseSync(file, { timeout: 10_000 });
addHistory(database, size);
database.close();
const accessToken = await machineToken();
const costs: Record<string, readonly number[]> = {};
for (const [name, flow] of Object.entries(flows)) {
  const isPage = name.includes('page') || name.includes('asked');
  await run(isPage ? WARM_UP / 5 : WARM_UP, flow);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const count = isPage ? FLOWS / 4 : FLOWS;
    const before = process.cpuUsage();
    await run(count, flow);
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / count);
  }
  costs[name] = rounds;
}
console.log(JSON.stringify(costs));
await server.close();
await store.close();
process.exit(0);

async function run(count: number, flow: () => Promise<void>): Promise<void> {
  let left = count;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      await flow();
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
}

function clientOf(index: number) {
  return {
    client_id: `app-${index}`,
    client_name: `App ${index}`,
    redirect_uris: [REDIRECT_URI],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  };
}

/** @returns the fields of their browsers */
function addUsers(): readonly Fields[] {
  const database = new DatabaseSync(file, { timeout: 10_000 });
  const now = Math.floor(Date.now() / 1000);
  const account = database.prepare(forSqlite(INSERT_ACCOUNT));
  const session = database.prepare(forSqlite(INSERT_SESSION));
  const added = Array.from({ length: USERS }, () => {
    const [id, secret] = [newAccountId(), randomBytes(32).toString('base64url')];
    account.run(...accountRow(id));
    session.run(hash('sha256', secret, 'base64url'), id, now, now + 86_400);
    return {
      cookie: `portcullis-9876-session=${secret}`,
      'sec-fetch-site': 'none',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
  });
  database.close();
  return added;
}

function send(
  method: string,
  path: string,
  fields: Fields,
  body: string | null = null,
): Promise<HttpResponse> {
  const all: Fields = body === null ? fields : { ...fields, 'content-length': String(body.length) };
  const headers: HttpRequest['headers'] = {
    get: (name) => all[name.toLowerCase()] ?? null,
    has: (name) => name.toLowerCase() in all,
  };
  const request = { method, url: ISSUER + path, headers, body: null, text: async () => body ?? '' };
  return server.handleHttp(request, { address: '127.0.0.1', security: 'loopback' });
}

function get(path: string, fields: Fields): Promise<HttpResponse> {
  return send('GET', path, fields);
}

function post(path: string, form: Fields | [string, string][], fields: Fields = {}): Promise<HttpResponse> {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  return send('POST', path, { ...type, ...fields }, new URLSearchParams(form).toString());
}

function expectStatus(response: HttpResponse, status: number): HttpResponse {
  check(response.status === status, `status ${response.status}: ${response.body}`);
  return response;
}

function authorizationOf(more: Fields = {}): string {
  const parameters = {
    client_id: 'app-0',
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: scopes.join(' '),
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'a-state-of-the-client',
    resource,
    ...more,
  };
  return `/authorize?${new URLSearchParams(parameters)}`;
}

function codeOf(response: HttpResponse): string {
  const location = expectStatus(response, 303).headers['location'] ?? '';
  const code = URL.parse(location)?.searchParams.get('code');
  check(typeof code === 'string', `no code in ${location}`);
  return code;
}

function tokensOf(response: HttpResponse): { readonly access_token: string; readonly refresh_token: string } {
  return JSON.parse(String(expectStatus(response, 200).body));
}

/** @returns the refresh token */
async function redeem(code: string): Promise<string> {
  const form = { grant_type: 'authorization_code', client_id: 'app-0', redirect_uri: REDIRECT_URI, resource };
  return tokensOf(await post('/token', { ...form, code_verifier: VERIFIER, code })).refresh_token;
}

/** A code with the consent page. @returns the refresh token */
async function consent(browser: Fields): Promise<string> {
  const begun = expectStatus(await get(authorizationOf({ prompt: 'consent' }), browser), 303);
  const cookies = begun.cookies.map((cookie) => cookie.split(';', 1)[0]);
  const fields = { ...browser, cookie: [browser['cookie'], ...cookies].join('; ') };
  const page = expectStatus(await get(begun.headers['location'] ?? '', fields), 200);
  const [form = ''] = String(page.body).split('</form>', 1);
  const inputs = [...form.matchAll(/<input [^>]*name="([^"]+)" value="([^"]*)"/g)];
  const sent = inputs.map(([, name = '', value = '']): [string, string] => [
    name,
    value.replaceAll('&amp;', '&'),
  ]);
  return redeem(codeOf(await post('/consent', [...sent, ['decision', 'allow']], fields)));
}

function machineFields(): Fields {
  return { authorization: `Basic ${Buffer.from(`machine:${SECRET}`).toString('base64')}` };
}

async function machineToken(): Promise<string> {
  const form = { grant_type: 'client_credentials', scope: scopes.join(' '), resource };
  return tokensOf(await post('/token', form, machineFields())).access_token;
}
