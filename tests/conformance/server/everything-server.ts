/** An MCP server without authorization that has everything the suite's scenarios for servers call, on both transports. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import {
  createMcpHandler,
  fromJsonSchema,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  McpServer,
  type ServerNotifier,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { registerInputRequiredTools, requestStates } from './input-required-tools.ts';
import { registerPrompts, registerResources } from './prompts-and-resources.ts';
import { registerTools } from './tools.ts';

/** Milliseconds after which a client reconnects to a stream that the server closed. @see SEP-1699 */
const RETRY_INTERVAL = 5000;

export interface EverythingServer {
  /** `http://127.0.0.1:…/mcp` */
  readonly url: string;
  stop(): Promise<void>;
}

/** What it speaks: the revisions with sessions, the stateless one, or both. */
export type EverythingTransports = 'both' | 'sessions' | 'stateless';

/** Starts it on any free port. */
export async function startEverythingServer(
  transports: EverythingTransports = 'both',
): Promise<EverythingServer> {
  const handler = createMcpHandler(() => createEverything(handler.notify), { legacy: 'reject' });
  const sessions = createSessions();
  const listener = getRequestListener(async (request) => {
    const refused = hostHeaderValidationResponse(request, localhostAllowedHostnames());
    if (refused !== undefined) return refused;
    if (transports === 'stateless') return handler.fetch(request);
    return transports === 'sessions' || (await isLegacyRequest(request))
      ? sessions(request)
      : handler.fetch(request);
  });
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async stop() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The server of one connection, which announces changes on it. */
export function createSessionServer(): McpServer {
  const server = createEverything({
    toolsChanged: () => server.sendToolListChanged(),
    promptsChanged: () => server.sendPromptListChanged(),
  });
  return server;
}

function createEverything(notify: Pick<ServerNotifier, 'toolsChanged' | 'promptsChanged'>): McpServer {
  const server = new McpServer(
    { name: 'everything', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
      },
      requestState: { verify: requestStates.verify },
    },
  );
  registerTools(server);
  registerInputRequiredTools(server);
  registerPrompts(server);
  registerResources(server);
  const inputSchema = fromJsonSchema<object>({ type: 'object', properties: {} });
  const triggers = { tool: notify.toolsChanged, prompt: notify.promptsChanged };
  for (const [kind, trigger] of Object.entries(triggers)) {
    server.registerTool(
      `test_trigger_${kind}_change`,
      { description: 'Announces a change', inputSchema },
      async () => {
        trigger.call(notify);
        return { content: [{ type: 'text', text: `${kind}s changed` }] };
      },
    );
  }
  return server;
}

/** Serves the revisions of 2025, in which a session has one server and one transport. */
function createSessions(): (request: Request) => Promise<Response> {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : transports.get(id);
    if (known !== undefined) return known.handleRequest(request);
    if (id !== null) return refuse(404, -32_001, 'Session not found');
    if (request.method !== 'POST') return refuse(400, -32_000, 'Session ID required');
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      retryInterval: RETRY_INTERVAL,
      onsessioninitialized: (created) => void transports.set(created, transport),
      onsessionclosed: (closed) => void transports.delete(closed),
    });
    await createSessionServer().connect(transport);
    return transport.handleRequest(request);
  };
}

function refuse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}

type EventStore = NonNullable<
  NonNullable<ConstructorParameters<typeof WebStandardStreamableHTTPServerTransport>[0]>['eventStore']
>;

/** Keeps the events of one session, so that a stream can be resumed. */
function createEventStore(): EventStore {
  const events: { readonly id: string; readonly stream: string; readonly message: unknown }[] = [];
  return {
    async storeEvent(stream, message) {
      const id = `${stream}_${events.length}`;
      events.push({ id, stream, message });
      return id;
    },
    async getStreamIdForEventId(id) {
      return events.find((event) => event.id === id)?.stream;
    },
    async replayEventsAfter(lastId, { send }) {
      const from = events.findIndex(({ id }) => id === lastId);
      const stream = events[from]?.stream ?? '';
      for (const event of events.slice(from + 1)) {
        const isEmpty = Object.keys(event.message as object).length === 0;
        if (event.stream === stream && !isEmpty) await send(event.id, event.message as never);
      }
      return stream;
    },
  };
}
