/** `portcullis servers list` and `servers test`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from './support/in-process.ts';

const closing: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A backend that answers `initialize` and `tools/list`, or with a status. */
async function startBackend(status = 200): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body || '{}');
    if (status !== 200) return void response.writeHead(status).end('no');
    if (id === undefined) return void response.writeHead(202).end();
    const result =
      method === 'initialize'
        ? {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 's', version: '1' },
          }
        : { tools: [{ name: 'a', inputSchema: { type: 'object' } }] };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function run(servers: readonly object[], ...words: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-servers-'));
  closing.push(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'c.json'), JSON.stringify({ database: ':memory:', servers }));
  return runHere(['servers', ...words, '--config', 'c.json'], { environment: {}, folder });
}

describe('portcullis servers', () => {
  it('lists path, backend, credential and review of each server, and no secret', async () => {
    const credentials = { as: 'header', value: 'Bearer hidden-value' };
    const servers = [
      { path: '/wiki', name: 'Wiki', backend: { url: 'http://127.0.0.1:3000/mcp', credentials } },
      { path: '/all', merges: { wiki: '/wiki' } },
    ];
    const { code, output } = await run(servers, 'list');
    expect(code).toBe(0);
    expect(output).toContain('/wiki (Wiki): http://127.0.0.1:3000/mcp; credentials: header');
    expect(output).toContain('merges /wiki');
    expect(output + (await run(servers, 'list', '--json')).output).not.toContain('hidden-value');
  });

  it('without servers, each command names the configuration file and `status`', async () => {
    for (const word of ['list', 'test']) {
      const { code, output, errors } = await run([], word);
      expect([code, output]).toEqual([1, '']);
      expect(errors).toMatch(
        /--config; `portcullis status` shows running servers, also those of `portcullis protect`/,
      );
    }
  });

  it('test says how many tools a backend has', async () => {
    const { code, output } = await run([{ path: '/wiki', backend: { url: await startBackend() } }], 'test');
    expect([code, output]).toEqual([0, '/wiki: ok: 1 tools, revision 2025-11-25\n']);
  });

  it('test says of each failure whether backend, credential or protocol is the cause', async () => {
    const servers = [
      { path: '/down', backend: { url: 'http://127.0.0.1:1/mcp' } },
      { path: '/closed', backend: { url: await startBackend(401) } },
      { path: '/web', backend: { url: await startBackend(404) } },
      { path: '/gone', backend: { command: ['/nonexistent/program'] } },
    ];
    const { code, output } = await run(servers, 'test', '--json');
    expect(code).toBe(4);
    const parts = JSON.parse(output).map(({ path, part }: Record<string, string>) => [path, part]);
    expect(Object.fromEntries(parts)).toEqual({
      '/down': 'backend',
      '/closed': 'credential',
      '/web': 'protocol',
      '/gone': 'backend',
    });
  });

  it('names the servers when there is none at the path', async () => {
    const servers = [{ path: '/wiki', backend: { url: 'http://127.0.0.1:3000/mcp' } }];
    expect((await run(servers, 'test', '/none')).errors).toContain(
      'there is no server at /none; there are /wiki',
    );
    expect((await run([], 'list')).errors).toContain('servers');
  });
});
