import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { INITIALIZE, lastMessage } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** An HTTP+SSE backend that answers only `initialize`, at an endpoint that it names. */
async function startBackend(nameEndpoint: (origin: string) => string, forward: readonly string[] = []) {
  const posted: string[] = [];
  const headers: string[][] = [];
  const tenants: unknown[] = [];
  let send = (_text: string): unknown => undefined;
  const http = createServer((incoming, outgoing) => {
    headers.push(Object.keys(incoming.headers).sort());
    tenants.push(incoming.headers['x-tenant']);
    if (incoming.method === 'GET') {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
      send = (text) => outgoing.write(text);
      send(`event: endpoint\ndata: ${nameEndpoint(`http://${incoming.headers.host}`)}\n\n`);
      return;
    }
    posted.push(incoming.url ?? '');
    incoming.setEncoding('utf8').on('data', (text: string) => {
      const { id } = JSON.parse(text) as { id?: number };
      const result = {
        protocolVersion: '2024-11-05',
        capabilities: { tasks: { list: {}, cancel: {} } },
        serverInfo: { name: 'old', version: '1' },
      };
      if (id !== undefined) send(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
      outgoing.writeHead(202).end();
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  stops.push(async () => {
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`;
  const gateway = await startGateway([
    { path: '/mcp', backend: { url, transport: 'sse', forward } } as GatewayServerOptions,
  ]);
  stops.unshift(() => gateway.close());
  return { gateway, posted, headers, tenants };
}

describe('a backend with HTTP+SSE', () => {
  it('gets messages at the endpoint that it names on its own origin', async () => {
    const { gateway, posted } = await startBackend(() => '/messages?session=1');
    const response = await gateway.send('alice', { message: INITIALIZE });
    expect(response.headers.get('mcp-session-id')).not.toContain('session=1');
    const { id, result } = await lastMessage(response);
    expect([id, result]).toMatchObject([0, { serverInfo: { name: 'old' } }]);
    expect(Object(result).capabilities).toEqual({ tasks: { cancel: {} } });
    expect(posted[0]).toBe('/messages?session=1');
  });

  it('gets the headers of a client of MCP, and none of a browser', async () => {
    const { gateway, headers } = await startBackend(() => '/messages');
    expect((await gateway.send('alice', { message: INITIALIZE })).status).toBe(200);
    expect(headers[0]).toEqual(['accept', 'connection', 'host', 'user-agent']);
    const [, posted] = headers;
    expect(posted).toEqual(['accept', 'connection', 'content-length', 'content-type', 'host', 'user-agent']);
  });

  it('gets the further headers that the configuration names, those of each request', async () => {
    const { gateway, headers, tenants } = await startBackend(() => '/messages', ['X-Tenant']);
    const first = { 'x-tenant': 'acme', 'x-other': 'no' };
    const opened = await gateway.send('alice', { message: INITIALIZE, headers: first });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const ping = { message: { jsonrpc: '2.0', id: 7, method: 'ping' } };
    await gateway.send('alice', { ...ping, headers: { ...session, 'x-tenant': 'umbrella' } });
    await gateway.send('alice', { ...ping, headers: session });
    // The stream, `initialize`, the notification that it ended, and two pings.
    expect(tenants).toEqual(['acme', 'acme', 'acme', 'umbrella', undefined]);
    expect(headers.flat()).not.toContain('x-other');
  });

  it('gets nothing when it names an endpoint at another origin', async () => {
    const { gateway, posted } = await startBackend((origin) => origin.replace('127.0.0.1', 'localhost'));
    const response = await gateway.send('alice', { message: INITIALIZE });
    expect(response.status).toBe(503);
    expect(await lastMessage(response)).toMatchObject({
      id: 0,
      error: { message: expect.stringContaining('not at its own origin') },
    });
    expect(posted).toEqual([]);
  });
});
