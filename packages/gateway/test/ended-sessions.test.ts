/** Sessions of the gateway that a backend no longer has, as after its restart. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { json, startBackend } from './support/backend.ts';
import { lastMessage, sendStateless } from './support/client.ts';
import { startGateway } from './support/gateway.ts';

const ALICE = 'alice_inspector_one.read_one.write';

/** A backend whose sessions end when the test says so, and a merged server of it. */
async function setUp() {
  let started = 0;
  let generation = 0;
  const backend = await startBackend(({ body, headers }, response) => {
    const { id, method } = JSON.parse(body || '{}');
    const send = (result: unknown, more = {}) => json(response, { jsonrpc: '2.0', id, result }, more);
    const session = String(headers['mcp-session-id']);
    if (method === 'initialize') {
      started += 1;
      const serverInfo = { name: 'tiny', version: '1' };
      const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      send(result, { 'mcp-session-id': `${generation}-${started}` });
    } else if (method === 'server/discover')
      json(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } });
    else if (!session.startsWith(`${generation}-`)) response.writeHead(404).end();
    else if (method === 'tools/list')
      send({
        tools: [{ name: 'add', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
      });
    else response.writeHead(id === undefined ? 202 : 405).end();
  });
  onTestFinished(() => backend.close());
  const gateway = await startGateway([
    { path: '/one', name: 'One', backend: { url: backend.url } },
    { path: '/all', name: 'All', merges: { one: '/one' } },
  ]);
  onTestFinished(() => gateway.close());
  const restart = () => {
    generation += 1;
  };
  return { gateway, restart };
}

describe('a session that the backend no longer has', () => {
  it.each(['/one', '/all'])('is renewed for a list of a client of 2026-07-28: %s', async (path) => {
    const { gateway, restart } = await setUp();
    const list = async () => lastMessage(await sendStateless(gateway, ALICE, 'tools/list', {}, path));
    const listed = { result: { tools: [{ name: expect.stringContaining('add') }] } };
    expect(await list()).toMatchObject(listed);
    restart();
    expect(await list()).toMatchObject(listed);
  });
});
