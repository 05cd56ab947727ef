/** `@modelcontextprotocol/client` 2.x with its own OAuth code, and people in a real Chromium. */
import '../support/foreign-packages.ts';
import {
  Client,
  ClientCredentialsProvider,
  type ClientOptions,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../support/browser.ts';
import { type Callback, openCallback } from '../support/callback.ts';
import { openBrowserFor } from '../support/chromium-person.ts';
import { createPerson, type Person } from '../support/person.ts';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { addAccount } from './accounts.ts';
import { createRecorder } from './exchanges.ts';
import { createMemoryProvider, type MemoryProvider } from './memory-provider.ts';

const robot = { client_id: 'robot', client_secret: 'a secret of the robot & friends' };

let server: Portcullis;
let browser: Browser;
let callback: Callback;

beforeAll(async () => {
  [server, browser, callback] = await Promise.all([
    startPortcullis({
      clients: [
        { ...robot, grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_basic' },
      ],
    }),
    launchChromium(),
    openCallback(),
  ]);
});

afterAll(async () => {
  await browser.close();
  callback.close();
  expect(await server.stop()).toBe(0);
});

/** The transport that an application builds for each connection. */
function transportFor(
  provider: MemoryProvider,
  fetch = createRecorder().fetch,
): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(server.resource), { authProvider: provider, fetch });
}

async function connect(provider: MemoryProvider, options?: ClientOptions): Promise<Client> {
  const client = new Client({ name: 'interop', version: '1.0.0' }, options);
  await client.connect(transportFor(provider));
  return client;
}

/** Has the SDK ask for authorization, and somebody give it. */
async function signIn(
  provider: MemoryProvider,
  person: Person,
  fetch?: typeof globalThis.fetch,
): Promise<void> {
  const transport = transportFor(provider, fetch);
  await expect(new Client({ name: 'interop', version: '1.0.0' }).connect(transport)).rejects.toThrow(
    UnauthorizedError,
  );
  await transport.finishAuth(await provider.ask(person));
}

async function call(client: Client, name: string, input: Record<string, unknown> = {}): Promise<unknown> {
  const { structuredContent, isError } = await client.callTool({ name, arguments: input });
  expect(isError).not.toBe(true);
  return structuredContent;
}

it('[S-FLOW-B1 AS-FLOW-B5 AS-AUTHZ-1 AS-ROLE-2 AS-GRANT-2] signs in through Chromium without JavaScript and keeps notes', async () => {
  const person = await openBrowserFor(owner, browser, { javaScriptEnabled: false });
  const provider = createMemoryProvider({ redirectUrl: callback.url });
  const { fetch, summary } = createRecorder();
  await signIn(provider, person, fetch);
  expect(summary()).toEqual([
    'POST /mcp 401',
    'GET /.well-known/oauth-protected-resource/mcp 200',
    'GET /.well-known/oauth-authorization-server 200',
    'POST /register 201',
    'POST /token 200',
  ]);

  const client = await connect(provider);
  const me = await call(client, 'whoami');
  expect(me).toMatchObject({ issuer: server.url, scopes: ['notes:read', 'notes:write'] });
  expect(me).toMatchObject({ clientId: provider.clientInformation()?.client_id });
  expect(me).toHaveProperty('subject', decodeJwt(provider.tokens()?.access_token ?? '').sub);
  const added = await call(client, 'add_note', { text: 'Feed the cat' });
  await call(client, 'add_note', { text: 'Water the <plants>' });
  expect(await call(client, 'list_notes')).toMatchObject({
    notes: [{ text: 'Feed the cat' }, { text: 'Water the <plants>' }],
  });
  await client.callTool({ name: 'delete_note', arguments: { id: (added as { id: number }).id } });
  expect(await call(client, 'list_notes')).toMatchObject({ notes: [{ text: 'Water the <plants>' }] });
  await client.close();
});

it.each([
  { era: 'the stateless protocol of 2026-07-28', mode: { pin: '2026-07-28' } },
  { era: 'whatever the server speaks', mode: 'auto' },
] as const)('speaks $era', async ({ mode }) => {
  const provider = createMemoryProvider({ redirectUrl: callback.url });
  await signIn(provider, createPerson(owner));
  const client = await connect(provider, { versionNegotiation: { mode } });
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['list_notes', 'add_note', 'delete_note', 'whoami']);
  expect(await call(client, 'whoami')).toMatchObject({ issuer: server.url });
  await client.close();
});

it('takes no for an answer', async () => {
  const provider = createMemoryProvider({ redirectUrl: callback.url });
  const person = await openBrowserFor(owner, browser);
  const transport = transportFor(provider);
  const refused = new Client({ name: 'interop', version: '1.0.0' }).connect(transport);
  await expect(refused).rejects.toThrow(UnauthorizedError);
  const { searchParams } = await person.authorize(provider.opened(), 'deny');
  expect(searchParams.get('iss')).toBe(server.url);
  await expect(transport.finishAuth(searchParams)).rejects.toMatchObject({ code: 'access_denied' });
  expect(provider.tokens()).toBeUndefined();
});

it('[AS-GRANT-3] lets an application in that acts for itself', async () => {
  const provider = new ClientCredentialsProvider({
    clientId: robot.client_id,
    clientSecret: robot.client_secret,
    expectedIssuer: server.url,
  });
  const client = new Client({ name: 'robot', version: '1.0.0' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.resource), { authProvider: provider }),
  );
  expect(await call(client, 'whoami')).toMatchObject({ subject: 'robot', clientId: 'robot' });
  expect(await call(client, 'list_notes')).toEqual({ notes: [] });
  expect(provider.tokens()).not.toHaveProperty('refresh_token');
  await client.close();
});

it('keeps notes and sign-ins over a restart, and everybody’s notes to themselves', async () => {
  const adas = createMemoryProvider({ redirectUrl: callback.url });
  await signIn(adas, createPerson(owner));
  const before = await connect(adas);
  const { subject } = (await call(before, 'whoami')) as { subject: string };
  await call(before, 'add_note', { text: 'Only for Ada' });
  const notes = await call(before, 'list_notes');
  await before.close();

  const grace = { email: 'grace@example.com', password: owner.password };
  await server.restart((database) => addAccount(database, grace.email, owner.email));

  const after = await connect(adas);
  expect(await call(after, 'list_notes')).toEqual(notes);
  const graces = createMemoryProvider({ redirectUrl: callback.url });
  await signIn(graces, createPerson(grace));
  const hers = await connect(graces);
  expect(await call(hers, 'list_notes')).toEqual({ notes: [] });
  expect(await call(hers, 'whoami')).not.toMatchObject({ subject });
  const [note] = (notes as { notes: { id: number }[] }).notes;
  expect(await hers.callTool({ name: 'delete_note', arguments: { id: note?.id } })).toMatchObject({
    isError: true,
  });
  expect(await call(after, 'list_notes')).toEqual(notes);
  await Promise.all([after.close(), hers.close()]);
});
