/** A protected MCP server on Express with the SDK 1.x: a session belongs to the user and client that opened it. `ISSUER=… npm start` */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createGuard, createHandleTable, jwtVerifier, type Principal } from '@portcullis/resource-server';
import { principalOf, protect, serveMetadata } from '@portcullis/resource-server/express';
import { authInfoOf } from '@portcullis/resource-server/mcp';
import express from 'express';

const { PORT = '3000', ISSUER = 'http://localhost:8484' } = process.env;
const guard = createGuard({
  resource: `http://localhost:${PORT}/mcp`,
  defaultScopes: ['greet'],
  scopesFor: ({ tool }) => (tool === null ? [] : ['greet']),
  verifier: jwtVerifier({ issuer: ISSUER }),
});
const sessions = createHandleTable<StreamableHTTPServerTransport>();

async function openSession(principal: Principal): Promise<StreamableHTTPServerTransport> {
  const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => sessions.create(principal, transport),
    onsessionclosed: (id) => sessions.remove(principal, id),
  });
  const server = new McpServer({ name: 'greeter', version: '1.0.0' });
  const hello = { content: [{ type: 'text' as const, text: `Hello ${principal.subject}` }] };
  server.registerTool('greet', { description: 'Greets you.' }, () => hello);
  await server.connect(transport as Parameters<McpServer['connect']>[0]);
  return transport;
}

const app = express().use(serveMetadata(guard));
app.all('/mcp', protect(guard), async (request, response) => {
  const principal = principalOf(request);
  const id = request.get('mcp-session-id');
  const transport = id === undefined ? await openSession(principal) : sessions.find(principal, id);
  if (transport === undefined) return void response.status(404).json({ error: 'There is no such session.' });
  await transport.handleRequest(Object.assign(request, { auth: authInfoOf(principal) }), response);
});
app
  .listen(Number(PORT), 'localhost')
  .on('listening', () => console.log(`ready http://localhost:${PORT}/mcp`));
