/** The connection of `call` and `tools` to an MCP server. */
import { expect, it, vi } from 'vitest';
import { connectMcp } from '../src/client/mcp-client.ts';

/** A server with sessions that never responds to DELETE, whose signals it reports. */
function createServer(onDelete: (signal: AbortSignal) => void) {
  return async (_input: unknown, init: RequestInit = {}): Promise<Response> => {
    if (init.method === 'DELETE') {
      if (init.signal instanceof AbortSignal) onDelete(init.signal);
      return new Promise((_resolve, reject) =>
        init.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
      );
    }
    if (init.method === 'GET') return new Response(null, { status: 405 });
    const { id, method } = JSON.parse(String(init.body)) as { id?: number; method: string };
    if (id === undefined) return new Response(null, { status: 202 });
    const outcomes: Readonly<Record<string, object>> = {
      initialize: {
        result: {
          ...{ protocolVersion: '2025-06-18', capabilities: { tools: {} } },
          serverInfo: { name: 'x', version: '1' },
        },
      },
      'tools/list': { result: { tools: [] } },
    };
    const outcome = outcomes[method] ?? { error: { code: -32601, message: 'unknown' } };
    return Response.json({ jsonrpc: '2.0', id, ...outcome }, { headers: { 'mcp-session-id': 's' } });
  };
}

it('closes a connection two seconds after DELETE when the server never responds to it', async ({
  onTestFinished,
}) => {
  const deleted = Promise.withResolvers<AbortSignal>();
  const connection = await connectMcp({
    ...{ url: 'https://mcp.example/mcp', version: '1', extensions: {}, acceptEndpoint: () => undefined },
    fetch: createServer(deleted.resolve),
  });
  expect(await connection.request('tools/list')).toEqual({ tools: [] });
  const expired = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(expired.signal);
  onTestFinished(() => timeout.mockRestore());
  const closing = connection.close();
  const request = await deleted.promise;
  expect(request.aborted).toBe(false);
  expired.abort();
  await closing;
  expect(timeout.mock.calls).toEqual([[2000]]);
  expect(request.aborted).toBe(true);
});
