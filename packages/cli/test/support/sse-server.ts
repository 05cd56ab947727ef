/** A server of the HTTP+SSE transport (revision 2024-11-05), protected by an authorization server of the client's tests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { createWorld } from '../../../client/test/support/world.ts';

/** A request that arrived. */
interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

export interface SseServerSettings {
  /** Accepts requests without a token. */
  readonly open?: boolean;
  /** The message endpoint that the stream names. */
  readonly endpoint?: string;
}

export interface SseServer {
  readonly url: string;
  readonly arrived: readonly Arrived[];
  /** Ends all streams, as a restart does. */
  restart(): void;
  close(): Promise<void>;
}

/** Starts one: stream at `/sse`, messages at `/messages`, one tool `echo`. */
export async function startSseServer({
  open = false,
  endpoint = '/messages',
}: SseServerSettings = {}): Promise<SseServer> {
  const world = await createWorld();
  const arrived: Arrived[] = [];
  const transports = new Map<string, SSEServerTransport>();
  const http = createServer((request, response) => void route(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const metadata = { resource: `${origin}/sse`, authorization_servers: [world.issuer] };

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', origin);
    const { method = 'GET' } = request;
    const { authorization } = request.headers;
    arrived.push({ method, path: pathname, authorization });
    if (pathname === '/.well-known/oauth-protected-resource/sse' && !open)
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(metadata));
    if (pathname !== '/sse' && pathname !== '/messages') return void response.writeHead(404).end();
    if (!open && !world.tokens.has((authorization ?? '').replace('Bearer ', '')))
      return void response
        .writeHead(401, {
          'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/sse"`,
        })
        .end();
    if (pathname === '/messages' && method === 'POST') {
      const transport = transports.get(searchParams.get('sessionId') ?? '');
      return transport === undefined
        ? void response.writeHead(404).end()
        : transport.handlePostMessage(request, response);
    }
    if (method !== 'GET') return void response.writeHead(405).end('Method Not Allowed');
    if (endpoint.includes('//'))
      return void response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(`event: endpoint\ndata: ${endpoint}\n\n`);
    const transport = new SSEServerTransport(endpoint, response);
    transports.set(transport.sessionId, transport);
    const server = new McpServer({ name: 'old', version: '1' });
    server.registerTool('echo', { description: 'repeats' }, async () => ({
      content: [{ type: 'text', text: 'heard' }],
    }));
    return server.connect(transport);
  }

  function endStreams(): void {
    for (const transport of transports.values()) void transport.close();
    transports.clear();
  }

  return {
    url: `${origin}/sse`,
    arrived,
    restart: endStreams,
    async close() {
      endStreams();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
