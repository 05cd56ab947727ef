/** A real authorization server that others wrote: oidc-provider, with its own pages, in front of a small protected server. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterEach, expect, it, vi } from 'vitest';
import { createMemoryStore, type DevicePrompt } from '../src/index.ts';
import { createNodeClient, type NodeClientOptions } from '../src/node.ts';
import { startParty } from './support/party.ts';

/** What is used of oidc-provider, which brings no types. */
interface Provider {
  callback(): RequestListener;
  on(event: string, hear: (context: { oidc: { params?: Readonly<Record<string, unknown>> } }) => void): void;
}

type Settings = Readonly<Record<string, unknown>>;

const { default: Provider }: { default: new (issuer: string, settings: Settings) => Provider } = await import(
  'oidc-provider' as string
);

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listen(): Promise<{ server: Server; origin: string }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** The authorization server, and a protected server that takes its tokens. */
async function openStage(features: Settings = {}, settings: Settings = {}) {
  const { server, origin } = await listen();
  const quiet = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  vi.spyOn(console, 'info').mockImplementation(() => undefined);
  const provider = new Provider(origin, {
    scopes: ['notes:read', 'notes:write', 'offline_access'],
    pkce: { required: () => true },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: 600,
      Session: 600,
      Interaction: 600,
      Grant: 600,
      RefreshToken: 600,
      ClientCredentials: 600,
      DeviceCode: 600,
      AuthorizationCode: 60,
    },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_context: unknown, resource: string) => ({
          scope: 'notes:read notes:write',
          audience: resource,
          accessTokenFormat: 'jwt',
        }),
      },
      ...features,
    },
    ...settings,
  });
  server.on('request', provider.callback());
  const mcp = await startParty();
  closing.push(mcp.close);
  const serverUrl = `${mcp.origin}/mcp`;
  mcp.on('GET /.well-known/oauth-protected-resource/mcp', {
    body: { resource: serverUrl, authorization_servers: [origin], scopes_supported: ['notes:read'] },
  });
  const keys = createRemoteJWKSet(new URL(`${origin}/jwks`));
  mcp.on('/mcp', async ({ headers }) => {
    const [scheme = '', token = ''] = (headers.get('authorization') ?? '').split(' ');
    const verified = await jwtVerify(token, keys, { issuer: origin, audience: serverUrl }).catch(() => null);
    if (verified !== null) return { body: { scheme, ...verified.payload } };
    const dpop = 'dPoP' in features ? 'DPoP algs="ES256", ' : '';
    return {
      status: 401,
      headers: {
        'www-authenticate': `${dpop}Bearer resource_metadata="${mcp.origin}/.well-known/oauth-protected-resource/mcp"`,
      },
    };
  });
  const asked: string[] = [];
  provider.on('grant.success', (context) => asked.push(String(context.oidc.params?.['grant_type'])));
  quiet.mockClear();
  return { mcp, serverUrl, origin, asked };
}

/** Goes through the provider's own pages. */
async function visit(start: string): Promise<string> {
  const jar = new Map<string, string>();
  let url = start;
  let init: RequestInit = {};
  const home = new URL(start).origin;
  for (let step = 0; step < 20; step += 1) {
    const headers = new Headers(init.headers);
    headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url).href;
      init = {};
      if (new URL(url).origin !== home) return url;
      continue;
    }
    const text = await response.text();
    const form = /<form[^>]*action="([^"]+)"[^>]*>([\s\S]*?)<\/form>/.exec(text);
    if (form === null) return text;
    const [, action = '', content = ''] = form;
    const body = new URLSearchParams();
    for (const [input] of content.matchAll(/<input[^>]*>/g)) {
      const [, name = ''] = /name="([^"]*)"/.exec(input) ?? [];
      const [, value] = /value="([^"]*)"/.exec(input) ?? [];
      body.set(name, value ?? (name === 'login' ? 'ada' : 'x'));
    }
    url = new URL(action, url).href;
    init = { method: 'POST', body };
  }
  throw new Error('The provider goes round in circles.');
}

const browser: NodeClientOptions['browser'] = {
  async open(url) {
    const arrived = await visit(url);
    if (!arrived.startsWith('http://127.0.0.1')) throw new Error(arrived.replace(/<[^>]+>/g, ' '));
    void fetch(arrived).catch(() => undefined);
  },
};

it('registers, signs in, calls, refreshes with rotation, and signs out', async () => {
  const { serverUrl, asked, origin } = await openStage();
  const store = createMemoryStore();
  let offset = 0;
  const client = createNodeClient({ serverUrl, browser, store, clock: () => Date.now() + offset });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({
    aud: serverUrl,
    scope: 'notes:read',
    sub: 'ada',
  });
  for (let round = 0; round < 3; round += 1) {
    offset += 580_000;
    expect((await client.fetch(serverUrl)).status).toBe(200);
  }
  expect(asked).toEqual(['authorization_code', 'refresh_token', 'refresh_token', 'refresh_token']);
  expect(await client.session()).toMatchObject({ issuer: origin, refreshable: true });
  expect(await client.signOut()).toBe('revoked');
});

it('[X-DPOP-1 X-DPOP-4] binds its tokens to a key, and gives the nonces that are demanded', async () => {
  const { serverUrl } = await openStage({
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1), requireNonce: () => true },
  });
  const client = createNodeClient({ serverUrl, browser });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({
    scheme: 'DPoP',
    cnf: { jkt: expect.any(String) },
  });
});

it('[X-CC-8 X-CC-13] acts for itself with a secret that needs encoding', async () => {
  const clientSecret = 'a:b%c d+e';
  const { serverUrl } = await openStage(
    { clientCredentials: { enabled: true } },
    {
      clients: [
        {
          client_id: 'robot',
          client_secret: clientSecret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
    },
  );
  const client = createNodeClient({
    serverUrl,
    grant: { kind: 'application' },
    registration: { preregistered: [{ clientId: 'robot', clientSecret }] },
  });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({ aud: serverUrl, client_id: 'robot' });
});

it('signs in on another device', async () => {
  const { serverUrl } = await openStage({ deviceFlow: { enabled: true } });
  const prompts: DevicePrompt[] = [];
  const client = createNodeClient({
    serverUrl,
    grant: {
      kind: 'device',
      async show(prompt) {
        prompts.push(prompt);
        await visit(prompt.verificationUriComplete ?? prompt.verificationUri);
      },
    },
    sleep: () => new Promise((resolve) => setTimeout(resolve, 50)),
  });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({ aud: serverUrl, sub: 'ada' });
  expect(prompts).toHaveLength(1);
});
