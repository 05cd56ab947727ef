/** Calls that users approve: what clients of each revision get, and that an approval serves one call with the same bytes. */
import {
  Client,
  StreamableHTTPClientTransport,
  UrlElicitationRequiredError,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { listen } from '@portcullis/http/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import type { GatewayServer } from '../src/index.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import type { Page, TestBrowser } from './support/browser.ts';
import { browserOf, emailOf, registerClient, type Side, startSide } from './support/connections.ts';
import { defineTestServers } from './support/gateway.ts';

interface Scene {
  readonly gateway: Side;
  /** Arguments of the calls that the backend has executed. */
  readonly executed: readonly unknown[];
  readonly ada: TestBrowser;
  readonly lead: TestBrowser;
  readonly token: string;
}

type ToolRules = NonNullable<GatewayServerOptions['tools']>;

/** A server of the SDK with one tool. */
function fileServer(executed: unknown[]): McpServer {
  const server = new McpServer({ name: 'files', version: '1' });
  server.registerTool(
    'delete_file',
    {
      description: 'Deletes <b>a file</b>.',
      inputSchema: z.looseObject({ path: z.string() }),
      annotations: { destructiveHint: true },
    },
    async (given) => {
      executed.push(given);
      return { content: [{ type: 'text', text: 'deleted' }] };
    },
  );
  return server;
}

const BY_USER: ToolRules = { '*': { scopes: ['call'], approval: { by: 'user' } } };
const BY_LEADS: ToolRules = { '*': { scopes: ['call'], approval: { by: { groups: ['leads'] } } } };

async function setScene(tools: ToolRules): Promise<Scene> {
  const executed: unknown[] = [];
  const handler = createMcpHandler(() => fileServer(executed));
  const backend = await listen(async () => ({ fetch: handler.fetch }), { port: 0, host: '127.0.0.1' });
  onTestFinished(async () => void (await backend.close(0)));
  const server: GatewayServerOptions = {
    path: '/mcp',
    name: 'Files',
    backend: { url: `http://127.0.0.1:${backend.port}/mcp` },
    scopes: { call: 'Call it' },
    tools,
  };
  let servers: readonly GatewayServer[] = [];
  const gateway = await startSide({
    users: ['ada', 'lead'],
    pins: true,
    servers: (origin) => (servers = defineTestServers([server], origin)),
    options: () => ({ approvals: true }),
  });
  expect(servers).toHaveLength(1);
  await gateway.server.accounts.describe(emailOf('lead'), { groups: ['leads'] });
  const [ada, app] = [browserOf('ada'), await registerClient(gateway, 'App')];
  const { access_token: token } = await app.redeem(await ada.allow(app.authorizationUrl()));
  return { gateway, executed, ada, lead: browserOf('lead'), token: String(token) };
}

async function connect(
  { gateway, token }: Scene,
  open: ((url: string) => Promise<'accept' | 'decline'>) | null,
  mode: VersionNegotiationMode,
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      versionNegotiation: { mode },
      capabilities: { elicitation: open === null ? { form: {} } : { url: {} } },
    },
  );
  if (open !== null)
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await open('url' in params ? String(params.url) : ''),
    }));
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

/** The URL of the page that an error names. */
async function urlOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => new Error('the call was executed'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof UrlElicitationRequiredError)) throw error;
  return error.elicitations[0]?.url ?? '';
}

async function decide(browser: TestBrowser, url: string, decision: string, reason = ''): Promise<Page> {
  return browser.submit(await browser.allow(url), { decision, reason });
}

const DELETE = { name: 'delete_file', arguments: { path: '/notes/a' } };
const DELETED = { content: [{ type: 'text', text: 'deleted' }] };

describe('a call that its user approves', () => {
  it('runs once after a client of revision 2025-11-25 got the page in its error', async () => {
    const scene = await setScene(BY_USER);
    const client = await connect(scene, null, 'legacy');
    const url = await urlOf(client.callTool(DELETE));
    expect(scene.executed).toEqual([]);
    expect((await decide(scene.ada, url, 'once')).html).toContain('The call is allowed');
    expect(await client.callTool(DELETE)).toMatchObject(DELETED);
    expect(await urlOf(client.callTool(DELETE))).not.toBe(url);
    expect(scene.executed).toEqual([{ path: '/notes/a' }]);
  });

  it('runs when a client of revision 2026-07-28 opened the page it was asked to open', async () => {
    const scene = await setScene(BY_USER);
    let asked = 0;
    const open = async (url: string) => {
      asked += 1;
      setTimeout(() => void decide(scene.ada, url, 'once'), 1500);
      return 'accept' as const;
    };
    const client = await connect(scene, open, { pin: '2026-07-28' });
    expect(await client.callTool(DELETE)).toMatchObject(DELETED);
    expect(asked).toBe(1);
  });

  it('is refused with the reason that its approver gave, and does not run', async () => {
    const scene = await setScene(BY_USER);
    const client = await connect(scene, null, 'legacy');
    await decide(scene.ada, await urlOf(client.callTool(DELETE)), 'deny', 'Not on\na Friday.');
    expect(await client.callTool(DELETE)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('The reason given: Not on a Friday.') }],
    });
    expect(scene.executed).toEqual([]);
  });
});

describe('a call that others approve', () => {
  it('waits for them, and continues', async () => {
    const scene = await setScene(BY_LEADS);
    const client = await connect(scene, null, 'legacy');
    const call = client.callTool(DELETE);
    const requested = () => scene.gateway.events.find(({ type }) => type === 'approval.requested');
    await expect.poll(requested, { timeout: 10_000 }).toBeDefined();
    const queue = await scene.lead.allow(`${scene.gateway.origin}/approvals`);
    expect(queue.html).toContain('ada@example.org');
    const [, path = ''] = /href="(\/approvals\/[\w-]+)"/.exec(queue.html) ?? [];
    await decide(scene.lead, `${scene.gateway.origin}${path}`, 'once');
    expect(await call).toMatchObject(DELETED);
    expect(
      scene.gateway.events.map(({ type }) => type).filter((type) => type.startsWith('approval.')),
    ).toEqual(['approval.requested', 'approval.granted', 'approval.consumed']);
  });
});
