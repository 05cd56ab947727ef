/** oidc-provider with its built-in memory store. Its authorization requests need no consent here. */
import { type Begin, form, request, type Step, walk } from '../harness/load.ts';
import { freePort, nodeCommand, start } from '../harness/server.ts';
import {
  authorization,
  CHAINS,
  type Contender,
  codeOf,
  cookieField,
  cookiesOf,
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

export const RESOURCE = 'https://api.example/mcp';
export const OPAQUE_RESOURCE = 'https://api.example/opaque';
export const SECRET = 'a-secret-of-forty-three-characters-0123456789';

const machineFields = { authorization: `Basic ${Buffer.from(`machine:${SECRET}`).toString('base64')}` };

/** A browser whose user has consented once, and the code that it received. */
async function signIn(port: number, resource = RESOURCE) {
  let jar = new Map<string, string>();
  let code = '';
  const visit = (path: string): Step => ({
    request: request('GET', path, cookieField(jar)),
    read(answer) {
      jar = cookiesOf(answer, jar);
      const location = locationOf(answer);
      if (!location.startsWith(REDIRECT_URI)) return visit(location.replace(/^https?:\/\/[^/]+/, ''));
      code = codeOf(answer);
      return null;
    },
  });
  await walk(port, () => visit(authorization('/auth', 'app', 'notes:read', resource)));
  return { code, cookies: cookieField(jar) };
}

async function redeem(port: number, code: string, resource: string) {
  let tokens: { access_token: string; refresh_token?: string } = { access_token: '' };
  const jwt = resource === RESOURCE;
  const step = tokenStep(redemption('/token', 'app', code, resource), { jwt }, (answer) => {
    tokens = answer;
    return null;
  });
  await walk(port, () => step);
  return tokens;
}

async function codeFlow(port: number): Promise<Begin> {
  const browsers: string[] = [];
  while (browsers.length < CHAINS) {
    const { cookies } = await signIn(port);
    browsers.push(request('GET', authorization('/auth', 'app', 'notes:read', RESOURCE), cookies));
  }
  let next = 0;
  const read: Step['read'] = (answer) =>
    tokenStep(redemption('/token', 'app', codeOf(answer), RESOURCE), { jwt: true }, () => null);
  return () => {
    next = (next + 1) % browsers.length;
    return { request: browsers[next] ?? '', read };
  };
}

export const oidcProvider: Contender = {
  name: 'oidc-provider 9.13.3',
  about: 'ES256 JWT; in memory, at most 1,000 entries',
  start: async () =>
    start({
      command: nodeCommand('bench/servers/oidc-provider.ts'),
      port: await freePort(),
      ready: '/.well-known/openid-configuration',
    }),
  flows: {
    async refresh(port) {
      const chains: string[] = [];
      while (chains.length < CHAINS) {
        const { code } = await signIn(port);
        chains.push((await redeem(port, code, RESOURCE)).refresh_token ?? '');
      }
      return refreshFlow(chains, { jwt: true }, (refreshToken) =>
        form('/token', { grant_type: 'refresh_token', client_id: 'app', refresh_token: refreshToken }),
      );
    },
    'client credentials': async () =>
      tokenFlow(
        form(
          '/token',
          { grant_type: 'client_credentials', scope: 'notes:read', resource: RESOURCE },
          machineFields,
        ),
        { jwt: true },
      ),
    'authorization code': codeFlow,
    registration: async () => registrationFlow('/reg', { ...registrationOf(''), scope: undefined }),
    // It cannot introspect its JWTs because it does not store them, so these tokens are opaque.
    async introspection(port) {
      const requests: string[] = [];
      while (requests.length < 20) {
        const { code } = await signIn(port, OPAQUE_RESOURCE);
        const { access_token: token } = await redeem(port, code, OPAQUE_RESOURCE);
        requests.push(
          form('/token/introspection', { token, token_type_hint: 'access_token' }, machineFields),
        );
      }
      return introspectionFlow(requests);
    },
  },
};
