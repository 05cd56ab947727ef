/** A protected MCP server on Hono with the server package 2.x. `ISSUER=… npm start` */
import { serve } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createGuard, jwtVerifier } from '@portcullis/resource-server';
import { principalOf, protect, serveMetadata } from '@portcullis/resource-server/hono';
import * as mcp from '@portcullis/resource-server/mcp';
import { Hono } from 'hono';

const { PORT = '3000', ISSUER = 'http://localhost:8484' } = process.env;
const guard = createGuard({
  resource: `http://localhost:${PORT}/mcp`,
  defaultScopes: ['greet'],
  scopesFor: ({ tool }) => (tool === null ? [] : ['greet']),
  verifier: jwtVerifier({ issuer: ISSUER }),
});

const handler = createMcpHandler(({ authInfo }) => {
  const { subject } = mcp.principalOf(authInfo);
  const server = new McpServer({ name: 'greeter', version: '1.0.0' });
  server.registerTool('greet', { description: 'Greets you.' }, () => ({
    content: [{ type: 'text', text: `Hello ${subject}` }],
  }));
  return server;
});

const app = new Hono();
app.use(serveMetadata(guard));
app.all('/mcp', protect(guard), (context) =>
  handler.fetch(context.req.raw, { authInfo: mcp.authInfoOf(principalOf(context)) }),
);
serve({ fetch: app.fetch, port: Number(PORT), hostname: 'localhost' }, () =>
  console.log(`ready http://localhost:${PORT}/mcp`),
);
