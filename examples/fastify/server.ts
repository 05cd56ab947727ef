/** A protected MCP server on Fastify with the SDK 1.x, without sessions. `ISSUER=… npm start` */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { principalOf, protect, serveMetadata } from '@portcullis/resource-server/fastify';
import * as mcp from '@portcullis/resource-server/mcp';
import fastify from 'fastify';

const { PORT = '3000', ISSUER = 'http://localhost:8484' } = process.env;
const guard = createGuard({
  resource: `http://localhost:${PORT}/mcp`,
  defaultScopes: ['greet'],
  scopesFor: ({ tool }) => (tool === null ? [] : ['greet']),
  verifier: jwtVerifier({ issuer: ISSUER }),
});

function createServer(): McpServer {
  const server = new McpServer({ name: 'greeter', version: '1.0.0' });
  server.registerTool('greet', { description: 'Greets you.' }, ({ authInfo }) => {
    const { subject } = mcp.principalOf(authInfo);
    return { content: [{ type: 'text', text: `Hello ${subject}` }] };
  });
  return server;
}

const app = fastify();
app.addHook('onRequest', serveMetadata(guard));
app.all('/mcp', { onRequest: protect(guard) }, async (request, reply) => {
  if (request.method !== 'POST') return reply.code(405).header('allow', 'POST').send();
  const transport = new StreamableHTTPServerTransport({});
  await createServer().connect(transport as Parameters<McpServer['connect']>[0]);
  reply.hijack();
  const authenticated = Object.assign(request.raw, { auth: mcp.authInfoOf(principalOf(request)) });
  await transport.handleRequest(authenticated, reply.raw, request.body);
});
await app.listen({ port: Number(PORT), host: 'localhost' });
console.log(`ready http://localhost:${PORT}/mcp`);
