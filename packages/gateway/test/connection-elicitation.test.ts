/** A user who has not connected a backend's account: what clients of each revision are told, and that the call succeeds once it is connected. */
import {
  Client,
  ProtocolError,
  StreamableHTTPClientTransport,
  UrlElicitationRequiredError,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createUserBackends, type GatewayServer } from '../src/index.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import type { TestBrowser } from './support/browser.ts';
import { browserOf, registerClient, type Side, startSide } from './support/connections.ts';
import { defineTestServers } from './support/gateway.ts';

interface Scene {
  readonly gateway: Side;
  readonly backend: Side;
  readonly ada: TestBrowser;
  readonly token: string;
  /** Another token of the same client, by another consent. */
  authorizeAgain(): Promise<string>;
  /** Ends the account's connection at the backend. */
  disconnect(): Promise<void>;
}

/** A server of the SDK that says who calls it. */
function whoServer(subject: string): McpServer {
  const server = new McpServer({ name: 'who', version: '1' });
  server.registerTool('who', { description: 'Who calls?' }, async () => ({
    content: [{ type: 'text', text: subject }],
  }));
  return server;
}

async function setScene(merged = false): Promise<Scene> {
  const backend = await startSide({
    users: ['ada'],
    serve: (request, { subject }) => createMcpHandler(() => whoServer(subject)).fetch(request),
  });
  const hub: GatewayServerOptions = {
    path: merged ? '/hub' : '/mcp',
    name: 'Hub',
    backend: { url: `${backend.origin}/mcp`, credentials: { as: 'user' } },
    scopes: { call: 'Call it' },
    tools: { '*': ['call'] },
    review: 'auto',
  };
  const all: GatewayServerOptions = { path: '/mcp', name: 'All', merges: { hub: '/hub' } };
  let servers: readonly GatewayServer[] = [];
  const gateway = await startSide({
    users: ['ada'],
    servers: (origin) => (servers = defineTestServers(merged ? [hub, all] : [hub], origin)),
    options: () => ({ backends: createUserBackends({ servers: () => servers, clientName: 'Gateway' }) }),
  });
  const [ada, app] = [browserOf('ada'), await registerClient(gateway, 'App')];
  const { access_token: token } = await app.redeem(await ada.allow(app.authorizationUrl()));
  const authorizeAgain = async () =>
    String((await app.redeem(await ada.allow(app.authorizationUrl())))['access_token']);
  const disconnect = () =>
    backend.store.revokeAccountGrants(backend.accounts['ada'] ?? '', null, Math.floor(Date.now() / 1000));
  return {
    gateway,
    backend,
    ada,
    token: String(token),
    authorizeAgain,
    disconnect: async () => void (await disconnect()),
  };
}

type Elicited = { readonly mode?: string; readonly message: string; readonly url?: string };

async function connect(
  { gateway, token }: Scene,
  elicit: ((params: Elicited) => Promise<'accept' | 'decline'>) | null,
  mode: VersionNegotiationMode = { pin: '2026-07-28' },
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      versionNegotiation: { mode },
      capabilities: { elicitation: elicit === null ? { form: {} } : { url: {} } },
    },
  );
  if (elicit !== null)
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await elicit(params as Elicited),
    }));
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

describe('a client of revision 2026-07-28', () => {
  it.each([
    { description: 'of a server', merged: false, tool: 'who' },
    { description: 'of a merged server', merged: true, tool: 'hub__who' },
  ])('$description opens the URL it is asked to open, and its call succeeds', async ({ merged, tool }) => {
    const scene = await setScene(merged);
    const { ada, backend, gateway } = scene;
    const asked: Elicited[] = [];
    const client = await connect(scene, async (params) => {
      asked.push(params);
      expect((await ada.allow(params.url ?? '')).html).toContain('Hub is connected');
      return 'accept';
    });
    const content = [{ type: 'text', text: backend.accounts['ada'] }];
    expect(await client.callTool({ name: tool })).toMatchObject({ content });
    expect(asked).toEqual([]);
    await scene.disconnect();
    expect(await client.callTool({ name: tool })).toMatchObject({ content });
    expect(asked).toEqual([
      {
        mode: 'url',
        message: expect.stringContaining('Hub is not connected'),
        url: expect.stringContaining(`${gateway.origin}/connect?link=`),
      },
    ]);
  });

  it('is asked once: its retry waits until the user has connected the account', async () => {
    const scene = await setScene();
    const { ada, backend } = scene;
    let asked = 0;
    const client = await connect(scene, async ({ url }) => {
      asked += 1;
      // The browser is open while the client retries.
      setTimeout(() => void ada.allow(url ?? ''), 1500);
      return 'accept';
    });
    await scene.disconnect();
    expect(await client.callTool({ name: 'who' })).toMatchObject({
      content: [{ text: backend.accounts['ada'] }],
    });
    expect(asked).toBe(1);
  });

  it('gets the link in an error when its user declines, and nothing is connected', async () => {
    const scene = await setScene();
    const client = await connect(scene, async () => 'decline');
    await scene.disconnect();
    await expect(client.callTool({ name: 'who' })).rejects.toThrow(/Hub is not connected .*\/connect\?link=/);
  });

  it('that cannot open URLs is told which capability it lacks, and the link', async () => {
    const scene = await setScene();
    const client = await connect(scene, null);
    expect((await client.listTools()).tools).toHaveLength(1);
    await scene.disconnect();
    const error = await client.callTool({ name: 'who' }).catch((reason: unknown) => reason);
    if (!(error instanceof ProtocolError)) throw error;
    expect(error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { url: {} } } },
      message: expect.stringContaining('/connect?link='),
    });
  });

  it('gets an error of its revision from a request that cannot ask', async () => {
    const scene = await setScene();
    const client = await connect(scene, async () => 'accept');
    await scene.disconnect();
    const error = await client.listTools().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('/connect?link=') });
  });

  it('is refused when the state of its retry was changed, or is that of another tool', async () => {
    const scene = await setScene();
    await scene.disconnect();
    const send = async (more: object, name = 'who') => {
      const response = await fetch(`${scene.gateway.origin}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${scene.token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': name,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: {
            name,
            arguments: {},
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
              'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
            },
            ...more,
          },
        }),
      });
      return (await response.json()) as { readonly result?: { readonly requestState: string } };
    };
    const { result } = await send({});
    expect(result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
    const changed = `${result?.requestState.slice(0, -4)}AAAA`;
    const { requestState } = result ?? {};
    for (const refused of [await send({ requestState: changed }), await send({ requestState }, 'other')])
      expect(refused).toMatchObject({
        error: { code: -32_602, message: expect.stringContaining('requestState') },
      });
  });
});

describe('a client of revision 2025-11-25', () => {
  it('gets the error of its revision with the URL, and its call succeeds once the account is connected', async () => {
    const scene = await setScene();
    const client = await connect(scene, async () => 'decline', 'legacy');
    await scene.disconnect();
    const error = await client.callTool({ name: 'who' }).catch((reason: unknown) => reason);
    if (!(error instanceof UrlElicitationRequiredError)) throw error;
    expect(error.elicitations).toEqual([
      {
        mode: 'url',
        elicitationId: expect.any(String),
        message: expect.stringContaining('Hub is not connected'),
        url: expect.stringContaining('/connect?link='),
      },
    ]);
    await scene.ada.allow(error.elicitations[0]?.url ?? '');
    expect(await client.callTool({ name: 'who' })).toMatchObject({
      content: [{ text: scene.backend.accounts['ada'] }],
    });
  });

  it.each(['legacy', 'auto'] as const)(
    'negotiated as %s gets the URL when it connects without an account there',
    async (mode) => {
      const scene = await setScene();
      await scene.disconnect();
      await expect(connect(scene, async () => 'decline', mode)).rejects.toThrow(UrlElicitationRequiredError);
    },
  );
});

describe('a session', () => {
  it('goes on with the tokens of a new grant, and not with those of the one before', async () => {
    const scene = await setScene(true);
    const { gateway, backend } = scene;
    const post = async (token: string, session: string | null, method: string, params: object) => {
      const response = await fetch(`${gateway.origin}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session !== null && { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      return { session: response.headers.get('mcp-session-id'), text: await response.text() };
    };
    const { session } = await post(scene.token, null, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    const call = (token: string) => post(token, session, 'tools/call', { name: 'hub__who', arguments: {} });
    expect((await call(scene.token)).text).toContain(backend.accounts['ada']);
    const used = backend.tokens.at(-1);
    const next = await scene.authorizeAgain();
    expect((await call(next)).text).toContain(backend.accounts['ada']);
    expect(backend.tokens.at(-1)).not.toBe(used);
  });
});
