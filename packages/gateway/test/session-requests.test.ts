/** Requests in a session: their ids, and errors on their streams. */
import type { Message } from '@portcullis/http';
import { expect, it, onTestFinished } from 'vitest';
import type { Call } from '../src/backends/backend.ts';
import { type SessionPost, servePost } from '../src/backends/clients/session-requests.ts';
import { noCredential } from '../src/credentials/credential-source.ts';
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
        responding: new Set(),
        resumed: new Map(),
      },
      reply: { send: nothing, end: nothing, open: nothing, cancel: nothing, isStream: () => false },
      edit: (response: Message) => response,
    } as unknown as SessionPost;
    await servePost(post, [callOf('pay'), callOf('pay')] as unknown as readonly Message[], true);
    expect(signals).toEqual([isGone, isGone]);
  },
);

it('a stream whose request fails here for an internal reason does not name it', async () => {
  const state = { isFailing: false, lookUps: 0 };
  const credentials = {
    async for() {
      state.lookUps += 1;
      if (state.isFailing && state.lookUps > 1) throw new Error('secrets.internal is down');
      return noCredential;
    },
    rejected: async () => 'final' as const,
  };
  const gateway = await startGateway([server], { credentials });
  onTestFinished(() => gateway.close());
  const { post } = await startSession(gateway, 'alice');
  const call = () => post(callOf('progress', {}, { progressToken: 1 }));
  expect(await (await call()).text()).toContain('done');
  Object.assign(state, { isFailing: true, lookUps: 0 });
  const failed = await (await call()).text();
  expect(failed).toContain('"progress":2');
  expect(failed).toContain('Something went wrong here. Try again later.');
  expect(failed).not.toContain('secrets.internal');
});
