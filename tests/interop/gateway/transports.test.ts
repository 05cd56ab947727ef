/** The official clients of both transports, through the gateway, to backends of every transport. */
import { fileURLToPath } from 'node:url';
import * as two from '@modelcontextprotocol/client';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayServerOptions } from '../../../packages/gateway/src/options.ts';
import { startGateway, type TestGateway } from '../../../packages/gateway/test/support/gateway.ts';
import { type EverythingServer, startEverythingServer } from '../../conformance/server/everything-server.ts';
import { startSseServer } from '../../conformance/server/sse.ts';

const stdio = fileURLToPath(new URL('../../conformance/server/stdio.ts', import.meta.url));

const backends: Record<string, () => Promise<EverythingServer | null>> = {
  both: () => startEverythingServer('both'),
  sessions: () => startEverythingServer('sessions'),
  stateless: () => startEverythingServer('stateless'),
  sse: startSseServer,
  stdio: async () => null,
};

interface Connection {
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    onProgress?: (progress: number) => void,
  ): Promise<unknown>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  readResource(uri: string): Promise<unknown>;
  close(): Promise<void>;
}

interface Told {
  readonly elicited: string[];
  readonly sampled: string[];
  changes: number;
}

const info = { name: 'interop', version: '1.0.0' };
const capabilities = { elicitation: {}, sampling: {}, roots: {} };
const requestInit = { headers: { authorization: 'Bearer alice' } };
const accept = {
  action: 'accept' as const,
  content: { username: 'ada', email: 'ada@example.com', confirmed: true, name: 'Ada' },
};
const sampled = {
  role: 'assistant' as const,
  model: 'none',
  content: { type: 'text' as const, text: 'sampled text' },
};

const clients: Record<string, (url: string, told: Told) => Promise<Connection>> = {
  async '1.x'(url, told) {
    const client = new ClientOne(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      told.elicited.push(params.message);
      return accept;
    });
    client.setRequestHandler(CreateMessageRequestSchema, async () => {
      told.sampled.push('asked');
      return sampled;
    });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      told.changes += 1;
    });
    await client.connect(
      new TransportOne(new URL(url), { requestInit }) as Parameters<ClientOne['connect']>[0],
    );
    return {
      callTool: (params, onProgress) =>
        client.callTool(params, undefined, {
          ...(onProgress && { onprogress: ({ progress }) => onProgress(progress) }),
        }),
      listTools: () => client.listTools(),
      readResource: (uri) => client.readResource({ uri }),
      close: () => client.close(),
    };
  },
  '2.x with sessions': (url, told) => connectTwo(url, told, { mode: 'legacy' }),
  '2.x stateless': (url, told) => connectTwo(url, told, { mode: { pin: '2026-07-28' } }),
};

async function connectTwo(
  url: string,
  told: Told,
  versionNegotiation: NonNullable<two.ClientOptions['versionNegotiation']>,
): Promise<Connection> {
  const client = new two.Client(info, { capabilities, versionNegotiation });
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    told.elicited.push(params.message);
    return accept;
  });
  client.setRequestHandler('sampling/createMessage', async () => {
    told.sampled.push('asked');
    return sampled;
  });
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    told.changes += 1;
  });
  await client.connect(new two.StreamableHTTPClientTransport(new URL(url), { requestInit }));
  if (typeof versionNegotiation.mode === 'object') await client.listen({ toolsListChanged: true });
  return {
    callTool: (params, onProgress) =>
      client.callTool(params, { ...(onProgress && { onprogress: ({ progress }) => onProgress(progress) }) }),
    listTools: () => client.listTools(),
    readResource: (uri) => client.readResource({ uri }),
    close: () => client.close(),
  };
}

describe.each(Object.keys(backends))('a backend with the transport: %s', (name) => {
  let backend: EverythingServer | null;
  let gateway: TestGateway;

  beforeAll(async () => {
    backend = (await backends[name]?.()) ?? null;
    const address = backend === null ? { command: [process.execPath, stdio] } : { url: backend.url };
    gateway = await startGateway([{ path: '/mcp', backend: address } as GatewayServerOptions]);
  });

  afterAll(async () => {
    await gateway.close();
    await backend?.stop();
  });

  it.each(Object.keys(clients))('serves the official client %s', async (transport) => {
    const told: Told = { elicited: [], sampled: [], changes: 0 };
    const connect = clients[transport];
    if (connect === undefined) throw new Error('no such client');
    const client = await connect(`${gateway.origin}/mcp`, told);
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain('test_simple_text');
    expect(JSON.stringify(await client.callTool({ name: 'test_simple_text' }))).toContain('text');
    const progress: number[] = [];
    await client.callTool({ name: 'test_tool_with_progress' }, (step) => progress.push(step));
    expect(progress.length).toBeGreaterThan(1);
    expect(JSON.stringify(await client.readResource('test://static-text'))).toContain('test://static-text');
    // The tools of the two transports that ask: only stateless servers know how to ask in a result.
    const asking =
      name === 'stateless' || transport === '2.x stateless'
        ? 'test_input_required_result_elicitation'
        : 'test_elicitation';
    if (tools.some((tool) => tool.name === asking)) {
      await client.callTool({
        name: asking,
        arguments: asking === 'test_elicitation' ? { message: 'Name?' } : {},
      });
      expect(told.elicited).toHaveLength(1);
    }
    await client.callTool({ name: 'test_trigger_tool_change' });
    await expect.poll(() => told.changes).toBeGreaterThan(0);
    await client.close();
  });
});
