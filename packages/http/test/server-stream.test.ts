/** The stream for messages of an MCP server: when the client opens it again. */
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
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

/** What no test here looks at. */
const rest = {
  url: new URL('https://mcp.example/mcp'),
  limit: 1000,
  receiver: { accept: () => undefined, fail: () => undefined },
  readError: async ({ status }: Response) => new Error(String(status)),
};
const { signal } = new AbortController();
const eventStream = (event: string) =>
  new Response(event, { headers: { 'content-type': 'text/event-stream' } });

/** Opens a session whose server ends every stream after `event`. Returns the number of streams so far. */
async function openSession(event: string): Promise<() => number> {
  let streams = 0;
  transport = createStreamableHttp({
    ...rest,
    fetch: async (_url, { method }) => {
      if (method !== 'GET') return new Response(null, { status: 202 });
      streams += 1;
      return eventStream(event);
    },
  });
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal);
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

it('opens a stream again only with the next message after an error that no retry cures', async () => {
  const errors: unknown[] = [];
  let streams = 0;
  transport = createStreamableHttp({
    ...rest,
    fetch: async (_url, { method }) => {
      if (method !== 'GET') return new Response(null, { status: 202 });
      streams += 1;
      throw new Error('denied');
    },
    onStreamError: (error) => {
      errors.push(error);
      return false;
    },
  });
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal);
  await expect.poll(() => errors.length).toBe(1);
  expect([streams, sleeps]).toEqual([1, []]);
  await transport.send({ jsonrpc: '2.0', method: 'notifications/progress' }, signal);
  await expect.poll(() => errors.length).toBe(2);
  expect([streams, sleeps]).toEqual([2, []]);
});

it.each([
  ['Bad Request: No valid session ID provided', -32_000, 1],
  ['Invalid sessionId', -32_600, 1],
  ['Bad Request: Server not initialized', -32_000, 1],
  ['session_id must be a UUID', -32_000, 0],
  ['Invalid params: the session of the booking is unknown', -32_602, 0],
])('a 400 with %j, code %i, ends this many sessions: %i', async (message, code, ended) => {
  const failures: Error[] = [];
  transport = createStreamableHttp({
    ...rest,
    receiver: { accept: () => undefined, fail: (error) => void failures.push(error) },
    async fetch(_url, { body = '' }) {
      const { id = null, method } = JSON.parse(body) as { id?: number; method: string };
      const headers = { 'mcp-session-id': 's' };
      if (method === 'initialize') return Response.json({ jsonrpc: '2.0', id, result: {} }, { headers });
      return Response.json({ jsonrpc: '2.0', id, error: { code, message } }, { status: 400 });
    },
  });
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'initialize' }, signal);
  await expect(transport.send({ jsonrpc: '2.0', id: 2, method: 'tools/call' }, signal)).rejects.toThrow(
    '400',
  );
  expect(failures).toHaveLength(ended);
});

describe('a response whose stream the server ends so that the client polls', () => {
  /** Sends a call whose stream ends with an event; each GET continues it with the next of `events`. */
  function call(events: readonly string[]) {
    const left = [...events];
    transport = createStreamableHttp({
      ...rest,
      fetch: async (_url, { method }) =>
        eventStream(method === 'POST' ? 'id: 0\nretry: 200\ndata: \n\n' : (left.shift() ?? '')),
    });
    return transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call' }, signal);
  }

  async function wake(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      await expect.poll(() => sleeps.length).toBe(index + 1);
      sleeps[index]?.wake();
    }
  }

  it('is resumed as often as it brings events, after five times a second apart', async () => {
    const progress = Array.from({ length: 7 }, (_, index) => `id: ${index + 1}\ndata: \n\n`);
    const sent = call([...progress, 'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n']);
    await wake(8);
    await sent;
    expect(sleeps.map(({ delay }) => delay)).toEqual([200, 200, 200, 200, 200, 1000, 1000, 1000]);
  });

  it('fails after five attempts in a row that bring no event', async () => {
    const sent = call(['', '', 'id: 1\ndata: \n\n']);
    const failed = expect(sent).rejects.toThrow('the response ended before it was complete');
    await wake(8);
    await failed;
    expect(sleeps).toHaveLength(8);
  });
});
