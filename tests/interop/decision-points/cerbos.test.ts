/** Cerbos, a policy decision point of others, decides about calls and lists behind the gateway by AuthZEN. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDecisionPoint } from '@portcullis/gateway';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { json, startBackend, type TestBackend } from '../../../packages/gateway/test/support/backend.ts';
import { startGateway, type TestGateway } from '../../../packages/gateway/test/support/gateway.ts';
import { installPackages } from '../../support/install.ts';
import { reservePort } from '../../support/ports.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-cerbos-'));
const { modules, missing } = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
if (missing !== undefined) console.warn(`skipped: ${missing}`);

/** JSON is YAML. */
const POLICY = {
  apiVersion: 'api.cerbos.dev/v1',
  resourcePolicy: {
    resource: 'tool',
    version: 'default',
    rules: [
      {
        actions: ['tools/call'],
        effect: 'EFFECT_ALLOW',
        roles: ['user'],
        condition: match('R.attr.name == "search"'),
      },
      {
        actions: ['tools/call'],
        effect: 'EFFECT_ALLOW',
        roles: ['user'],
        condition: match('R.attr.name == "order" && P.attr.client == "desktop"'),
      },
    ],
  },
};

function match(expr: string) {
  return { match: { expr } };
}

const call = (name: string) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: {} },
});
describe.skipIf(missing !== undefined)('Cerbos behind the gateway', () => {
  let cerbos: ChildProcess;
  let backend: TestBackend;
  let gateway: TestGateway;

  beforeAll(async () => {
    mkdirSync(join(folder, 'policies'));
    writeFileSync(join(folder, 'policies', 'tool.json'), JSON.stringify(POLICY));
    const [http, grpc] = [await reservePort(), await reservePort()];
    const configuration = {
      server: { httpListenAddr: `127.0.0.1:${http}`, grpcListenAddr: `127.0.0.1:${grpc}` },
      storage: { driver: 'disk', disk: { directory: join(folder, 'policies') } },
      telemetry: { disabled: true },
    };
    writeFileSync(join(folder, 'cerbos.json'), JSON.stringify(configuration));
    const program = join(modules, '@cerbos/cerbos-linux-x64/cerbos-linux-x64');
    cerbos = spawn(program, ['server', `--config=${join(folder, 'cerbos.json')}`], { stdio: 'ignore' });
    const health = `http://127.0.0.1:${http}/_cerbos/health`;
    await vi.waitFor(async () => expect((await fetch(health)).ok).toBe(true), { timeout: 30_000 });
    const tools = ['search', 'order', 'wipe'].map((name) => ({ name, inputSchema: { type: 'object' } }));
    backend = await startBackend(({ body }, response) => {
      const { id, method } = JSON.parse(body);
      json(response, { jsonrpc: '2.0', id, result: method === 'tools/list' ? { tools } : { content: [] } });
    });
    const decisionPoint = createDecisionPoint({
      url: `http://127.0.0.1:${http}`,
      credentials: { as: 'none' },
      timeout: 5,
      cache: 0,
      arguments: false,
      subject: { 'cerbos.roles': ['user'] },
    });
    gateway = await startGateway(
      [
        {
          path: '/mcp',
          backend: { url: backend.url },
          review: 'auto',
          tools: { '*': ['mcp:read'] },
          scopes: { 'mcp:read': 'Read' },
        },
      ],
      { decisionPoint },
    );
  });

  afterAll(async () => {
    await gateway.close();
    await backend.close();
    cerbos.kill();
    rmSync(folder, { recursive: true });
  });

  const statusOf = async (user: string, name: string) =>
    (await gateway.send(user, { message: call(name) })).status;

  it('permits and refuses calls by its policies on the tool and the client', async () => {
    expect(await statusOf('alice_web_mcp.read', 'search')).toBe(200);
    expect(await statusOf('alice_web_mcp.read', 'order')).toBe(403);
    expect(await statusOf('alice_desktop_mcp.read', 'order')).toBe(200);
    expect(await statusOf('alice_desktop_mcp.read', 'wipe')).toBe(403);
  });

  it('decides about a whole list at once', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const listed = await gateway.send('alice_web_mcp.read', { message });
    expect(await listed.json()).toMatchObject({ result: { tools: [{ name: 'search' }] } });
  });
});
