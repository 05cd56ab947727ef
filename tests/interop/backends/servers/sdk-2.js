/** A server of the official SDK 2.x over stdio. */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'sdk-2', version: '1.0.0' });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool('add', { inputSchema }, async ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }));
  return server;
});
