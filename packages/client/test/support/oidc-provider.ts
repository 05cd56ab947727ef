/** oidc-provider with its own pages, in front of a small protected server. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterEach, vi } from 'vitest';
import { type Party, startParty } from './stub-server.ts';

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

export interface Stage {
  readonly mcp: Party;
  readonly serverUrl: string;
  readonly origin: string;
  /** Grants that tokens were asked for by. */
  readonly asked: readonly string[];
}

/** The authorization server, and a protected server that takes its tokens. */
export async function openStage(features: Settings = {}, settings: Settings = {}): Promise<Stage> {
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
