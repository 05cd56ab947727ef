/** Lists that a backend writes so that the filter reads something else than clients do. */
import { afterEach, describe, expect, it } from 'vitest';
import { startBackend } from './support/backend.ts';
import { callOf, INITIALIZE } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const toolOf = (name: string, more = '') => `{"name":"${name}","inputSchema":{"type":"object"}${more}}`;
const listOf = (tools: string, more = '') => `{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools}]${more}}}`;
const HIDDEN = toolOf('hidden');

const LIST = { message: { jsonrpc: '2.0', id: 1, method: 'tools/list' } };

/** What a client gets from a backend that writes this, by default as a list. */
async function listTools(
  written: string | Buffer,
  isStream: boolean,
  request: Parameters<TestGateway['send']>[1] = LIST,
) {
  const bytes = Buffer.from(written);
  const backend = await startBackend((_received, response) => {
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? Buffer.concat([Buffer.from('data: '), bytes, Buffer.from('\n\n')]) : bytes);
  });
  const gateway = await startGateway([
    {
      ...{ path: '/mcp', name: 'Files', backend: { url: backend.url } },
      ...{ tools: { hidden: false, '*': [] }, limits: { frame: 64 * 1024 } },
    },
  ]);
  open.push(backend, gateway);
  const response = await gateway.send('alice', request);
  const text = await response.text().catch(() => 'broken off');
  return { status: response.status, text: text.replaceAll('\0', '') };
}

describe.each([
  ['a document', false],
  ['an event', true],
])('a list as %s', (_form, isStream) => {
  it.each([
    ['no JSON, but JSON to lenient parsers', listOf(HIDDEN, ',"ttl":NaN')],
    ['JSON with a comment', listOf(`/**/${HIDDEN}`)],
    ['followed by something', `${listOf(HIDDEN)}x`],
    ['written in UTF-16', Buffer.from(listOf(HIDDEN), 'utf16le')],
    ['written in UTF-16 with a mark', Buffer.from(`\ufeff${listOf(HIDDEN)}`, 'utf16le')],
    ['there twice', `${listOf(HIDDEN).slice(0, -2)},"tools":[]}}`],
    ['in a result that is there twice', `${listOf(HIDDEN).slice(0, -1)},"result":{"tools":[]}}`],
    ['in a result in other case', listOf(HIDDEN).replace('result', 'Result')],
    ['in a result in other letters', listOf(HIDDEN).replace('result', 're\u017fult')],
    ['in a result in other, escaped letters', listOf(HIDDEN).replace('result', 're\\u017fult')],
    ['with a tool that has two names', listOf(toolOf('hidden', ',"name":"shown"'))],
    ['an object', listOf('').replace('[]', `{"0":${HIDDEN}}`)],
    ['in a batch in a batch', `[[${listOf(HIDDEN)}]]`],
  ])('is not passed on when it is %s', async (_what, written) => {
    const { status, text } = await listTools(written, isStream);
    expect(text).not.toContain('hidden');
    if (isStream) expect(text).toBe('broken off');
    else
      expect([status, text]).toEqual([502, expect.stringContaining('A response of Files is not passed on')]);
  });

  it.each([
    ['a tool that is not allowed, beside a line separator', listOf(toolOf('hidden', ',"a":"\u2028"'))],
    ['a tool that is not allowed, beside a paragraph separator', listOf(toolOf('hidden', ',"a":"\u2029"'))],
    ['a list in other case', listOf('', `,"Tools":[${HIDDEN}]`)],
    ['a tool with a second name in other case', listOf(toolOf('shown', ',"Name":"hidden"'))],
    ['a tool whose description is written in other case', listOf(toolOf('shown', ',"Description":"hidden"'))],
  ])('loses %s', async (_what, written) => {
    const { status, text } = await listTools(written, isStream);
    expect([status, text]).toEqual([200, expect.stringContaining('"tools":[]')]);
    expect(text).not.toContain('hidden');
  });

  it.each([
    ['a tool that is allowed', listOf(toolOf('shown', ',"meta":{"Name":1,"result":["é"]}'))],
    ['a tool that is allowed, beside a line separator', listOf(toolOf('shown', ',"a":"\u2028"'))],
    ['a byte order mark', `\ufeff${listOf(toolOf('shown'))}`],
    ['white space', ` \n${listOf(toolOf('shown'))} `.replaceAll('\n', ' ')],
  ])('passes as it is with %s', async (_what, written) => {
    const { status, text } = await listTools(written, isStream);
    expect(status).toBe(200);
    expect(text).toContain(written.replace('\ufeff', ''));
  });
});

const STREAMS = [
  ['a call', { message: { ...callOf('shown'), id: 1 } }],
  ['initialize', { message: { ...INITIALIZE, id: 1 } }],
] as const;

describe.each([...STREAMS, ['nothing', { method: 'GET' }] as const])(
  'a list on the stream that answers %s',
  (_what, request) => {
    const LONG = 'x'.repeat(300_000);

    it.each([
      ['behind a long member', `{"jsonrpc":"2.0","id":1,"result":{"a":"${LONG}","tools":[${HIDDEN}]}}`],
      ['in other case', `{"jsonrpc":"2.0","id":1,"result":{"a":"${LONG}","Tools":[${HIDDEN}]}}`],
      [
        'in a second result',
        `{"jsonrpc":"2.0","id":1,"result":{"a":"${LONG}"},"result":{"tools":[${HIDDEN}]}}`,
      ],
      [
        'in a result in other case',
        `{"jsonrpc":"2.0","id":1,"result":{"a":"${LONG}"},"Result":{"tools":[${HIDDEN}]}}`,
      ],
      ['in a batch', `[{"jsonrpc":"2.0","id":1,"result":{"a":"${LONG}"}},${listOf(HIDDEN)}]`],
      [
        'in a notification',
        `{"method":"notifications/a","params":"${LONG}","id":1,"result":{"tools":[${HIDDEN}]}}`,
      ],
      ['in no JSON', `{"jsonrpc":"2.0","id":1,"result":{"a":[NaN,"${LONG}"],"tools":[${HIDDEN}]}}`],
      ['in a batch without end', `[${'{},'.repeat(100_000)}${listOf(HIDDEN)}]`],
      [
        'in a question with its method last',
        `{"id":1,"params":{"a":"${LONG}"},"method":"sampling/createMessage"}`,
      ],
      ['divided by a line', `{"jsonrpc":"2.0","id":1,"result":{"a":"${LONG}",\ndata:"tools":[${HIDDEN}]}}`],
      [
        'in data that follows a field with data in its name',
        `\ndatabase: {}\ndata: ${listOf(`"${LONG}",${HIDDEN}`)}`,
      ],
    ])('is not passed on as part of a long message: %s', async (_how, written) => {
      const { text } = await listTools(written, true, request);
      expect(text).toBe('broken off');
    });

    it('does not keep a long message without a list from passing', async () => {
      const written = `{"jsonrpc":"2.0","method":"notifications/a","params":{"a":"${LONG}","result":{"tools":[]}}}`;
      const { text } = await listTools(`${written}\nid: 7`, true, request);
      expect(text).toContain(written);
    });
  },
);

it.each(STREAMS)('a list in the response to %s is filtered', async (_what, request) => {
  const { status, text } = await listTools(listOf(`${toolOf('shown')},${HIDDEN}`), true, request);
  expect([status, text]).toEqual([200, expect.stringContaining('shown')]);
  expect(text).not.toContain('hidden');
});

it('a list in a long document that answers a call with a task is not passed on', async () => {
  const message = callOf('shown');
  const asTask = { message: { ...message, id: 1, params: { ...(message['params'] as object), task: {} } } };
  const LONG = 'x'.repeat(300_000);
  const written = `{"jsonrpc":"2.0","id":1,"result":{"a":"${LONG}","tools":[${HIDDEN}]}}`;
  const { text } = await listTools(written, false, asTask);
  expect(text).not.toContain('hidden');
  const plain = written.replace('tools', 'other');
  expect((await listTools(plain, false, asTask)).text).toBe(plain);
});
