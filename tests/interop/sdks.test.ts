/** The official SDKs, 1.x and 2.x, with their own OAuth code, and users in a real Chromium. */
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../support/browser.ts';
import { type Callback, openCallback } from '../support/callback.ts';
import { openBrowserFor } from '../support/chromium-user.ts';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { createUser } from '../support/user.ts';
import { addAccount } from './accounts.ts';
import { createRecorder } from './exchanges.ts';
import { createMemoryProvider } from './memory-provider.ts';
import { type Sdk, sdks, sdkTwo, sessionOf } from './sdks.ts';

const info = { name: 'interop', version: '1.0.0' };
const robot = { client_id: 'robot', client_secret: 'a secret of the robot & friends' };

let server: PortcullisHere;
let browser: Browser;
let callback: Callback;

beforeAll(async () => {
  [server, browser, callback] = await Promise.all([
    startPortcullisHere({
      clients: [
        {
          ...robot,
          grant_types: ['client_credentials'],
          scope: 'notes:read notes:write',
          token_endpoint_auth_method: 'client_secret_basic',
        },
      ],
    }),
    launchChromium(),
    openCallback(),
  ]);
});

afterAll(async () => {
  await browser.close();
  callback.close();
  await server.stop();
});

interface Note {
  readonly id: number;
  readonly text: string;
}

it.each(sdks)(
  '[S-FLOW-B1 AS-FLOW-B5 AS-AUTHZ-1 AS-ROLE-2] signs a user in through Chromium without JavaScript and reaches every tool: $name',
  async (sdk: Sdk) => {
    const user = await openBrowserFor(owner, browser, { javaScriptEnabled: false });
    const provider = createMemoryProvider({ redirectUrl: callback.url });
    const { fetch, summary } = createRecorder();
    await sdk.signIn(server.resource, provider, user, fetch);
    expect(summary()).toEqual([
      'POST /mcp 401',
      'GET /.well-known/oauth-protected-resource/mcp 200',
      'GET /.well-known/oauth-authorization-server 200',
      'POST /register 201',
      'POST /token 200',
    ]);

    const session = await sdk.connect(server.resource, provider);
    expect(await session.call('whoami')).toEqual({
      issuer: server.url,
      subject: decodeJwt(provider.tokens()?.access_token ?? '').sub,
      clientId: provider.clientInformation()?.client_id,
      scopes: ['notes:read', 'notes:write'],
    });
    const { notes } = (await session.call('list_notes')) as { notes: Note[] };
    const cat = (await session.call('add_note', { text: 'Feed the cat' })) as Note;
    const plants = await session.call('add_note', { text: 'Water the <plants> & the "garden"' });
    expect(await session.call('list_notes')).toEqual({ notes: [...notes, cat, plants] });
    await session.call('delete_note', { id: cat.id });
    expect(await session.call('list_notes')).toEqual({ notes: [...notes, plants] });
    await expect(session.call('delete_note', { id: cat.id })).rejects.toThrow('You have no note');
    await session.close();
  },
);

it.each([
  { era: 'the stateless protocol of 2026-07-28', mode: { pin: '2026-07-28' } },
  { era: 'whatever the server speaks', mode: 'auto' },
] as const)('signs in a client that speaks $era', async ({ mode }) => {
  const provider = createMemoryProvider({ redirectUrl: callback.url });
  await sdkTwo.signIn(server.resource, provider, createUser(owner));
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.resource), { authProvider: provider }),
  );
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['list_notes', 'add_note', 'delete_note', 'whoami']);
  expect(await sessionOf(client).call('whoami')).toMatchObject({ issuer: server.url });
  await client.close();
});

it('tells an SDK client that the user declined', async () => {
  const provider = createMemoryProvider({ redirectUrl: callback.url });
  const user = await openBrowserFor(owner, browser);
  const transport = new StreamableHTTPClientTransport(new URL(server.resource), { authProvider: provider });
  await expect(new Client(info).connect(transport)).rejects.toThrow(UnauthorizedError);
  const { searchParams } = await user.authorize(provider.opened(), 'deny');
  expect(searchParams.get('iss')).toBe(server.url);
  await expect(transport.finishAuth(searchParams)).rejects.toMatchObject({ code: 'access_denied' });
  expect(provider.tokens()).toBeUndefined();
});

it('[AS-GRANT-3] serves an application with client credentials', async () => {
  const provider = new ClientCredentialsProvider({
    clientId: robot.client_id,
    clientSecret: robot.client_secret,
    expectedIssuer: server.url,
  });
  const client = new Client(info);
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.resource), { authProvider: provider }),
  );
  const session = sessionOf(client);
  expect(await session.call('whoami')).toMatchObject({ subject: 'robot', clientId: 'robot' });
  expect(await session.call('list_notes')).toEqual({ notes: [] });
  expect(provider.tokens()).not.toHaveProperty('refresh_token');
  await session.close();
});

it('[AS-GRANT-2] keeps notes and sessions over a restart, and each user’s notes private', async () => {
  const adas = createMemoryProvider({ redirectUrl: callback.url });
  await sdkTwo.signIn(server.resource, adas, createUser(owner));
  const before = await sdkTwo.connect(server.resource, adas);
  const note = (await before.call('add_note', { text: 'Only for Ada' })) as Note;
  const notes = await before.call('list_notes');
  await before.close();

  const grace = { email: 'grace@example.com', password: owner.password };
  let subject = '';
  await server.restart((database) => {
    subject = addAccount(database, grace.email, owner.email);
  });

  const after = await sdkTwo.connect(server.resource, adas);
  expect(await after.call('list_notes')).toEqual(notes);
  const graces = createMemoryProvider({ redirectUrl: callback.url });
  await sdkTwo.signIn(server.resource, graces, createUser(grace));
  const hers = await sdkTwo.connect(server.resource, graces);
  expect(await hers.call('whoami')).toMatchObject({ subject });
  expect(await hers.call('list_notes')).toEqual({ notes: [] });
  await expect(hers.call('delete_note', { id: note.id })).rejects.toThrow('You have no note');
  expect(await after.call('list_notes')).toEqual(notes);
  await Promise.all([after.close(), hers.close()]);
});
