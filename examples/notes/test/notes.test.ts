/** The notes server, called by the official MCP client over the stateless protocol and the earlier one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { RunningApplication } from '@portcullis/cli';
import type { McpOperation, Principal } from '@portcullis/resource-server';
import { afterEach, describe, expect, it } from 'vitest';
import { app } from '../src/app.ts';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

function principalOf(subject: string, issuer = 'https://as.example'): Principal {
  return {
    issuer,
    subject,
    clientId: 'client_x',
    scopes: ['notes:read', 'notes:write'],
    resource: 'https://notes.example/mcp',
    grantId: 'grant_x',
    expiresAt: 0,
    email: null,
    name: null,
    groups: [],
    claims: {},
  };
}

async function start(dataFolder: string | null = null): Promise<RunningApplication> {
  const upstream = { tokenFor: () => Promise.reject(new Error('notes are kept here alone')), forget() {} };
  return app.create({ dataFolder, log: () => {}, upstream });
}

const transports = {
  'the stateless transport': { pin: '2026-07-28' },
  'the transport with a handshake': 'legacy',
} as const;

/** A client authorized as this principal. */
async function connect(
  running: RunningApplication,
  principal: Principal,
  mode: keyof typeof transports = 'the stateless transport',
): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(principal.resource), {
    fetch: (url, init) => running.handle(new Request(url, init), principal),
  });
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: transports[mode] } },
  );
  await client.connect(transport);
  endings.push(() => client.close());
  return client;
}

async function call(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
): Promise<CallToolResult> {
  return client.callTool({ name, arguments: input });
}

async function textsOf(client: Client): Promise<readonly string[]> {
  const { structuredContent } = await call(client, 'list_notes');
  return (structuredContent as { notes: { text: string }[] }).notes.map(({ text }) => text);
}

describe.each(Object.keys(transports) as (keyof typeof transports)[])('on %s', (mode) => {
  it('notes are added, listed and deleted', async () => {
    const running = await start();
    const client = await connect(running, principalOf('ada'), mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['list_notes', 'add_note', 'delete_note', 'whoami']);

    const added = await call(client, 'add_note', { text: ' buy milk ' });
    expect(added.structuredContent).toEqual({ id: 1, text: 'buy milk' });
    await call(client, 'add_note', { text: 'feed the cat' });
    expect(await textsOf(client)).toEqual(['buy milk', 'feed the cat']);

    expect((await call(client, 'delete_note', { id: 1 })).isError).toBeFalsy();
    expect(await textsOf(client)).toEqual(['feed the cat']);
    expect((await call(client, 'delete_note', { id: 1 })).isError).toBe(true);
  });

  it('says who one is', async () => {
    const client = await connect(await start(), principalOf('ada'), mode);
    expect((await call(client, 'whoami')).structuredContent).toEqual({
      subject: 'ada',
      issuer: 'https://as.example',
      clientId: 'client_x',
      scopes: ['notes:read', 'notes:write'],
    });
  });
});

it('greets by name, by email address, or by identifier', async () => {
  const running = await start();
  const greet = async (known: Partial<Principal>): Promise<string> => {
    const client = await connect(running, { ...principalOf('ada'), ...known });
    return JSON.stringify((await call(client, 'whoami')).content);
  };
  expect(await greet({ name: 'Ada Lovelace', email: 'ada@example.org' })).toContain('Hello Ada Lovelace!');
  expect(await greet({ email: 'ada@example.org' })).toContain('Hello ada@example.org!');
  expect(await greet({})).toContain('Hello ada!');
});

it('notes belong to who wrote them, by subject and issuer', async () => {
  const running = await start();
  const ada = await connect(running, principalOf('ada'));
  await call(ada, 'add_note', { text: 'mine' });
  for (const other of [principalOf('bob'), principalOf('ada', 'https://other.example')]) {
    const client = await connect(running, other);
    expect(await textsOf(client)).toEqual([]);
    expect((await call(client, 'delete_note', { id: 1 })).isError).toBe(true);
  }
  expect(await textsOf(ada)).toEqual(['mine']);
});

it('notes survive a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'notes-'));
  endings.push(async () => rmSync(folder, { recursive: true }));
  const first = await start(folder);
  await call(await connect(first, principalOf('ada')), 'add_note', { text: 'still here' });
  await first.close();
  const second = await start(folder);
  expect(await textsOf(await connect(second, principalOf('ada')))).toEqual(['still here']);
  await second.close();
});

it.each([{}, { text: '' }, { text: '   ' }, { text: 7 }, { text: 'x'.repeat(10_001) }])(
  'refuses a note without a usable text: %j',
  async (input) => {
    const client = await connect(await start(), principalOf('ada'));
    expect((await call(client, 'add_note', input)).isError).toBe(true);
    expect(await textsOf(client)).toEqual([]);
  },
);

it.each<[Partial<McpOperation>, readonly string[]]>([
  [{ method: 'tools/call', tool: 'list_notes' }, ['notes:read']],
  [{ method: 'tools/call', tool: 'add_note' }, ['notes:write']],
  [{ method: 'tools/call', tool: 'delete_note' }, ['notes:write']],
  [{ method: 'tools/call', tool: 'whoami' }, []],
  [{ method: 'tools/call', tool: 'added_later' }, ['notes:read', 'notes:write']],
  [{ method: 'tools/call', tool: 'constructor' }, ['notes:read', 'notes:write']],
  [{ method: 'tools/list' }, []],
])('%j needs %j', (operation, scopes) => {
  const whole = { method: '', tool: null, prompt: null, resource: null, ...operation };
  expect(app.scopesFor?.(whole)).toEqual(scopes);
});
