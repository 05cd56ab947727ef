/** A running gateway that two users share, each with two clients: in front of a protected server, an open one, and processes. */
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { startBackend, type TestBackend } from '../../packages/gateway/test/support/backend.ts';
import { createTestBrowser, type TestBrowser } from '../../packages/gateway/test/support/browser.ts';
import {
  browserOf,
  emailOf,
  PASSWORD,
  type Side,
  startSide,
} from '../../packages/gateway/test/support/connections.ts';
import { TINY } from '../../packages/gateway/test/support/stdio-server.ts';
import { reservePort } from '../support/ports.ts';
import { type ProtectedProcess, startCommand } from '../support/protect.ts';
import { sourceFlags } from '../support/source-flags.ts';
import { createTrustingServer, type TrustingServer } from './trusting-server.ts';

const REDIRECT_URI = 'https://app.example/callback';
const main = fileURLToPath(new URL('../../packages/cli/bin.js', import.meta.url));

type Json = Readonly<Record<string, unknown>>;

/** One client of one user, with a token for each server. */
export interface Member {
  readonly user: string;
  readonly clientId: string;
  /** Authorizes this client for a server, with the user's browser. */
  authorize(path: string): Promise<string>;
  token(path: string): string;
  send(path: string, message: unknown, options?: SendOptions): Promise<Response>;
  /** Starts a session. @returns its id */
  initialize(path: string): Promise<string>;
}

interface SendOptions {
  readonly method?: string;
  readonly session?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly signal?: AbortSignal;
}

export interface SharedGateway {
  readonly url: string;
  readonly gateway: ProtectedProcess;
  /** Behind `/hub`, where users connect accounts. */
  readonly hub: Pick<Side, 'accounts' | 'store' | 'tokens'> & { readonly server: TrustingServer };
  /** Behind `/open`. */
  readonly open: TrustingServer;
  readonly browsers: Readonly<Record<string, TestBrowser>>;
  join(user: string, client: string): Promise<Member>;
  portcullis(...words: readonly string[]): Promise<string>;
}

export async function startSharedGateway(): Promise<SharedGateway> {
  const [hubServer, open] = [createTrustingServer(), createTrustingServer()];
  const hub = await startSide({
    users: ['ada', 'bob'],
    serve: (request, { subject }) => hubServer.serve(request, subject),
  });
  const openBackend = await serveOpen(open);
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-shared-'));
  const port = await reservePort();
  const environment = {
    PORTCULLIS_PORT: String(port),
    PORTCULLIS_PUBLIC_URL: `http://localhost:${port}`,
    PORTCULLIS_DATABASE: join(folder, 'portcullis.db'),
    PORTCULLIS_KEY_FILE: join(folder, 'portcullis.key'),
    PORTCULLIS_BOOTSTRAP_EMAIL: emailOf('ada'),
    PORTCULLIS_BOOTSTRAP_PASSWORD: PASSWORD,
    PORTCULLIS_RATE_LIMITS: 'false',
    PORTCULLIS_SERVERS: JSON.stringify([
      { path: '/hub', name: 'Hub', backend: { url: `${hub.origin}/mcp`, credentials: { as: 'user' } } },
      { path: '/open', name: 'Open', backend: { url: openBackend.url }, tools: { forbidden: false } },
      { path: '/own', name: 'Own', backend: { command: TINY } },
      { path: '/shared', name: 'Shared', backend: { command: TINY, process: 'shared' } },
      { path: '/all', name: 'All', merges: { hub: '/hub', own: '/own' } },
    ]),
  };
  const gateway = await startCommand(['up'], environment);
  onTestFinished(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const portcullis = async (...words: readonly string[]): Promise<string> => {
    const { PATH } = process.env;
    const args = [...sourceFlags(), main, ...words];
    return (
      await promisify(execFile)(process.execPath, args, {
        cwd: folder,
        env: { PATH, HOME: folder, ...environment },
      })
    ).stdout;
  };
  await addUser(await portcullis('users', 'add', emailOf('bob')));
  const browsers = { ada: browserOf('ada'), bob: browserOf('bob') };
  const clients = new Map<string, Promise<string>>();
  return {
    url: gateway.url,
    gateway,
    hub: { accounts: hub.accounts, store: hub.store, tokens: hub.tokens, server: hubServer },
    open,
    browsers,
    portcullis,
    async join(user, client) {
      const registered = clients.get(client) ?? register(gateway.url, client);
      clients.set(client, registered);
      return createMember(gateway.url, user, await registered, browsers[user as 'ada' | 'bob']);
    },
  };
}

async function serveOpen(server: TrustingServer): Promise<TestBackend> {
  const backend = await startBackend(async ({ method, headers, body }, outgoing) => {
    const fields = Object.entries(headers).filter(
      ([name]) => !['connection', 'content-length', 'host'].includes(name),
    );
    const request = new Request(backend.url, {
      method,
      headers: fields as [string, string][],
      ...(method === 'POST' && { body }),
    });
    const response = await server.serve(request, '');
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    for await (const chunk of response.body ?? []) outgoing.write(chunk);
    outgoing.end();
  });
  onTestFinished(() => backend.close());
  return backend;
}

async function addUser(printed: string): Promise<void> {
  const link = /https?:\S+/.exec(printed.trim().split('\n').at(-1) ?? '')?.[0] ?? '';
  const browser = createTestBrowser(() => ({}));
  await browser.submit(await browser.open(link), { password: PASSWORD, password_again: PASSWORD });
}

async function register(origin: string, name: string): Promise<string> {
  const response = await fetch(`${origin}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: name,
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'none',
    }),
  });
  return ((await response.json()) as { readonly client_id: string }).client_id;
}

function createMember(origin: string, user: string, clientId: string, browser: TestBrowser): Member {
  const tokens = new Map<string, string>();
  const token = (path: string): string => tokens.get(path) ?? '';
  const send: Member['send'] = (
    path,
    message,
    { method = 'POST', session, headers, signal, ...options } = {},
  ) =>
    fetch(`${origin}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${options.token ?? token(path)}`,
        accept: 'application/json, text/event-stream',
        ...(method === 'POST' && { 'content-type': 'application/json' }),
        ...(session !== undefined && { 'mcp-session-id': session }),
        ...headers,
      },
      ...(method === 'POST' && { body: typeof message === 'string' ? message : JSON.stringify(message) }),
      ...(signal && { signal }),
    });
  return {
    user,
    clientId,
    token,
    send,
    async authorize(path) {
      const verifier = randomBytes(32).toString('base64url');
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: REDIRECT_URI,
        state: 'state',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        resource: `${origin}${path}`,
      });
      const page = await browser.allow(`${origin}/authorize?${query}`);
      const code = page.url.searchParams.get('code');
      if (code === null) throw new Error(`no code at ${page.url}: ${page.status} ${page.html}`);
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        client_id: clientId,
        redirect_uri: REDIRECT_URI,
        code_verifier: verifier,
      });
      const answer = (await (await fetch(`${origin}/token`, { method: 'POST', body })).json()) as Json;
      tokens.set(path, String(answer['access_token']));
      return token(path);
    },
    async initialize(path) {
      const params = {
        protocolVersion: '2025-11-25',
        capabilities: { elicitation: {} },
        clientInfo: { name: 'test', version: '1' },
      };
      const response = await send(path, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
      const text = await response.text();
      const session = response.headers.get('mcp-session-id');
      if (session === null) throw new Error(`${response.status} ${text}`);
      await send(path, { jsonrpc: '2.0', method: 'notifications/initialized' }, { session });
      return session;
    },
  };
}
