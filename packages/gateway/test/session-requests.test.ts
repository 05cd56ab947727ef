/** Requests in a session: their ids, and errors on their streams. */
import type { Message } from '@portcullis/http';
import { expect, it, onTestFinished } from 'vitest';
import type { DecisionPoint } from '../src/authzen/decision-point.ts';
import type { Call } from '../src/backends/backend.ts';
import { type SessionPost, servePost } from '../src/backends/clients/session-requests.ts';
import { json, startBackend } from './support/backend.ts';
import { callOf, lastMessage, startSession } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const server = { path: '/mcp', name: 'Tiny', backend: { command: TINY } };

it('a request with the id of one that is open is refused, and served once that one is over', async () => {
  const gateway = await startGateway([server]);
  onTestFinished(() => gateway.close());
  const { post } = await startSession(gateway, 'alice');
  const first = post({ ...callOf('ask'), id: 7 });
  await first;
  const second = await post({ ...callOf('change'), id: 7 });
  expect([second.status, await lastMessage(second)]).toMatchObject([
    400,
    { id: 7, error: { code: -32_600 } },
  ]);
  expect((await post({ ...callOf('pid'), id: 8 })).status).toBe(200);
  await post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
  await (await first).text();
  expect((await post({ ...callOf('pid'), id: 7 })).status).toBe(200);
});

it('of two batches with the same id that wait for the start of their process, one is refused', async () => {
  const gateway = await startGateway([server]);
  onTestFinished(() => gateway.close());
  const { post } = await startSession(gateway, 'alice', '/mcp', { protocolVersion: '2025-03-26' });
  await (await post([callOf('crash')])).text();
  const batch = [{ ...callOf('ask'), id: 7 }];
  const responses = await Promise.all([post(batch), post(batch)]);
  expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 400]);
});

it.each([true, false])(
  'a batch whose client has disappeared (%s) while its session was opened is cancelled',
  async (isGone) => {
    const signals: boolean[] = [];
    const connection = {
      initialized: { protocolVersion: '2025-03-26' },
      async request({ id }: Message, { signal }: Call): Promise<Message> {
        signals.push(signal.aborted);
        return { jsonrpc: '2.0', id: id ?? 0, result: {} };
      },
    };
    const nothing = () => undefined;
    const post = {
      request: {
        outgoing: { closed: isGone, once: nothing, removeListener: nothing, setMaxListeners: nothing },
        incoming: { headers: {} },
      },
      session: {
        connect: async () => connection,
        requests: new Map(),
        responding: new Map(),
        resumed: new Map(),
      },
      reply: { send: nothing, end: nothing, open: nothing, cancel: nothing, isStream: () => false },
      edit: { filter: (response: Message) => response },
    } as unknown as SessionPost;
    await servePost(post, [callOf('pay'), callOf('pay')] as unknown as readonly Message[], true);
    expect(signals).toEqual(isGone ? [] : [false, false]);
  },
);

it('a stream whose request fails here for an internal reason does not name it', async () => {
  const state = { isFailing: false, evaluations: 0 };
  const decisionPoint: DecisionPoint = {
    options: { subject: {}, arguments: false },
    async evaluate(evaluations) {
      state.evaluations += 1;
      if (state.isFailing && state.evaluations > 1) throw new Error('secrets.internal is down');
      return evaluations.map(() => ({ kind: 'allow' }));
    },
  };
  const gateway = await startGateway([server], { decisionPoint });
  onTestFinished(() => gateway.close());
  const { post } = await startSession(gateway, 'alice');
  const call = () => post(callOf('progress', {}, { progressToken: 1 }));
  expect(await (await call()).text()).toContain('done');
  Object.assign(state, { isFailing: true, evaluations: 0 });
  const failed = await (await call()).text();
  expect(failed).toContain('"progress":2');
  expect(failed).toContain('Something went wrong here. Try again later.');
  expect(failed).not.toContain('secrets.internal');
});

/** A batch of five requests in front of a backend of revision 2026-07-28 that responds when it is told to. */
async function startBatch() {
  const waiting = new Map<string, () => void>();
  const backend = await startBackend(({ body }, response) => {
    const { id, method, params } = JSON.parse(body || '{}');
    const respond = (result: object) =>
      json(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } });
    if (method === 'resources/read') waiting.set(params.uri, () => respond({ contents: [] }));
    else if (method === 'server/discover')
      respond({ supportedVersions: ['2026-07-28'], capabilities: { resources: {} } });
    else response.writeHead(400).end();
  });
  onTestFinished(() => backend.close());
  const gateway = await startGateway([{ path: '/mcp', name: 'Files', backend: { url: backend.url } }]);
  onTestFinished(() => gateway.close());
  const { post, session } = await startSession(gateway, 'alice', '/mcp', { protocolVersion: '2025-03-26' });
  const uris = ['f:1', 'f:2', 'f:3', 'f:4', 'f:5'];
  const batch = post(
    uris.map((uri, id) => ({ jsonrpc: '2.0', id, method: 'resources/read', params: { uri } })),
  );
  await expect.poll(() => waiting.size).toBe(1);
  return { gateway, post, session, batch, waiting };
}

it('the requests of a batch are sent one after another, without those that were cancelled meanwhile', async () => {
  const { post, batch, waiting } = await startBatch();
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } };
  expect((await post(cancelled)).status).toBe(202);
  for (const expected of ['f:1', 'f:2', 'f:3', 'f:5']) {
    await expect.poll(() => [...waiting.keys()]).toEqual([expected]);
    waiting.get(expected)?.();
    waiting.delete(expected);
  }
  const text = await (await batch).text();
  expect([...text.matchAll(/"id":(\d)/g)].map(([, id]) => id)).toEqual(['0', '1', '2', '4']);
});

it('the requests of a batch that wait when their session is deleted are not sent', async () => {
  const { gateway, session, batch, waiting } = await startBatch();
  const headers = { 'mcp-session-id': session };
  expect((await gateway.send('alice', { method: 'DELETE', headers })).status).toBe(200);
  const text = await (await batch).text();
  expect(text.match(/The session has ended/g)).toHaveLength(5);
  expect(waiting.size).toBe(1);
});
