/** oidc-provider in memory: ES256 JWTs for one resource, opaque tokens for another; every user is signed in and consents. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { REDIRECT_URI } from '../authorization/flows.ts';
import { OPAQUE_RESOURCE, RESOURCE, SECRET } from '../authorization/oidc-provider.ts';

/** The used part of oidc-provider, which has no types. */
interface Provider {
  readonly Grant: { new (of: object): ProviderGrant; find(id: string): Promise<ProviderGrant | undefined> };
  use(handle: (context: Context, next: () => Promise<void>) => Promise<void>): void;
  interactionFinished(request: unknown, response: unknown, result: object, how: object): Promise<void>;
  listen(port: number, host: string): void;
}

interface ProviderGrant {
  addResourceScope(resource: string, scope: string): void;
  save(): Promise<void>;
}

interface Context {
  readonly path: string;
  readonly req: unknown;
  readonly res: unknown;
  respond: boolean;
  readonly oidc: {
    readonly session: { readonly accountId: string; grantIdFor(clientId: string): string | undefined };
    readonly client: { readonly clientId: string };
    readonly result?: { readonly consent?: { readonly grantId?: string } };
  };
}

const { default: Provider }: { default: new (issuer: string, configuration: object) => Provider } =
  await import('oidc-provider' as string);

const port = Number(process.env['PORT']);
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' };

const provider = new Provider(`http://localhost:${port}`, {
  jwks: { keys: [key] },
  cookies: { keys: [randomUUID()] },
  clients: [
    {
      client_id: 'machine',
      client_secret: SECRET,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      token_endpoint_auth_method: 'client_secret_basic',
    },
    {
      client_id: 'app',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [REDIRECT_URI],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
  ],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  scopes: ['offline_access'],
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  rotateRefreshToken: () => true,
  ttl: {
    AccessToken: 600,
    AuthorizationCode: 60,
    ClientCredentials: 600,
    Grant: 86_400,
    Interaction: 600,
    RefreshToken: 86_400,
    Session: 86_400,
  },
  interactions: {
    url: (_context: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}`,
  },
  async loadExistingGrant(context: Context) {
    const { session, client, result } = context.oidc;
    const known = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
    const found = known === undefined ? undefined : await provider.Grant.find(known);
    if (found !== undefined) return found;
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    for (const resource of [RESOURCE, OPAQUE_RESOURCE]) grant.addResourceScope(resource, 'notes:read');
    await grant.save();
    return grant;
  },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context: unknown, resource: string) => ({
        scope: 'notes:read',
        audience: resource,
        accessTokenTTL: 600,
        accessTokenFormat: resource === OPAQUE_RESOURCE ? 'opaque' : 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
});

provider.use(async (context, next) => {
  if (!context.path.startsWith('/interaction/')) return next();
  context.respond = false;
  const login = { accountId: `user-${randomUUID()}` };
  await provider.interactionFinished(context.req, context.res, { login }, { mergeWithLastSubmission: false });
});

provider.listen(port, '127.0.0.1');
