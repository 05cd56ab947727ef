/** Calls whose connection breaks after they were sent: the backend may have executed them. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { json, startBackend } from './support/backend.ts';
import { callOf, sendStateless, startSession } from './support/client.ts';
import { PING, startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

async function startWith(
  backend: GatewayServerOptions['backend'],
  limits: GatewayServerOptions['limits'] = {},
) {
  const gateway = await startGateway([
    { path: '/mcp', name: 'Files', backend, limits } as GatewayServerOptions,
  ]);
  onTestFinished(() => gateway.close());
  return gateway;
}

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'tiny', version: '1' },
};

/** A backend with sessions that treats calls as the test says. */
async function behind(
  onCall: (response: ServerResponse) => void,
  limits: GatewayServerOptions['limits'] = {},
) {
  const backend = await startBackend(({ body }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    if (method === 'tools/call' || method === 'ping') onCall(response);
    else if (method === 'initialize') json(response, { jsonrpc: '2.0', id, result: INITIALIZED });
    else if (method === 'server/discover')
      json(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } });
    else if (method === 'tools/list') json(response, { jsonrpc: '2.0', id, result: { tools: [] } });
    else response.writeHead(id === undefined ? 202 : 405).end();
  });
  onTestFinished(() => backend.close());
  return { backend, gateway: await startWith({ url: backend.url }, limits) };
}

/** A backend with HTTP+SSE whose stream or message endpoint treats calls as the test says. */
async function behindSse(onCall: (stream: ServerResponse, post: ServerResponse) => void) {
  let stream: ServerResponse;
  const backend = await startBackend(({ method: verb, body }, response) => {
    if (verb === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void stream.write('event: endpoint\ndata: /messages\n\n');
    }
    const { id, method } = JSON.parse(body);
    if (method === 'tools/call') return onCall(stream, response);
    const result = method === 'initialize' ? INITIALIZED : { tools: [] };
    if (id !== undefined) stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    response.writeHead(202).end();
  });
  onTestFinished(() => backend.close());
  return startWith({ url: backend.url, transport: 'sse' });
}

const UNKNOWN = [502, null, expect.stringContaining('may have been executed')];
const FINAL = [502, null, expect.not.stringContaining('executed')];
const AGAIN = [503, expect.stringMatching(/^\d+$/), expect.not.stringContaining('executed')];

async function outcomeOf(response: Response): Promise<readonly unknown[]> {
  return [response.status, response.headers.get('retry-after'), await response.text()];
}

describe('a call whose connection breaks after it was sent', () => {
  it('is not to be repeated blindly: passed through', async () => {
    const { gateway } = await behind((response) => response.destroy());
    expect(await outcomeOf(await gateway.send('alice', { message: callOf('add') }))).toEqual(UNKNOWN);
    expect(await outcomeOf(await gateway.send('alice', { message: PING }))).toEqual(AGAIN);
  });

  it('is not to be repeated blindly: without a response in time', async () => {
    const { gateway } = await behind(() => undefined, { firstByte: 1 });
    expect(await outcomeOf(await gateway.send('alice', { message: callOf('add') }))).toEqual(UNKNOWN);
    expect(await outcomeOf(await gateway.send('alice', { message: PING }))).toEqual(AGAIN);
  });

  it('is not to be repeated blindly: translated', async () => {
    const { gateway, backend } = await behind((response) => response.destroy());
    const call = () => sendStateless(gateway, 'alice', 'tools/call', { name: 'add', arguments: {} });
    expect(await outcomeOf(await call())).toEqual(UNKNOWN);
    await backend.close();
    // No connection: nothing was sent.
    expect(await outcomeOf(await call())).toEqual(AGAIN);
  });

  it.each<[string, (stream: ServerResponse, post: ServerResponse) => void]>([
    ['its stream', (stream, post) => post.writeHead(202).end(() => stream.destroy())],
    ['the connection of the message', (_stream, post) => post.destroy()],
  ])('is not to be repeated blindly: over HTTP+SSE, %s', async (_what, onCall) => {
    const { post } = await startSession(await behindSse(onCall), 'alice');
    expect(await outcomeOf(await post(callOf('add')))).toEqual(UNKNOWN);
  });

  it('is not to be repeated blindly: of a merged server', async () => {
    const { backend } = await behind((response) => response.destroy());
    const gateway = await startGateway([
      { path: '/one', name: 'One', backend: { url: backend.url } },
      { path: '/all', name: 'All', merges: { one: '/one' } },
    ]);
    onTestFinished(() => gateway.close());
    const user = 'alice_inspector_one.read_one.write';
    const { post } = await startSession(gateway, user, '/all');
    expect(await outcomeOf(await post(callOf('one__add')))).toEqual(UNKNOWN);
    await backend.close();
    expect(await outcomeOf(await post(callOf('one__add')))).toEqual(AGAIN);
  });

  it('is not to be repeated blindly: of a process', async () => {
    const gateway = await startWith({ command: TINY });
    const { post } = await startSession(gateway, 'alice');
    expect(await outcomeOf(await post(callOf('crash')))).toEqual(UNKNOWN);
  });

  it('can be repeated when no TLS connection could be made', async () => {
    const { backend } = await behind((response) => response.end());
    const gateway = await startWith({ url: backend.url.replace('http:', 'https:') });
    expect(await outcomeOf(await gateway.send('alice', { message: callOf('add') }))).toEqual(AGAIN);
  });

  it('can be repeated when no process could be started', async () => {
    const gateway = await startWith({ command: ['/does/not/exist'] });
    const call = await sendStateless(gateway, 'alice', 'tools/call', { name: 'add', arguments: {} });
    expect(await outcomeOf(call)).toEqual(AGAIN);
  });
});

describe('a call that the backend refuses by a status', () => {
  it.each([
    [302, FINAL],
    [401, FINAL],
    [403, FINAL],
    [429, AGAIN],
  ])('is refused with what another attempt would change: %i', async (status, outcome) => {
    const refuse = (response: ServerResponse) =>
      void response.writeHead(status, { location: 'https://elsewhere.example/mcp' }).end();
    const { gateway } = await behind(refuse);
    const translated = await sendStateless(gateway, 'alice', 'tools/call', { name: 'add', arguments: {} });
    expect(await outcomeOf(translated)).toEqual(outcome);
    const { post } = await startSession(await behindSse((_stream, response) => refuse(response)), 'alice');
    expect(await outcomeOf(await post(callOf('add')))).toEqual(outcome);
  });
});
