/** better-auth with its OAuth provider. Its users have consented once before they are measured, as those of Portcullis. */
import { randomUUID } from 'node:crypto';
import { type Begin, form, request, type Step, walk } from '../harness/load.ts';
import { freePort, nodeCommand, start } from '../harness/server.ts';
import {
  authorization,
  CHAINS,
  type Contender,
  check,
  codeOf,
  cookieField,
  cookiesOf,
  introspectionFlow,
  locationOf,
  redemption,
  refreshFlow,
  registrationFlow,
  registrationOf,
  tokenFlow,
  tokenStep,
} from './flows.ts';

const API = '/api/auth';
const TOKEN = `${API}/oauth2/token`;
const SCOPE = 'notes:read notes:write offline_access';
const RESOURCE = 'https://api.example/mcp';
/** Each sign-up hashes a password. */
const USERS = 20;

interface Posted {
  readonly client_id: string;
  readonly cookies: Readonly<Record<string, string>>;
}

type Tokens = { readonly access_token: string; readonly refresh_token?: string };

/** The JSON of the response, and the cookies that it sets. */
async function post(port: number, path: string, body: object, fields: object = {}): Promise<Posted> {
  const headers = { 'content-type': 'application/json', origin: `http://localhost:${port}`, ...fields };
  let posted: Posted | undefined;
  await walk(port, () => ({
    request: request('POST', `${API}${path}`, headers, JSON.stringify(body)),
    read(answer) {
      check(answer.status < 300, `status ${answer.status} for ${path}`);
      posted = { ...JSON.parse(answer.body), cookies: cookieField(cookiesOf(answer)) };
      return null;
    },
  }));
  check(posted !== undefined, `no response for ${path}`);
  return posted;
}

const register = async (port: number): Promise<string> =>
  (await post(port, '/oauth2/register', { ...registrationOf(SCOPE), application_type: 'native' })).client_id;

/** Signs a new user up. @returns the cookies */
async function createSession(port: number): Promise<Readonly<Record<string, string>>> {
  const email = `${randomUUID()}@example.com`;
  return (await post(port, '/sign-up/email', { email, password: 'correct horse battery', name: 'Ada' }))
    .cookies;
}

/** Signs a user up, who consents to the client. @returns the authorization request of that browser */
async function signUp(port: number, clientId: string): Promise<string> {
  const cookies = await createSession(port);
  const text = request('GET', authorization(`${API}/oauth2/authorize`, clientId, SCOPE, RESOURCE), cookies);
  let query = '';
  const read: Step['read'] = (answer) => {
    query = new URL(locationOf(answer), 'http://localhost').search.slice(1);
    return null;
  };
  await walk(port, () => ({ request: text, read }));
  await post(port, '/oauth2/consent', { accept: true, oauth_query: query }, cookies);
  return text;
}

/** @param take gets the tokens */
async function codeFlow(port: number, clientId: string, take: (tokens: Tokens) => void = () => {}) {
  const browsers: string[] = [];
  while (browsers.length < USERS) browsers.push(await signUp(port, clientId));
  const read: Step['read'] = (answer) =>
    tokenStep(redemption(TOKEN, clientId, codeOf(answer), RESOURCE), { jwt: true }, (tokens) => {
      take(tokens);
      return null;
    });
  return inTurn(browsers, read);
}

function inTurn(requests: readonly string[], read: Step['read']): Begin {
  let next = 0;
  return () => {
    next = (next + 1) % requests.length;
    return { request: requests[next] ?? '', read };
  };
}

async function tokensOf(port: number, clientId: string): Promise<readonly Tokens[]> {
  const tokens: Tokens[] = [];
  const begin = await codeFlow(port, clientId, (made) => tokens.push(made));
  while (tokens.length < CHAINS) await walk(port, begin);
  return tokens;
}

/** @returns the header fields of its client for client credentials */
async function machineFields(port: number): Promise<Readonly<Record<string, string>>> {
  let credentials = '';
  const read: Step['read'] = ({ body }) => {
    const { client_id, client_secret } = JSON.parse(body);
    credentials = Buffer.from(`${client_id}:${client_secret}`).toString('base64');
    return null;
  };
  await walk(port, () => ({ request: request('GET', '/machine'), read }));
  return { authorization: `Basic ${credentials}` };
}

/** A token request of that client. */
async function machineRequest(port: number): Promise<string> {
  const parameters = { grant_type: 'client_credentials', scope: 'notes:read', resource: RESOURCE };
  return form(TOKEN, parameters, await machineFields(port));
}

export const betterAuth: Contender = {
  name: 'better-auth 1.7.5',
  about: 'ES256 JWT; SQLite in memory; no limits, no events',
  start: async () =>
    start({
      command: nodeCommand('bench/servers/better-auth.ts'),
      port: await freePort(),
      ready: `${API}/ok`,
    }),
  flows: {
    async refresh(port) {
      const clientId = await register(port);
      const chains = (await tokensOf(port, clientId)).map((tokens) => tokens.refresh_token ?? '');
      return refreshFlow(chains, { jwt: true }, (refreshToken) =>
        form(TOKEN, {
          grant_type: 'refresh_token',
          client_id: clientId,
          refresh_token: refreshToken,
          resource: RESOURCE,
        }),
      );
    },
    'client credentials': async (port) => tokenFlow(await machineRequest(port), { jwt: true }),
    'authorization code': async (port) => codeFlow(port, await register(port)),
    registration: async () =>
      registrationFlow(`${API}/oauth2/register`, { ...registrationOf(SCOPE), application_type: 'native' }),
    // A client may introspect its own tokens.
    async introspection(port) {
      const [text, fields] = [await machineRequest(port), await machineFields(port)];
      const requests: string[] = [];
      const begin = () =>
        tokenStep(text, { jwt: true }, ({ access_token: token }) => {
          requests.push(form(`${API}/oauth2/introspect`, { token }, fields));
          return null;
        });
      while (requests.length < CHAINS) await walk(port, begin);
      return introspectionFlow(requests);
    },
  },
};
