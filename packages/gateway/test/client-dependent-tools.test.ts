import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { json, startBackend } from './support/backend.ts';
import { startSession } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const NEEDS = ['sampling', 'roots', 'elicitation'] as const;

/** Tools of a client: one for each capability, and a definition that depends on the revision. */
function toolsFor(capabilities: object, revision: string): readonly object[] {
  const inputSchema = { type: 'object' };
  const optional = NEEDS.filter((name) => name in capabilities).map((name) => ({
    name: `use_${name}`,
    inputSchema,
  }));
  const description = revision < '2025-11-25' ? 'Repeats, in the old way' : 'Repeats';
  return [{ name: 'echo', description, inputSchema }, ...optional];
}

/** A server on standard input and output, as the argument of `node -e`. With an argument, a second one at a time refuses to start. */
const OVER_STDIO = `
if (process.argv[1]) try { require('node:fs').writeFileSync(process.argv[1], '', { flag: 'wx' }); } catch { process.exit(1); }
const NEEDS = ${JSON.stringify(NEEDS)};
${toolsFor.toString()}
let client = {};
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (method === 'initialize') client = params;
  const { capabilities, protocolVersion } = client;
  if (method === 'initialize') send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
  else if (method === 'tools/list') send({ id, result: { tools: toolsFor(capabilities, protocolVersion) } });
  else send({ id, result: { content: [{ type: 'text', text: 'called ' + params.name }] } });
});
`;

async function startOverHttp(): Promise<object> {
  const clients = new Map<string, { readonly capabilities: object; readonly protocolVersion: string }>();
  const backend = await startBackend(({ method: verb, body, headers }, response) => {
    if (verb !== 'POST') return void response.writeHead(verb === 'DELETE' ? 200 : 405).end();
    const { id, method, params } = JSON.parse(body || '{}');
    if (id === undefined) return void response.writeHead(202).end();
    const respond = (result: object) => json(response, { jsonrpc: '2.0', id, result });
    if (method === 'initialize') {
      const session = randomUUID();
      clients.set(session, params);
      response.setHeader('mcp-session-id', session);
      const { protocolVersion } = params;
      return respond({
        protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      });
    }
    const client = clients.get(String(headers['mcp-session-id']));
    if (client === undefined) return void response.writeHead(404).end();
    if (method === 'tools/list')
      return respond({ tools: toolsFor(client.capabilities, client.protocolVersion) });
    return respond({ content: [{ type: 'text', text: `called ${params.name}` }] });
  });
  onTestFinished(() => backend.close());
  return { url: backend.url };
}

const overStdio = { command: [process.execPath, '-e', OVER_STDIO] };

it('a process of which a user can run only one lists its tools, as its client sees them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-lock-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const store = await openEmptyStore();
  onTestFinished(() => store.close());
  const command = [process.execPath, '-e', OVER_STDIO, join(folder, 'lock')] as const;
  const gateway = await startGateway([{ path: '/mcp', name: 'Tools', backend: { command } }], {
    pins: store,
  });
  onTestFinished(() => gateway.close());
  const client = await startSession(gateway, 'alice', '/mcp', { capabilities: { sampling: {} } });
  const text = await (await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).text();
  expect(text).toContain('use_sampling');
  expect(await client.call('use_sampling')).toBe('called use_sampling');
});

describe.each([
  ['HTTP', startOverHttp],
  ['stdio', async () => overStdio],
])('tools that depend on the client, of a backend over %s', (_transport, start) => {
  async function setUp(options: object = {}) {
    const store = await openEmptyStore();
    onTestFinished(() => store.close());
    const written = { path: '/mcp', name: 'Tools', backend: await start(), ...options };
    const gateway = await startGateway([written], { pins: store });
    onTestFinished(() => gateway.close());
    return { gateway, store };
  }

  async function connect(
    { gateway }: Awaited<ReturnType<typeof setUp>>,
    user: string | null,
    capabilities: object,
    protocolVersion = '2025-11-25',
  ) {
    const client = await startSession(gateway, user, '/mcp', { capabilities, protocolVersion });
    const list = async () => {
      const response = await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      const text = await response.text();
      const { result } = JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text);
      return result.tools.map(({ name }: { readonly name: string }) => name);
    };
    return { ...client, list };
  }

  it('are those of its own list, whichever client came first', async () => {
    const context = await setUp();
    const [plain, sampling, all] = [
      await connect(context, 'alice', {}),
      await connect(context, 'bob', { sampling: {} }),
      await connect(context, 'alice', { sampling: {}, roots: {}, elicitation: {} }),
    ];
    expect(await plain.list()).toEqual(['echo']);
    expect(await sampling.list()).toEqual(['echo', 'use_sampling']);
    expect(await all.list()).toEqual(['echo', 'use_sampling', 'use_roots', 'use_elicitation']);
    expect(await plain.list()).toEqual(['echo']);
    for (const name of await all.list()) expect(await all.call(name)).toBe(`called ${name}`);
    expect(await sampling.call('use_sampling')).toBe('called use_sampling');
    expect(context.gateway.events.filter(({ type }) => type === 'tool.changed')).toEqual([]);
    expect(await context.store.listPendingPins(10)).toEqual([]);
  });

  it('are read with every capability for a first caller without a token', async () => {
    const context = await setUp({ tools: { echo: { public: true } } });
    expect(await (await connect(context, null, {})).list()).toEqual(['echo']);
    const sampling = await connect(context, 'bob', { sampling: {} });
    expect(await sampling.list()).toEqual(['echo', 'use_sampling']);
    expect(await sampling.call('use_sampling')).toBe('called use_sampling');
    expect(await context.store.listPendingPins(10)).toEqual([]);
  });

  it('have the definition of the revision that the client speaks', async () => {
    const context = await setUp();
    const older = await connect(context, 'alice', {}, '2025-06-18');
    const newer = await connect(context, 'bob', {});
    expect(await older.list()).toEqual(['echo']);
    expect(await newer.list()).toEqual(['echo']);
    expect(await older.call('echo')).toBe('called echo');
    expect(await context.store.listPendingPins(10)).toEqual([]);
  });

  it('are all accepted with automatic review', async () => {
    const context = await setUp({ review: 'auto' });
    const client = await connect(context, 'alice', { roots: {} });
    expect(await client.list()).toEqual(['echo', 'use_roots']);
    expect(await client.call('use_roots')).toBe('called use_roots');
  });
});
