/** Sample records for the contract, each new and complete. */
import { hash, randomBytes } from 'node:crypto';
import type {
  AccountLinkRecord,
  AccountRecord,
  AuditEventRecord,
  AuthorizationCodeRecord,
  AuthorizationStore,
  AuthorizationTransactionRecord,
  ClientMetadataDocumentRecord,
  ClientRecord,
  GrantRecord,
  InitialAccessTokenRecord,
  PasskeyRecord,
  RefreshTokenRecord,
  SessionRecord,
  SigningKeyRecord,
} from '@portcullis/authorization-server/store';
import { expect } from 'vitest';

/** The store of the running test. */
export type StoreOfTest = () => AuthorizationStore;

/** Epoch seconds: beyond 2^31, as times will be. */
export const NOW = 2_200_000_000;

/** The number of concurrent calls where only one may win. */
export const RACERS = 50;

export function newHash(): string {
  return hash('sha256', randomBytes(32), 'base64url');
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(16).toString('base64url')}`;
}

/** Of every sample account. */
export const PASSWORD_HASH = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4';

export function newAccount(changes: Partial<AccountRecord> = {}): AccountRecord {
  const name = randomBytes(6).toString('hex');
  return {
    id: newId('user'),
    email: `Ada.${name}@Example.com`,
    emailKey: `ada.${name}@example.com`,
    passwordHash: PASSWORD_HASH,
    createdAt: NOW,
    disabledAt: null,
    role: null,
    ...changes,
  };
}

export function newAccountLink(
  accountId: string,
  changes: Partial<AccountLinkRecord> = {},
): AccountLinkRecord {
  return {
    hash: newHash(),
    accountId,
    purpose: 'invitation',
    isMailed: false,
    createdAt: NOW,
    expiresAt: NOW + 1000,
    ...changes,
  };
}

export function newPasskey(accountId: string, changes: Partial<PasskeyRecord> = {}): PasskeyRecord {
  return {
    id: newHash(),
    accountId,
    publicKey: randomBytes(77).toString('base64url'),
    counter: 0,
    transports: ['internal', 'hybrid'],
    name: 'Telefon \u{1F5DD}',
    createdAt: NOW,
    lastUsedAt: null,
    ...changes,
  };
}

export function newSession(accountId: string, changes: Partial<SessionRecord> = {}): SessionRecord {
  return {
    hash: newHash(),
    accountId,
    createdAt: NOW,
    expiresAt: NOW + 1000,
    address: '192.0.2.1',
    browser: 'Firefox on Linux',
    ...changes,
  };
}

/** Saves a credential in a session of an account, which ends afterwards. */
export async function inSession<T>(
  store: AuthorizationStore,
  accountId: string,
  save: (sessionHash: string) => Promise<T>,
): Promise<T> {
  const session = newSession(accountId);
  await store.saveSession(session, (await store.findAccount(accountId))?.passwordHash ?? '');
  const saved = await save(session.hash);
  await store.endSession(session.hash);
  return saved;
}

export function newClient(changes: Partial<ClientRecord> = {}): ClientRecord {
  return {
    id: newId('client'),
    origin: 'registered',
    metadata: {
      client_name: 'Ünïcode "Client" \\ 🗝',
      redirect_uris: ['http://127.0.0.1:33418/callback', 'https://app.example/callback?a=b'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    secretHash: null,
    previousSecret: null,
    managementHash: newHash(),
    createdAt: NOW,
    lastUsedAt: null,
    disabledAt: null,
    enabledAt: null,
    verifiedAt: null,
    expiresAt: NOW + 86_400,
    ...changes,
  };
}

export function newInitialAccessToken(
  changes: Partial<InitialAccessTokenRecord> = {},
): InitialAccessTokenRecord {
  return {
    id: newId('invite'),
    hash: newHash(),
    note: 'for Bob’s "editor" 🗝',
    createdAt: NOW,
    expiresAt: NOW + 1000,
    clientId: null,
    ...changes,
  };
}

export function newClientDocument(
  changes: Partial<ClientMetadataDocumentRecord> = {},
): ClientMetadataDocumentRecord {
  return {
    url: `https://app.example/${randomBytes(6).toString('hex')}`,
    metadata: newClient().metadata,
    digest: newHash(),
    etag: '"v1"',
    lastModified: 'Fri, 20 Nov 2026 08:00:00 GMT',
    fetchedAt: NOW,
    freshUntil: NOW + 300,
    lastUsedAt: null,
    expiresAt: NOW + 86_400,
    verifiedAt: null,
    ...changes,
  };
}

export function newTransaction(
  changes: Partial<AuthorizationTransactionRecord> = {},
): AuthorizationTransactionRecord {
  return {
    id: newId('flow'),
    browserHash: newHash(),
    clientId: newId('client'),
    redirectUri: 'http://127.0.0.1:33418/callback',
    redirectUriSent: true,
    encryptedState: 'AWv0ifjsldkj',
    codeChallenge: newHash(),
    scopes: ['notes:read', 'notes:write'],
    resources: ['https://mcp.example/notes'],
    accountId: null,
    approvedScopes: null,
    forceLogin: false,
    identityProvider: null,
    linkedGrantId: null,
    createdAt: NOW,
    expiresAt: NOW + 600,
    ...changes,
  };
}

export function newCode(changes: Partial<AuthorizationCodeRecord> = {}): AuthorizationCodeRecord {
  return {
    hash: newHash(),
    grantId: newId('grant'),
    clientId: newId('client'),
    accountId: newId('user'),
    redirectUri: 'https://app.example/callback',
    codeChallenge: newHash(),
    scopes: ['notes:read'],
    resources: ['https://mcp.example/notes', 'https://mcp.example/files'],
    workspace: 'team \u2019n co',
    consentDigest: newHash(),
    issuedAt: NOW,
    expiresAt: NOW + 60,
    ...changes,
  };
}

/** The grant that redeeming the code creates. */
export function grantOf(code: AuthorizationCodeRecord, changes: Partial<GrantRecord> = {}): GrantRecord {
  return {
    id: code.grantId,
    clientId: code.clientId,
    accountId: code.accountId,
    scopes: code.scopes,
    resources: code.resources,
    workspace: code.workspace,
    consentDigest: code.consentDigest,
    createdAt: NOW,
    expiresAt: NOW + 1_000_000,
    lastUsedAt: NOW,
    lastUsedFrom: '192.0.2.1',
    ...changes,
  };
}

export function newRefreshToken(changes: Partial<RefreshTokenRecord> = {}): RefreshTokenRecord {
  return {
    hash: newHash(),
    generation: 0,
    seed: newHash(),
    issuedAt: NOW,
    expiresAt: NOW + 10_000,
    rotations: '',
    ...changes,
  };
}

/** The successor of a refresh token in its family. */
export function successorOf(
  { generation: number, seed }: RefreshTokenRecord,
  changes: Partial<RefreshTokenRecord> = {},
): RefreshTokenRecord {
  return newRefreshToken({ generation: number + 1, seed, ...changes });
}

export function newEvent(changes: Partial<AuditEventRecord> = {}): AuditEventRecord {
  return {
    id: newId('event'),
    at: NOW * 1000 + 123,
    type: 'token.issued',
    clientId: newId('client'),
    accountId: newId('user'),
    grantId: newId('grant'),
    resource: 'https://mcp.example/notes',
    transactionId: newId('flow'),
    details: { grantType: 'authorization_code', scopes: ['notes:read'] },
    expiresAt: NOW + 86_400,
    ...changes,
  };
}

export function newKey(changes: Partial<SigningKeyRecord> = {}): SigningKeyRecord {
  return {
    id: newId('key'),
    algorithm: 'ES256',
    publicJwk: JSON.stringify({ kty: 'EC', crv: 'P-256', x: newHash(), y: newHash() }),
    encryptedPrivateKey: Uint8Array.from({ length: 256 }, (_, index) => index),
    createdAt: NOW,
    signsFrom: NOW,
    ...changes,
  };
}

/** Stores an account with this identifier and a linked identity, unless it exists. */
async function ensureAccount(store: AuthorizationStore, id: string): Promise<void> {
  if ((await store.findAccount(id)) !== null) return;
  await store.linkIdentity({ issuer: 'https://idp.example', subject: id, accountId: id }, newAccount({ id }));
}

/** Stores an issued code and its account. */
export async function issueSampleCode(
  store: AuthorizationStore,
  code: AuthorizationCodeRecord = newCode(),
): Promise<AuthorizationCodeRecord> {
  await ensureAccount(store, code.accountId);
  const transaction = newTransaction();
  await store.openTransaction(transaction);
  expect(await store.completeTransaction(transaction.id, code)).toBe(true);
  return code;
}

/** Stores a grant with its first refresh token. */
export async function createGrant(
  store: AuthorizationStore,
  changes: { readonly grant?: Partial<GrantRecord>; readonly token?: Partial<RefreshTokenRecord> } = {},
): Promise<{ readonly grant: GrantRecord; readonly token: RefreshTokenRecord }> {
  const { accountId = newId('user') } = changes.grant ?? {};
  const code = await issueSampleCode(store, newCode({ accountId }));
  const grant = grantOf(code, changes.grant);
  const token = newRefreshToken(changes.token);
  expect(await store.redeemCode(code.hash, grant, token, NOW)).toBe('redeemed');
  return { grant, token };
}

/** Runs all concurrently. @returns how often each outcome occurred */
export async function race<T extends string | boolean>(
  runners: readonly (() => Promise<T>)[],
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const outcome of await Promise.all(runners.map((run) => run()))) {
    counts[String(outcome)] = (counts[String(outcome)] ?? 0) + 1;
  }
  return counts;
}

export function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
