/** The everything server by HTTP+SSE, the transport of revision 2024-11-05. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import type { Transport } from '@modelcontextprotocol/server';
import { createSessionServer, type EverythingServer } from './everything-server.ts';

/** Starts it on any free port. */
export async function startSseServer(): Promise<EverythingServer> {
  const transports = new Map<string, SSEServerTransport>();
  const http = createServer((incoming, outgoing) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://host');
    const known = transports.get(searchParams.get('sessionId') ?? '');
    if (incoming.method === 'POST' && known !== undefined)
      return void known.handlePostMessage(incoming, outgoing);
    if (incoming.method !== 'GET' || pathname !== '/sse') return void outgoing.writeHead(404).end();
    const transport = new SSEServerTransport('/messages', outgoing);
    transports.set(transport.sessionId, transport);
    void createSessionServer().connect(transport as unknown as Transport);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`,
    async stop() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}
