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
import type { GatewayServerOptions } from '../src/options.ts';
import { answerAll, startBackend } from './support/backend.ts';
import type { Page, TestBrowser } from './support/browser.ts';
import { callOf, startSession } from './support/client.ts';
import { browserOf, emailOf, registerClient, type Side, startSide } from './support/connections.ts';
import { defineTestServers, startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

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

const ALL: GatewayServerOptions = { path: '/mcp', name: 'All', merges: { files: '/files' } };

async function setScene(tools: ToolRules, merged = false): Promise<Scene> {
  const executed: unknown[] = [];
  const handler = createMcpHandler(() => fileServer(executed));
  const backend = await listen(async () => ({ fetch: handler.fetch }), { port: 0, host: '127.0.0.1' });
  onTestFinished(async () => void (await backend.close(0)));
  const server: GatewayServerOptions = {
    path: merged ? '/files' : '/mcp',
    name: 'Files',
    backend: { url: `http://127.0.0.1:${backend.port}/mcp` },
    scopes: { call: 'Call it' },
    tools,
  };
  const gateway = await startSide({
    users: ['ada', 'lead'],
    pins: true,
    servers: (origin) => defineTestServers(merged ? [server, ALL] : [server], origin),
    options: () => ({ approvals: true }),
  });
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

  it('is refused with the reason that its approver gave to a client of revision 2026-07-28', async () => {
    const scene = await setScene(BY_USER);
    const open = async (url: string) => {
      await decide(scene.ada, url, 'deny', 'Not on a Friday.');
      return 'accept' as const;
    };
    const client = await connect(scene, open, { pin: '2026-07-28' });
    expect(await client.callTool(DELETE)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('The reason given: Not on a Friday.') }],
    });
    expect(scene.executed).toEqual([]);
  });
});

describe('the events of a denied call', () => {
  it.each([
    ['Not on a Friday.', 'Not on a Friday.', 'an approver denied it: Not on a Friday.'],
    ['', null, 'an approver denied it'],
  ])('say what its approver wrote: %j', async (written, reason, ofCall) => {
    const scene = await setScene(BY_USER);
    const client = await connect(scene, null, 'legacy');
    await decide(scene.ada, await urlOf(client.callTool(DELETE)), 'deny', written);
    await client.callTool(DELETE);
    const { events, calls } = scene.gateway;
    const ofApproval = events.find(({ type }) => type === 'approval.denied');
    expect(ofApproval).toMatchObject({ tool: 'delete_file', ...(reason !== null && { reason }) });
    if (reason === null) expect(ofApproval).not.toHaveProperty('reason');
    await expect.poll(() => calls.at(-1)).toMatchObject({ decision: 'approval_denied', reason: ofCall });
  });

  it('have no reason of an approver who allowed it', async () => {
    const scene = await setScene(BY_USER);
    const client = await connect(scene, null, 'legacy');
    await decide(scene.ada, await urlOf(client.callTool(DELETE)), 'once', 'Fine.');
    const granted = scene.gateway.events.find(({ type }) => type === 'approval.granted');
    expect(granted).not.toHaveProperty('reason');
  });
});

describe('a call at a merged server', () => {
  it('needs the approval that its member demands, for the names of the member', async () => {
    const scene = await setScene(BY_USER, true);
    const client = await connect(scene, null, 'legacy');
    const call = { ...DELETE, name: 'files__delete_file' };
    const url = await urlOf(client.callTool(call));
    const page = await scene.ada.allow(url);
    expect(page.html).toContain('>delete_file<');
    await scene.ada.submit(page, { decision: 'once' });
    expect(await client.callTool(call)).toMatchObject(DELETED);
    expect(scene.gateway.events).toContainEqual(
      expect.objectContaining({ type: 'approval.consumed', server: '/files', tool: 'delete_file' }),
    );
    await urlOf(client.callTool(call));
    expect(scene.executed).toHaveLength(1);
  });
});

describe('a rule with an approval', () => {
  it.each(['resources', 'prompts', 'methods'])('is refused among the rules of %s', (table) => {
    const server = {
      path: '/mcp',
      backend: { url: 'http://127.0.0.1:9/mcp' },
      [table]: { '*': { approval: { by: 'user' } } },
    };
    expect(() => defineTestServers([server], 'http://localhost')).toThrow('is for calls of tools only');
    expect(() =>
      defineTestServers(
        [{ ...server, [table]: {}, tools: BY_LEADS, scopes: { call: 'x' } }],
        'http://localhost',
      ),
    ).not.toThrow();
  });

  it('lets no call pass where there is no page to approve it on', async () => {
    const backend = await startBackend(answerAll);
    onTestFinished(backend.close);
    const tools = { '*': { approval: { by: 'user' as const } } };
    const gateway = await startGateway([
      { path: '/mcp', backend: { url: backend.url }, review: 'auto', tools },
    ]);
    onTestFinished(gateway.close);
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: DELETE };
    expect((await gateway.send('alice', { message })).status).toBe(403);
    expect(backend.received).toEqual([]);
  });
});

describe('the outcome of an approved call of a process', () => {
  /** Every call is approved. @returns how many outcomes are unknown after a call */
  async function countUnknown(tool: string): Promise<number> {
    const unknown: string[] = [];
    const use = {
      ids: ['approval'],
      consume: async () => true,
      reportUnknownOutcome: () => void unknown.push(tool),
    };
    const gateway = await startGateway(
      [{ path: '/mcp', backend: { command: TINY }, tools: { '*': { approval: { by: 'user' } } } }],
      { approvals: { request: async () => ({ kind: 'approved', use }) } },
    );
    onTestFinished(gateway.close);
    const client = await startSession(gateway, 'alice');
    await (await client.post(callOf(tool))).text();
    await expect.poll(() => gateway.calls.at(-1)?.target).toBe(tool);
    expect(gateway.calls.at(-1)?.approvals).toEqual(['approval']);
    return unknown.length;
  }

  it('is known from its response, and unknown when the process ends', async () => {
    expect(await countUnknown('pid')).toBe(0);
    expect(await countUnknown('crash')).toBe(1);
  });
});

describe('a call that others approve', () => {
  it('waits for them, and continues', async () => {
    const scene = await setScene(BY_LEADS);
    const client = await connect(scene, null, 'legacy');
    const call = client.callTool(DELETE);
    const requested = () => scene.gateway.events.find(({ type }) => type === 'approval.requested');
    await expect.poll(requested).toBeDefined();
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
