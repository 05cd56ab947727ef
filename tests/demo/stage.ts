/** The demo's servers: seven, each with fresh data on a free port, and its users and clients. */
import { fileURLToPath } from 'node:url';
import { type Client, type ClientOptions, createClient, createMemoryStore } from '@portcullis/client';
import { createLoopbackReceiver } from '@portcullis/client/node';
import { type GithubIdentityProvider, startGithub } from '../support/identity-providers/github.ts';
import { likeGithub } from '../support/identity-providers/settings.ts';
import { type Organization, startOrganization } from '../support/organization.ts';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { createUser } from '../support/user.ts';
import type { Exchange, Fetch, Transcript } from './transcript.ts';

/** A client of the configuration file: an application without a user. */
export const robot = {
  client_id: 'nightly-report',
  client_name: 'Nightly report',
  client_secret: 'known to this program and to the server only',
  grant_types: ['client_credentials'],
  scope: 'notes:read notes:write',
  token_endpoint_auth_method: 'client_secret_basic',
} as const;

/** A client of an organization, for whose users its identity provider vouches. */
export const agent = {
  client_id: 'agent',
  client_name: 'Agent of Acme',
  client_secret: 'known to the agent and to the server only',
  grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
  token_endpoint_auth_method: 'client_secret_post',
} as const;

/** A device without a browser. */
export const television = {
  client_id: 'television',
  client_name: 'Television',
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
  scope: 'notes:read',
  token_endpoint_auth_method: 'none',
} as const;

/** Protected servers elsewhere that call each other, with tokens of this authorization server. */
export const mail = 'https://mail.example/mcp';
export const calendar = 'https://calendar.example/mcp';

/** The client by which the mail server proves itself. */
export const mailServer = {
  client_id: 'mail-server',
  client_secret: 'known to the mail server and to this one only',
  grant_types: ['urn:ietf:params:oauth:grant-type:token-exchange'],
  token_endpoint_auth_method: 'client_secret_post',
} as const;

export interface Stage {
  /** Profile A with metadata. */
  readonly withMetadata: Portcullis;
  /** Profile A without: default endpoints. */
  readonly withoutMetadata: Portcullis;
  /** Profile B. */
  readonly profileB: Portcullis;
  /** Profile B, with access tokens that live for one second. */
  readonly shortLived: Portcullis;
  /** Profile A, with accounts of a GitHub-like identity provider: it protects a server that reads repositories there. */
  readonly delegating: Portcullis;
  readonly identityProvider: GithubIdentityProvider;
  /** Trusts the identity provider of an organization, and lets devices ask for access. */
  readonly managed: Portcullis;
  /** A process of its own. */
  readonly organization: Organization;
  /** Demands recent sign-ins. */
  readonly recent: Portcullis;
  close(): Promise<void>;
}

export async function setStage(): Promise<Stage> {
  const identityProvider = await startGithub();
  process.env['GITHUB_API'] = identityProvider.api;
  const organization = await startOrganization();
  const [withMetadata, withoutMetadata, profileB, shortLived, delegating, managed, recent] =
    await Promise.all([
      startPortcullis({ profiles: ['2025-03-26'] }),
      startPortcullis({ profiles: ['2025-03-26'], metadata: false }),
      startPortcullis({ profiles: ['2025-06-18'], clients: [robot] }),
      startPortcullis({ profiles: ['2025-06-18'], clients: [robot], lifetimes: { accessToken: 1 } }),
      startPortcullis(
        { profiles: ['2025-03-26'], identityProviders: [likeGithub(identityProvider)], localAccounts: false },
        fileURLToPath(new URL('../../examples/repositories/app.ts', import.meta.url)),
      ),
      startPortcullis({
        clients: [agent, television, mailServer],
        assertionIssuers: [
          {
            issuer: organization.issuer,
            use: 'id-jag',
            clients: [agent.client_id],
            scopes: ['notes:read', 'calendar:read'],
          },
        ],
        resources: [
          {
            resource: mail,
            name: 'Mail',
            scopes: { 'calendar:read': 'Read your calendar', 'mail:send': 'Send mail' },
            tokenExchangeClients: [mailServer.client_id],
            exchangeTargets: [calendar],
          },
          { resource: calendar, name: 'Calendar', scopes: { 'calendar:read': 'Read your calendar' } },
        ],
        registration: { softwareStatementIssuers: [organization.issuer] },
        deviceAuthorization: true,
      }),
      startPortcullis({}, fileURLToPath(new URL('../support/recent-notes.ts', import.meta.url))),
    ]);
  identityProvider.registerRedirectUri(`${delegating.url}/callback/github`);
  const servers = [withMetadata, withoutMetadata, profileB, shortLived, delegating, managed, recent];
  return {
    withMetadata,
    withoutMetadata,
    profileB,
    shortLived,
    delegating,
    identityProvider,
    managed,
    organization,
    recent,
    async close() {
      await Promise.all([
        ...servers.map((server) => server.stop()),
        identityProvider.close(),
        organization.stop(),
      ]);
    },
  };
}

/** A client on a user's computer: its requests and those of its browser are printed. */
export function createProgram(
  server: Portcullis,
  transcript: Transcript,
  tell: (text: string) => void,
  options: Partial<ClientOptions> = {},
): Client {
  const browser = transcript.as('browser');
  const user = createUser(owner, browser);
  return createClient({
    serverUrl: server.resource,
    registration: { clientName: 'Demonstration' },
    browser: {
      async open(url) {
        // The browser waits for the client's page; the client does not wait for the browser.
        void browser(await user.authorize(url));
      },
    },
    receiver: createLoopbackReceiver(),
    store: createMemoryStore(),
    // Bearer tokens, which the demonstration shows and refuses later; a chapter of its own is about DPoP.
    dpop: 'never',
    fetch: transcript.as('client'),
    onEvent(event) {
      if (event.type !== 'discovery.completed') return;
      tell(`     (the client finds out: revision ${event.revision}, endpoints from ${event.endpoints})\n`);
    },
    ...options,
  });
}

/** Calls a tool of the notes. */
export function callTool(
  send: Fetch,
  { resource }: Portcullis,
  name: string,
  input: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return send(resource, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  });
}

export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

export function postForm(
  send: Fetch,
  url: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return send(url, { method: 'POST', headers, body: new URLSearchParams(fields), redirect: 'manual' });
}

/** A JSON response, with the type that the caller expects. */
export async function readJson<T>(response: Response): Promise<T> {
  return (await response.json()) as T;
}

export interface TokenResponse {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in: number;
  readonly scope: string;
}

/** The claims of an access token, unverified. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

/** The first matching exchange. */
export function findExchange(
  exchanges: readonly Exchange[],
  method: string,
  path: string,
): Exchange | undefined {
  return exchanges.find((exchange) => exchange.method === method && exchange.url.pathname === path);
}

/** The parameters of the authorization request, which may have been pushed. */
export function authorizationRequestOf(exchanges: readonly Exchange[]): URLSearchParams | undefined {
  const pushed = findExchange(exchanges, 'POST', '/par');
  return pushed === undefined
    ? findExchange(exchanges, 'GET', '/authorize')?.url.searchParams
    : formOf(pushed);
}

/** The parameters of a form that was sent. */
export function formOf(exchange: Exchange | undefined): URLSearchParams {
  return new URLSearchParams(exchange?.sent);
}
