/** The official MCP SDKs 1.x and 2.x against a real server, with the client as their `fetch` or auth provider. */
import * as modern from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { createUser } from '../../../tests/support/user.ts';
import { ClientError, createMemoryStore } from '../src/index.ts';
import { createMcpProvider } from '../src/mcp.ts';
import { createNodeClient, type NodeClientOptions } from '../src/node.ts';

let server: PortcullisHere;

beforeAll(async () => {
  server = await startPortcullisHere();
});

afterAll(() => server.stop());

/** A client of the owner of the server; `opened` counts how often a browser was needed. */
function createOwnersClient(options: Partial<NodeClientOptions> = {}) {
  const user = createUser(owner);
  const opened: URL[] = [];
  const client = createNodeClient({
    serverUrl: server.resource,
    browser: {
      async open(url) {
        opened.push(new URL(url));
        const arrived = await user.authorize(url);
        void fetch(arrived).catch(() => undefined);
      },
    },
    ...options,
  });
  return { client, opened };
}

const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const whoami = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'whoami', arguments: {} },
});

const info = { name: 'test', version: '1.0.0' };

it('SDK 1.x and 2.x share one session, and step up when a call needs more', async () => {
  const store = createMemoryStore();
  const { client, opened } = createOwnersClient({ store });
  const old = new Client(info);
  await old.connect(new StreamableHTTPClientTransport(new URL(server.resource), { fetch: client.fetch }));
  expect((await old.callTool({ name: 'whoami', arguments: {} })).isError ?? false).toBe(false);
  expect(opened).toHaveLength(1);

  const { client: again, opened: openedAgain } = createOwnersClient({ store });
  for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
    const current = new modern.Client(info, { versionNegotiation: { mode } });
    await current.connect(
      new modern.StreamableHTTPClientTransport(new URL(server.resource), { fetch: again.fetch }),
    );
    expect((await current.callTool({ name: 'whoami', arguments: {} })).isError ?? false).toBe(false);
    await current.close();
  }
  expect(openedAgain).toHaveLength(0);

  const before = (await again.session())?.scopes;
  expect((await old.callTool({ name: 'add_note', arguments: { text: 'hello' } })).isError ?? false).toBe(
    false,
  );
  const after = (await client.session())?.scopes;
  expect(opened.length + openedAgain.length).toBe(before?.includes('notes:write') === true ? 1 : 2);
  expect(after).toContain('notes:write');
  await old.close();
});

it('continues a session after a refresh and revokes it on sign-out', async () => {
  let offset = 0;
  const { client, opened } = createOwnersClient({ clock: () => Date.now() + offset });
  const call = () => client.fetch(server.resource, { method: 'POST', headers, body: whoami });
  expect((await call()).status).toBe(200);
  const first = await client.accessToken();
  offset = 3_600_000;
  expect((await call()).status).toBe(200);
  const second = await client.accessToken();
  expect(second).not.toBe(first);
  expect(opened).toHaveLength(1);
  expect(await client.signOut()).toBe('revoked');
  const refused = await fetch(server.resource, {
    method: 'POST',
    headers: { authorization: `Bearer ${second}` },
  });
  expect(refused.status).toBe(401);
});

it('T124 repeats a refresh whose response was lost and keeps the session', async () => {
  let offset = 0;
  let lost = 0;
  const { client, opened } = createOwnersClient({
    clock: () => Date.now() + offset,
    limits: { retryDelays: [1] },
    oauthFetch: async (input, init) => {
      const response = await fetch(input, init);
      if (!String(init?.body).includes('grant_type=refresh_token') || lost > 0) return response;
      lost += 1;
      throw new TypeError('The connection was lost.');
    },
  });
  const call = () => client.fetch(server.resource, { method: 'POST', headers, body: whoami });
  expect((await call()).status).toBe(200);
  for (let round = 1; round <= 3; round += 1) {
    offset = round * 3_600_000;
    expect((await call()).status).toBe(200);
  }
  expect([lost, opened.length]).toEqual([1, 1]);
});

/** A session of either SDK whose transport knows the provider only. */
const byProvider = [
  {
    name: '1.x',
    async connect(url: string, authProvider: ReturnType<typeof createMcpProvider>) {
      const client = new Client(info);
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
      return client;
    },
  },
  {
    name: '2.x',
    async connect(url: string, authProvider: ReturnType<typeof createMcpProvider>) {
      const client = new modern.Client(info);
      await client.connect(new modern.StreamableHTTPClientTransport(new URL(url), { authProvider }));
      return client;
    },
  },
];

describe.each(byProvider)('as the provider of SDK $name', ({ connect }) => {
  it('signs in before the first request, and uses the session later', async () => {
    const store = createMemoryStore();
    const { client, opened } = createOwnersClient({ store });
    const first = await connect(server.resource, createMcpProvider(client));
    expect(await first.callTool({ name: 'whoami', arguments: {} })).not.toHaveProperty('isError', true);
    await first.close();
    const later = createOwnersClient({ store });
    const second = await connect(server.resource, createMcpProvider(later.client));
    expect(await second.callTool({ name: 'whoami', arguments: {} })).not.toHaveProperty('isError', true);
    await second.close();
    expect([opened.length, later.opened.length]).toEqual([1, 0]);
  });

  it('requests the scopes that a call lacks and keeps the earlier ones', async () => {
    const added: (readonly string[])[] = [];
    const { client, opened } = createOwnersClient({
      scopes: { only: ['notes:read'] },
      async confirmStepUp(scopes) {
        added.push(scopes);
        return true;
      },
    });
    const session = await connect(server.resource, createMcpProvider(client));
    const call = () => session.callTool({ name: 'add_note', arguments: { text: 'milk' } });
    await call().catch(() => undefined);
    expect(await call()).not.toHaveProperty('isError', true);
    expect([added, opened.length]).toEqual([[['notes:write']], 2]);
    expect((await client.session())?.scopes.toSorted()).toEqual(['notes:read', 'notes:write']);
    await session.close();
  });

  it('replaces a token that was revoked', async () => {
    const { client, opened } = createOwnersClient();
    const session = await connect(server.resource, createMcpProvider(client));
    const revoked = await client.accessToken();
    const { clientId = '' } = (await client.session()) ?? {};
    const form = new URLSearchParams({ token: revoked ?? '', client_id: clientId });
    expect((await fetch(`${server.url}/revoke`, { method: 'POST', body: form })).status).toBe(200);
    const call = () => session.callTool({ name: 'whoami', arguments: {} });
    await call().catch(() => undefined);
    expect(await call()).not.toHaveProperty('isError', true);
    expect(await client.accessToken()).not.toBe(revoked);
    expect(opened.length).toBeLessThanOrEqual(2);
    await session.close();
  });

  it('reports that a sign-in is required', async () => {
    const { client } = createOwnersClient({
      browser: {
        async open() {
          throw new ClientError('sign_in_needed', 'No browser is available.');
        },
      },
    });
    await expect(connect(server.resource, createMcpProvider(client))).rejects.toThrow(
      'No browser is available.',
    );
  });
});
