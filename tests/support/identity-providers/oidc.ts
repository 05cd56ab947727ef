/** The oidc-provider package as identity provider: rotating refresh tokens, introspection, revocation and its own pages. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type IdentityProvider, listen, portcullisClient, signInPage } from './identity-provider.ts';

/** The user's claims; `sub` is the login that they type. */
type Claims = Readonly<Record<string, unknown>>;

export interface OidcIdentityProvider extends IdentityProvider {
  /** Lifetime of its access tokens from now on, in seconds; initially 3600. */
  tokenLifetime: number;
  /** Lifetime of its ID tokens from now on, in seconds; initially 600. */
  idTokenLifetime: number;
  /** Whether it issues refresh tokens from now on; initially it does. */
  refreshable: boolean;
  /** Whether its ID tokens and userinfo carry claims of its own choosing. */
  readonly users: Map<string, Claims>;
  /** Where it sends logout tokens; initially nowhere. */
  deliver: (request: Request) => Promise<Response>;
  /** Revokes all grants: access and refresh tokens are invalid from now on. */
  revokeAll(): Promise<void>;
  /** Whether it still accepts a token that it issued. */
  isLive(token: string): Promise<boolean>;
}

interface Stored {
  readonly jti: string;
  readonly kind: string;
  readonly grantId?: string;
  readonly accountId?: string;
  readonly scope?: string;
  readonly isValid: boolean;
  destroy(): Promise<void>;
}

interface Model {
  find(value: string): Promise<Stored | undefined>;
  revokeByGrantId(grantId: string): Promise<void>;
}

interface NewGrant {
  addOIDCScope(scope: string): void;
  save(): Promise<string>;
}

/** The used parts of oidc-provider, which has no types. */
interface Provider {
  callback(): RequestListener;
  on(event: string, hear: (...heard: never[]) => void): void;
  interactionDetails(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<{ readonly params: Readonly<Record<string, string>> }>;
  interactionFinished(
    request: IncomingMessage,
    response: ServerResponse,
    result: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  readonly AccessToken: Model;
  readonly RefreshToken: Model;
  readonly Grant: (new (of: { accountId: string; clientId: string }) => NewGrant) & Model;
  readonly Client: { readonly prototype: { redirectUriAllowed: (uri: string) => boolean } };
}

type Settings = Readonly<Record<string, unknown>>;

/** Scopes of its API, beside those of OpenID Connect. */
const oidcScopes = ['files:read', 'files:write'] as const;

/** @param client other client metadata, instead of its secret: `{ token_endpoint_auth_method: 'private_key_jwt', jwks }` */
export async function startOidc(client: Settings = {}): Promise<OidcIdentityProvider> {
  const knobs = {
    tokenLifetime: 3600,
    idTokenLifetime: 600,
    refreshable: true,
    deliver: async (_request: Request): Promise<Response> => new Response(null, { status: 502 }),
  };
  const users = new Map<string, Claims>();
  const redirects = new Set<string>();
  const typed: string[] = [];
  const grants = new Set<string>();
  let renewals = 0;
  const provider = Promise.withResolvers<Provider>();
  const listening = await listen(async (origin) => {
    const made = await createProvider(origin, knobs, users, client);
    made.Client.prototype.redirectUriAllowed = (uri) => redirects.has(uri);
    const noteGrant = (grant: Stored) => grants.add(grant.jti);
    const noteRenewal = (context: { oidc: { params?: { grant_type?: string } } }) => {
      if (context.oidc.params?.grant_type === 'refresh_token') renewals += 1;
    };
    made.on('grant.saved', noteGrant as never);
    made.on('grant.success', noteRenewal as never);
    made.on('grant.error', noteRenewal as never);
    provider.resolve(made);
    const rest = made.callback();
    return (request, response) => {
      const path = (request.url ?? '').replace(/\?.*/, '');
      if (path.startsWith('/interaction/')) void interact(made, request, response, typed);
      else if (path === '/files') void answerFiles(made, request, response);
      else rest(request, response);
    };
  });
  const made = await provider.promise;
  return Object.assign(knobs, {
    ...listening,
    client: portcullisClient,
    users,
    typed,
    registerRedirectUri: (uri: string) => void redirects.add(uri),
    renewals: () => renewals,
    async revokeAll() {
      for (const id of grants) {
        await made.AccessToken.revokeByGrantId(id);
        await made.RefreshToken.revokeByGrantId(id);
        await (await made.Grant.find(id))?.destroy();
      }
      grants.clear();
    },
    async isLive(token: string) {
      const found = (await made.AccessToken.find(token)) ?? (await made.RefreshToken.find(token));
      return found?.isValid === true;
    },
  });
}

async function createProvider(
  origin: string,
  knobs: Pick<OidcIdentityProvider, 'tokenLifetime' | 'idTokenLifetime' | 'refreshable' | 'deliver'>,
  users: ReadonlyMap<string, Claims>,
  client: Settings,
): Promise<Provider> {
  const { default: Provider }: { default: new (issuer: string, settings: Settings) => Provider } =
    await import('oidc-provider' as string);
  // It prints warnings about production use.
  const { warn, info } = console;
  console.warn = console.info = () => undefined;
  try {
    return new Provider(origin, {
      clients: [
        {
          client_id: portcullisClient.id,
          ...('jwks' in client ? {} : { client_secret: portcullisClient.secret }),
          ...client,
          // `registerRedirectUri` decides which ones it accepts.
          redirect_uris: ['https://nowhere.example/callback'],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      scopes: ['openid', 'offline_access', 'email', 'profile', ...oidcScopes],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      conformIdTokenClaims: false,
      findAccount: async (_context: unknown, id: string) => ({
        accountId: id,
        claims: async () => ({ sub: id, ...describe(id), ...users.get(id) }),
      }),
      // Tests advance our clock, which our client assertions use.
      clockTolerance: 3600,
      cookies: { keys: ['one key for the cookies of a test'] },
      interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      issueRefreshToken: async () => knobs.refreshable,
      rotateRefreshToken: true,
      ttl: {
        AccessToken: () => knobs.tokenLifetime,
        AuthorizationCode: 60,
        Grant: 3600,
        IdToken: () => knobs.idTokenLifetime,
        Interaction: 600,
        RefreshToken: 86_400,
        Session: 600,
      },
      fetch: (url: string, init: RequestInit) => knobs.deliver(new Request(url, init)),
      features: {
        backchannelLogout: { enabled: true },
        devInteractions: { enabled: false },
        introspection: { enabled: true, allowedPolicy: () => true },
        revocation: { enabled: true, allowedPolicy: () => true },
        rpInitiatedLogout: {
          logoutSource(context: { body: unknown }, form: string) {
            context.body = form;
          },
          postLogoutSuccessSource(context: { body: unknown }) {
            context.body = 'logged out';
          },
        },
      },
      renderError(context: { body: unknown }, { error }: { error: string }) {
        context.body = error;
      },
    });
  } finally {
    Object.assign(console, { warn, info });
  }
}

function describe(id: string): Claims {
  return { name: id, email: `${id}@third.example`, email_verified: true };
}

/** Its sign-in and consent page, and the user's decision. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  typed: string[],
): Promise<void> {
  try {
    const { params } = await provider.interactionDetails(request, response);
    if (request.method !== 'POST') {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(signInPage('OpenID identity provider', request.url ?? ''));
      return;
    }
    const form = new URLSearchParams(await text(request));
    typed.push(...form.values());
    await provider.interactionFinished(request, response, await decide(provider, params, form));
  } catch (error) {
    response.writeHead(400).end(String(error));
  }
}

async function decide(
  provider: Provider,
  params: Readonly<Record<string, string>>,
  form: URLSearchParams,
): Promise<Readonly<Record<string, unknown>>> {
  if (form.get('answer') !== 'allow') {
    return { error: 'access_denied', error_description: 'The user declined.' };
  }
  const accountId = form.get('login') ?? '';
  const grant = new provider.Grant({ accountId, clientId: params['client_id'] ?? '' });
  grant.addOIDCScope(params['scope'] ?? '');
  return { login: { accountId }, consent: { grantId: await grant.save() } };
}

/** An API that accepts only its own access tokens, and returns their user and scopes. */
async function answerFiles(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const found = await provider.AccessToken.find(token);
  response.setHeader('content-type', 'application/json');
  if (found?.isValid !== true || !(found.scope ?? '').split(' ').includes('files:read')) {
    response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' });
    response.end(JSON.stringify({ error: 'invalid_token' }));
    return;
  }
  response.end(JSON.stringify({ owner: found.accountId, files: ['letter.txt', 'picture.png'] }));
}
