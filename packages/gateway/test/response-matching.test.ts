/** Responses that a backend sends to another request than it was asked: clients take a response by its id. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { joinEventId, NO_RESPONSES, splitEventId } from '../src/messages/check-responses.ts';
import { startBackend } from './support/backend.ts';
import { callOf } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';

const HOSTILE = '"result":{"tools":[{"name":"read","description":"hostile","inputSchema":{}}]}';
const LIST = `{"jsonrpc":"2.0","id":1,${HOSTILE}}`;
const OWN = '{"jsonrpc":"2.0","id":2,"result":{}}';
const CALL = { ...callOf('read'), id: 2 };

async function behind(
  respond: (response: ServerResponse, lastEventId: unknown) => void,
  limits: object = {},
): Promise<TestGateway> {
  const backend = await startBackend(({ headers }, response) => respond(response, headers['last-event-id']));
  onTestFinished(() => backend.close());
  const gateway = await startGateway([
    { path: '/mcp', name: 'Files', backend: { url: backend.url }, limits },
  ]);
  onTestFinished(() => gateway.close());
  return gateway;
}

const respondWith = (type: string, body: string) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': type }).end(body);
const eventOf = (...messages: readonly string[]) => messages.map((one) => `data: ${one}\n\n`).join('');

const BAD = [
  ['the response to another request', LIST],
  ['its response under an id of another type', OWN.replace('2,', '"2",')],
  ['a response with another id in other case', OWN.replace('"result"', '"Id":1,"result"')],
  ['a response with two ids', OWN.replace('"result"', '"id":1,"result"')],
  ['a response that is a request as well', OWN.replace('"result"', '"method":"ping","result"')],
] as const;

describe('the document that answers a request', () => {
  it.each<readonly [string, string]>([
    ...BAD,
    ['a batch of its response and another', `[${OWN},${LIST}]`],
    ['a batch of its response', `[${OWN}]`],
    ['a notification', '{"jsonrpc":"2.0","method":"notifications/message","params":{}}'],
    ['a request of the server', '{"jsonrpc":"2.0","id":2,"method":"ping"}'],
    ['an error of no request', '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"hostile"}}'],
    ['no JSON', 'hostile'],
  ])('is a 502 when it is %s', async (_what, body) => {
    const gateway = await behind(respondWith('application/json', body));
    const response = await gateway.send('alice', { message: CALL });
    const text = await response.text();
    expect([response.status, JSON.parse(text).id]).toEqual([502, 2]);
    expect(text).toContain('A response of Files is not passed on');
    expect(text).not.toContain('hostile');
    await expect.poll(() => gateway.calls).toMatchObject([{ outcome: 'error', status: 502 }]);
  });

  it.each([
    ['a result', 2, OWN],
    ['an error', 2, '{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Unknown tool"}}'],
    ['a number in other digits', 2, OWN.replace('2,', '2.0,')],
    ['a text with escapes', 'ä"', OWN.replace('2,', '"\\u00e4\\"",')],
    ['content about other results', 2, OWN.replace('{}', `{"id":1,"content":[${LIST}]}`)],
  ])('passes with its length as %s', async (_what, id, body) => {
    const gateway = await behind(respondWith('application/json', body));
    const response = await gateway.send('alice', { message: { ...CALL, id } });
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(body)));
  });

  it('is never complete when it is long and answers another request', async () => {
    const long = `{"jsonrpc":"2.0","result":{"a":"${'x'.repeat(300_000)}"},"id":1}`;
    const gateway = await behind(respondWith('application/json', long), { frame: 64 * 1024 });
    const read = async (message: object) => (await gateway.send('alice', { message })).text();
    await expect(read(CALL)).rejects.toThrow();
    expect(await read({ ...CALL, id: 1 })).toBe(long);
  });
});

it('a batch is answered by responses to its requests, and no other', async () => {
  let body = `[{"jsonrpc":"2.0","id":3,"result":{}},${OWN}]`;
  const gateway = await behind((response) => respondWith('application/json', body)(response));
  const message = [CALL, { ...CALL, id: 3 }, { jsonrpc: '2.0', method: 'notifications/a' }];
  expect(await (await gateway.send('alice', { message })).text()).toBe(body);
  body = `[${OWN},${LIST}]`;
  expect((await gateway.send('alice', { message })).status).toBe(502);
});

it('a response to a notification is not passed on', async () => {
  const gateway = await behind(respondWith('application/json', LIST));
  const message = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const response = await gateway.send('alice', { message });
  expect([response.status, await response.text()]).toEqual([200, '']);
});

it.each([
  [{ ids: new Set(['"a"', '1']), isBatch: false }, ['"a"', '1']],
  [{ ids: new Set(['1']), isBatch: true }, []],
  [{ ids: new Set([`"${'x'.repeat(2000)}"`, '2']), isBatch: false }, ['2']],
])('the ID of an event retains what its stream answers: %o', (expected, ids) => {
  const { id, expected: found } = splitEventId(joinEventId(expected, 'e"7'));
  expect([id, [...found.ids]]).toEqual(['e"7', ids]);
});

it.each(['7', 'e_1', '[1]', '{}'])('the ID %s of an event of an earlier version retains nothing', (text) => {
  expect(splitEventId(text)).toEqual({ id: text, expected: NO_RESPONSES });
});

describe('an event stream', () => {
  const NOTE = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"result":1}}';

  it.each(BAD)('that answers a request breaks off at %s', async (_what, message) => {
    const gateway = await behind(respondWith('text/event-stream', eventOf(NOTE, message, OWN)));
    const response = await gateway.send('alice', { message: CALL });
    await expect(response.text()).rejects.toThrow();
    await expect.poll(() => gateway.calls).toMatchObject([{ outcome: 'error' }]);
  });

  it('that answers a request passes with notifications, requests of the server and the response', async () => {
    const ask = '{"jsonrpc":"2.0","method":"notifications/b","params":{"error":"x"}}';
    const gateway = await behind(respondWith('text/event-stream', eventOf(NOTE, ask, OWN)));
    const response = await gateway.send('alice', { message: CALL });
    expect(await response.text()).toBe(eventOf(NOTE, ask, OWN));
  });

  it('that answers nothing breaks off at a response', async () => {
    const gateway = await behind(respondWith('text/event-stream', eventOf(NOTE, OWN)));
    await expect((await gateway.send('alice', { method: 'GET' })).text()).rejects.toThrow();
  });

  it('that is resumed, also twice, passes the response to the request that began it, and no other', async () => {
    let resumed = eventOf(LIST);
    const gateway = await behind((response, lastEventId) =>
      respondWith(
        'text/event-stream',
        lastEventId === undefined ? 'id: a\ndata: \n\n' : `id: b\n${resumed}`,
      )(response),
    );
    const idIn = (text: string) => /^id: (.*)$/m.exec(text)?.[1] ?? '';
    const resume = async (id: string) => {
      const response = await gateway.send('alice', { method: 'GET', headers: { 'last-event-id': id } });
      return response.text();
    };
    const first = idIn(await (await gateway.send('alice', { message: CALL })).text());
    await expect(resume(first)).rejects.toThrow();
    resumed = eventOf(NOTE);
    const second = idIn(await resume(first));
    resumed = eventOf(OWN);
    expect(await resume(second)).toContain(OWN);
    const ofNothing = idIn(await (await gateway.send('alice', { method: 'GET' })).text());
    await expect(resume(ofNothing)).rejects.toThrow();
  });
});
