/** Step-up authorization: what each client does when it needs more scopes. */
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { owner, type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { createUser } from '../support/user.ts';
import { createRecorder, type Exchange } from './exchanges.ts';
import { connectByProxy } from './mcp-remote.ts';
import { createMemoryProvider } from './memory-provider.ts';
import { sdkOne, sdkTwo, sessionOf } from './sdks.ts';

const redirectUrl = 'http://127.0.0.1:33418/callback';

let server: Portcullis;

beforeAll(async () => {
  server = await startPortcullis({}, fileURLToPath(new URL('./read-first-notes.ts', import.meta.url)));
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
});

/** Nothing happened but a refusal that names what is missing. */
function expectRefusal(refusal: Exchange | undefined): void {
  expect(refusal?.status).toBe(403);
  expect(refusal?.challenge).toMatch(/^Bearer /);
  expect(refusal?.challenge).toContain('error="insufficient_scope"');
  expect(refusal?.challenge).toMatch(/scope="([^"]* )?notes:write[" ]/);
  expect(refusal?.challenge).toContain(
    `resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp"`,
  );
}

it('[S-ERR-403] @modelcontextprotocol/client 2.x asks the user for more scopes, and continues', async () => {
  const user = createUser(owner);
  const provider = createMemoryProvider({ redirectUrl });
  await sdkTwo.signIn(server.resource, provider, user);
  expect(provider.opened().searchParams.get('scope')).toBe('notes:read');
  const { fetch, exchanges } = createRecorder();
  const transport = new StreamableHTTPClientTransport(new URL(server.resource), {
    authProvider: provider,
    fetch,
  });
  const client = new Client({ name: 'interop', version: '1.0.0' });
  await client.connect(transport);
  const session = sessionOf(client);
  expect(await session.call('whoami')).toMatchObject({ scopes: ['notes:read'] });
  const notes = await session.call('list_notes');
  await expect(session.call('add_note', { text: 'Not allowed yet' })).rejects.toThrow(UnauthorizedError);
  expectRefusal(exchanges.find(({ status }) => status === 403));
  expect(await session.call('list_notes')).toEqual(notes);

  await transport.finishAuth(await provider.ask(user));
  expect(await session.call('add_note', { text: 'Allowed now' })).toMatchObject({ text: 'Allowed now' });
  expect(await session.call('whoami')).toMatchObject({ scopes: ['notes:read', 'notes:write'] });
  // The client that registered itself is still the same: only its grant grew.
  expect(exchanges.filter(({ url }) => url.pathname === '/register')).toEqual([]);
  await session.close();
});

it('[S-ERR-403] @modelcontextprotocol/sdk 1.x keeps the scopes it had', async () => {
  const provider = createMemoryProvider({ redirectUrl });
  await sdkOne.signIn(server.resource, provider, createUser(owner));
  const { fetch, exchanges } = createRecorder();
  const session = await sdkOne.connect(server.resource, provider, fetch);
  const notes = await session.call('list_notes');
  // It refreshes once, which cannot widen what was granted, and gives up at the same answer.
  await expect(session.call('add_note', { text: 'Not allowed' })).rejects.toMatchObject({ code: 403 });
  const refusals = exchanges.filter(({ status }) => status === 403);
  expect(refusals).toHaveLength(2);
  for (const refusal of refusals) expectRefusal(refusal);
  expect(await session.call('list_notes')).toEqual(notes);
  await session.close();
});

it('@modelcontextprotocol/sdk 1.x gets more scopes at sign-in where the consent page offers them', async () => {
  const notes = fileURLToPath(new URL('./read-first-notes.ts', import.meta.url));
  const offering = await startPortcullis({ offerOtherScopes: true }, notes);
  onTestFinished(async () => void (await offering.stop()));
  /** Switches writing on, on the consent page. */
  const switchOn = async (request: Request) => {
    if (request.method !== 'POST' || new URL(request.url).pathname !== '/consent') return fetch(request);
    const form = new URLSearchParams(await request.text());
    form.append('scope', 'notes:write');
    return fetch(
      new Request(request.url, { method: 'POST', headers: request.headers, body: form, redirect: 'manual' }),
    );
  };
  const provider = createMemoryProvider({ redirectUrl });
  await sdkOne.signIn(offering.resource, provider, createUser(owner, switchOn));
  expect(provider.opened().searchParams.get('scope')).toBe('notes:read');
  const session = await sdkOne.connect(offering.resource, provider);
  expect(await session.call('add_note', { text: 'Allowed' })).toMatchObject({ text: 'Allowed' });
  expect(await session.call('whoami')).toMatchObject({ scopes: ['notes:read', 'notes:write'] });
  await session.close();
});

it('[S-ERR-403] mcp-remote asks the user for more scopes, and continues', async () => {
  const user = createUser(owner);
  await using local = await connectByProxy(server.resource);
  await local.callBack(await user.authorize(await local.authorizationUrl()));
  const session = await local.session;
  expect(await session.call('whoami')).toMatchObject({ scopes: ['notes:read'] });
  const [added] = await Promise.all([
    session.call('add_note', { text: 'Allowed now' }),
    local.authorizationUrl().then((url) => user.authorize(url).then(local.callBack)),
  ]);
  expect(added).toMatchObject({ text: 'Allowed now' });
  expect(await session.call('whoami')).toMatchObject({ scopes: ['notes:read', 'notes:write'] });
});
