/** Backends that are protected by a Portcullis of their own: DPoP, a client metadata document, and an organization that vouches for its users. */
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { decodeJwt } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startAssertionIssuer } from '../../../tests/support/identity-providers/assertions.ts';
import { startOidc } from '../../../tests/support/identity-providers/oidc.ts';
import { likeOidc } from '../../../tests/support/identity-providers/settings.ts';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { createUserBackends, type GatewayServer } from '../src/index.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { createTestBrowser } from './support/browser.ts';
import {
  browserOf,
  emailOf,
  PASSWORD,
  registerClient,
  type Side,
  type SideOptions,
  startSide,
} from './support/connections.ts';
import { defineTestServers } from './support/gateway.ts';

type Credentials = NonNullable<NonNullable<GatewayServerOptions['backend']>['credentials']>;

/** Only bound tokens, with proofs whose nonces the guard has chosen. */
const dpop = { required: true, nonces: { secret: randomBytes(32) } };

/** A gateway in front of a backend. */
async function startGatewayFor(
  backend: Side,
  credentials: Credentials,
  options: SideOptions['options'] = () => ({}),
): Promise<Side> {
  let servers: readonly GatewayServer[] = [];
  const definition: GatewayServerOptions = {
    path: '/mcp',
    name: 'Hub',
    backend: { url: `${backend.origin}/mcp`, credentials },
    scopes: { call: 'Call it' },
    tools: { '*': ['call'] },
    review: 'auto',
  };
  return startSide({
    users: ['ada', 'bob'],
    servers: (origin) => (servers = defineTestServers([definition], origin)),
    options: (origin) => ({
      backends: createUserBackends({ servers: () => servers, clientName: 'Gateway' }),
      ...options(origin),
    }),
  });
}

const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'look', arguments: {} } };

function call({ origin }: Side, token: unknown): Promise<Response> {
  return fetch(`${origin}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(CALL),
  });
}

describe('a backend that accepts only DPoP-bound tokens', () => {
  it('is reached with the account of each user, by a new proof for each request and with its nonces', async () => {
    const backend = await startSide({ users: ['ada', 'bob'], dpop });
    const gateway = await startGatewayFor(backend, { as: 'user' });
    const app = await registerClient(gateway, 'App');
    for (const name of ['ada', 'bob']) {
      const { access_token: token } = await app.redeem(await browserOf(name).allow(app.authorizationUrl()));
      for (let count = 0; count < 3; count += 1) {
        const response = await call(gateway, token);
        expect([response.status, await response.json()]).toMatchObject([
          200,
          { result: { user: backend.accounts[name] } },
        ]);
      }
    }
    const keys = backend.tokens.map((token) => (decodeJwt(token)['cnf'] as { readonly jkt: string }).jkt);
    expect(new Set(keys).size).toBe(2);
  });

  it('is reached by an application with its secret', async () => {
    const client = {
      client_id: 'gateway',
      client_secret: 'a secret of some length 0123456789',
      grant_types: ['client_credentials'],
      scope: 'call',
    };
    const backend = await startSide({ users: [], dpop, options: () => ({ clients: [client] }) });
    const gateway = await startGatewayFor(backend, {
      as: 'application',
      clientId: client.client_id,
      clientSecret: client.client_secret,
    });
    const app = await registerClient(gateway, 'App');
    const { access_token: token } = await app.redeem(await browserOf('ada').allow(app.authorizationUrl()));
    for (let count = 0; count < 3; count += 1)
      expect(await (await call(gateway, token)).json()).toMatchObject({ result: { user: 'gateway' } });
  });
});

describe('an organization that vouches for its users', () => {
  /** The organization's own token endpoint: an ID token of its login for an ID-JAG. */
  async function startExchange(sign: (claims: Readonly<Record<string, unknown>>) => Promise<string>) {
    const idTokens: string[] = [];
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const form = new URLSearchParams(Buffer.concat(chunks).toString());
      const idToken = form.get('subject_token') ?? '';
      const { sub, exp = 0 } = decodeJwt(idToken);
      idTokens.push(idToken);
      const isExpired = exp * 1000 <= Date.now();
      const assertion = await sign({
        sub,
        aud: form.get('audience'),
        resource: form.get('resource'),
        client_id: 'gateway',
        scope: 'call',
      });
      response.writeHead(isExpired ? 400 : 200, { 'content-type': 'application/json' }).end(
        JSON.stringify(
          isExpired
            ? { error: 'invalid_grant' }
            : {
                access_token: assertion,
                issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
                token_type: 'N_A',
                expires_in: 300,
              },
        ),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    onTestFinished(() => void server.close());
    return { url: `http://localhost:${(server.address() as AddressInfo).port}/token`, idTokens };
  }

  async function setScene(clientId = 'portcullis') {
    const company = await startOidc();
    onTestFinished(() => company.close());
    const issuer = await startAssertionIssuer();
    onTestFinished(() => issuer.close());
    const exchange = await startExchange(issuer.sign);
    const clientSecret = 'a secret of some length 0123456789';
    const backend = await startSide({
      users: [],
      dpop,
      options: () => ({
        clients: [
          {
            client_id: 'gateway',
            client_secret: clientSecret,
            grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
          },
        ],
        assertionIssuers: [{ issuer: issuer.issuer, use: 'id-jag', clients: ['gateway'], scopes: ['call'] }],
      }),
    });
    let ahead = 0;
    const gateway = await startGatewayFor(
      backend,
      {
        as: 'enterprise',
        clientId: 'gateway',
        clientSecret,
        identityProvider: { tokenEndpoint: exchange.url, clientId, clientSecret: 'secret' },
      },
      (origin) => {
        company.registerRedirectUri(`${origin}/callback/company`);
        const { upstreamScopes: _, ...provider } = likeOidc(company, { statusCheckInterval: 3600 });
        return { identityProviders: [provider as never], clock: () => Math.floor(Date.now() / 1000) + ahead };
      },
    );
    const advance = (seconds: number): void => {
      ahead += seconds;
    };
    return { company, exchange, backend, gateway, advance };
  }

  /** Signs in at the company during consent. */
  async function signIn(gateway: Side, login: string): Promise<unknown> {
    const app = await registerClient(gateway, 'App');
    const browser = createTestBrowser(() => ({}));
    let page = await browser.open(app.authorizationUrl());
    for (let step = 0; step < 8 && page.html.includes('<form'); step += 1) {
      if (page.url.pathname === '/login') page = await browser.submit(page, {}, '/login/company');
      else if (page.url.pathname === '/consent') page = await browser.submit(page, { decision: 'allow' });
      else page = await browser.submit(page, { login, password: 'there', answer: 'allow' });
    }
    return (await app.redeem(page))['access_token'];
  }

  it('gets each user to a backend with DPoP, as themselves, without a page of the backend', async () => {
    const { gateway, backend, exchange } = await setScene();
    const users: unknown[] = [];
    for (const login of ['ada', 'bob']) {
      const token = await signIn(gateway, login);
      const response = await call(gateway, token);
      users.push(await response.json());
      expect(response.status).toBe(200);
      expect(await (await call(gateway, token)).json()).toEqual(users.at(-1));
    }
    expect(users[0]).not.toEqual(users[1]);
    expect(exchange.idTokens.map((token) => decodeJwt(token).sub)).toEqual(['ada', 'bob']);
    expect(new Set(backend.accepted.map(({ principal }) => principal.subject)).size).toBe(2);
  });

  it('gets no ID token of another identity provider, at which users sign in as well', async () => {
    const { gateway, exchange, backend } = await setScene('a client of the organization');
    const response = await call(gateway, await signIn(gateway, 'ada'));
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_target' }]);
    expect([exchange.idTokens, backend.accepted]).toEqual([[], []]);
  });

  it('gets a renewed ID token once that of the login has expired', async () => {
    const { company, gateway, exchange, advance } = await setScene();
    company.idTokenLifetime = 60;
    const token = await signIn(gateway, 'ada');
    company.idTokenLifetime = 600;
    advance(45);
    expect((await call(gateway, token)).status).toBe(200);
    const [used = ''] = exchange.idTokens;
    expect((decodeJwt(used).exp ?? 0) - (decodeJwt(used).iat ?? 0)).toBe(600);
    expect(company.renewals()).toBe(1);
  });

  it('whose login has expired for good tells the user to connect the app again', async () => {
    const { company, gateway, exchange, advance } = await setScene();
    company.idTokenLifetime = 60;
    company.refreshable = false;
    const token = await signIn(gateway, 'ada');
    advance(45);
    const response = await call(gateway, token);
    expect([response.status, await response.text()]).toEqual([
      403,
      expect.stringContaining('connect it again'),
    ]);
    expect(exchange.idTokens).toEqual([]);
  });
});

describe('a backend that knows clients by their metadata documents', () => {
  const GATEWAY = 'https://gateway.example';

  it('fetches the document of the gateway, one for each app, and no registration is made', async () => {
    const fetched: string[] = [];
    const secure = { security: 'tls' } as const;
    const backend = await startSide({
      users: ['ada'],
      options: () => ({
        outbound: {
          fetch: async (url) => {
            fetched.push(String(url));
            return server.handle(new Request(url), secure);
          },
        },
      }),
    });
    const definition: GatewayServerOptions = {
      path: '/hub',
      name: 'Hub',
      backend: { url: `${backend.origin}/mcp`, credentials: { as: 'user' } },
    };
    const servers = defineTestServers([definition], GATEWAY);
    const store = await openEmptyStore();
    const redirectUri = 'https://app.example/callback';
    const client = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' };
    const server = await createAuthorizationServer({
      issuer: GATEWAY,
      store,
      masterKey: randomBytes(32),
      resources: [{ resource: `${GATEWAY}/hub`, name: 'Hub', scopes: { 'hub:read': 'Read' } }],
      clients: ['one', 'two'].map((client_id) => ({ client_id, ...client })),
      backends: createUserBackends({ servers: () => servers, clientName: 'Gateway' }),
      events: () => {},
    });
    onTestFinished(async () => {
      await server.close();
      await store.close();
    });
    await server.bootstrap(emailOf('ada'), PASSWORD);
    const ada = createTestBrowser(() => ({ email: emailOf('ada'), password: PASSWORD }), {
      [GATEWAY]: (request) => server.handle(request, secure),
    });
    const challenge = createHash('sha256').update('v'.repeat(43)).digest('base64url');
    for (const clientId of ['one', 'two']) {
      const url = `${GATEWAY}/authorize?${new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        state: 'state',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        resource: `${GATEWAY}/hub`,
      })}`;
      expect((await ada.allow(url)).url.searchParams.get('code')).not.toBeNull();
    }
    expect(new Set(fetched).size).toBe(2);
    for (const url of fetched)
      expect(url).toMatch(/^https:\/\/gateway\.example\/connect\/client\/hub\/~[\w-]{22}$/);
    expect(backend.events.filter(({ type }) => type === 'client.registered')).toEqual([]);
    const document = await server.handle(new Request(fetched[0] ?? ''), secure);
    expect(await document.json()).toMatchObject({
      client_id: fetched[0],
      client_name: 'Gateway',
      redirect_uris: [`${GATEWAY}/connect/callback/hub`],
    });
    const unknown = await server.handle(
      new Request(`${GATEWAY}/connect/client/other/~${'a'.repeat(22)}`),
      secure,
    );
    expect(unknown.status).toBe(404);
  });
});
