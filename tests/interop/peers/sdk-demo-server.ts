/** The demo authorization server of the official SDK, which signs in one user without a page, and a protected route of its own. */
import type { AddressInfo } from 'node:net';
import { DemoInMemoryAuthProvider } from '@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import express from 'express';
import { closeAfterTest } from './stage.ts';

/** Returns its origin; the protected resource is at `/mcp`. @param seen gets the `Authorization` of each request to it */
export async function startSdkDemo(seen: string[]): Promise<string> {
  const app = express();
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  closeAfterTest(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new DemoInMemoryAuthProvider();
  const resourceServerUrl = new URL(`${origin}/mcp`);
  app.use(
    mcpAuthRouter({
      provider,
      issuerUrl: new URL(origin),
      scopesSupported: ['mcp:tools'],
      resourceServerUrl,
    }),
  );
  app.all(
    '/mcp',
    (request, _response, next) => {
      if (request.headers.authorization !== undefined) seen.push(request.headers.authorization);
      next();
    },
    requireBearerAuth({
      verifier: provider,
      resourceMetadataUrl: `${origin}/.well-known/oauth-protected-resource/mcp`,
    }),
    (_request, response) => void response.json({ jsonrpc: '2.0', id: 1, result: { user: 'demo' } }),
  );
  return origin;
}
