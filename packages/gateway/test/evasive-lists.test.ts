/** Lists that a backend writes so that the filter reads something else than clients do. */
import { afterEach, describe, expect, it } from 'vitest';
import { startBackend } from './support/backend.ts';
import { startGateway } from './support/gateway.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const toolOf = (name: string, more = '') => `{"name":"${name}","inputSchema":{"type":"object"}${more}}`;
const listOf = (tools: string, more = '') => `{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools}]${more}}}`;
const HIDDEN = toolOf('hidden');

/** What a client gets as the list of a backend that writes this. */
async function listTools(written: string | Buffer, isStream: boolean) {
  const bytes = Buffer.from(written);
  const backend = await startBackend((_received, response) => {
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? Buffer.concat([Buffer.from('data: '), bytes, Buffer.from('\n\n')]) : bytes);
  });
  const gateway = await startGateway([
    { path: '/mcp', name: 'Files', backend: { url: backend.url }, tools: { hidden: false, '*': [] } },
  ]);
  open.push(backend, gateway);
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const response = await gateway.send('alice', { message });
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
    ['in a batch in a batch', `[[${listOf(HIDDEN)}]]`],
  ])('is not passed on when it is %s', async (_what, written) => {
    const { status, text } = await listTools(written, isStream);
    expect(text).not.toContain('hidden');
    if (isStream) expect(text).toBe('broken off');
    else
      expect([status, text]).toEqual([
        502,
        expect.stringContaining('A response of Files cannot be filtered'),
      ]);
  });

  it.each([
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
    ['a byte order mark', `\ufeff${listOf(toolOf('shown'))}`],
    ['white space', ` \n${listOf(toolOf('shown'))} `.replaceAll('\n', ' ')],
  ])('passes as it is with %s', async (_what, written) => {
    const { status, text } = await listTools(written, isStream);
    expect(status).toBe(200);
    expect(text).toContain(written.replace('\ufeff', ''));
  });
});
