import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { GatewayServerOptions } from '../src/options.ts';
import { testServer } from '../src/test-server.ts';
import {
  callOf,
  INITIALIZE,
  lastMessage,
  readUntil,
  type SessionClient,
  sendStateless,
  startSession,
  textOf,
} from './support/client.ts';
import { defineTestServers, startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

let gateway: TestGateway | undefined;

afterEach(async () => {
  await gateway?.close();
  gateway = undefined;
});

async function start(backend: Record<string, unknown> = {}, limits: GatewayServerOptions['limits'] = {}) {
  gateway = await startGateway([
    { path: '/mcp', backend: { command: TINY, ...backend }, limits } as GatewayServerOptions,
  ]);
  return gateway;
}

/** The first message in the text of an event stream. */
function messageIn(text: string): { readonly id: string; readonly method: string } {
  return JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? '{}');
}

describe('an open request', () => {
  /** A call that the process never answers, once it is there. */
  async function hang(to: TestGateway) {
    const client = await startSession(to, 'alice');
    const call = callOf('hang');
    const response = client.post(call);
    const output = () => to.events.filter(({ line }) => line === 'hanging');
    await expect.poll(output).toHaveLength(1);
    return { ...client, id: call['id'], response };
  }

  it('is answered with an error when its session is deleted', async () => {
    const to = await start();
    const { session, id, response } = await hang(to);
    await to.send('alice', { method: 'DELETE', headers: { 'mcp-session-id': session } });
    const { status, headers } = await response;
    expect([status, headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(await (await response).json()).toMatchObject({
      id,
      error: { message: expect.stringContaining('The session has ended') },
    });
  });

  it('gets an event stream when its response is late, so that no proxy cuts it', async () => {
    const to = await start();
    const { post, id, response } = await hang(to);
    const { status, headers, body } = await response;
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    expect(await new Response(body).text()).toMatch(/^id: \S+\ndata: \n\n$/);
  });

  it('that the client cancels ends without a response', async () => {
    const to = await start();
    const { post, id, response } = await hang(to);
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    const { status, headers } = await response;
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(await (await response).text()).toBe('');
  });
});

describe('a process for each client of a user', () => {
  it('serves two sessions of a user with one process, and another user with another', async () => {
    const to = await start();
    const [first, second, other] = await Promise.all([
      startSession(to, 'alice'),
      startSession(to, 'alice'),
      startSession(to, 'bob'),
    ]);
    const pid = await first.call('pid');
    expect(await second.call('pid')).toBe(pid);
    expect(await other.call('pid')).not.toBe(pid);
  });

  it('starts no process before the first request', async () => {
    const to = await start({ command: ['/does/not/exist'] });
    expect(to.gateway.health()).toEqual([{ server: '/mcp', status: 'up' }]);
    const response = await to.send('alice', {
      message: {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {} },
      },
    });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining('could not be started') },
    });
    expect(to.gateway.health()).toEqual([{ server: '/mcp', status: 'down' }]);
  });

  it('its calls are recorded with the bytes of both bodies', async () => {
    const to = await start();
    const response = await sendStateless(to, 'alice', 'tools/call', { name: 'pid', arguments: {} });
    const { length } = Buffer.from(await response.arrayBuffer());
    await expect.poll(() => to.calls.length).toBe(1);
    expect(to.calls).toMatchObject([{ outcome: 'answered', status: 200, responseBytes: length }]);
    expect(to.calls[0]?.requestBytes).toBeGreaterThan(100);
  });

  it('reports to each session of a client what it wants to know, whatever level another sets', async () => {
    const to = await start();
    const [one, two] = [await startSession(to, 'alice'), await startSession(to, 'alice')];
    const say = async ({ post }: SessionClient) =>
      [
        ...(await (await post(callOf('say', { at: ['debug', 'info', 'error'] }))).text()).matchAll(
          /"level":"(\w+)"/g,
        ),
      ].map(([, level]) => level);
    const set = ({ post }: SessionClient, level: string) =>
      post({ jsonrpc: '2.0', id: 1, method: 'logging/setLevel', params: { level } });
    expect((await set(one, 'emergency')).status).toBe(200);
    expect([await say(one), await say(two)]).toEqual([[], ['info', 'error']]);
    expect(await two.call('level')).toBe('info');
    await set(two, 'debug');
    await set(one, 'error');
    expect([await say(one), await say(two)]).toEqual([['error'], ['debug', 'info', 'error']]);
    expect(await one.call('level')).toBe('debug');
  });

  it('gives the process PATH, HOME and what is configured, and nothing else of the host', async () => {
    vi.stubEnv('PORTCULLIS_MASTER_KEY', 'secret of the host');
    const to = await start({ environment: { KEY: 'value' } });
    const { call } = await startSession(to, 'alice');
    const environment = JSON.parse(await call('env')) as Record<string, string>;
    vi.unstubAllEnvs();
    expect(Object.keys(environment).sort()).toEqual(['HOME', 'KEY', 'PATH']);
    expect(environment['KEY']).toBe('value');
  });

  it('ends the process when it is idle, and starts another for the same session', async () => {
    const to = await start({ idle: 1 });
    const { call } = await startSession(to, 'alice');
    const pid = Number(await call('pid'));
    await expect.poll(() => isAlive(pid)).toBe(false);
    await expect
      .poll(() => to.events.map(({ line }) => line))
      .toContain('the process was stopped: it is not needed now');
    expect(Number(await call('pid'))).not.toBe(pid);
  });

  it('ends the process with its children when the gateway is closed', async () => {
    const to = await start();
    const { call } = await startSession(to, 'alice');
    const pids = [Number(await call('pid')), Number(await call('child'))];
    expect(pids.map(isAlive)).toEqual([true, true]);
    await to.close();
    gateway = undefined;
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
  });

  it('ends the least recently used idle process when there may be no more', async () => {
    const to = await start({ processes: 1 });
    const alice = await startSession(to, 'alice');
    const pid = Number(await alice.call('pid'));
    const bob = await startSession(to, 'bob');
    expect(await bob.call('echo', { text: 'hello' })).toBe('hello');
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(await alice.call('echo', { text: 'again' })).toBe('again');
  });
});

describe('a process that misbehaves', () => {
  it('answers the callers of a process that crashes, and starts it again for the next call', async () => {
    const to = await start();
    const [alice, bob] = await Promise.all([startSession(to, 'alice'), startSession(to, 'bob')]);
    const pid = await bob.call('pid');
    const waiting = alice.call('hang');
    const response = await alice.post(callOf('crash'));
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining('exit code 3') },
    });
    expect(await waiting).toContain('exit code 3');
    expect(await bob.call('pid')).toBe(pid);
    expect(await alice.call('echo', { text: 'back' })).toBe('back');
  });

  it('waits longer and longer between starts of a process that does not initialize', async () => {
    const to = await start({ environment: { REFUSE: '1' } });
    const statuses: string[] = [];
    for (let attempt = 0; attempt < 4; attempt += 1)
      statuses.push(
        await startSession(to, 'alice').then(
          () => 'started',
          (error: Error) => error.message,
        ),
      );
    expect(statuses[0]).toContain('exit code 1');
    expect(statuses.at(-1)).toContain('is started again in');
  });

  it('says in the log that a process is still starting, and what npm may lack', async () => {
    vi.stubEnv('NODE_EXTRA_CA_CERTS', '/nowhere.pem');
    onTestFinished(() => void vi.unstubAllEnvs());
    const silent = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
    const to = await start({ command: silent }, { firstByte: 1 });
    await expect(startSession(to, 'alice')).rejects.toThrow('did not answer');
    expect(JSON.stringify(to.events)).toContain(
      '(still starting: npx may be downloading it; it does not get the',
    );
    await to.close();
    const quick = await start();
    await startSession(quick, 'alice');
    expect(JSON.stringify(quick.events)).not.toContain('still starting');
  });

  it('is tested before it serves, with the same hint when it does not start in time', async () => {
    vi.stubEnv('NODE_EXTRA_CA_CERTS', '/nowhere.pem');
    onTestFinished(() => void vi.unstubAllEnvs());
    const test = async (command: readonly string[], timeout: number) => {
      const servers = defineTestServers([{ path: '/mcp', backend: { command } }], 'http://localhost');
      const tests = servers.map(
        async (server) => server.backend && testServer(server, server.backend, timeout),
      );
      return (await Promise.all(tests))[0];
    };
    expect(await test([process.execPath, '-e', 'setInterval(() => {}, 1000)'], 200)).toEqual({
      ok: false,
      part: 'backend',
      reason: expect.stringContaining('does not get the NODE_EXTRA_CA_CERTS of this process'),
    });
    const passed = [
      'env',
      'NODE_EXTRA_CA_CERTS=/nowhere.pem',
      process.execPath,
      '-e',
      'setInterval(() => {}, 1000)',
    ];
    expect(await test(passed, 200)).toMatchObject({
      ok: false,
      reason: expect.not.stringContaining('does not get'),
    });
    expect(await test(TINY, 100_000)).toMatchObject({ ok: true });
  });

  it('answers the caller of a tool that never answers, tells the process, and keeps it for others', async () => {
    // Long enough for the start of the process on a busy machine.
    const to = await start({}, { firstByte: 5 });
    const { call } = await startSession(to, 'alice');
    const pid = await call('pid');
    expect(await call('hang')).toContain('did not answer within 5 seconds');
    expect(JSON.parse(await call('cancelled'))).toHaveLength(1);
    expect(await call('pid')).toBe(pid);
  });

  it('kills a process that answers nothing at all', async () => {
    // Long enough for the start of the next process on a busy machine.
    const to = await start({}, { firstByte: 5 });
    const { call } = await startSession(to, 'alice');
    const pid = Number(await call('pid'));
    expect(await call('block')).toContain('did not answer');
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(await call('echo', { text: 'back' })).toBe('back');
  });

  it('that drops parameters of null responds: they are omitted', async () => {
    const { post } = await startSession(await start(), 'alice');
    const response = await post({ jsonrpc: '2.0', id: 1, method: 'ping', params: null });
    expect(await lastMessage(response)).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  it('ignores garbage on standard output, and shows it in the log', async () => {
    const to = await start();
    const { call } = await startSession(to, 'alice');
    expect(await call('garbage')).toBe('after garbage');
    expect(JSON.stringify(to.events)).toContain('not JSON');
  });

  it('ignores messages that nest too deep to be written again, and shows them in the log', async () => {
    const to = await start();
    const { call } = await startSession(to, 'alice');
    expect(await call('deep')).toBe('after deep messages');
    const ignored = to.events.filter(({ line }) => String(line).includes('no message: {'));
    expect(ignored).toHaveLength(3);
  });

  it('forwards a result that repeats arguments of as many levels as a request may have', async () => {
    const { post } = await startSession(await start({}, { firstByte: 5 }), 'alice');
    const list = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    const given = { list: list(253) };
    const response = await post(callOf('mirror', given));
    expect(await lastMessage(response)).toMatchObject({ result: { structuredContent: { given } } });
    expect((await post(callOf('mirror', { list: list(254) }))).status).toBe(400);
  });

  it('kills a process that sends a message above the limit', async () => {
    const to = await start({}, { frame: 64 * 1024 });
    const { call } = await startSession(to, 'alice');
    expect(await call('huge')).toContain('longer than the limit');
    expect(await call('echo', { text: 'back' })).toBe('back');
  });

  it('kills a process that uses more memory than its limit', async () => {
    const to = await start({ memory: 256 });
    const { call } = await startSession(to, 'alice');
    const pid = Number(await call('pid'));
    await call('memory');
    await expect.poll(() => isAlive(pid)).toBe(false);
    expect(await call('echo', { text: 'back' })).toBe('back');
  });

  it('writes standard error to the log without control characters', async () => {
    const to = await start();
    const { call } = await startSession(to, 'alice');
    await call('log');
    await expect.poll(() => JSON.stringify(to.events)).toContain('of the server');
    expect(JSON.stringify(to.events)).not.toContain('\\u001b');
  });
});

describe('a shared process', () => {
  it('serves users with the same request ids and progress tokens without mixing them up', async () => {
    const to = await start({ process: 'shared' });
    const users = await Promise.all(['alice', 'bob', 'carol'].map((user) => startSession(to, user)));
    const call = (text: string) => ({ ...callOf('echo', { text }), id: 7 });
    const texts = await Promise.all(
      users.map(async ({ post }, index) => textOf(await post(call(`of ${index}`)))),
    );
    expect(texts).toEqual(['of 0', 'of 1', 'of 2']);
    expect(new Set(await Promise.all(users.map((user) => user.call('pid')))).size).toBe(1);
  });

  it('asks no user anything on behalf of another', async () => {
    const to = await start({ process: 'shared' });
    const { call } = await startSession(to, 'alice');
    expect(JSON.parse(await call('capabilities'))).toEqual({});
    expect(await call('ask')).toBe('error -32601');
  });

  it('is initialized once: no session initializes it again, in a batch or alone', async () => {
    const to = await start({ process: 'shared' });
    const [alice, bob] = await Promise.all(
      ['alice', 'bob'].map((user) => startSession(to, user, '/mcp', { protocolVersion: '2025-03-26' })),
    );
    const again = { ...INITIALIZE, params: { ...INITIALIZE.params, capabilities: { sampling: {} } } };
    for (const body of [[again], [again, callOf('pid')], again]) {
      const response = await bob?.post(body);
      expect([response?.status, await response?.json()]).toMatchObject([400, { error: { code: -32_600 } }]);
    }
    expect(JSON.parse((await alice?.call('capabilities')) ?? '')).toEqual({});
  });

  it('reports a resource to those who subscribed to it or to one above it, not to a beginning of its name', async () => {
    const to = await start({ process: 'shared' });
    const subscribers = ['file:///notes', 'file:///no', 'file:', 'f', 'file:///notes/a', 'file:///notes/'];
    const sessions = await Promise.all(
      subscribers.map(async (uri, index) => {
        const { session, post, call } = await startSession(to, `user${index}`);
        const subscribe = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri } };
        expect((await post(subscribe)).status).toBe(200);
        return { call, session, uri, index };
      }),
    );
    const streams = await Promise.all(
      sessions.map(async ({ session, index }) => {
        const headers = { 'mcp-session-id': session };
        const response = await to.send(`user${index}`, { method: 'GET', headers });
        return (response.body as ReadableStream<Uint8Array>).getReader();
      }),
    );
    await sessions[0]?.call('touch', { uri: 'file:///notes/a' });
    await sessions[0]?.call('change');
    const reported = await Promise.all(
      streams.map(async (reader) => {
        let text = '';
        while (!text.includes('list_changed')) text += new TextDecoder().decode((await reader.read()).value);
        await reader.cancel();
        return text.includes('file:///notes/a');
      }),
    );
    expect(sessions.filter((_one, index) => reported[index]).map(({ uri }) => uri)).toEqual([
      'file:///notes',
      'file:///notes/a',
      'file:///notes/',
    ]);
  });
});

describe('sessions of the message path', () => {
  it('answers 404 to the session of another user, another client, and an ended one', async () => {
    const to = await start();
    const { session, post } = await startSession(to, 'alice');
    const headers = { 'mcp-session-id': session };
    for (const user of ['bob', 'alice_other'])
      for (const method of ['POST', 'GET', 'DELETE'])
        expect((await to.send(user, { method, headers })).status).toBe(404);
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(200);
    const deleted = await to.send('alice', { method: 'DELETE', headers });
    expect([deleted.status, deleted.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(404);
  });

  it('serves a session that another process of the gateway has started', async () => {
    const masterKey = Buffer.alloc(32, 1);
    const publicUrl = 'http://127.0.0.1:1';
    const servers = [{ path: '/mcp', backend: { command: TINY } }] as unknown as GatewayServerOptions[];
    const one = await startGateway(servers, { masterKey, publicUrl });
    gateway = await startGateway(servers, { masterKey, publicUrl });
    const { session } = await startSession(one, 'alice');
    await one.close();
    const response = await gateway.send('alice', {
      message: callOf('echo', { text: 'here' }),
      headers: { 'mcp-session-id': session },
    });
    expect(await textOf(response)).toBe('here');
  });

  it('delivers an elicitation on the stream of its call, and accepts the response once', async () => {
    const to = await start();
    const { post } = await startSession(to, 'alice');
    const response = await post(callOf('ask'));
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const serverRequest = messageIn(await readUntil(reader, /^data: .+\n/m));
    expect(serverRequest.method).toBe('elicitation/create');
    const answer = {
      jsonrpc: '2.0',
      id: serverRequest.id,
      result: { action: 'accept', content: { name: 'Ada' } },
    };
    const bob = await startSession(to, 'bob');
    expect((await bob.post(answer)).status).toBe(400);
    expect((await post(answer)).status).toBe(202);
    expect(await readUntil(reader, /Ada/)).toContain('Ada');
    expect((await post(answer)).status).toBe(400);
  });

  it('are asked in a batch of many without a warning about listeners', async () => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on('warning', warn);
    onTestFinished(() => void process.off('warning', warn));
    const to = await start();
    const { post } = await startSession(to, 'alice', '/mcp', { protocolVersion: '2025-03-26' });
    const response = await post(Array.from({ length: 12 }, () => callOf('echo')));
    expect((await response.text()).match(/"result"/g)).toHaveLength(12);
    expect(warnings.map(({ message }) => message)).toEqual([]);
  });

  it('are asked in batches only in revisions that have them, whatever the header says', async () => {
    const to = await start();
    const [old, current] = await Promise.all(
      ['2025-03-26', '2025-11-25'].map((protocolVersion) =>
        startSession(to, 'alice', '/mcp', { protocolVersion }),
      ),
    );
    const send = ({ session = '' }: { session?: string } = {}, message: unknown, header: object = {}) =>
      to.send('alice', { message, headers: { 'mcp-session-id': session, ...header } });
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    for (const header of [{}, { 'mcp-protocol-version': '2025-03-26' }])
      for (const batch of [[callOf('log')], [callOf('log'), cancelled], [cancelled]]) {
        const refused = await send(current, batch, header);
        expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: -32_600 } }]);
      }
    expect(JSON.stringify(to.events)).not.toContain('of the server');
    for (const batch of [[callOf('echo'), cancelled], [callOf('echo')], [callOf('echo'), callOf('echo')]]) {
      const response = await send(old, batch);
      const events = (await response.text()).match(/^data: .*"result".*$/gm);
      expect([response.headers.get('content-type'), events?.length]).toEqual([
        'text/event-stream',
        batch.filter((message) => 'id' in message).length,
      ]);
    }
    expect((await send(old, [cancelled])).status).toBe(202);
  });

  it('cancels the request of a client that disappears', async () => {
    const to = await start();
    const { post, call } = await startSession(to, 'alice');
    const controller = new AbortController();
    const hanging = post(callOf('hang'), controller.signal).catch(() => undefined);
    await expect.poll(() => JSON.stringify(to.events)).toContain('hanging');
    controller.abort();
    await hanging;
    await expect.poll(async () => JSON.parse(await call('cancelled'))).toHaveLength(1);
  });

  it('reports progress under the token of the client, and changes on the stream of the session', async () => {
    const to = await start();
    const { post, session } = await startSession(to, 'alice');
    const progress = await (await post(callOf('progress', {}, { progressToken: 'mine' }))).text();
    expect(progress.match(/"progressToken":"mine"/g)).toHaveLength(2);
    const stream = await to.send('alice', { method: 'GET', headers: { 'mcp-session-id': session } });
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    await post(callOf('change'));
    const listChanged = 'notifications/tools/list_changed';
    expect(await readUntil(reader, new RegExp(listChanged))).toContain(listChanged);
    await reader.cancel();
  });

  it('resumes the stream of a call after the last event that the client has seen', async () => {
    const to = await start();
    const { post, session } = await startSession(to, 'alice');
    const controller = new AbortController();
    const broken = await post(callOf('ask'), controller.signal);
    const reader = (broken.body as ReadableStream<Uint8Array>).getReader();
    const first = await readUntil(reader, /^data: .+\n/m);
    controller.abort();
    await reader.cancel().catch(() => undefined);
    const lastId = [...first.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
    const { id } = messageIn(first);
    const headers = { 'mcp-session-id': session, 'last-event-id': lastId };
    const resumed = await to.send('alice', { method: 'GET', headers });
    expect(resumed.status).toBe(200);
    await post({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Ada' } } });
    expect(await resumed.text()).toContain('Ada');
  });

  it('ends on its first connection once the stream of a call is resumed, and leaves no slot taken', async () => {
    const to = await start({}, { concurrency: 3 });
    const { post, session } = await startSession(to, 'alice');
    for (const name of ['Ada', 'Bob']) {
      const first = ((await post(callOf('ask'))).body as ReadableStream<Uint8Array>).getReader();
      const text = await readUntil(first, /^data: .+\n/m);
      const lastId = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
      const headers = { 'mcp-session-id': session, 'last-event-id': lastId };
      const resumed = await to.send('alice', { method: 'GET', headers });
      expect(await readUntil(first, /never/)).toBe('');
      const result = { action: 'accept', content: { name } };
      expect((await post({ jsonrpc: '2.0', id: messageIn(text).id, result })).status).toBe(202);
      expect(await resumed.text()).toContain(name);
    }
  });

  it('begin streams with an id and no data, by which a client resumes one before its first message', async () => {
    const to = await start();
    const { post, session } = await startSession(to, 'alice');
    const get = (lastId?: string) =>
      to.send('alice', {
        method: 'GET',
        headers: { 'mcp-session-id': session, ...(lastId !== undefined && { 'last-event-id': lastId }) },
      });
    const standalone = ((await get()).body as ReadableStream<Uint8Array>).getReader();
    const primed = /^id: (\S+)\ndata: \n\n/;
    expect(await readUntil(standalone, /\n\n/)).toMatch(primed);
    const controller = new AbortController();
    const broken = await post(callOf('ask'), controller.signal);
    const reader = (broken.body as ReadableStream<Uint8Array>).getReader();
    const [, lastId] = primed.exec(await readUntil(reader, /\n\n/)) ?? [];
    controller.abort();
    await reader.cancel().catch(() => undefined);
    const resumed = ((await get(lastId)).body as ReadableStream<Uint8Array>).getReader();
    const { id, method } = messageIn(await readUntil(resumed, /^data: .+\n/m));
    expect(method).toBe('elicitation/create');
    await post({ jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Ada' } } });
    const last = await readUntil(resumed, /never/);
    expect(last).toContain('Ada');
    // All was received: the stream does not become another one, and the open one stays.
    const [, idOfLast] = /^id: (.*)$/m.exec(last) ?? [];
    expect((await get(idOfLast)).status).toBe(405);
    await post(callOf('change'));
    expect(await readUntil(standalone, /list_changed/)).toContain('list_changed');
    await standalone.cancel();
  });

  it('begin no stream without data for clients of earlier revisions', async () => {
    const to = await start();
    const { post } = await startSession(to, 'alice', '/mcp', { protocolVersion: '2025-06-18' });
    const text = await (await post(callOf('progress', {}, { progressToken: 'mine' }))).text();
    expect(text).toMatch(/^id: \S+\nevent: message\ndata: {/);
    expect(text).not.toMatch(/^data: $/m);
  });

  it('send the messages of a cancelled call once more, and resume its stream no further', async () => {
    const to = await start();
    const { post, session } = await startSession(to, 'alice');
    const call = callOf('ask');
    const { body } = await post(call);
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const first = await readUntil(reader, /^data: .+\n/m);
    await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: call['id'] } });
    expect(await readUntil(reader, /never/)).toBe('');
    const ids = [...first.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => id);
    const get = (lastId: string) =>
      to.send('alice', { method: 'GET', headers: { 'mcp-session-id': session, 'last-event-id': lastId } });
    const missed = await get(ids[0] ?? '');
    const text = await missed.text();
    expect([missed.status, messageIn(text).method]).toEqual([200, 'elicitation/create']);
    const lastId = [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? '';
    expect((await get(lastId)).status).toBe(405);
  });
});

describe('a client of revision 2026-07-28', () => {
  it('has its subscription closed without a result when the process ends', async () => {
    const to = await start();
    const filter = { notifications: { toolsListChanged: true } };
    const response = await sendStateless(to, 'alice', 'subscriptions/listen', filter);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(await readUntil(reader, /acknowledged/)).toContain('acknowledged');
    await (await sendStateless(to, 'alice', 'tools/call', { name: 'crash', arguments: {} })).text();
    expect(await readUntil(reader, /never/)).not.toContain('result');
  });

  it('discovers and calls a stdio server', async () => {
    const to = await start();
    const discovered = await lastMessage(await sendStateless(to, 'alice', 'server/discover'));
    expect(discovered['result']).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true } },
      instructions: 'Be brief.',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'tiny' } },
    });
    const listed = await lastMessage(await sendStateless(to, 'alice', 'tools/list'));
    expect(listed['result']).toMatchObject({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
    expect(
      await textOf(
        await sendStateless(to, 'alice', 'tools/call', { name: 'echo', arguments: { text: 'hi' } }),
      ),
    ).toBe('hi');
  });

  it('answers an elicitation in a second request', async () => {
    const to = await start();
    const call = { name: 'ask', arguments: {} };
    const { result } = (await lastMessage(await sendStateless(to, 'alice', 'tools/call', call))) as {
      result: { resultType: string; inputRequests: Record<string, { method: string }>; requestState: string };
    };
    expect(result.resultType).toBe('input_required');
    const [[key = '', serverRequest] = []] = Object.entries(result.inputRequests);
    expect(serverRequest?.method).toBe('elicitation/create');
    const retry = {
      ...call,
      requestState: result.requestState,
      inputResponses: { [key]: { action: 'accept', content: { name: 'Ada' } } },
    };
    const stolen = await lastMessage(await sendStateless(to, 'bob', 'tools/call', retry));
    expect(stolen['error']).toMatchObject({ code: -32602 });
    expect(await textOf(await sendStateless(to, 'alice', 'tools/call', retry))).toBe('Ada');
    const again = await lastMessage(await sendStateless(to, 'alice', 'tools/call', retry));
    expect(again['error']).toMatchObject({ code: -32602 });
  });

  it('continues its call by no other one, whose tool or arguments other rules may allow', async () => {
    const to = await start();
    const call = { name: 'ask', arguments: { of: 'mine' } };
    const { result } = (await lastMessage(await sendStateless(to, 'alice', 'tools/call', call))) as {
      result: { inputRequests: Record<string, unknown>; requestState: string };
    };
    const [key = ''] = Object.keys(result.inputRequests);
    const { requestState } = result;
    const inputResponses = { [key]: { action: 'accept', content: { name: 'Mallory' } } };
    for (const other of [
      { ...call, name: 'echo' },
      { ...call, arguments: { of: 'yours' } },
      { name: 'ask' },
    ]) {
      const input = { ...other, requestState, inputResponses };
      const refused = await lastMessage(await sendStateless(to, 'alice', 'tools/call', input));
      expect(refused['error']).toMatchObject({ code: -32_602 });
    }
    // The server has got no response yet.
    const own = {
      ...call,
      requestState,
      inputResponses: { [key]: { action: 'accept', content: { name: 'Ada' } } },
    };
    expect(await textOf(await sendStateless(to, 'alice', 'tools/call', own))).toBe('Ada');
  });

  it('is not asked between calls: the server is refused at once, and need not wait', async () => {
    const to = await start();
    const call = async (name: string) => textOf(await sendStateless(to, 'alice', 'tools/call', { name }));
    expect(await call('askBetween')).toBe('asks afterwards');
    await expect.poll(() => call('between')).toBe('-32601');
  });

  it('is not asked by a call that is over: the server is refused at once, and need not wait', async () => {
    const to = await start();
    const call = async (name: string) => textOf(await sendStateless(to, 'alice', 'tools/call', { name }));
    expect(await call('askUnawaited')).toBe('does not wait');
    await expect.poll(() => call('between')).toBe('-32601');
  });

  it('listens to changes and to resources', async () => {
    const to = await start();
    const filter = {
      notifications: {
        toolsListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: ['file:///a'],
      },
    };
    const response = await sendStateless(to, 'alice', 'subscriptions/listen', filter);
    expect(response.headers.get('connection')).toBe('close');
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await next()).toContain(
      '"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}',
    );
    await sendStateless(to, 'alice', 'tools/call', { name: 'change' });
    expect(await next()).toContain('notifications/tools/list_changed');
    await sendStateless(to, 'alice', 'tools/call', { name: 'touch', arguments: { uri: 'file:///ab' } });
    await sendStateless(to, 'alice', 'tools/call', { name: 'touch', arguments: { uri: 'file:///a/b' } });
    const reported = await next();
    expect([reported.includes('file:///a/b'), reported.includes('file:///ab')]).toEqual([true, false]);
    await reader.cancel();
  });

  it('has no tasks: one that the server starts has an id of its own, by which it is not found', async () => {
    const to = await start();
    const started = await (await sendStateless(to, 'alice', 'tools/call', { name: 'task' })).text();
    expect(started).not.toContain('task-1');
    const [, taskId = ''] = /"task":\{"taskId":"([^"]+)"/.exec(started) ?? [];
    for (const id of [taskId, 'task-1']) {
      const found = await sendStateless(to, 'alice', 'tasks/get', { taskId: id });
      expect([found.status, await lastMessage(found)]).toMatchObject([404, { error: { code: -32_601 } }]);
    }
  });

  it('refuses what the revision does not have', async () => {
    const to = await start();
    const ping = await sendStateless(to, 'alice', 'ping');
    expect([ping.status, (await lastMessage(ping))['error']]).toMatchObject([404, { code: -32601 }]);
    const wrong = await sendStateless(to, 'alice', 'tools/list', {
      _meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
    });
    expect([wrong.status, (await lastMessage(wrong))['error']]).toMatchObject([
      400,
      { code: -32022, data: { supported: ['2026-07-28'] } },
    ]);
    expect(
      (await to.send('alice', { method: 'GET', headers: { 'mcp-protocol-version': '2026-07-28' } })).status,
    ).toBe(405);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
