/** Authorization servers on loopback with a protected server each, their users, and clients that these users allow. */
import { createHash, randomBytes } from 'node:crypto';
import {
  type AuthorizationEvent,
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
} from '@portcullis/authorization-server';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import { pathOf } from '@portcullis/http';
import { listen } from '@portcullis/http/node';
import { createGuard, type DpopOptions, jwtVerifier, type Principal } from '@portcullis/resource-server';
import { protect } from '@portcullis/resource-server/fetch';
import type { FullStore } from '@portcullis/store';
import { onTestFinished } from 'vitest';
import { openEmptyStore } from '../../../../tests/support/migrated-store.ts';
import {
  createCallAudit,
  createCredentialSource,
  createGateway,
  type Gateway,
  type GatewayAuditEvent,
  type GatewayServer,
} from '../../src/index.ts';
import { guardResourcesOf } from '../../src/options.ts';
import { createTestBrowser, type Page, type TestBrowser } from './browser.ts';

export const PASSWORD = 'a gate of oak and iron';
const REDIRECT_URI = 'https://app.example/callback';

export interface Side {
  readonly origin: string;
  readonly server: AuthorizationServer;
  readonly store: AuthorizationStore;
  readonly events: AuthorizationEvent[];
  /** Calls through its gateway. */
  readonly calls: readonly GatewayAuditEvent[];
  /** Requests to `/mcp` that its guard accepted: who, and with which token. */
  readonly accepted: { readonly principal: Principal; readonly token: string }[];
  /** Every token that was sent to `/mcp`, accepted or not. */
  readonly tokens: string[];
  /** Account identifiers, by name. */
  readonly accounts: Readonly<Record<string, string>>;
  /** Another process of the same server. */
  startProcess(): Promise<AuthorizationServer>;
}

export interface SideOptions {
  readonly users: readonly string[];
  /** Scopes of `/mcp`, with their descriptions. */
  readonly scopes?: Readonly<Record<string, string>>;
  readonly options?: (origin: string) => Partial<AuthorizationServerOptions>;
  /** A gateway serves these in place of `/mcp`. */
  readonly servers?: (origin: string) => readonly GatewayServer[];
  /** The gateway pins definitions of tools. */
  readonly pins?: boolean;
  /** Of the guard of `/mcp`. */
  readonly dpop?: DpopOptions;
  /** What answers at `/mcp`, in place of the user's identifier. */
  readonly serve?: (request: Request, principal: Principal) => Promise<Response>;
}

export function emailOf(name: string): string {
  return `${name}@example.org`;
}

/** Starts an authorization server and the protected server `/mcp` on one port. */
export async function startSide({
  users,
  scopes,
  options,
  servers,
  pins = false,
  dpop,
  serve: answer,
}: SideOptions): Promise<Side> {
  const store = await openEmptyStore();
  const events: AuthorizationEvent[] = [];
  const calls: GatewayAuditEvent[] = [];
  const [accepted, tokens]: [Side['accepted'], string[]] = [[], []];
  let handle: Parameters<typeof listen>[0] = () => Promise.reject(new Error('too early'));
  const listening = await listen((request, connection) => handle(request, connection), {
    port: 0,
    host: 'localhost',
  });
  const origin = `http://localhost:${listening.port}`;
  const resource = { resource: `${origin}/mcp`, scopes: Object.keys(scopes ?? { call: 'Call it' }) };
  const serverOptions: AuthorizationServerOptions = {
    issuer: origin,
    store,
    masterKey: randomBytes(32),
    resources: [{ resource: resource.resource, name: 'Server', scopes: scopes ?? { call: 'Call it' } }],
    rateLimits: false,
    // As long as a test may take.
    outbound: { timeout: 100_000 },
    events: (event) => events.push(event),
    ...options?.(origin),
  };
  const server = await createAuthorizationServer(serverOptions);
  const verifier = jwtVerifier({ issuer: origin, jwks: server.jwks, isLive: server.isLive });
  const gateway =
    servers === undefined ? null : gatewayOf(servers(origin), verifier, server, pins ? store : null, calls);
  const guard = createGuard({
    resources: [{ ...resource }],
    verifier,
    ...(dpop !== undefined && { dpop }),
    events: () => {},
  });
  const serve = protect(guard, (request, principal) => {
    accepted.push({ principal, token: tokens.at(-1) ?? '' });
    return answer?.(request, principal) ?? nameUser(request, principal.subject);
  });
  handle = (request, connection) => {
    const path = pathOf(request);
    const isProtected = path === '/mcp' || path.startsWith('/.well-known/oauth-protected-resource');
    if (!isProtected) return server.handleHttp(request, connection);
    if (gateway !== null) return Promise.resolve({ node: gateway.handle });
    return Promise.resolve({
      fetch(received: Request) {
        const sent = received.headers.get('authorization');
        if (sent !== null) tokens.push(sent.replace(/^\w+ /, ''));
        return serve(received);
      },
    });
  };
  onTestFinished(async () => {
    await listening.close(0);
    await gateway?.close();
    await server.close();
    await store.close();
  });
  const accounts: Record<string, string> = {};
  for (const name of users) accounts[name] = await addUser(server, emailOf(name));
  const startProcess = async () => {
    const other = await createAuthorizationServer(serverOptions);
    onTestFinished(() => other.close());
    return other;
  };
  return { origin, server, store, events, calls, accepted, tokens, accounts, startProcess };
}

function gatewayOf(
  servers: readonly GatewayServer[],
  verifier: ReturnType<typeof jwtVerifier>,
  server: AuthorizationServer,
  pins: FullStore | null,
  calls: GatewayAuditEvent[],
): Gateway {
  return createGateway({
    servers,
    guard: createGuard({ resources: guardResourcesOf(servers), verifier, events: () => {} }),
    masterKey: randomBytes(32),
    events: () => {},
    credentials: createCredentialSource(server),
    approvals: server.approvals,
    audit: createCallAudit((event) => calls.push(event)),
    ...(pins !== null && { pins }),
  });
}

async function addUser(server: AuthorizationServer, email: string): Promise<string> {
  if ((await server.bootstrap(email, PASSWORD)) === 'exists') {
    const added = await server.accounts.add(email);
    if ('refused' in added) throw new Error(added.refused);
    const browser = createTestBrowser(() => ({}));
    const page = await browser.open(added.link);
    await browser.submit(page, { password: PASSWORD, password_again: PASSWORD });
  }
  const accounts = await server.accounts.list();
  return accounts.find((one) => one.email === email)?.id ?? '';
}

/** A browser of a user who has an account of the same name on every side. */
export function browserOf(name: string): TestBrowser {
  return createTestBrowser(() => ({ email: emailOf(name), password: PASSWORD }));
}

export interface TestClient {
  readonly clientId: string;
  authorizationUrl(scope?: string): string;
  /** Redeems the code of the page at which the browser left. @returns the token response */
  redeem(page: Page): Promise<Readonly<Record<string, unknown>>>;
}

/** Registers a client. */
export async function registerClient(
  { origin }: Side,
  name: string,
  metadata: Readonly<Record<string, unknown>> = {},
): Promise<TestClient> {
  const response = await fetch(`${origin}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: name,
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'none',
      ...metadata,
    }),
  });
  const { client_id: clientId } = (await response.json()) as { readonly client_id: string };
  const verifier = randomBytes(32).toString('base64url');
  return {
    clientId,
    authorizationUrl: (scope) =>
      `${origin}/authorize?${new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: REDIRECT_URI,
        state: 'state',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        resource: `${origin}/mcp`,
        ...(scope !== undefined && { scope }),
      })}`,
    async redeem({ url, html, status }) {
      const code = url.searchParams.get('code');
      if (code === null) throw new Error(`no code at ${url}: ${status} ${html}`);
      const answer = await fetch(`${origin}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code,
          client_id: clientId,
          redirect_uri: REDIRECT_URI,
          code_verifier: verifier,
        }),
      });
      return (await answer.json()) as Readonly<Record<string, unknown>>;
    },
  };
}

/** The principal of an access token, as the guard of its own server sees it. */
export async function principalOfToken(side: Side, token: unknown): Promise<Principal> {
  const before = side.accepted.length;
  await fetch(`${side.origin}/mcp`, { headers: { authorization: `Bearer ${token}` } });
  const found = side.accepted.at(before);
  if (found === undefined) throw new Error('the guard rejected the token');
  return found.principal;
}

/** Answers any request with the user whose token it has. */
async function nameUser(request: Request, user: string): Promise<Response> {
  const { id = null } = JSON.parse((await request.text()) || '{}') as { readonly id?: unknown };
  return Response.json({ jsonrpc: '2.0', id, result: { user } });
}
