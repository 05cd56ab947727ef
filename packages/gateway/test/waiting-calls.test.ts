/** Calls that wait for input of a stateless client, and the requests that carry them. */
import type { Message, RequestMessage } from '@portcullis/http';
import type { Principal } from '@portcullis/resource-server';
import { expect, it } from 'vitest';
import type { BackendSession, Call } from '../src/backends/backend.ts';
import { createWaitingCalls } from '../src/backends/clients/waiting-calls.ts';

const owner = { issuer: 'i', clientId: 'c', subject: 'alice', resource: 'r', backend: 'b' };

/** A backend that has one call, for which it asks its user. */
function setUp() {
  const sent: Message[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<Message>();
  let receive: Call['receive'];
  const session = {
    request(message: RequestMessage, call: Call) {
      sent.push(message);
      receive = call.receive;
      call.signal.addEventListener('abort', () => reject(new Error('cancelled')));
      receive?.({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: { message: 'Name?' } });
      return promise;
    },
    notify: async (message: Message) => void sent.push(message),
  } as unknown as BackendSession;
  const calls = createWaitingCalls();
  const exchange = (more: object, client = new AbortController()) =>
    calls.exchange({
      ...{ owner, network: '', principal: {} as Principal, session, signal: client.signal },
      message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask', ...more } },
      capabilities: { elicitation: {} },
      send: () => undefined,
    });
  const result: Message = { jsonrpc: '2.0', id: 1, result: { content: [] } };
  async function ask(): Promise<object> {
    const asked = await exchange({});
    const { requestState } = Object(asked?.result) as { readonly requestState: string };
    return { requestState, inputResponses: { q: { action: 'accept', content: {} } } };
  }
  return { sent, exchange, ask, respond: () => resolve(result), result };
}

it('a call whose retry is repeated is continued by the newest request: the one before ends', async () => {
  const { sent, exchange, ask, respond, result } = setUp();
  const retry = await ask();
  const client = new AbortController();
  const first = exchange(retry, client);
  const second = exchange(retry);
  expect(await first).toMatchObject({ error: { code: -32_602 } });
  // Its connection is closed only now.
  client.abort();
  respond();
  expect(await second).toEqual(result);
  expect(sent.map(({ method, id }) => method ?? id)).toEqual(['tools/call', 'q']);
});

it('a call whose retry is repeated is cancelled with the newest request', async () => {
  const { exchange, ask } = setUp();
  const retry = await ask();
  const client = new AbortController();
  const requests = [exchange(retry), exchange(retry, client)];
  await requests[0];
  client.abort();
  expect(await requests[1]).toBeNull();
  expect(await exchange(retry)).toMatchObject({ error: { code: -32_602 } });
});

it('a request whose client has disappeared starts no call, and continues none', async () => {
  const { sent, exchange, ask, respond, result } = setUp();
  const gone = new AbortController();
  gone.abort();
  expect(await exchange({}, gone)).toBeNull();
  expect(sent).toEqual([]);
  const retry = await ask();
  expect(await exchange(retry, gone)).toBeNull();
  expect(sent).toHaveLength(1);
  const continued = exchange(retry);
  respond();
  expect(await continued).toEqual(result);
});
