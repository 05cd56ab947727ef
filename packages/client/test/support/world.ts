/** A world for the client to find its way in: a protected server, its authorization server, and a user; honest until told otherwise. */
import { createHash, randomUUID } from 'node:crypto';
import { afterEach } from 'vitest';
import type { Browser, Client, ClientEvent, ClientOptions, Receiver } from '../../src/index.ts';
import { createClient } from '../../src/index.ts';
import { type Asked, type Party, startParty, type Told } from './stub-server.ts';

/** What the worlds differ in. */
export interface WorldSettings {
  /** Path of the protected server; `/mcp` by default. */
  readonly path?: string;
  /** Protected resource metadata at the path form, named in the challenge; on by default. */
  readonly resourceMetadata?: boolean;
  /** Authorization server metadata; on by default. */
  readonly serverMetadata?: boolean;
  /** The server is its own authorization server. */
  readonly oneOrigin?: boolean;
  /** Members of the authorization server's metadata that are added or replaced; `undefined` removes one. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Members of the protected resource metadata likewise. */
  readonly resource?: Readonly<Record<string, unknown>>;
  /** Scopes named in the 401 challenge. */
  readonly challengeScopes?: string;
  /** Seconds that access tokens live; `null`: not told. */
  readonly lifetime?: number | null;
  /** Refresh tokens are given; on by default. */
  readonly refresh?: boolean;
  /** Answer of the registration besides `client_id`. */
  readonly registration?: Readonly<Record<string, unknown>>;
  /** `iss` of the authorization response; the issuer by default, `null`: none. */
  readonly responseIssuer?: string | null;
}

export interface World {
  readonly server: Party;
  readonly as: Party;
  readonly serverUrl: string;
  readonly issuer: string;
  /** Access tokens that the server takes, with their scopes. */
  readonly tokens: Map<string, string>;
  /** Live refresh tokens. */
  readonly refreshTokens: Set<string>;
  /** Makes an access token that the server takes. */
  issue(scope: string): string;
  readonly user: User;
  readonly events: ClientEvent[];
  /** A client of the user, with an adjustable clock. */
  client(options?: Partial<ClientOptions>): Client;
  /** Milliseconds added to the client's clock. */
  advance(milliseconds: number): void;
}

/** The user's browser and ear, without a socket. */
interface User {
  readonly browser: Browser;
  readonly receiver: Receiver;
  /** Addresses that were opened. */
  readonly opened: URL[];
  readonly redirectUri: string;
  /** What the user read at the end of each sign-in. */
  readonly read: string[];
  /** Changes where the browser arrives, `null`: it never does. */
  divert(change: (arrived: URL) => URL | null): void;
}

const parties: Party[] = [];

afterEach(async () => {
  for (const party of parties.splice(0)) await party.close();
});

export async function openParty(): Promise<Party> {
  const party = await startParty();
  parties.push(party);
  return party;
}

/** Makes a world. */
export async function createWorld(settings: WorldSettings = {}): Promise<World> {
  const server = await openParty();
  const as = settings.oneOrigin === true ? server : await openParty();
  const serverUrl = `${server.origin}${settings.path ?? '/mcp'}`;
  const events: ClientEvent[] = [];
  const user = createUser();
  let offset = 0;
  const world: World = {
    server,
    as,
    serverUrl,
    issuer: as.origin,
    tokens: new Map(),
    refreshTokens: new Set(),
    issue(scope) {
      const token = `at-${randomUUID()}`;
      world.tokens.set(token, scope);
      return token;
    },
    user,
    events,
    client: (options = {}) =>
      createClient({
        serverUrl,
        browser: user.browser,
        receiver: user.receiver,
        clock: () => Date.now() + offset,
        limits: { retryDelays: [1, 1] },
        onEvent: (event) => events.push(event),
        ...options,
      }),
    advance(milliseconds) {
      offset += milliseconds;
    },
  };
  buildServer(world, settings);
  buildAuthorizationServer(world, settings);
  return world;
}

function buildServer({ server, as, serverUrl, tokens }: World, settings: WorldSettings): void {
  const path = new URL(serverUrl).pathname;
  const wellKnown = `/.well-known/oauth-protected-resource${path === '/' ? '' : path}`;
  const described = settings.resourceMetadata ?? true;
  if (described) {
    const resource = path === '/' ? server.origin : serverUrl;
    server.on(`GET ${wellKnown}`, {
      body: { resource, authorization_servers: [as.origin], ...settings.resource },
    });
  }
  const scope = settings.challengeScopes === undefined ? [] : [`scope="${settings.challengeScopes}"`];
  const place = described ? [`resource_metadata="${server.origin}${wellKnown}"`] : [];
  const challenge = `Bearer ${['realm="test"', ...place, ...scope].join(', ')}`;
  server.on(path, ({ headers, method }) => {
    const token = /^Bearer (.+)$/.exec(headers.get('authorization') ?? '')?.[1] ?? '';
    const granted = tokens.get(token);
    if (granted === undefined)
      return { status: 401, headers: { 'www-authenticate': challenge }, body: { error: 'who are you?' } };
    return { body: { method, granted } };
  });
}

/** Codes are used once, verifiers are checked, refresh tokens are rotated. */
function buildAuthorizationServer(world: World, settings: WorldSettings): void {
  const { as } = world;
  const codes = new Map<string, { challenge: string; scope: string }>();
  const metadata = {
    issuer: as.origin,
    authorization_endpoint: `${as.origin}/authorize`,
    token_endpoint: `${as.origin}/token`,
    registration_endpoint: `${as.origin}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [
      'none',
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
    ],
    authorization_response_iss_parameter_supported: true,
    ...settings.metadata,
  };
  if (settings.serverMetadata ?? true)
    as.on('GET /.well-known/oauth-authorization-server', { body: metadata });

  as.on('POST /register', ({ body }) => {
    const asked = JSON.parse(body) as Readonly<Record<string, unknown>>;
    const needsSecret = String(asked['token_endpoint_auth_method']).startsWith('client_secret');
    const secret = needsSecret ? { client_secret: randomUUID() } : {};
    return {
      status: 201,
      body: { ...asked, ...secret, client_id: `client-${randomUUID()}`, ...settings.registration },
    };
  });

  as.on('GET /authorize', ({ query }) => {
    const code = `code-${randomUUID()}`;
    codes.set(code, { challenge: query.get('code_challenge') ?? '', scope: query.get('scope') ?? '' });
    const location = new URL(query.get('redirect_uri') ?? '');
    location.searchParams.set('code', code);
    location.searchParams.set('state', query.get('state') ?? '');
    const issuer = settings.responseIssuer === undefined ? as.origin : settings.responseIssuer;
    if (issuer !== null) location.searchParams.set('iss', issuer);
    return { status: 302, headers: { location: location.href } };
  });

  as.on('POST /token', ({ form }) => {
    switch (form.get('grant_type')) {
      case 'authorization_code': {
        const code = codes.get(form.get('code') ?? '');
        codes.delete(form.get('code') ?? '');
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        if (code === undefined || code.challenge !== challenge) return refusal('invalid_grant');
        return grant(world, settings, code.scope);
      }
      case 'refresh_token':
        if (!world.refreshTokens.delete(form.get('refresh_token') ?? '')) return refusal('invalid_grant');
        return grant(world, settings, '');
      default:
        return grant(world, { ...settings, refresh: false }, form.get('scope') ?? '');
    }
  });
}

export function refusal(error: string, status = 400): Told {
  return { status, body: { error, error_description: `because of ${error}` } };
}

/** A successful answer of the token endpoint. */
export function grant(world: World, settings: WorldSettings, scope: string): Told {
  const lifetime = settings.lifetime === undefined ? 600 : settings.lifetime;
  const refreshToken = `rt-${randomUUID()}`;
  if (settings.refresh ?? true) world.refreshTokens.add(refreshToken);
  return {
    body: {
      access_token: world.issue(scope),
      token_type: 'Bearer',
      ...(lifetime !== null && { expires_in: lifetime }),
      ...((settings.refresh ?? true) && { refresh_token: refreshToken }),
      ...(scope !== '' && { scope }),
    },
  };
}

/** A user who follows the redirect of the authorization server to the receiver of the client. */
function createUser(redirectUri = 'http://127.0.0.1:49152/callback'): User {
  const opened: URL[] = [];
  const read: string[] = [];
  const waiting = new Map<string, (query: URLSearchParams) => void>();
  let change = (arrived: URL): URL | null => arrived;
  return {
    opened,
    redirectUri,
    read,
    divert(next) {
      change = next;
    },
    browser: {
      async open(url) {
        opened.push(new URL(url));
        const response = await fetch(url, { redirect: 'manual' });
        const location = response.headers.get('location');
        if (location === null) return;
        const state = new URL(location).searchParams.get('state') ?? '';
        const arrived = change(new URL(location));
        // A test may take the state away: the answer arrives at the ear that waits, as a browser's would.
        if (arrived !== null) waiting.get(state)?.(arrived.searchParams);
      },
    },
    receiver: {
      async listen() {
        const { promise, resolve } = Promise.withResolvers<URLSearchParams>();
        let mine = '';
        return {
          redirectUri,
          async waitForRedirect(state) {
            mine = state;
            waiting.set(state, resolve);
            return { query: await promise, respond: async ({ message }) => void read.push(message) };
          },
          async close() {
            waiting.delete(mine);
          },
        };
      },
    },
  };
}

/** Requests to the protected server, without those for its metadata. */
export function calls({ server, serverUrl }: World): readonly Asked[] {
  return server.asked(new URL(serverUrl).pathname);
}

/** The one code that the work ends with. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code);
    throw error;
  }
  return 'no error';
}
