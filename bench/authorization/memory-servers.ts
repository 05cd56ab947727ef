/** mcpAuthRouter of the official SDK 1.x, which has no client credentials grant, and workers-oauth-provider. Their codes need no consent here, and their state is in memory. */
import { type Begin, form, request, type Step, walk } from '../harness/load.ts';
import { freePort, nodeCommand, start } from '../harness/server.ts';
import {
  authorization,
  CHAINS,
  type Contender,
  check,
  codeOf,
  introspectionFlow,
  redemption,
  refreshFlow,
  registrationFlow,
  registrationOf,
  tokenStep,
} from './flows.ts';

const SCOPE = 'notes:read notes:write';
const RESOURCE = 'https://api.example/mcp';

async function register(port: number): Promise<string> {
  let clientId = '';
  const text = request(
    'POST',
    '/register',
    { 'content-type': 'application/json' },
    JSON.stringify(registrationOf(SCOPE)),
  );
  await walk(port, () => ({
    request: text,
    read({ status, body }) {
      check(status === 201, `status ${status}`);
      clientId = JSON.parse(body).client_id;
      return null;
    },
  }));
  return clientId;
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
}

function codeFlow(clientId: string, jwt: boolean, take: (tokens: Tokens) => void = () => {}): Begin {
  const text = request('GET', authorization('/authorize', clientId, SCOPE, RESOURCE));
  const read: Step['read'] = (answer) =>
    tokenStep(redemption('/token', clientId, codeOf(answer), RESOURCE), { jwt }, (tokens) => {
      take(tokens);
      return null;
    });
  return () => ({ request: text, read });
}

async function tokensOf(port: number, clientId: string, jwt: boolean): Promise<readonly Tokens[]> {
  const tokens: Tokens[] = [];
  const begin = codeFlow(clientId, jwt, (made) => tokens.push(made));
  while (tokens.length < CHAINS) await walk(port, begin);
  return tokens;
}

/** The flows of servers whose endpoints are at the root and whose users need not consent. */
const flowsOf = (jwt: boolean) => ({
  async refresh(port: number) {
    const clientId = await register(port);
    const chains = (await tokensOf(port, clientId, jwt)).map((tokens) => tokens.refresh_token ?? '');
    return refreshFlow(chains, { jwt }, (refreshToken) =>
      form('/token', { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }),
    );
  },
  'authorization code': async (port: number) => codeFlow(await register(port), jwt),
  registration: async () => registrationFlow('/register', registrationOf(SCOPE)),
});

export function mcpSdk(jwt: boolean): Contender {
  return {
    name: `MCP SDK 1.32.2 mcpAuthRouter, ${jwt ? 'JWT' : 'opaque'}`,
    about: `${jwt ? 'ES256 JWT by jose' : 'opaque tokens'}; maps in memory; no limits, no events`,
    start: async () =>
      start({
        command: nodeCommand('bench/servers/mcp-sdk.ts'),
        port: await freePort(),
        ready: '/.well-known/oauth-authorization-server',
        environment: { MCP_DANGEROUSLY_ALLOW_INSECURE_ISSUER_URL: 'true', BENCH_JWT: jwt ? '1' : '0' },
      }),
    flows: {
      ...flowsOf(jwt),
      async introspection(port) {
        const tokens = await tokensOf(port, await register(port), jwt);
        return introspectionFlow(tokens.map(({ access_token: token }) => form('/introspect', { token })));
      },
    },
  };
}

/** It has no client credentials and no introspection, and leaves the page of consent to the application. */
export const workersOAuthProvider: Contender = {
  name: 'workers-oauth-provider 1.2.3',
  about: 'opaque tokens, grants encrypted; on Node, a map in memory; no limits, no events',
  start: async () =>
    start({
      command: nodeCommand('bench/servers/workers-oauth-provider.ts'),
      port: await freePort(),
      ready: '/.well-known/oauth-authorization-server',
    }),
  flows: flowsOf(false),
};
