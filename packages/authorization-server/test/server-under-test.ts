/** A real authorization server on a real store, with a clock that tests advance, for tests that use `Request`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { OutboundError } from '@portcullis/http/outbound';
import { onTestFinished } from 'vitest';
import { openMigratedStore } from '../../../tests/support/migrated-store.ts';
import {
  type AuthorizationEvent,
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
} from '../src/index.ts';
import { hashSecret, lookupKeyOf, newIdentifier, newSecret, newSortableSecret } from '../src/secrets.ts';
import type { AuthorizationStore } from '../src/store/index.ts';

export const ISSUER = 'https://as.example';
export const NOTES = 'https://mcp.example/notes';
export const FILES = 'https://mcp.example/files';
export const CALLBACK = 'https://app.example/callback';
export const ACCOUNT = 'user_ada';
export const MASTER_KEY: Uint8Array = new Uint8Array(32).fill(7);

export const RESOURCES: AuthorizationServerOptions['resources'] = [
  {
    resource: NOTES,
    name: 'Notes',
    scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Change your notes' },
    defaultScopes: ['notes:read'],
    hierarchy: { 'notes:write': ['notes:read'] },
    introspectionClients: ['notes-server'],
  },
  { resource: FILES, name: 'Files', scopes: { 'files:read': 'Read your files' } },
];

/** Configured clients: a public one, and confidential ones for each client authentication method with a secret. */
export const CLIENTS: readonly object[] = [
  {
    client_id: 'desktop',
    redirect_uris: ['http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
  },
  {
    client_id: 'web',
    client_secret: 'web-secret',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_post',
  },
  {
    client_id: 'nightly',
    client_secret: 'nightly-secret',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
  },
  {
    client_id: 'notes-server',
    client_secret: 'notes-server-secret',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
  },
];

type Form = Readonly<Record<string, string>> | readonly (readonly [string, string])[];

/** A response with its parsed JSON body (`{}` if there is none). */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface ServerUnderTest {
  readonly server: AuthorizationServer;
  readonly store: AuthorizationStore;
  /** The SQLite file. */
  readonly file: string;
  readonly events: AuthorizationEvent[];
  /** Epoch seconds; tests set it. */
  readonly clock: { now: number };
  send(path: string, init?: RequestInit): Promise<Answer>;
  post(path: string, form: Form, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  register(metadata: object): Promise<Answer>;
  /** Issues a code for Ada as the pages do, by the store. */
  issueCode(wanted?: Partial<IssuedCode>): Promise<IssuedCode>;
  /** Issues a code and redeems it as the public client `desktop`. */
  signIn(wanted?: Partial<IssuedCode>): Promise<Answer>;
  /** The whole store as text, except rate limits and the audit log. */
  snapshot(): string;
  /** Changes the store behind the server's back. */
  execute(...statements: string[]): void;
}

interface IssuedCode {
  readonly code: string;
  readonly verifier: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly redirectUri: string | null;
  /** The DPoP key that the request named. */
  readonly keyThumbprint?: string;
}

export async function startServer(
  options: Partial<AuthorizationServerOptions> = {},
): Promise<ServerUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
  const file = join(folder, 'store.db');
  const store = options.store ?? (await openMigratedStore(file));
  const reader = createReader(file);
  // Also if the server fails to start; the last registered runs first.
  onTestFinished(async () => {
    reader.close();
    await store.close();
    rmSync(folder, { recursive: true });
  });
  const events: AuthorizationEvent[] = [];
  const clock = { now: 1_800_000_000 };
  const server = await createAuthorizationServer({
    issuer: ISSUER,
    store,
    masterKey: MASTER_KEY,
    resources: RESOURCES,
    clients: CLIENTS,
    // No test sends requests to the internet by accident. Identity providers have as long as a test may take.
    outbound: {
      fetch: () => Promise.reject(new OutboundError('unreachable', 'There is no host.')),
      timeout: 100_000,
    },
    clock: () => clock.now,
    events: (event) => events.push(event),
    ...options,
  });
  onTestFinished(() => server.close());
  await store.createFirstAccount(
    {
      id: ACCOUNT,
      email: 'ada@example.org',
      emailKey: 'ada@example.org',
      passwordHash: '$argon2id$not-used-here',
      createdAt: clock.now,
      disabledAt: null,
      role: null,
    },
    null,
  );

  const send: ServerUnderTest['send'] = async (path, init) => {
    const response = await server.handle(new Request(new URL(path, options.issuer ?? ISSUER), init));
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : {},
    };
  };
  const post: ServerUnderTest['post'] = (path, form, headers = {}) =>
    send(path, { method: 'POST', headers, body: formOf(form) });
  const issueCode: ServerUnderTest['issueCode'] = async (wanted = {}) => {
    const issued: IssuedCode = {
      code: newSortableSecret(),
      verifier: newSecret(),
      clientId: 'desktop',
      scopes: ['notes:read', 'notes:write'],
      resources: [NOTES],
      redirectUri: 'http://127.0.0.1:3000/callback',
      ...wanted,
    };
    await storeCode(store, issued, clock.now);
    return issued;
  };
  return {
    server,
    store,
    file,
    events,
    clock,
    send,
    post,
    issueCode,
    register: (metadata) =>
      send('/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(metadata),
      }),
    async signIn(wanted) {
      const { code, verifier, clientId } = await issueCode(wanted);
      return post('/token', redemption(code, verifier, clientId));
    },
    snapshot: reader.dump,
    execute(...statements) {
      const database = new DatabaseSync(file);
      for (const statement of statements) database.exec(statement);
      database.close();
    },
  };
}

/** The form by which a public client redeems a code. */
export function redemption(code: string, verifier: string, clientId = 'desktop'): Record<string, string> {
  return { grant_type: 'authorization_code', code, code_verifier: verifier, client_id: clientId };
}

/** The form by which a public client refreshes. */
export function refreshing(token: unknown, clientId = 'desktop'): Record<string, string> {
  return { grant_type: 'refresh_token', refresh_token: String(token), client_id: clientId };
}

export function basic(clientId: string, secret: string): Record<string, string> {
  return { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` };
}

/** The payload of a JWT, unverified. */
export function claimsOf(token: unknown): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString());
}

function formOf(form: Form): URLSearchParams {
  return Array.isArray(form)
    ? new URLSearchParams(form as [string, string][])
    : new URLSearchParams(form as Record<string, string>);
}

async function storeCode(store: AuthorizationStore, issued: IssuedCode, now: number): Promise<void> {
  const id = newIdentifier('flow');
  const shared = {
    clientId: issued.clientId,
    accountId: ACCOUNT,
    codeChallenge: hashSecret(issued.verifier),
    scopes: issued.scopes,
    resources: issued.resources,
    expiresAt: now + 60,
    keyThumbprint: issued.keyThumbprint ?? null,
  };
  await store.openTransaction({
    ...shared,
    id,
    browserHash: hashSecret('browser'),
    redirectUri: issued.redirectUri ?? CALLBACK,
    redirectUriSent: issued.redirectUri !== null,
    encryptedState: null,
    approvedScopes: issued.scopes,
    forceLogin: false,
    identityProvider: null,
    linkedGrantId: null,
    createdAt: now,
  });
  const redirectUri = issued.redirectUri;
  const grantId = newIdentifier('grant');
  await store.completeTransaction(id, {
    ...shared,
    hash: lookupKeyOf(issued.code),
    grantId,
    redirectUri,
    workspace: null,
    consentDigest: '',
    issuedAt: now,
  });
}

/** Tables that every request may write: rate limits and the audit log. */
const BOOKKEEPING = ['rate_limits', 'audit_events'];

/** Reads all rows of all other tables, through a separate connection, which stays open: opening it takes ten times as long as reading. */
function createReader(file: string): { dump(): string; close(): void } {
  let database: DatabaseSync | undefined;
  const statements = new Map<string, StatementSync>();
  const read = (sql: string) => {
    database ??= new DatabaseSync(file, { readOnly: true });
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement.all();
  };
  return {
    dump: () =>
      read(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
        .map(({ name }) => String(name))
        .filter((name) => !BOOKKEEPING.includes(name))
        .map((name) => {
          const rows = read(`SELECT * FROM "${name}"`);
          return `${name}\n${rows.map((row) => JSON.stringify(row, readable)).join('\n')}`;
        })
        .join('\n'),
    close: () => database?.close(),
  };
}

function readable(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
}
