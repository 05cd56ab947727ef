/**
 * The protocol's authorization extensions between our client and our server, on both transports. The official suite tests our client
 * alone (`tests/conformance`): it has no scenario of an extension for authorization servers.
 */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createAuthorizationServer } from '@portcullis/authorization-server';
import { type GrantSettings, type PreregisteredClient, readSigningKey } from '@portcullis/client';
import { createNodeClient, type NodeClientOptions } from '@portcullis/client/node';
import { listen } from '@portcullis/http/node';
import { openStore } from '@portcullis/store';
import { decodeJwt, exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Organization, startOrganization } from '../support/organization.ts';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { reservePort } from '../support/ports.ts';
import { createUser } from '../support/user.ts';
import { sessionOf } from './sdks.ts';

const CLIENT_CREDENTIALS = 'client_credentials';
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const secret = 'a secret that only the clients know';
const key = await generateKeyPair('ES256', { extractable: true });
const signingKey = await readSigningKey(
  (await exportJWK(key.privateKey)) as Readonly<Record<string, unknown>>,
  'ES256',
  'k1',
);

let organization: Organization;
let identityProvider: { readonly url: string; stop(): Promise<void> };
let server: PortcullisHere;
let nonced: PortcullisHere;

beforeAll(async () => {
  organization = await startOrganization();
  const port = await reservePort();
  const employer = `http://127.0.0.1:${port}`;
  server = await startPortcullisHere({
    clients: [
      { client_id: 'basic', client_secret: secret, grant_types: [CLIENT_CREDENTIALS], scope: 'notes:read' },
      {
        client_id: 'keyed',
        grant_types: [CLIENT_CREDENTIALS],
        scope: 'notes:read',
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ ...(await exportJWK(key.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] },
      },
      { client_id: 'agent', client_secret: secret, grant_types: [JWT_BEARER] },
      { client_id: 'deploy', grant_types: [JWT_BEARER], token_endpoint_auth_method: 'none' },
    ],
    assertionIssuers: [
      { issuer: employer, use: 'id-jag', clients: ['agent'] },
      {
        issuer: organization.issuer,
        use: 'workload',
        match: { sub: 'repo:acme/app' },
        client: 'deploy',
        scopes: ['notes:read'],
      },
    ],
  });
  nonced = await startPortcullisHere({ requireDpopNonces: true });
  identityProvider = await startIdentityProvider(employer, port);
});

afterAll(async () => {
  await server.stop();
  await nonced.stop();
  await identityProvider.stop();
  await organization.stop();
});

/** Our server as the identity provider of the organization, which vouches for its users at the other one. */
async function startIdentityProvider(issuer: string, port: number) {
  const store = await openStore(':memory:');
  const authorizationServer = await createAuthorizationServer({
    issuer,
    store,
    masterKey: new Uint8Array(32).fill(9),
    resources: [{ resource: `${issuer}/desktop`, name: 'Desktop', scopes: { desktop: 'Use your desktop' } }],
    clients: [
      {
        client_id: 'desktop',
        client_secret: secret,
        redirect_uris: ['http://127.0.0.1:33421/callback'],
        grant_types: ['authorization_code', 'refresh_token', EXCHANGE],
      },
    ],
    assertionAudiences: [
      {
        audience: server.url,
        clients: { desktop: 'agent' },
        scopes: ['notes:read'],
        resources: [server.resource],
      },
    ],
  });
  await authorizationServer.bootstrap(owner.email, owner.password);
  const listening = await listen(authorizationServer.handleHttp, { port, host: '127.0.0.1' });
  return {
    url: issuer,
    async stop() {
      await listening.close(0);
      await authorizationServer.close();
      await store.close();
    },
  };
}

/** The refresh token that the single sign-on of a user left with the client. */
async function signOn(): Promise<string> {
  const { url } = identityProvider;
  const verifier = 'v'.repeat(43);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const parameters = {
    response_type: 'code',
    client_id: 'desktop',
    redirect_uri: 'http://127.0.0.1:33421/callback',
    code_challenge: Buffer.from(digest).toString('base64url'),
    code_challenge_method: 'S256',
    resource: `${url}/desktop`,
  };
  const back = await createUser(owner).authorize(`${url}/authorize?${new URLSearchParams(parameters)}`);
  const response = await fetch(`${url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`desktop:${encodeURIComponent(secret)}`)}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      code_verifier: verifier,
    }),
  });
  const { refresh_token: token } = (await response.json()) as { readonly refresh_token?: string };
  if (token === undefined) throw new Error(`no refresh token: ${response.status}`);
  return token;
}

interface Extension {
  readonly name: string;
  readonly options: () => Promise<Partial<NodeClientOptions>>;
  /** The server to use. */
  readonly at?: () => PortcullisHere;
  readonly expected: object;
}

function preregistered(client: PreregisteredClient, grant: GrantSettings): Partial<NodeClientOptions> {
  return { grant, registration: { preregistered: [client] } };
}

/** A user at a browser, whose tokens are bound by default. */
const user: Partial<NodeClientOptions> = {
  browser: {
    async open(url) {
      const back = await createUser(owner).authorize(url);
      void fetch(back).catch(() => undefined);
    },
  },
};

const extensions: readonly Extension[] = [
  {
    name: '[X-CC-2] client credentials with a secret',
    options: async () => preregistered({ clientId: 'basic', clientSecret: secret }, { kind: 'application' }),
    expected: { client_id: 'basic', sub: 'basic' },
  },
  {
    name: '[X-CC-3] client credentials with a signed assertion',
    options: async () => preregistered({ clientId: 'keyed', signingKey }, { kind: 'application' }),
    expected: { client_id: 'keyed', sub: 'keyed' },
  },
  {
    name: '[X-EMA-8 X-EMA-17] enterprise-managed authorization, with our server as the identity provider',
    options: async () =>
      preregistered(
        { clientId: 'agent', clientSecret: secret },
        {
          kind: 'enterprise',
          identityProvider: {
            tokenEndpoint: `${identityProvider.url}/token`,
            clientId: 'desktop',
            clientSecret: secret,
          },
          subjectToken: signOn,
          subjectTokenType: 'refresh_token',
        },
      ),
    expected: { client_id: 'agent', scope: 'notes:read', auth_time: expect.any(Number), amr: ['fed'] },
  },
  {
    name: '[X-WIF-2] workload identity federation',
    // Its scopes are configured: a rejected assertion is not sent again, so none may be requested in vain.
    options: async () => ({
      ...preregistered(
        { clientId: 'deploy' },
        {
          kind: 'workload',
          assertion: (aud) => organization.sign({ sub: 'repo:acme/app', aud }, { typ: 'JWT' }),
        },
      ),
      scopes: { only: ['notes:read'] },
    }),
    expected: { client_id: 'deploy', sub: 'deploy' },
  },
  {
    name: '[X-DPOP-12] DPoP',
    options: async () => user,
    expected: { amr: ['pwd'] },
  },
  {
    name: '[X-DPOP-4 X-DPOP-5] DPoP with nonces that the server requires',
    options: async () => user,
    at: () => nonced,
    expected: { amr: ['pwd'] },
  },
];

describe.each(extensions)('$name', ({ options, at = () => server, expected }) => {
  it.each([
    ['sessions of 2025-11-25', 'legacy' as const],
    ['requests of 2026-07-28', { pin: '2026-07-28' }],
  ])('our client calls our server by %s', async (_transport, mode) => {
    const { resource } = at();
    const sent: string[] = [];
    const client = createNodeClient({
      serverUrl: resource,
      ...(await options()),
      async fetch(input, init) {
        const request = new Request(input, init);
        if (request.url === resource) sent.push(request.headers.get('authorization') ?? '');
        return fetch(request);
      },
    });
    const mcp = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode } });
    await mcp.connect(new StreamableHTTPClientTransport(new URL(resource), { fetch: client.fetch }));
    expect(await sessionOf(mcp).call('whoami')).toMatchObject({
      scopes: expect.arrayContaining(['notes:read']),
    });
    await mcp.close();
    // Client and guard bind tokens by default.
    const [scheme, token = ''] = (sent.at(-1) ?? '').split(' ');
    expect([scheme, decodeJwt(token)]).toMatchObject([
      'DPoP',
      { cnf: { jkt: expect.any(String) }, ...expected },
    ]);
  });
});
