/** The official SDKs, 1.x and 2.x, that speak through the client's `fetch` to a real server; a person signs in once. */
import '../../../tests/support/foreign-packages.ts';
import * as modern from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPerson } from '../../../tests/support/person.ts';
import { owner, type Portcullis, startPortcullis } from '../../../tests/support/portcullis.ts';
import { createMemoryStore } from '../src/index.ts';
import { createNodeClient, type NodeClientOptions } from '../src/node.ts';

let server: Portcullis;

beforeAll(async () => {
  server = await startPortcullis();
});

afterAll(() => server.stop());

/** A client of the owner of the server; `opened` counts how often a browser was needed. */
function createOwnersClient(options: Partial<NodeClientOptions> = {}) {
  const person = createPerson(owner);
  const opened: URL[] = [];
  const client = createNodeClient({
    serverUrl: server.resource,
    browser: {
      async open(url) {
        opened.push(new URL(url));
        const arrived = await person.authorize(url);
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

it('comes back after a refresh, and is signed out at the server', async () => {
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

it('T124 a refresh whose answer was lost on its way is repeated, and the session lives on', async () => {
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
