/** The MCP server behind the proxies that are compared: sessions, one tool, and streams that stay open. Prints its port. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const answer = (result: object) => `,"result":${JSON.stringify(result)}}`;

const initialized = answer({
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'bench', version: '1.0.0' },
});
const inputSchema = { type: 'object', properties: {} };
const annotations = { readOnlyHint: true };
const tools = answer({ tools: [{ name: 'echo', description: 'Returns a text', inputSchema, annotations }] });
const called = answer({ content: [{ type: 'text', text: 'The text that this tool returns.' }] });

function respond(outgoing: ServerResponse, request: string, result: string, session?: string): void {
  const id = /"id":(\d+|"[^"]*")/.exec(request)?.[1] ?? 'null';
  const body = Buffer.from(`{"jsonrpc":"2.0","id":${id}${result}`);
  outgoing.writeHead(200, {
    'content-type': 'application/json',
    'content-length': body.length,
    ...(session !== undefined && { 'mcp-session-id': session }),
  });
  outgoing.end(body);
}

const server = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
  if (incoming.url === '/ready') {
    outgoing.end();
    return;
  }
  if (incoming.method === 'GET') {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    outgoing.write(': open\n\n');
    return;
  }
  let body = '';
  incoming.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  incoming.on('end', () => {
    if (body.includes('"tools/call"')) return respond(outgoing, body, called);
    if (body.includes('"tools/list"')) return respond(outgoing, body, tools);
    if (body.includes('"initialize"'))
      return respond(outgoing, body, initialized, '0d3b1c5e-5f0c-4b8e-9a35-4a8c1f6f1b11');
    outgoing.writeHead(202).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () =>
  console.log(`ready ${(server.address() as AddressInfo).port}`),
);
