/** The example configuration of each credential kind, run against a backend that records what reaches it. */

import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Principal } from '@portcullis/resource-server';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CredentialServices } from '../src/credentials/credentials.ts';
import { createCredentialSource, type GatewayServer } from '../src/index.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { startSide } from './support/connections.ts';
import { defineTestServers } from './support/gateway.ts';

const VARIABLES: Readonly<Record<string, string>> = {
  SEARCH_API_KEY: 'search-key',
  FILES_API_KEY: 'files-key',
  REPORTS_CLIENT_SECRET: 'reports-secret-of-some-length-0123456789',
  STS_CLIENT_SECRET: 'sts-secret',
  CRM_CLIENT_SECRET: 'crm-secret',
  IDP_CLIENT_SECRET: 'idp-secret',
};

/** The server of an example, with other addresses and the values of its variables. */
function serverOf(kind: string, addresses: Readonly<Record<string, string>> = {}): GatewayServer {
  const url = new URL(`../../../examples/gateway/${kind}.json`, import.meta.url);
  let text = readFileSync(url, 'utf8');
  for (const [from, to] of Object.entries(addresses)) text = text.replaceAll(from, to);
  const { servers } = JSON.parse(text, (_name, value) =>
    typeof value?.variable === 'string' ? VARIABLES[value.variable] : value,
  ) as { readonly servers: readonly GatewayServerOptions[] };
  const [server] = defineTestServers(servers, 'https://gateway.example');
  if (server === undefined) throw new Error('no server');
  return server;
}

const principalOf = (subject: string, grantId: string | null): Principal =>
  ({
    subject,
    grantId,
    clientId: 'app',
    issuer: 'https://gateway.example',
    claims: {},
  }) as unknown as Principal;
const ada = principalOf('ada', 'grant_ada');
const bob = principalOf('bob', 'grant_bob');
const program = principalOf('program', null);

/** Assertions and ID tokens are the names of their users. */
const services: CredentialServices = {
  issuer: 'https://gateway.example',
  signUserAssertion: async ({ subject }, audience) => `assertion of ${subject} for ${audience}`,
  upstreamIdToken: async (grantId) => `id token of ${grantId}`,
  upstreamToken: async () => {
    throw new Error('not expected');
  },
  connectedAccounts: {
    find: async () => null,
    replace: async () => null,
    createLink: async (grantId) => `https://gateway.example/connect?link=${grantId}`,
  },
};

interface Form extends Readonly<Record<string, string>> {}

/** A token endpoint that records the forms it gets, and issues what the test says. */
async function startTokenEndpoint(respond: (form: Form, count: number) => object) {
  const forms: Form[] = [];
  const authorizations: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
    forms.push(form);
    authorizations.push(request.headers.authorization);
    const headers = { 'content-type': 'application/json' };
    response.writeHead(200, headers).end(JSON.stringify(respond(form, forms.length)));
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  onTestFinished(() => void server.close());
  const url = `http://localhost:${(server.address() as AddressInfo).port}/token`;
  return { url, forms, authorizations };
}

const rejection = (status: number) => ({
  url: 'http://localhost/mcp',
  status,
  headers: new Headers({ 'www-authenticate': 'Bearer error="invalid_token"' }),
});

describe('the example', () => {
  it('none.json sends nothing to the backend', async () => {
    const source = createCredentialSource(services);
    const server = serverOf('none');
    expect(await source.for(ada, server)).toEqual({ headers: {}, key: '', sign: null });
  });

  it('header.json sends the header of its variable, the same for all users, and a rejection is final', async () => {
    const source = createCredentialSource(services);
    const server = serverOf('header');
    const credential = source.for(ada, server);
    expect(credential).toMatchObject({ headers: { 'x-api-key': 'search-key' }, sign: null });
    expect(source.for(bob, server)).toBe(credential);
    expect(await source.rejected(ada, server, rejection(401), await credential)).toBe('final');
  });

  it('environment.json gives the process its variable, and the gateway has nothing to send', async () => {
    const server = serverOf('environment');
    expect(server.backend).toMatchObject({ kind: 'stdio', environment: { API_KEY: 'files-key' } });
    expect(await createCredentialSource(services).for(ada, server)).toMatchObject({ headers: {} });
  });

  it('application.json gets one token by client credentials for all users, at once and until it is rejected', async () => {
    const backend = await startSide({
      users: [],
      options: () => ({
        clients: [
          {
            client_id: 'gateway',
            client_secret: VARIABLES['REPORTS_CLIENT_SECRET'],
            grant_types: ['client_credentials'],
            scope: 'call',
            token_endpoint_auth_method: 'client_secret_basic',
          },
        ],
      }),
    });
    const server = serverOf('application', { 'https://mcp.example.com': backend.origin });
    let now = Date.now();
    const source = createCredentialSource(services, () => now);
    const [credential, other] = await Promise.all([source.for(ada, server), source.for(program, server)]);
    expect(other).toBe(credential);
    expect(source.for(bob, server)).toBe(credential);
    const url = `${backend.origin}/mcp`;
    const send = async () => {
      const { headers, sign } = await source.for(ada, server);
      return fetch(url, { headers: { ...headers, ...(await sign?.('GET', url)) } });
    };
    expect(await (await send()).json()).toMatchObject({ result: { user: 'gateway' } });
    // At once it would be rejected again.
    expect(await source.rejected(ada, server, rejection(401), credential)).toBe('final');
    now += 5000;
    expect(await source.rejected(ada, server, rejection(401), credential)).toBe('retry');
    expect((await source.for(ada, server)).headers).not.toEqual(credential.headers);
    expect((await send()).status).toBe(200);
  });

  it('user.json needs a user who connects an account: a link for users, an error for programs', async () => {
    const source = createCredentialSource(services);
    const server = serverOf('user');
    await expect(Promise.resolve().then(() => source.for(ada, server))).rejects.toMatchObject({
      name: 'ConnectionRequired',
      url: 'https://gateway.example/connect?link=grant_ada',
    });
    await expect(Promise.resolve().then(() => source.for(program, server))).rejects.toMatchObject({
      code: 'access_denied',
    });
  });

  it('user.json uses no disconnected account for longer because the clock stepped back', async () => {
    let now = 4_000_000_000_000;
    let isConnected = true;
    const tokens = { accessToken: 'own', scheme: 'Bearer', dpopKey: null, expiresAt: null, scopes: [] };
    const found = { version: 1, scopes: [], issuedAt: 0, until: 5e9, tokens: { session: { tokens } } };
    const find = async () => (isConnected ? (found as never) : null);
    const connectedAccounts = { ...services.connectedAccounts, find };
    const source = createCredentialSource({ ...services, connectedAccounts }, () => now);
    const server = serverOf('user');
    const use = async () => (await source.for(ada, server)).headers;
    expect(await use()).toEqual({ authorization: 'Bearer own' });
    isConnected = false;
    expect(await use()).toEqual({ authorization: 'Bearer own' });
    now -= 1000;
    await expect(use()).rejects.toThrow('not connected');
  });

  it('user.json refreshes a rejected token although the clock stepped back to before it was issued', async () => {
    let now = 4_000_000_000_000;
    const tokens = { accessToken: 'own', scheme: 'Bearer', dpopKey: null, expiresAt: null, scopes: [] };
    const session = { tokens: { session: { tokens } } };
    const found = { version: 1, scopes: [], issuedAt: now / 1000, until: 5e9, ...session } as never;
    let refreshed = 0;
    const connectedAccounts = {
      ...services.connectedAccounts,
      find: async () => found,
      replace: async () => {
        refreshed += 1;
        return found;
      },
    };
    const source = createCredentialSource({ ...services, connectedAccounts }, () => now);
    const server = serverOf('user');
    const reject = async () =>
      source.rejected(ada, server, rejection(401), await source.for(ada, server)).then(String);
    // At once, another one would be rejected too.
    expect([await reject(), refreshed]).toEqual([expect.stringContaining('not connected'), 0]);
    now -= 3_600_000;
    expect([await reject(), refreshed]).toEqual(['retry', 1]);
  });

  it('exchange.json obtains tokens again after the clock stepped back, also one that was rejected', async () => {
    const sts = await startTokenEndpoint((_form, count) => ({
      access_token: `token-${count}`,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 600,
    }));
    const server = serverOf('exchange', {
      'https://sts.example.com/token': sts.url,
      'https://mcp.example.com': new URL(sts.url).origin,
    });
    let now = Date.now();
    const source = createCredentialSource(services, () => now);
    const use = async () => (await source.for(ada, server)).headers['authorization'];
    expect([await use(), await use()]).toEqual(['Bearer token-1', 'Bearer token-1']);
    now -= 3_600_000;
    expect([await use(), await use()]).toEqual(['Bearer token-2', 'Bearer token-2']);
    const credential = await source.for(ada, server);
    expect(await source.rejected(ada, server, rejection(401), credential)).toBe('final');
    now -= 1;
    expect(await source.rejected(ada, server, rejection(401), credential)).toBe('retry');
    expect(await use()).toBe('Bearer token-3');
  });

  it.each(['user', 'exchange', 'enterprise'])(
    '%s.json uses no grant that a token of another issuer names',
    (kind) => {
      const untouched = new Proxy({ issuer: services.issuer } as CredentialServices, {
        get: (known, name) => Reflect.get(known, name) ?? expect.unreachable(String(name)),
      });
      const server = serverOf(kind);
      const foreign = { ...ada, issuer: 'https://other.example' };
      expect(() => createCredentialSource(untouched).for(foreign, server)).toThrow(
        expect.objectContaining({ code: 'access_denied' }),
      );
    },
  );

  it('exchange.json exchanges an assertion about each user, and never the token of the client', async () => {
    const issue = (form: Form, count: number) => ({
      access_token: `token ${count} for ${form['subject_token']}`.replaceAll(' ', '-'),
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 600,
    });
    const sts = await startTokenEndpoint(issue);
    const addresses = {
      'https://sts.example.com/token': sts.url,
      'https://mcp.example.com': new URL(sts.url).origin,
    };
    const server = serverOf('exchange', addresses);
    const source = createCredentialSource(services);
    const issuer = new URL(sts.url).origin;
    const [one, two] = await Promise.all([source.for(ada, server), source.for(ada, server)]);
    expect(two).toBe(one);
    expect(one.headers).toEqual({ authorization: `Bearer token-1-for-assertion-of-ada-for-${sts.url}` });
    const other = await source.for(bob, server);
    expect(other.headers).toEqual({ authorization: `Bearer token-2-for-assertion-of-bob-for-${sts.url}` });
    expect(other.key).not.toBe(one.key);
    expect(sts.forms[0]).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      resource: `${issuer}/mcp`,
      subject_token: `assertion of ada for ${sts.url}`,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    });
    expect(sts.authorizations[0]).toBe(`Basic ${Buffer.from('gateway:sts-secret').toString('base64')}`);
    await expect(Promise.resolve().then(() => source.for(program, server))).rejects.toMatchObject({
      code: 'access_denied',
    });
    expect(sts.forms).toHaveLength(2);
  });

  it.each([
    ['an access token', 'Bearer', 'access_token', null],
    ['a JWT', 'Bearer', 'jwt', null],
    ['an ID token', 'Bearer', 'id_token', 'token-type:id_token'],
    ['a refresh token', 'N_A', 'refresh_token', 'token type'],
    ['an access token that is not for use', 'N_A', 'access_token', 'token type'],
    ['a token of no type', 'Bearer', null, 'without issued_token_type'],
  ])('exchange.json uses of %s what can be a bearer token', async (_what, type, issued, refusal) => {
    const sts = await startTokenEndpoint(() => ({
      access_token: 'exchanged',
      token_type: type,
      ...(issued !== null && { issued_token_type: `urn:ietf:params:oauth:token-type:${issued}` }),
    }));
    const server = serverOf('exchange', {
      'https://sts.example.com/token': sts.url,
      'https://mcp.example.com': new URL(sts.url).origin,
    });
    const found = Promise.resolve(createCredentialSource(services).for(ada, server));
    if (refusal === null) expect((await found).headers).toEqual({ authorization: 'Bearer exchanged' });
    else
      await expect(found).rejects.toMatchObject({
        code: 'temporarily_unavailable',
        reason: expect.stringContaining(refusal),
      });
  });

  it('enterprise.json exchanges the ID token of each user for an ID-JAG, and that for an access token', async () => {
    const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag';
    const idp = await startTokenEndpoint((form) => ({
      access_token: `jag-${form['subject_token']?.replaceAll(' ', '-')}`,
      issued_token_type: ID_JAG,
      token_type: 'N_A',
      expires_in: 300,
    }));
    const forms: Form[] = [];
    const backend = createServer(async (request, response) => {
      const { origin } = new URL(`http://${request.headers.host}`);
      const json = (status: number, body: object, headers: Record<string, string> = {}) =>
        response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify(body));
      if (request.url === '/token') {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
        forms.push(form);
        json(200, { access_token: `at-${form['assertion']}`, token_type: 'Bearer', expires_in: 600 });
      } else if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
        json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
      } else if (request.url?.startsWith('/.well-known/')) {
        json(200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          response_types_supported: ['code'],
          grant_types_supported: ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
          code_challenge_methods_supported: ['S256'],
        });
      } else {
        const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
        json(401, {}, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` });
      }
    });
    await new Promise<void>((resolve) => backend.listen(0, 'localhost', resolve));
    onTestFinished(() => void backend.close());
    const origin = `http://localhost:${(backend.address() as AddressInfo).port}`;
    const server = serverOf('enterprise', {
      'https://idp.example.com/token': idp.url,
      'https://mcp.example.com': origin,
    });
    const source = createCredentialSource(services);
    expect((await source.for(ada, server)).headers).toEqual({
      authorization: 'Bearer at-jag-id-token-of-grant_ada',
    });
    expect((await source.for(bob, server)).headers).toEqual({
      authorization: 'Bearer at-jag-id-token-of-grant_bob',
    });
    expect(idp.forms[0]).toMatchObject({
      requested_token_type: ID_JAG,
      audience: origin,
      resource: `${origin}/mcp`,
    });
    expect(forms).toHaveLength(2);
  });
});

describe('application credentials', () => {
  it('can be a private key in place of a secret (private_key_jwt)', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const backend = await startSide({
      users: [],
      options: () => ({
        clients: [
          {
            client_id: 'gateway',
            grant_types: ['client_credentials'],
            scope: 'call',
            token_endpoint_auth_method: 'private_key_jwt',
            jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }] },
          },
        ],
      }),
    });
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const [server] = defineTestServers(
      [
        {
          path: '/reports',
          name: 'Reports',
          backend: {
            url: `${backend.origin}/mcp`,
            credentials: {
              as: 'application',
              clientId: 'gateway',
              clientKey: { privateKey: pem, keyId: 'one' },
            },
          },
        },
      ],
      'https://gateway.example',
    );
    if (server === undefined) throw new Error('no server');
    const { headers, sign } = await createCredentialSource(services).for(ada, server);
    const url = `${backend.origin}/mcp`;
    const response = await fetch(url, { headers: { ...headers, ...(await sign?.('GET', url)) } });
    expect(await response.json()).toMatchObject({ result: { user: 'gateway' } });
  });

  it('that the authorization server rejects or that cannot be requested are an outage, not an error of the client', async () => {
    const backend = await startSide({ users: [] });
    const server = serverOf('application', { 'https://mcp.example.com': backend.origin });
    const source = createCredentialSource(services);
    await expect(Promise.resolve().then(() => source.for(ada, server))).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      status: 503,
    });
    expect(backend.accepted).toEqual([]);
  });
});
