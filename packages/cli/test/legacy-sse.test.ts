/** The client commands with a server that speaks only HTTP+SSE, the transport of revision 2024-11-05. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, expect, it } from 'vitest';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import type { Report } from '../src/doctor/report.ts';
import { type Computer, createComputer, followRedirects, main } from './support/command.ts';
import { bridgeTransport, startBridge } from './support/in-process-bridge.ts';
import { type SseServer, type SseServerSettings, startSseServer } from './support/sse-server.ts';

const opened: (SseServer | Computer)[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

async function start(settings?: SseServerSettings): Promise<SseServer> {
  const server = await startSseServer(settings);
  opened.push(server);
  return server;
}

function newComputer(): Computer {
  const computer = createComputer(followRedirects);
  opened.push(computer);
  return computer;
}

it('call and tools work with an HTTP+SSE server, whose token goes to the stream and the message endpoint', async () => {
  const server = await start();
  const computer = newComputer();
  const { output, errors, code } = await computer.run(['call', server.url, 'echo']);
  expect([output, code], errors).toEqual(['heard\n', 0]);
  expect((await computer.run(['tools', server.url])).output).toContain('echo');
  const posts = server.arrived.filter(({ path }) => path === '/messages');
  expect(posts.length).toBeGreaterThan(3);
  expect(posts.every(({ authorization }) => authorization?.startsWith('Bearer at-'))).toBe(true);
  expect(computer.opened()).toHaveLength(1);
});

it('connect bridges an HTTP+SSE server to a stdio host', async () => {
  const server = await start();
  const computer = newComputer();
  const client = new Client({ name: 'host', version: '1' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...sourceFlags(), main, 'connect', server.url],
      env: { ...computer.environment },
      cwd: computer.folder,
      stderr: 'pipe',
    }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo']);
  expect(await client.callTool({ name: 'echo' })).toMatchObject({ content: [{ text: 'heard' }] });
  await client.close();
});

it('doctor examines an HTTP+SSE server to the call', async () => {
  const server = await start();
  const { output, code } = await newComputer().run(['doctor', server.url, '--sign-in', '--json']);
  const report: Report = JSON.parse(output);
  expect(report.steps.find(({ name }) => name === 'call')).toMatchObject({
    state: 'ok',
    summary: expect.stringContaining('HTTP+SSE'),
  });
  expect(report.findings.filter(({ step }) => step === 'call' || step === 'request')).toMatchObject([
    { severity: 'warning', requirement: 'S-SCOPE-20' },
    { severity: 'warning', requirement: 'S-BEAR-64' },
  ]);
  expect(code).toBe(5);
});

it('a bridge starts a new session, unnoticed by the host, after the stream has ended', async () => {
  const server = await start({ open: true });
  const client = new Client({ name: 'host', version: '1' });
  await client.connect(bridgeTransport(server.url));
  await client.listTools();
  server.restart();
  await expect.poll(() => client.listTools().then(({ tools }) => tools.length)).toBe(1);
  await client.close();
});

it.each(['https://other.example/messages', '//other.example/messages', 'http://user@127.0.0.1/messages'])(
  'sends nothing to the message endpoint %s, which is not on the origin of the server',
  async (endpoint) => {
    const server = await start({ open: true, endpoint });
    const bridge = startBridge(server.url);
    let output = '';
    bridge.output.on('data', (chunk) => (output += chunk));
    const params = {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    bridge.input.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    await bridge.ended;
    expect(JSON.parse(output)).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining('not on its own origin') },
    });
    expect(server.arrived.filter(({ path }) => path === '/messages')).toEqual([]);
  },
);

it('a server that refuses both transports is reported with the refusal of the first', async () => {
  const server = await start({ open: true });
  const { errors, code } = await newComputer().run(['tools', server.url.replace('/sse', '/nothing')]);
  expect(errors).toContain('status 404');
  expect(code).toBe(1);
});
