/** The command as it is installed from a registry: by name, in an empty folder, with nothing but Node and npm. */
import { mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { machineClient, requestMachineToken } from '../support/machine-client.ts';
import { injectProject } from './inject.ts';
import { inMemory, runProgram, startProgram } from './start.ts';

const { project, missing } = injectProject();

const READY = /^ready (\S+)$/m;
const environment = { ...inMemory, PORTCULLIS_CLIENTS: JSON.stringify([machineClient]) };

/** An MCP server over stdio without authorization. */
const BACKEND = `
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const server = new McpServer({ name: 'Adder', version: '1.0.0' });
server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) => ({
  content: [{ type: 'text', text: String(a + b) }],
}));
await server.connect(new StdioServerTransport());
`;

/** Calls a tool with the client of the configuration. */
async function callTool(issuer: string, name: string, args: object): Promise<unknown> {
  const token = await requestMachineToken(issuer);
  const send = (method: string, params: object, id?: number) =>
    fetch(`${issuer}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...session,
      },
      body: JSON.stringify({ jsonrpc: '2.0', method, params, ...(id !== undefined && { id }) }),
    });
  let session = {};
  const clientInfo = { name: 'test', version: '1' };
  const first = await send('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }, 1);
  session = {
    'mcp-session-id': first.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': '2025-06-18',
  };
  await first.text();
  await (await send('notifications/initialized', {})).text();
  const text = await (await send('tools/call', { name, arguments: args }, 2)).text();
  return JSON.parse(/^\{.*\}$/m.exec(text.replaceAll(/^data: /gm, ''))?.[0] ?? text);
}

describe.skipIf(missing)('the installed command', () => {
  it('prints its version', async () => {
    const { version } = JSON.parse(
      await readFile(join(project.folder, 'node_modules/@portcullis/cli/package.json'), 'utf8'),
    );
    expect(await runProgram(project, ['npx', 'portcullis', '--version'])).toEqual({
      code: 0,
      output: `${version}\n`,
    });
  });

  it('`npx portcullis protect -- node backend.js` protects a server over stdio', async () => {
    await writeFile(join(project.folder, 'backend.js'), BACKEND);
    const words = ['npx', 'portcullis', 'protect', '--', 'node', 'backend.js'];
    await using running = await startProgram(project, words, READY, { environment });
    const challenge = await fetch(`${running.found}/mcp`, { method: 'POST', body: '{}' });
    expect([challenge.status, challenge.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining(`${running.found}/.well-known/oauth-protected-resource/mcp`),
    ]);
    expect(await callTool(running.found, 'add', { a: 2, b: 3 })).toMatchObject({
      result: { content: [{ type: 'text', text: '5' }] },
    });
  });

  it('`npx @portcullis/cli protect URL` runs in an empty folder, and writes its data below `data` only', async () => {
    const folder = join(project.folder, '../empty');
    await mkdir(folder);
    const words = ['npx', '--yes', '@portcullis/cli', 'protect', 'http://127.0.0.1:9/mcp'];
    await using running = await startProgram(project, words, READY, {
      folder,
      environment: { PORTCULLIS_PORT: '0' },
    });
    const metadata = await fetch(`${running.found}/.well-known/oauth-authorization-server`);
    expect(await metadata.json()).toMatchObject({ issuer: running.found });
    expect(await readdir(folder)).toEqual(['data']);
  });

  it('`connect --help` names the installed program, and npx only for one that is not installed', async () => {
    const launchOf = async (words: readonly string[], folder: string) => {
      const { output } = await runProgram(project, [...words, 'connect', '--help'], { folder });
      return JSON.parse(output.slice(output.indexOf('\n{'))).mcpServers.example;
    };
    const url = 'https://mcp.example.com/mcp';
    const program = join(project.folder, 'node_modules/@portcullis/cli/bin.js');
    expect(await launchOf(['npx', 'portcullis'], project.folder)).toEqual({
      command: process.execPath,
      args: [await realpath(program), 'connect', url],
    });
    const folder = join(project.folder, '../uninstalled');
    await mkdir(folder);
    expect(await launchOf(['npx', '--yes', '@portcullis/cli'], folder)).toEqual({
      command: 'npx',
      args: ['-y', '@portcullis/cli', 'connect', url],
    });
  });

  it('`npm create portcullis` in an empty folder writes and starts', async () => {
    const folder = join(project.folder, '../created');
    await mkdir(folder);
    const answers = ['--protect', 'http://127.0.0.1:9/mcp', '--sign-in', 'accounts', '--location', 'local'];
    const words = ['npm', 'create', '--yes', 'portcullis', '--', ...answers];
    await using running = await startProgram(project, words, READY, {
      folder,
      environment: inMemory,
    });
    expect((await fetch(`${running.found}/mcp`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect(await readdir(join(folder, 'portcullis'))).toEqual(
      expect.arrayContaining(['compose.yaml', 'portcullis.json']),
    );
  });

  it('no installed package runs a script at installation', async () => {
    const { packages }: { packages: Record<string, { hasInstallScript?: boolean; dev?: boolean }> } =
      JSON.parse(await readFile(join(project.folder, 'package-lock.json'), 'utf8'));
    const scripted = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript);
    expect([Object.keys(packages).length > 50, scripted]).toEqual([true, []]);
  });
});
