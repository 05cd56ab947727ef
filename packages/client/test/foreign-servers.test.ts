/** Interoperability with other authorization servers: the example of the official SDK, and workers-oauth-provider in Node. */
import { createServer } from 'node:http';
import { registerHooks } from 'node:module';
import type { AddressInfo } from 'node:net';
import { DemoInMemoryAuthProvider } from '@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import {
  createOAuthMetadata,
  mcpAuthMetadataRouter,
  mcpAuthRouter,
} from '@modelcontextprotocol/sdk/server/auth/router.js';
import express from 'express';
import { afterEach, expect, it, vi } from 'vitest';
import { createMemoryStore } from '../src/index.ts';
import { createNodeClient, type NodeClientOptions } from '../src/node.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server on a free port, whose handler is given once the port is known. */
async function listen() {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A client whose user approves at once. */
function createAgreeable(serverUrl: string, options: Partial<NodeClientOptions> = {}) {
  const opened: URL[] = [];
  const client = createNodeClient({
    serverUrl,
    store: createMemoryStore(),
    browser: {
      async open(url) {
        opened.push(new URL(url));
        const response = await fetch(url, { redirect: 'manual' });
        void fetch(response.headers.get('location') ?? '').catch(() => undefined);
      },
    },
    ...options,
  });
  return { client, opened };
}

it('registers, signs in and calls with the example server of the official SDK, whose issuer ends with a slash', async () => {
  const [as, mcp] = [await listen(), await listen()];
  const serverUrl = `${mcp.origin}/mcp`;
  const provider = new DemoInMemoryAuthProvider((resource) => resource?.href === serverUrl);
  const settings = { provider, issuerUrl: new URL(as.origin), scopesSupported: ['mcp:tools'] };
  as.server.on(
    'request',
    express().use(express.json()).use(express.urlencoded()).use(mcpAuthRouter(settings)),
  );
  const resourceMetadataUrl = `${mcp.origin}/.well-known/oauth-protected-resource/mcp`;
  mcp.server.on(
    'request',
    express()
      .use(
        mcpAuthMetadataRouter({
          oauthMetadata: createOAuthMetadata(settings),
          resourceServerUrl: new URL(serverUrl),
          scopesSupported: ['mcp:tools'],
        }),
      )
      .use(
        '/mcp',
        requireBearerAuth({ verifier: provider, requiredScopes: ['mcp:tools'], resourceMetadataUrl }),
      )
      .use('/mcp', (request, response) => void response.json(request.auth?.scopes)),
  );
  const { client, opened } = createAgreeable(serverUrl);
  expect(await (await client.fetch(serverUrl)).json()).toEqual(['mcp:tools']);
  expect((await client.fetch(serverUrl)).status).toBe(200);
  expect(opened).toHaveLength(1);
  expect(opened[0]?.searchParams.get('resource')).toBe(serverUrl);
  expect((await client.session())?.issuer).toBe(`${as.origin}/`);
});

/** What of a namespace of Workers KV is used. */
function createNamespace() {
  const rows = new Map<string, string>();
  return {
    async get(key: string, options?: { type?: string } | string) {
      const text = rows.get(key) ?? null;
      const type = typeof options === 'string' ? options : options?.type;
      return text !== null && type === 'json' ? JSON.parse(text) : text;
    },
    put: async (key: string, text: string) => void rows.set(key, text),
    delete: async (key: string) => void rows.delete(key),
    async list({ prefix = '' }: { prefix?: string } = {}) {
      const keys = [...rows.keys()].filter((key) => key.startsWith(prefix)).map((name) => ({ name }));
      return { keys, list_complete: true };
    },
  };
}

/** The functions of the provider that are used. */
interface Helpers {
  parseAuthRequest(request: Request): Promise<{ scope: string[] }>;
  completeAuthorization(answer: object): Promise<{ redirectTo: string }>;
}

interface Worker {
  fetch(request: Request, env: object, context: object): Promise<Response>;
}

it('registers, signs in, calls, refreshes with rotation and signs out with workers-oauth-provider', async () => {
  // It says how to switch metadata documents on.
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  // The runtime's own module, of which the package wants one class.
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'cloudflare:workers'
        ? { url: 'data:text/javascript,export class WorkerEntrypoint {}', shortCircuit: true }
        : next(specifier, context),
  });
  const { OAuthProvider } = (await import('@cloudflare/workers-oauth-provider')) as unknown as {
    OAuthProvider: new (options: object) => Worker;
  };
  const { server, origin } = await listen();
  const serverUrl = `${origin}/mcp`;
  const worker = new OAuthProvider({
    apiRoute: '/mcp',
    apiHandler: {
      fetch: async (_request: Request, _env: object, { props }: { props: object }) => Response.json(props),
    },
    defaultHandler: {
      async fetch(request: Request, { OAUTH_PROVIDER }: { OAUTH_PROVIDER: Helpers }) {
        const asked = await OAUTH_PROVIDER.parseAuthRequest(request);
        const answer = {
          request: asked,
          userId: 'ada',
          metadata: {},
          scope: asked.scope,
          props: { user: 'ada' },
        };
        return Response.redirect((await OAUTH_PROVIDER.completeAuthorization(answer)).redirectTo, 302);
      },
    },
    authorizeEndpoint: '/authorize',
    tokenEndpoint: '/token',
    clientRegistrationEndpoint: '/register',
    scopesSupported: ['notes:read', 'offline_access'],
    resourceMetadata: { resource: serverUrl, authorization_servers: [origin] },
    requiredScopes: ['notes:read'],
  });
  const env = { OAUTH_KV: createNamespace() };
  const grants: string[] = [];
  server.on('request', async (incoming, outgoing) => {
    let body = '';
    for await (const chunk of incoming) body += chunk;
    const grant = new URLSearchParams(body).get('grant_type');
    if (grant !== null) grants.push(grant);
    const { method = 'GET', url = '/' } = incoming;
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const request = new Request(origin + url, { method, headers, ...(body !== '' && { body }) });
    const response = await worker.fetch(request, env, { waitUntil: () => undefined, props: {} });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
  });

  let offset = 0;
  const { client, opened } = createAgreeable(serverUrl, { clock: () => Date.now() + offset });
  expect(await (await client.fetch(serverUrl)).json()).toEqual({ user: 'ada' });
  const first = await client.accessToken();
  for (const hours of [2, 4]) {
    offset = hours * 3_600_000;
    expect((await client.fetch(serverUrl)).status).toBe(200);
  }
  expect(await client.accessToken()).not.toBe(first);
  expect(grants).toEqual(['authorization_code', 'refresh_token', 'refresh_token']);
  expect(opened).toHaveLength(1);
  expect(await client.signOut()).toBe('revoked');
});
