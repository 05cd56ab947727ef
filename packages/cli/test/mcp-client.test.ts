/** The connection of `call` and `tools` to an MCP server. */
import { ClientError } from '@portcullis/client';
import { expect, it, onTestFinished, vi } from 'vitest';
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

it('numbers of an HTTP+SSE server are doubles, however they are written', async () => {
  const stream = new TransformStream<Uint8Array, Uint8Array>();
  const writer = stream.writable.getWriter();
  const write = (event: string) => void writer.write(new TextEncoder().encode(event));
  const initialized =
    '"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"x","version":"1"}';
  const connection = await connectMcp({
    ...{ url: 'https://mcp.example/sse', version: '1', extensions: {}, acceptEndpoint: () => undefined },
    async fetch(input, init = {}) {
      if (init.method === 'GET') {
        write('event: endpoint\ndata: /messages\n\n');
        return new Response(stream.readable, { headers: { 'content-type': 'text/event-stream' } });
      }
      if (!String(input).endsWith('/messages')) return new Response(null, { status: 405 });
      const { id, method } = JSON.parse(String(init.body)) as { id?: number; method: string };
      const result = method === 'initialize' ? initialized : '"n":[1.0,9007199254740993]';
      if (id !== undefined) write(`data: {"jsonrpc":"2.0","id":${id}.0,"result":{${result}}}\n\n`);
      return new Response(null, { status: 202 });
    },
  });
  expect(await connection.request('tools/call')).toEqual({ n: [1, 9_007_199_254_740_992] });
  await connection.close();
});

/** What `tools/list` leads to when a sign-in within its first request ends after minutes. @param error of the sign-in */
async function listAfterSignIn(minutes: number, error: Error | null): Promise<unknown> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const server = createServer(() => undefined);
  const challenged = Promise.withResolvers<void>();
  const signIn = Promise.withResolvers<void>();
  const connecting = connectMcp({
    ...{ url: 'https://mcp.example/mcp', version: '1', extensions: {}, acceptEndpoint: () => undefined },
    async fetch(input, init) {
      challenged.resolve();
      await signIn.promise;
      return server(input, init);
    },
  });
  const listing = connecting.then((connection) => connection.request('tools/list'));
  listing.catch(() => undefined);
  await challenged.promise;
  await vi.advanceTimersByTimeAsync(minutes * 60_000);
  if (error === null) signIn.resolve();
  else signIn.reject(error);
  return listing;
}

it('reports that a sign-in was not completed, and no timeout of its own', async () => {
  const error = new ClientError('cancelled', 'The sign-in in the browser was not completed in time.');
  await expect(listAfterSignIn(10.1, error)).rejects.toBe(error);
});

it('lists the tools after a sign-in with a code that took an hour', async () => {
  expect(await listAfterSignIn(60, null)).toEqual({ tools: [] });
});

it('says that a tool may still be running when the server has not responded for two hours', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const called = Promise.withResolvers<void>();
  const { request } = await connectWith(({ body }) => {
    if (!String(body).includes('"tools/call"')) return null;
    called.resolve();
    return new Promise(() => undefined);
  });
  const calling = request('tools/call', { name: 'x' });
  calling.catch(() => undefined);
  await called.promise;
  await vi.advanceTimersByTimeAsync(2 * 3_600_000);
  await expect(calling).rejects.toThrow(
    'The server has not responded for 2 hours. A tool that was called may still be running.',
  );
});

const MEBIBYTE = new TextEncoder().encode(' '.repeat(1_048_576));

/** A body of `count` chunks, read as they are sent, and then `end`. */
function longBody(chunk: Uint8Array, count: number, end = '') {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent++ < count) return controller.enqueue(chunk);
      controller.enqueue(new TextEncoder().encode(end));
      controller.close();
    },
  });
  return { body, sent: () => sent };
}

/** Connects to a server whose responses to some requests are replaced. */
function connectWith(replace: (init: RequestInit) => Promise<Response> | null) {
  const usual = createServer(() => undefined);
  return connectMcp({
    ...{ url: 'https://mcp.example/mcp', version: '1', extensions: {}, acceptEndpoint: () => undefined },
    fetch: async (input, init = {}) => replace(init) ?? usual(input, init),
  });
}

const listsTools = ({ body }: RequestInit) => String(body).includes('"tools/list"');

it.each<[string, string, (init: RequestInit) => boolean]>([
  ['a JSON response', 'application/json', listsTools],
  ['an event stream', 'text/event-stream', listsTools],
  ['the event stream of the session', 'text/event-stream', ({ method }) => method === 'GET'],
  ['a response to a notification', 'text/plain', ({ body }) => String(body).includes('"notifications/')],
])('T112 ends a connection when %s is longer than 64 MiB', async (_what, type, isLong) => {
  const { body, sent } = longBody(MEBIBYTE, 1_000);
  const connecting = connectWith((init) => {
    if (isLong(init)) return Promise.resolve(new Response(body, { headers: { 'content-type': type } }));
    // Without a response, the request waits for the other stream.
    return listsTools(init) ? new Promise(() => undefined) : null;
  });
  const failure = connecting.then(({ request }) => request('tools/list'));
  await expect(failure).rejects.toMatchObject({ code: 'response_too_large' });
  expect(sent()).toBeLessThan(70);
});

it('T112 reads a response of 63 MiB', async () => {
  const connection = await connectWith((init) => {
    if (!listsTools(init)) return null;
    const { id } = JSON.parse(String(init.body));
    const { body } = longBody(MEBIBYTE, 63, JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [] } }));
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'application/json' } }));
  });
  expect(await connection.request('tools/list')).toEqual({ tools: [] });
});
