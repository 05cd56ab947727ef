/** Cloudflare's workers-oauth-provider on Node, with a map as its key-value store, and opaque tokens. Its own page approves each request at once. */
import { createServer, type RequestListener } from 'node:http';
import { registerHooks } from 'node:module';
import { getRequestListener } from '@hono/node-server';
import { importPeer } from '../authorization/peers.ts';

/** The part of the Workers runtime that it imports. */
const RUNTIME = 'data:text/javascript,export class WorkerEntrypoint {}';
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === 'cloudflare:workers' ? RUNTIME : specifier, context),
});

interface Provider {
  fetch(request: Request, environment: Environment, context: object): Promise<Response>;
}

interface Environment {
  readonly OAUTH_KV: object;
  readonly OAUTH_PROVIDER?: {
    parseAuthRequest(request: Request): Promise<{ readonly scope: readonly string[] }>;
    completeAuthorization(authorization: object): Promise<{ readonly redirectTo: string }>;
  };
}

const { OAuthProvider } = await importPeer<{ OAuthProvider: new (options: object) => Provider }>(
  '@cloudflare/workers-oauth-provider/dist/oauth-provider.js',
);

const port = Number(process.env['PORT']);
const values = new Map<string, string>();
let approvals = 0;

const OAUTH_KV = {
  get: async (key: string, options?: { readonly type: 'json' }) => {
    const value = values.get(key);
    if (value === undefined) return null;
    return options?.type === 'json' ? JSON.parse(value) : value;
  },
  put: async (key: string, value: string) => void values.set(key, value),
  delete: async (key: string) => void values.delete(key),
  list: async ({ prefix = '' }) => ({
    keys: [...values.keys()].filter((name) => name.startsWith(prefix)).map((name) => ({ name })),
    list_complete: true,
  }),
};

const provider = new OAuthProvider({
  apiRoute: '/mcp',
  apiHandler: { fetch: async () => Response.json({}) },
  defaultHandler: {
    async fetch(request: Request, { OAUTH_PROVIDER: helpers }: Environment) {
      if (helpers === undefined || request.method !== 'GET') return new Response(null, { status: 404 });
      const wanted = await helpers.parseAuthRequest(request);
      approvals += 1;
      const { redirectTo } = await helpers.completeAuthorization({
        request: wanted,
        userId: `user-${approvals % 1000}`,
        metadata: {},
        scope: wanted.scope,
        props: {},
        revokeExistingGrants: false,
      });
      return new Response(null, { status: 302, headers: { location: redirectTo } });
    },
  },
  authorizeEndpoint: '/authorize',
  tokenEndpoint: '/token',
  clientRegistrationEndpoint: '/register',
  scopesSupported: ['notes:read', 'notes:write'],
  resourceMetadata: {
    resource: 'https://api.example/mcp',
    authorization_servers: [`http://localhost:${port}`],
  },
});
const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };
const listener = getRequestListener((request) => provider.fetch(request, { OAUTH_KV }, context));
createServer(listener as RequestListener).listen(port, '127.0.0.1');
