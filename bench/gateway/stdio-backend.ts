/** The server of bench/gateway/backend.ts over stdio, for gateways that start a command. */
import { createInterface } from 'node:readline';

const inputSchema = { type: 'object', properties: {} };
const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'bench', version: '1.0.0' },
  },
  'tools/list': {
    tools: [
      {
        name: 'echo',
        description: 'Returns a text',
        inputSchema,
        annotations: { readOnlyHint: true },
      },
    ],
  },
  'tools/call': { content: [{ type: 'text', text: 'The text that this tool returns.' }] },
  ping: {},
};

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method } = JSON.parse(line) as { readonly id?: unknown; readonly method: string };
    if (id === undefined) return;
    const result = results[method];
    const answer =
      result === undefined ? { error: { code: -32_601, message: 'Method not found' } } : { result };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
  })
  .on('close', () => process.exit());
