/** Sessions of the gateway that a backend no longer has, as after its restart. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { json, startBackend } from './support/backend.ts';
import { callOf, lastMessage, sendStateless, startSession, textOf } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const ALICE = 'alice_inspector_one.read_one.write';

/** A backend whose sessions end when the test says so, and a merged server of it. @param unknown for a session that it no longer has */
async function setUp(
  unknown: { readonly status: number; readonly text?: string; readonly isEndless?: boolean } = {
    status: 404,
  },
) {
  let started = 0;
  let generation = 0;
  const calls: string[] = [];
  /** Methods in sessions that the backend does not have. */
  const refused: string[] = [];
  const release = Promise.withResolvers<void>();
  const backend = await startBackend(({ body, headers }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    const send = (result: unknown, more = {}) => json(response, { jsonrpc: '2.0', id, result }, more);
    const session = String(headers['mcp-session-id']);
    if (method === 'initialize') {
      started += 1;
      const serverInfo = { name: 'tiny', version: '1' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      send(result, { 'mcp-session-id': `${generation}-${started}` });
    } else if (method === 'server/discover')
      json(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } });
    else if (!session.startsWith(`${generation}-`) || JSON.parse(body || '{}').params?.name === 'ever') {
      refused.push(method);
      response.writeHead(unknown.status);
      if (unknown.isEndless === true) response.write(unknown.text);
      else response.end(unknown.text);
    } else if (method === 'tools/list')
      send({
        tools: [{ name: 'add', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
      });
    else if (method === 'tools/call') {
      const { name } = JSON.parse(body).params;
      calls.push(name);
      if (name === 'ask') {
        const params = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } };
        const request = { jsonrpc: '2.0', id: 'a', method: 'elicitation/create', params };
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`data: ${JSON.stringify(request)}\n\n`);
        return;
      }
      const respond = () => send({ content: [{ type: 'text', text: session }] });
      if (name === 'wait') void release.promise.then(respond);
      else respond();
    } else response.writeHead(id === undefined ? 202 : 405).end();
  });
  onTestFinished(() => backend.close());
  const gateway = await startGateway([
    { path: '/one', name: 'One', backend: { url: backend.url } },
    { path: '/all', name: 'All', merges: { one: '/one' } },
  ]);
  onTestFinished(() => gateway.close());
  const restart = () => {
    generation += 1;
  };
  return { gateway, restart, calls, refused, release };
}

/** What servers answer for a session that they no longer have, other than 404. */
const NO_SESSION = JSON.stringify({
  jsonrpc: '2.0',
  error: { code: -32_000, message: 'Bad Request: No valid session ID provided' },
  id: null,
});

describe('a session that the backend no longer has', () => {
  it.each(['/one', '/all'])('is renewed for a list of a client of 2026-07-28: %s', async (path) => {
    const { gateway, restart } = await setUp();
    const list = async () => lastMessage(await sendStateless(gateway, ALICE, 'tools/list', {}, path));
    const listed = { result: { tools: [{ name: expect.stringContaining('add') }] } };
    expect(await list()).toMatchObject(listed);
    restart();
    expect(await list()).toMatchObject(listed);
  });

  it('is renewed for all calls of a client with a session', async () => {
    const { gateway, restart, calls } = await setUp();
    const { call } = await startSession(gateway, ALICE, '/all');
    expect(await call('one__add')).toMatch(/^0-/);
    restart();
    const texts = await Promise.all([call('one__add'), call('one__add')]);
    for (const text of texts) expect(text).toMatch(/^1-/);
    expect(calls).toEqual(['add', 'add', 'add']);
  });

  it.each([
    ['/one', 'add', 404, NO_SESSION],
    ['/all', 'one__add', 404, NO_SESSION],
    ['/one', 'add', 400, NO_SESSION],
    ['/all', 'one__add', 400, NO_SESSION],
    ['/one', 'add', 400, 'Invalid or missing session ID'],
    ['/one', 'add', 400, 'Bad Request: Server not initialized'],
  ])('is renewed for a call of a client of 2026-07-28: %s %s %i %s', async (path, name, status, text) => {
    const { gateway, restart, calls, refused } = await setUp({ status, text });
    const call = async () =>
      textOf(await sendStateless(gateway, ALICE, 'tools/call', { name, arguments: {} }, path));
    expect(await call()).toMatch(/^0-/);
    restart();
    expect(await call()).toMatch(/^1-/);
    expect(calls).toEqual(['add', 'add']);
    expect(refused).toEqual(['tools/call']);
  });

  it('is not renewed after a 400 that says nothing of a session', async () => {
    const { gateway, restart, calls, refused } = await setUp({ status: 400, text: 'Bad Request' });
    const call = () => sendStateless(gateway, ALICE, 'tools/call', { name: 'add', arguments: {} }, '/one');
    expect((await call()).status).toBe(200);
    restart();
    const response = await call();
    expect(response.status).toBe(502);
    expect(response.headers.get('retry-after')).toBeNull();
    expect(calls).toEqual(['add']);
    expect(refused).toEqual(['tools/call']);
  });

  it('does not wait for the end of a 400 that does not end', async () => {
    const { gateway, calls } = await setUp({ status: 400, text: 'no session', isEndless: true });
    const call = () => sendStateless(gateway, ALICE, 'tools/call', { name: 'ever', arguments: {} }, '/one');
    expect((await call()).status).toBe(502);
    expect(calls).toEqual([]);
  });

  it('is renewed once for a call that the backend refuses with 400 in each', async () => {
    const { gateway, calls, refused } = await setUp({ status: 400, text: NO_SESSION });
    const call = () => sendStateless(gateway, ALICE, 'tools/call', { name: 'ever', arguments: {} }, '/one');
    expect((await call()).status).toBe(502);
    expect(calls).toEqual([]);
    expect(refused).toEqual(['tools/call', 'tools/call']);
  });

  it.each([
    ['/one', 'ask', 'add'],
    ['/all', 'one__ask', 'one__add'],
  ])(
    'fails a call whose input it no longer receives, as one that may have run: %s',
    async (path, ask, add) => {
      const { gateway, restart, calls } = await setUp();
      const send = (name: string, more = {}) =>
        sendStateless(gateway, ALICE, 'tools/call', { name, arguments: {}, ...more }, path);
      const { result } = (await lastMessage(await send(ask))) as {
        readonly result: {
          readonly requestState: string;
          readonly inputRequests: Readonly<Record<string, unknown>>;
        };
      };
      const { requestState, inputRequests } = result;
      restart();
      expect(await textOf(await send(add))).toMatch(/^1-/);
      const [key = ''] = Object.keys(inputRequests);
      const inputResponses = { [key]: { action: 'accept', content: {} } };
      const response = await send(ask, { requestState, inputResponses });
      expect(response.status).toBe(502);
      expect(response.headers.get('retry-after')).toBeNull();
      expect(await textOf(response)).toContain('may have been executed');
      expect(calls).toEqual(['ask', 'add']);
    },
  );

  it('does not end a call that the backend executes, and that has its own connection', async () => {
    const { gateway, restart, calls, release } = await setUp();
    const { post, call } = await startSession(gateway, ALICE, '/all');
    const waiting = post(callOf('one__wait'));
    await expect.poll(() => calls).toEqual(['wait']);
    restart();
    expect(await call('one__add')).toMatch(/^1-/);
    release.resolve();
    expect(await textOf(await waiting)).toMatch(/^0-/);
    expect(calls).toEqual(['wait', 'add']);
  });
});
