/** Who may share the results that clients of revision 2026-07-28 cache. */
import { afterEach, describe, expect, it } from 'vitest';
import { EditedBody } from '../src/http/edited-body.ts';
import { json, startBackend } from './support/backend.ts';
import { lastMessage, sendStateless } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const PUBLIC = { ttlMs: 3_600_000, cacheScope: 'public' };
const tools = ['shown', 'hidden'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const RESULTS: Readonly<Record<string, object>> = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: {}, ...PUBLIC },
  'tools/list': { tools, ...PUBLIC },
  'prompts/list': { prompts: [{ name: 'p' }], ...PUBLIC },
  'resources/list': { resources: [{ uri: 'r://a', name: 'a' }], ...PUBLIC },
  'resources/templates/list': { resourceTemplates: [], ...PUBLIC },
  'resources/read': { contents: [{ uri: 'r://a', text: '{"cacheScope":"public"}' }], ...PUBLIC },
  'tools/call': { content: [], structuredContent: PUBLIC },
};

/** A backend of revision 2026-07-28 at `/mcp`, also merged at `/all`. */
async function start({ isStream = false, results = RESULTS, written = null as string | null } = {}) {
  const backend = await startBackend(({ body }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    const message = { jsonrpc: '2.0', id, result: { resultType: 'complete', ...results[method] } };
    const isWritten = written !== null && method !== 'server/discover';
    if (!isStream && !isWritten) return json(response, message);
    const text = isWritten ? written.replace('ID', String(id)) : JSON.stringify(message);
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? `data: ${text}\n\n` : text);
  });
  const gateway = await startGateway([
    {
      ...{ path: '/mcp', name: 'Files', backend: { url: backend.url }, limits: { frame: 64 * 1024 } },
      tools: { hidden: false, shown: { public: true } },
    },
    { path: '/all', name: 'All', merges: { m: '/mcp' } },
  ]);
  closing.push(backend.close, gateway.close);
  return {
    result: async (method: string, params = {}, path = '/mcp', user: string | null = 'alice') => {
      const response = await sendStateless(gateway, user as string, method, params, path);
      return (await lastMessage(response))['result'];
    },
    text: async (method: string, params = {}) =>
      (await sendStateless(gateway, 'alice', method, params)).text().catch(() => 'broken off'),
  };
}

const CACHED = Object.keys(RESULTS).filter((method) => method !== 'tools/call');

describe.each([
  ['a document', false],
  ['an event', true],
])('a public result in %s', (_form, isStream) => {
  it.each(CACHED)('of %s is private to its user, and as fresh as the backend says', async (method) => {
    const { result } = await start({ isStream });
    expect(await result(method, { uri: 'r://a' })).toMatchObject({ ttlMs: 3_600_000, cacheScope: 'private' });
  });

  it('is private also without a token, where its list is another one than with a token', async () => {
    const { result } = await start({ isStream });
    expect(await result('tools/list', {}, '/mcp', null)).toMatchObject({
      tools: [{ name: 'shown' }],
      cacheScope: 'private',
    });
  });

  it('keeps its content as it is', async () => {
    const { result } = await start({ isStream });
    const read = await result('resources/read', { uri: 'r://a' });
    expect(read).toEqual({ resultType: 'complete', ...RESULTS['resources/read'], cacheScope: 'private' });
    expect(await result('tools/call', { name: 'shown' })).toMatchObject(RESULTS['tools/call'] ?? {});
  });

  it.each([
    ['twice', '"cacheScope":"private","cacheScope":"public"'],
    ['disguised', '"cache\\u0053cope":"public"'],
  ])('is not passed on when its scope is there %s', async (_how, scope) => {
    const written = `{"jsonrpc":"2.0","id":ID,"result":{"contents":[],${scope}}}`;
    const { text } = await start({ isStream, written });
    expect(await text('resources/read', { uri: 'r://a' })).not.toContain('public');
  });

  it.each(['cachescope', 'CacheScope'])(
    'loses %s, which is a scope to clients that ignore case',
    async (name) => {
      const { result } = await start({
        isStream,
        results: { ...RESULTS, 'resources/read': { [name]: 'public' } },
      });
      expect(await result('resources/read', { uri: 'r://a' })).toEqual({ resultType: 'complete' });
    },
  );

  it('is private also where it is too long to be edited', async () => {
    const contents = [{ uri: 'r://a', text: 'x'.repeat(300_000) }];
    for (const read of [
      { ...PUBLIC, contents },
      { contents, ...PUBLIC },
    ]) {
      const { result } = await start({ isStream, results: { ...RESULTS, 'resources/read': read } });
      const expected = { resultType: 'complete', contents, ttlMs: 3_600_000, cacheScope: 'private' };
      expect(await result('resources/read', { uri: 'r://a' })).toEqual(expected);
    }
  });
});

describe('a public result through a merged server', () => {
  it.each(['tools/list', 'resources/read', 'server/discover'])('of %s is private', async (method) => {
    const { result } = await start();
    expect(await result(method, { uri: 'm+r://a' }, '/all', 'alice_inspector_mcp.read')).toMatchObject({
      cacheScope: 'private',
    });
  });
});

describe('the scope of a long message', () => {
  const before = (form: string) => `{"jsonrpc":"2.0","id":1,"result":{"a":"${'x'.repeat(40)}",${form},"b":"`;
  const after = `${'y'.repeat(40)}"}}`;

  /** What a client gets of a response that arrives in pieces. */
  function passed(text: string, size: number, isStream: boolean, mayBeCached = true): string {
    let received = '';
    const body = new EditedBody({
      ...{ name: 'Files', isStream, limit: 10 },
      edit: { apply: (message) => message, mayPassLong: () => true, mayBeCached },
      expected: () => ({ ids: new Set(['1']), isBatch: false }),
      listener: {
        report: (event) => (received += event.kind === 'bytes' ? event.bytes.toString() : ''),
        pause: () => undefined,
        resume: () => undefined,
        sealEventId: (id) => id,
        toolsChanged: () => undefined,
      },
    });
    const written = isStream ? `id: 7\ndata: ${text}\n\n: end\n\n` : text;
    for (let at = 0; at < written.length; at += size) body.write(Buffer.from(written.slice(at, at + size)));
    body.end();
    return received;
  }

  it.each([
    ['a document', false],
    ['an event', true],
  ])('is private in %s wherever its bytes are divided', (_form, isStream) => {
    const frame = (text: string) => (isStream ? `id: 7\ndata: ${text}\n\n: end\n\n` : text);
    const escaped = [...'public'].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('');
    for (const value of ['public', escaped])
      for (let size = 20; size <= 100; size += 1) {
        const text = before(`"cacheScope" : "${value}"`) + after;
        expect(passed(text, size, isStream)).toBe(frame(before('"cacheScope" : "private"') + after));
      }
  });

  it('is not searched where the result is not cached, or is private already', () => {
    const text = before('"cacheScope":"public"') + after;
    expect(passed(text, 30, false, false)).toBe(text);
    const own = before('"cacheScope":"private"') + after;
    expect(passed(own, 30, false)).toBe(own);
  });
});
