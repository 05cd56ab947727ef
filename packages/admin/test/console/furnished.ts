/** Fills an installation with users, apps, connections, tools, approvals and tokens, whose names others chose. */
import { hash, randomBytes } from 'node:crypto';
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import { json, startBackend, type TestBackend } from '../../../gateway/test/support/backend.ts';
import { newApproval } from '../../../store/testing/approvals.ts';
import { newEventStream } from '../../../store/testing/event-streams.ts';
import {
  newAccount,
  newAccountLink,
  newClient,
  newHash,
  newInitialAccessToken,
  newSession,
} from '../../../store/testing/samples.ts';
import type { Installation } from '../installation.ts';

/** What texts say that users, apps and servers choose. */
export interface ChosenTexts {
  readonly app: string;
  readonly user: string;
  readonly group: string;
  readonly scope: string;
  readonly browser: string;
  readonly tool: string;
  readonly description: string;
  readonly argument: string;
  readonly note: string;
}

/** Texts of a calm day. */
const CALM: ChosenTexts = {
  app: 'Claude',
  user: 'Ada Lovelace',
  group: 'editors',
  scope: 'files:read',
  browser: 'Firefox on Linux',
  tool: 'delete_page',
  description: 'Deletes a page, for good.',
  argument: '/reports/2026.md',
  note: 'Build server',
};

/** Identifiers of what was created. */
export interface Furniture {
  readonly userId: string;
  readonly email: string;
  readonly clientId: string;
  readonly grantId: string;
  readonly approvalId: string;
  readonly tool: string;
  readonly toolHash: string;
  readonly tokenId: string;
  readonly streamId: string;
  readonly scimTokenId: string;
  /** Of a refused call of the connection. */
  readonly eventId: string;
}

export const FILES = '/files';
const DAY = 86_400;

/** The configuration of a server behind the gateway, with rules. @param url of its backend */
function filesServer(url: string): object {
  return {
    path: FILES,
    name: 'Files',
    backend: { url },
    scopes: { 'files:read': 'Read your files', 'files:write': 'Change your files' },
    tools: {
      'read_*': ['files:read'],
      'delete_*': { scopes: ['files:write'], groups: ['editors'], approval: { by: 'user', lasts: 'call' } },
      '*': ['files:write'],
    },
  };
}

/** The configuration with this server, and with an identity provider at the same backend. */
export function furnishedConfiguration(url: string): object {
  const issuer = `${new URL(url).origin}/idp`;
  const company = {
    id: 'company',
    name: 'Company',
    kind: { issuer },
    clientId: 'portcullis',
    scopes: ['openid'],
    scim: {},
  };
  return {
    servers: [filesServer(url)],
    identityProviders: [{ ...company, clientSecret: 'a secret of the tests, 32 characters' }],
  };
}

const list = (url: string) => ({ server: FILES, backend: url, kind: 'tool' as const });

function definitionOf(name: string, description: string, more: object = {}) {
  const definition = JSON.stringify({ name, description, inputSchema: { type: 'object' }, ...more });
  return { name, definition, hash: hash('sha256', definition, 'base64url') };
}

/** @param backend URL as the gateway pins it */
export async function furnish(
  installation: Installation,
  backend: string,
  texts: ChosenTexts = CALM,
  email = `grace.${randomBytes(4).toString('hex')}@example.com`,
): Promise<Furniture> {
  const now = Math.floor(Date.now() / 1000);
  const account = newAccount({ email, emailKey: email, createdAt: now - 90 * DAY });
  const { id: userId } = account;
  const { metadata, ...client } = newClient({ createdAt: now - 30 * DAY, lastUsedAt: now - 180 });
  const approval = newApproval({
    ...{ subject: userId, clientId: client.id, server: FILES, tool: texts.tool },
    definition: JSON.stringify({ name: texts.tool, description: texts.description }),
    arguments: JSON.stringify({ path: texts.argument }),
    ...{ createdAt: now - 60, expiresAt: now + 540 },
  });
  const stream = newEventStream({ clientId: client.id });
  const token = newInitialAccessToken({ note: texts.note, createdAt: now, expiresAt: now + DAY });
  const grant = {
    ...{ id: `grant_${newHash()}`, clientId: client.id, accountId: userId, workspace: null },
    ...{ scopes: [texts.scope, 'files:write'], resources: [`${installation.url}${FILES}`] },
    ...{ consentDigest: newHash(), createdAt: now - 20 * DAY, expiresAt: now + 70 * DAY },
    ...{ lastUsedAt: now - 180, lastUsedFrom: null, managedBy: 'https://idp.example.com' },
  };
  const scimTokenId = `scim_${randomBytes(9).toString('base64url')}`;
  const scimToken = { id: scimTokenId, hash: newHash(), identityProvider: 'company', note: texts.note };
  const events = eventsOf(grant, texts);
  const changed = definitionOf(texts.tool, `${texts.description} Then mails it to ${newHash()}.`);
  await installation.onStore(async (store) => {
    await store.createAccount(account, newAccountLink(userId));
    await store.saveProfile(userId, { email: null, name: texts.user, groups: [texts.group] });
    const times = { createdAt: now - 7200, expiresAt: now + DAY };
    await store.saveSession(
      newSession(userId, { ...times, browser: texts.browser, methods: ['pwd', 'otp', 'mfa'] }),
      account.passwordHash,
    );
    const confidential = {
      client_name: texts.app,
      token_endpoint_auth_method: 'client_secret_basic',
    } as const;
    const secrets = { secretHash: newHash(), expiresAt: null };
    await store.saveClient({ ...client, ...secrets, metadata: { ...metadata, ...confidential } });
    await store.saveManagedGrant(grant);
    await store.saveFirstPins(list(backend), toolsOf(texts), now - DAY);
    await store.savePendingPin(list(backend), changed, now - 3600);
    await store.requestApproval(approval, { bySubject: 9, byServer: 999 });
    await store.saveInitialAccessToken(token);
    await store.createEventStream(stream, 5);
    await store.saveProvisioningToken({ ...scimToken, createdAt: now, expiresAt: now + 180 * DAY });
    await store.appendEvents(events);
  });
  const ids = { userId, email, clientId: client.id, grantId: grant.id, approvalId: approval.id };
  return {
    ...ids,
    tool: texts.tool,
    toolHash: changed.hash,
    tokenId: token.id,
    streamId: stream.id,
    scimTokenId,
    eventId: events.at(-1)?.id ?? '',
  };
}

/** An authorization of an hour ago with two calls, the second of which was refused. */
function eventsOf(
  {
    id: grantId,
    clientId,
    accountId,
  }: { readonly id: string; readonly clientId: string; readonly accountId: string },
  { tool, scope }: ChosenTexts,
): readonly AuditEventRecord[] {
  const begin = Date.now() - 3_600_000;
  const call = { method: 'tools/call', server: FILES, duration: 120, backendDuration: 96 };
  const kinds: readonly (readonly [type: string, after: number, details: AuditEventRecord['details']])[] = [
    ['authorization.started', 0, { scopes: [scope] }],
    ['login.succeeded', 3000, {}],
    ['consent.allowed', 6000, { scopes: [scope] }],
    ['authorization_code.issued', 6010, {}],
    ['token.issued', 6200, { grantType: 'authorization_code' }],
    ['call.finished', 6500, { ...call, tool: 'read_page', decision: 'allowed', outcome: 'answered' }],
    [
      'call.finished',
      1_806_500,
      {
        ...{ ...call, tool, decision: 'denied', outcome: 'refused', duration: 2, backendDuration: 0 },
        ...{ rule: 'tools.delete_*', reason: 'group editors is missing' },
      },
    ],
  ];
  const flow = newHash();
  return kinds.map(([type, after, details], index) => ({
    id: `${(begin + after).toString(36).padStart(9, '0')}-000000${index}-${flow.replaceAll(/\W/g, '').slice(0, 4)}`,
    ...{ at: begin + after, type, clientId, accountId, grantId, resource: null, details },
    transactionId: index < 5 ? `flow_${flow}` : null,
    expiresAt: Math.floor(begin / 1000) + 90 * DAY,
  }));
}

function toolsOf({ tool, description }: ChosenTexts) {
  return [
    definitionOf('read_page', 'Reads a page.', { annotations: { readOnlyHint: true } }),
    definitionOf('write_page', 'Writes a page.'),
    definitionOf(tool, description, { annotations: { destructiveHint: true } }),
  ];
}

/** Everything that a form of the console could change. */
export function consoleState(installation: Installation): Promise<unknown> {
  return installation.onStore(async (store) => {
    const accounts = await store.listAccounts('', 200);
    const of = <T>(read: (id: string) => Promise<T>) => Promise.all(accounts.map(({ id }) => read(id)));
    const now = Math.floor(Date.now() / 1000);
    return {
      accounts,
      clients: (await store.listClients('', 200)).map(({ lastUsedAt: _used, ...client }) => client),
      keys: await store.listSigningKeys(),
      profiles: await of((id) => store.findProfile(id)),
      grants: await of((id) => store.listGrants(id, 0, null, 100)),
      factors: await of((id) => store.listPasskeys(id)),
      pins: await store.listPendingPins(100),
      approvals: await store.listPendingApprovals({ all: true }, now, 100),
      tokens: await store.listInitialAccessTokens('', 100, now),
      scimTokens: await store.listProvisioningTokens(now),
    };
  });
}

/** A backend that is an MCP server with two tools, and an identity provider below `/idp`. */
export function startBackends(): Promise<TestBackend> {
  return startBackend((received, response) => {
    const { host = '' } = received.headers;
    const issuer = `http://${host}/idp`;
    if (received.url === '/idp/jwks') return json(response, { keys: [{ kty: 'EC', use: 'sig' }] });
    if (received.url.startsWith('/idp/'))
      return json(response, {
        ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
        ...{ jwks_uri: `${issuer}/jwks`, code_challenge_methods_supported: ['S256'] },
      });
    const { id, method } = JSON.parse(received.body || '{}') as {
      readonly id?: unknown;
      readonly method?: string;
    };
    if (id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const serverInfo = { name: 'files', version: '1' };
    const result =
      method === 'tools/list'
        ? { tools: ['read_page', 'write_page'].map((name) => ({ name, inputSchema: { type: 'object' } })) }
        : { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
    json(response, { jsonrpc: '2.0', id, result });
  });
}
