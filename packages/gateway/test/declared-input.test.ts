/** What a backend asks for across revisions: a client gets only what it has declared. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { json, startBackend } from './support/backend.ts';
import { callOf, lastMessage, sendStateless, startSession } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const FORM = { method: 'elicitation/create', params: { message: 'Name?', requestedSchema: {} } };
const NAMED_FORM = { ...FORM, params: { ...FORM.params, mode: 'form' } };
const URL_MODE = { ...FORM, params: { mode: 'url', message: 'Open', url: 'https://a.example/' } };
const SAMPLING = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 9 } };
const WITH_TOOLS = { ...SAMPLING, params: { ...SAMPLING.params, tools: [] } };
const ROOTS = { method: 'roots/list' };

const EACH: readonly (readonly [capabilities: object, asked: object, isOffered: boolean])[] = [
  [{}, FORM, false],
  [{ elicitation: {} }, FORM, true],
  [{ elicitation: {} }, NAMED_FORM, true],
  [{ elicitation: {} }, URL_MODE, false],
  [{ elicitation: { form: {} } }, URL_MODE, false],
  [{ elicitation: { url: {} } }, URL_MODE, true],
  [{ elicitation: { url: {} } }, FORM, false],
  [{ elicitation: { form: {}, url: {} } }, FORM, true],
  [{}, SAMPLING, false],
  [{ sampling: {} }, SAMPLING, true],
  [{ sampling: {} }, WITH_TOOLS, false],
  [{ sampling: { tools: {} } }, WITH_TOOLS, true],
  [{ elicitation: {} }, ROOTS, false],
  [{ roots: {} }, ROOTS, true],
  [{ roots: {} }, { method: 'toString' }, false],
];

describe('what a server asks for reaches a client only as declared', () => {
  it.each(EACH)(
    'that is of 2026-07-28, at a server with sessions: %j and %j',
    async (capabilities, asked, isOffered) => {
      const gateway = await startGateway([{ path: '/mcp', backend: { command: TINY }, review: 'auto' }]);
      onTestFinished(() => gateway.close());
      const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
      const params = { name: 'request', arguments: asked, _meta };
      const response = await sendStateless(gateway, 'alice', 'tools/call', params);
      const result = Object((await lastMessage(response))['result']);
      // The server is refused, and responds to the call.
      if (isOffered) expect(Object.values(result.inputRequests)).toEqual([asked]);
      else expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'error -32601' }] });
    },
  );

  it.each(EACH)(
    'that has a session, at a server of 2026-07-28: %j and %j',
    async (capabilities, asked, isOffered) => {
      const backend = await startBackend(({ body }, response) => {
        const { id, method } = JSON.parse(body || '{}');
        if (method === 'initialize') return void response.writeHead(400).end();
        const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
        const input = { resultType: 'input_required', inputRequests: { first: asked } };
        json(response, { jsonrpc: '2.0', id, result: method === 'tools/call' ? input : discovered });
      });
      onTestFinished(() => backend.close());
      const gateway = await startGateway([{ path: '/mcp', backend: { url: backend.url }, review: 'auto' }]);
      onTestFinished(() => gateway.close());
      const { post } = await startSession(gateway, 'alice', '/mcp', { capabilities });
      const client = new AbortController();
      const message = await firstMessage(await post(callOf('request'), client.signal));
      client.abort();
      expect(message).toMatchObject(isOffered ? asked : { error: { code: -32_603 } });
    },
  );
});

/** A request in a stream, or the whole response. */
async function firstMessage({ body }: Response): Promise<unknown> {
  let text = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const [, found] = /^(?:data: )?(\{.+\})$/m.exec(text) ?? [];
    if (found !== undefined) return JSON.parse(found);
  }
  return null;
}
