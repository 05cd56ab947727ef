/** `portcullis protect` tries what is behind it before it is ready: a command before it serves anything. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOptionReport, readOption } from '@portcullis/authorization-server/options';
import { defineServers, serversSchema } from '@portcullis/gateway/options';
import { expect, it, onTestFinished, vi } from 'vitest';
import { reservePort } from '../../../tests/support/ports.ts';
import { startCommand } from '../../../tests/support/protect.ts';
import { requireCommands, tryUrls } from '../src/server/backend-check.ts';

async function check(backend: object, complaints: string[] = []): Promise<readonly string[]> {
  const report = createOptionReport();
  const options = readOption(
    serversSchema(),
    [{ path: '/mcp', name: 'Files', backend }],
    ['servers'],
    report,
  );
  const servers = defineServers(options, { publicUrl: 'http://127.0.0.1', folder: '/' }, report);
  const complain = (line: string) => complaints.push(line);
  await requireCommands(servers, complain);
  await tryUrls(servers, complain);
  return complaints;
}

/** Initializes, and lists no tools. */
const SERVER = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = method === 'initialize' ? { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'a', version: '1' } } : { tools: [] };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
})`;

it.each([
  ['is not found', ['no-such-command'], /^no-such-command: .*ENOENT/],
  [
    'ends, with the last line on its standard error',
    [process.execPath, '-e', 'console.error("first"); console.error("CERT_UNTRUSTED"); process.exit(3)'],
    /ended \(exit code 3\)\. Its last words on standard error: CERT_UNTRUSTED/,
  ],
])('refuses a command that %s', async (_what, command, message) => {
  await expect(check({ command })).rejects.toThrow(message);
});

it('accepts a command that starts and initializes', async () => {
  expect(await check({ command: [process.execPath, '-e', SERVER] })).toEqual([]);
});

it('says that a command is still starting when it takes long, as a download by npx does', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const downloaded = join(folder, 'downloaded');
  const slow = `const timer = setInterval(() => {
    if (!require('node:fs').existsSync(${JSON.stringify(downloaded)})) return;
    clearInterval(timer);
    ${SERVER}
  }, 20)`;
  // Its import takes real time.
  await import('@portcullis/gateway');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const complaints: string[] = [];
  const checking = check({ command: [process.execPath, '-e', slow] }, complaints);
  await vi.advanceTimersByTimeAsync(4_900);
  expect(complaints).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(complaints).toEqual([
    expect.stringMatching(
      / does not answer yet: waiting up to 120 seconds \(still starting: npx may be downloading it\b/,
    ),
  ]);
  writeFileSync(downloaded, '');
  await checking;
  expect(complaints).toHaveLength(1);
});

it('warns of a URL that does not answer, and goes on: it may be started later', async () => {
  expect(await check({ url: 'http://127.0.0.1:1/mcp' })).toEqual([
    expect.stringContaining('does not answer yet'),
    expect.stringMatching(/cannot be reached .*[^.]\. Calls get 503 until it answers\.$/),
  ]);
});

it('waits for a URL that does not answer yet, and warns of an answer that is not MCP', async () => {
  const reserved = createServer();
  await new Promise<void>((resolve) => reserved.listen(0, '127.0.0.1', resolve));
  const { port } = reserved.address() as AddressInfo;
  await new Promise((resolve) => reserved.close(resolve));
  const url = `http://127.0.0.1:${port}/mcp`;
  const checking = check({ url });
  const server = createServer((_request, response) => void response.writeHead(404).end());
  setTimeout(() => server.listen(port, '127.0.0.1'), 200);
  onTestFinished(() => void server.close());
  expect(await checking).toEqual([
    `${url} does not answer yet: waiting up to 5 seconds`,
    expect.stringMatching(/HTTP status 404\. There is no MCP server at this address\.$/),
  ]);
});

it('says of a URL without the path of its MCP server that the path is often /mcp', async () => {
  const server = createServer((_request, response) => void response.writeHead(404).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  expect(await check({ url: `http://127.0.0.1:${port}/` })).toEqual([
    expect.stringMatching(
      / 404\. There is no MCP server at this address: check the path, which is often \/mcp\.$/,
    ),
  ]);
});

it('serves while a URL is tried, and is ready afterwards', async () => {
  const port = await reservePort();
  const metadata = `http://127.0.0.1:${port}/.well-known/oauth-authorization-server`;
  const statuses: number[] = [];
  const server = createServer(async (_request, response) => {
    statuses.push((await fetch(metadata)).status);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const running = await startCommand(['protect', url], { PORTCULLIS_PORT: String(port) });
  onTestFinished(async () => void (await running.stop()));
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(running.output()).toMatch(/404[\s\S]*\nready /);
});
