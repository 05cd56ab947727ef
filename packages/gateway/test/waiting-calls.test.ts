/** A call that waits for input from a client of revision 2026-07-28, whose server cancels what it asked for. */
import type { Message } from '@portcullis/http';
import { expect, it } from 'vitest';
import type { BackendSession, Call } from '../src/backends/backend.ts';
import { createWaitingCalls } from '../src/backends/clients/waiting-calls.ts';
import { notPending } from '../src/backends/exchange/server-requests.ts';

const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'order' } } as const;
const OWNER = { issuer: 'i', subject: 'alice', clientId: 'c', resource: 'r', backend: 'b' };
const elicitationOf = (id: string): Message => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: { message: `Which ${id}?`, requestedSchema: {} },
});

/** A call whose server has asked for `first`. */
async function setScene() {
  const pending = new Set<unknown>();
  const notified: Message[] = [];
  let receive: NonNullable<Call['receive']> = () => undefined;
  const response = Promise.withResolvers<Message>();
  const session = {
    initialized: { protocolVersion: '2025-11-25', capabilities: {} },
    request(_message: Message, call: Call) {
      receive = call.receive ?? receive;
      return response.promise;
    },
    async notify(one: Message) {
      if (!pending.delete(one.id)) throw notPending();
      notified.push(one);
    },
  } as unknown as BackendSession;
  const ask = (id: string) => {
    pending.add(id);
    receive(elicitationOf(id));
  };
  const calls = createWaitingCalls();
  const exchange = async (more: object = {}) =>
    (await calls.exchange({
      owner: OWNER as never,
      network: '192.0.2.1',
      principal: {} as never,
      session,
      message: { ...message, params: { ...message.params, ...more } },
      capabilities: { elicitation: { form: {} } },
      signal: new AbortController().signal,
      send: (one) => expect.unreachable(JSON.stringify(one)),
    })) as { readonly result: { readonly requestState: string; readonly inputRequests: object } };
  const exchanged = exchange();
  ask('first');
  const { requestState } = (await exchanged).result;
  const answer = (key: string) =>
    exchange({ requestState, inputResponses: { [key]: { action: 'accept', content: {} } } });
  const cancel = (id: string) => {
    pending.delete(id);
    receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
  };
  return { ask, answer, cancel, pending, notified, finish: response.resolve };
}

it('carries the next server request to a client that answers one that was cancelled', async () => {
  const { ask, answer, cancel, notified, finish } = await setScene();
  cancel('first');
  ask('second');
  const { result } = await answer('first');
  expect([Object.keys(result.inputRequests), notified]).toEqual([['second'], []]);
  const answered = answer('second');
  await expect.poll(() => notified).toMatchObject([{ id: 'second', result: { action: 'accept' } }]);
  finish({ jsonrpc: '2.0', id: 1, result: { content: [] } });
  expect(await answered).toMatchObject({ id: 1, result: { content: [] } });
});

it('goes on when a server request was cancelled while its answer was on its way', async () => {
  const { answer, pending, notified, finish } = await setScene();
  pending.delete('first');
  const answered = answer('first');
  finish({ jsonrpc: '2.0', id: 1, result: { content: [] } });
  expect(await answered).toMatchObject({ id: 1, result: { content: [] } });
  expect(notified).toEqual([]);
});
