/** The stream for messages of an MCP server: when the client opens it again. */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createStreamableHttp } from '../src/mcp/streamable-http.ts';
import type { McpTransport } from '../src/mcp/transport.ts';

interface Sleep {
  readonly delay: number | undefined;
  wake(): void;
}

let sleeps: Sleep[] = [];
// Not `vi.mock`: files share modules, and another one may have loaded the client before.
beforeEach(() => {
  sleeps = [];
  const sleep = (delay?: number) => new Promise<void>((wake) => void sleeps.push({ delay, wake }));
  vi.spyOn(timers, 'setTimeout').mockImplementation(sleep as typeof timers.setTimeout);
  syncBuiltinESMExports();
});

let transport: McpTransport | undefined;
afterEach(async () => {
  await transport?.close();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** Opens a session whose server ends every stream after `event`. Returns the number of streams so far. */
async function openSession(event: string): Promise<() => number> {
  let streams = 0;
  transport = createStreamableHttp({
    url: new URL('https://mcp.example/mcp'),
    fetch: async (_url, { method }) => {
      if (method !== 'GET') return new Response(null, { status: 202 });
      streams += 1;
      return new Response(event, { headers: { 'content-type': 'text/event-stream' } });
    },
    limit: 1000,
    receiver: { accept: () => undefined, fail: () => undefined },
    readError: async ({ status }) => new Error(String(status)),
  });
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const;
  await transport.send(initialized, new AbortController().signal);
  return () => streams;
}

it.each([
  ['no time', 'data: \n\n', 1000],
  ['retry: 0', 'id: 1\nretry: 0\ndata: \n\n', 1000],
  ['retry: 5000', 'id: 1\nretry: 5000\ndata: \n\n', 5000],
])('opens a stream again after a pause when the server sends %s', async (_what, event, delay) => {
  const streams = await openSession(event);
  await expect.poll(() => sleeps.length).toBe(1);
  sleeps[0]?.wake();
  await expect.poll(() => sleeps.length).toBe(2);
  expect([streams(), sleeps.map((sleep) => sleep.delay)]).toEqual([2, [delay, delay]]);
});
