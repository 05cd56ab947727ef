/** Requests of a backend during a request of the gateway itself: they go to the client of the session, or are refused. */
import type { Message, MessageId } from '@portcullis/http';
import { expect, it } from 'vitest';
import { createMessageExchange } from '../src/backends/exchange/message-exchange.ts';
import { MAX_SERVER_REQUESTS } from '../src/limits.ts';

const ROOTS = { jsonrpc: '2.0', id: 'of the server', method: 'roots/list' } as const;
const INITIALIZED = { protocolVersion: '2025-11-25', capabilities: {} };

/** A session with a list of tools in flight that the gateway reads. */
function setScene() {
  const sent: Message[] = [];
  const exchange = createMessageExchange(
    { send: async (message) => void sent.push(message), close: async () => undefined },
    { name: 'Notes', timeouts: { first: 60_000, next: 60_000 }, isShared: false },
  );
  const session = exchange.join(INITIALIZED);
  const list = session.request(
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { signal: AbortSignal.timeout(200_000) },
  );
  const listId = sent[0]?.id as MessageId;
  const finish = () => {
    exchange.accept({ jsonrpc: '2.0', id: listId, result: { tools: [] } }, null);
    return list;
  };
  return { exchange, session, sent, listId, finish };
}

it.each(['on the connection of the list', 'on the one connection'])(
  'delivers a request of the server %s to the listeners of the session',
  async (where) => {
    const { exchange, session, sent, listId, finish } = setScene();
    const received: Message[] = [];
    session.listen((message) => received.push(message));
    exchange.accept(ROOTS, where === 'on the one connection' ? null : listId);
    expect(received).toEqual([{ ...ROOTS, id: expect.any(String) }]);
    await session.notify({ jsonrpc: '2.0', id: received[0]?.id ?? null, result: { roots: [] } });
    expect(sent.at(-1)).toEqual({ jsonrpc: '2.0', id: ROOTS.id, result: { roots: [] } });
    expect(await finish()).toMatchObject({ id: 1, result: { tools: [] } });
  },
);

it('refuses a request of the server at once if nothing would receive it', async () => {
  const { exchange, sent, finish } = setScene();
  exchange.accept(ROOTS, null);
  expect(sent.at(-1)).toMatchObject({ id: ROOTS.id, error: { code: -32601 } });
  await finish();
});

it('refuses the oldest request without a response whose call has ended, in place of all further ones', async () => {
  const { exchange, session, sent, finish } = setScene();
  await finish();
  const received: Message[] = [];
  const call = (signal: AbortSignal) => {
    const receive = (message: Message) => void received.push(message);
    session
      .request({ jsonrpc: '2.0', id: 2, method: 'tools/call' }, { signal, receive })
      .catch(() => undefined);
    return sent.at(-1)?.id as MessageId;
  };
  const ask = (id: string, relatedTo: MessageId) => exchange.accept({ ...ROOTS, id }, relatedTo);
  const controller = new AbortController();
  const [cancelled, open] = [call(controller.signal), call(AbortSignal.timeout(200_000))];
  ask('of the cancelled call', cancelled);
  for (let count = 1; count < MAX_SERVER_REQUESTS; count += 1) ask(`of the open call ${count}`, open);
  ask('one too many', open);
  expect(received).toHaveLength(MAX_SERVER_REQUESTS);
  expect(sent.at(-1)).toMatchObject({ id: 'one too many', error: { code: -32601 } });
  controller.abort();
  ask('after the cancellation', open);
  expect(received).toHaveLength(MAX_SERVER_REQUESTS + 1);
  expect(sent.at(-1)).toMatchObject({ id: 'of the cancelled call', error: { code: -32601 } });
  // All that are left are of an open call.
  ask('another one too many', open);
  expect(sent.at(-1)).toMatchObject({ id: 'another one too many', error: { code: -32601 } });
});
