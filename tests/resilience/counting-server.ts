/** An MCP server that notes which calls it executes. */
import { json, startBackend, type TestBackend } from '../../packages/gateway/test/support/backend.ts';

export interface CountingServer extends TestBackend {
  /** How often it executed each call. */
  readonly executed: ReadonlyMap<number, number>;
}

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'counter', version: '1' },
  },
  'tools/list': { tools: [{ name: 'count', inputSchema: { type: 'object' } }] },
};

/** @returns the server, at the path `/mcp` */
export async function startCountingServer(): Promise<CountingServer> {
  const executed = new Map<number, number>();
  const backend = await startBackend(({ body }, response) => {
    const { id, method, params } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    const n = method === 'tools/call' ? Number(params.arguments.n) : null;
    if (n !== null) executed.set(n, (executed.get(n) ?? 0) + 1);
    json(response, { jsonrpc: '2.0', id, result: RESULTS[method] ?? { content: [] } });
  });
  return { ...backend, executed };
}
