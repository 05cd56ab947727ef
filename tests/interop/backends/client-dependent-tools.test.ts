/** Tools that server-everything offers only to clients with a capability: through the gateway as without it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';

import { installPackages } from '../../support/install.ts';
import { machineClient, requestMachineToken } from '../../support/machine-client.ts';
import { startProtectHere } from '../../support/portcullis-here.ts';
import { reservePort } from '../../support/ports.ts';

const { modules, missing } = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
if (missing !== undefined) console.warn(missing);

type ClientTransport = Parameters<Client['connect']>[0];

/** What clients declare, from the one with the fewest tools to the one with the most. */
const CLIENTS = [
  {},
  { sampling: {} },
  { roots: {}, elicitation: {} },
  {
    ...{ roots: {}, sampling: {}, elicitation: {} },
    tasks: { requests: { elicitation: { create: {} }, sampling: { createMessage: {} } } },
  },
] as const;

interface Backend {
  /** Of `portcullis protect`. */
  readonly words: readonly string[];
  readonly connectDirectly: () => ClientTransport;
}

const program = () => join(modules, '@modelcontextprotocol/server-everything/dist/index.js');

async function startOverHttp(): Promise<Backend> {
  const port = await reservePort();
  const child: ChildProcess = spawn(process.execPath, [program(), 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  });
  onTestFinished(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  await expect.poll(isUp).toBe(true);
  return { words: [url], connectDirectly: () => transportTo(url) };
}

const overStdio = async (): Promise<Backend> => ({
  words: ['--', process.execPath, program(), 'stdio'],
  connectDirectly: () =>
    new StdioClientTransport({ command: process.execPath, args: [program(), 'stdio'], stderr: 'ignore' }),
});

function transportTo(url: string, headers: Readonly<Record<string, string>> = {}): ClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as ClientTransport;
}

async function connect(transport: ClientTransport, capabilities: object): Promise<Client> {
  const client = new Client({ name: 'capabilities', version: '1.0.0' }, { capabilities });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

async function namesFor(client: Client): Promise<readonly string[]> {
  const { tools } = await client.listTools();
  return tools.map(({ name }) => name);
}

describe.skipIf(missing)('server-everything', () => {
  it.each([
    ['HTTP', startOverHttp],
    ['stdio', overStdio],
  ])(
    'over %s lists for each client of an open session what it lists without the gateway',
    async (_name, start) => {
      const { words, connectDirectly } = await start();
      const portcullis = await startProtectHere(words, { clients: [machineClient] });
      onTestFinished(portcullis.stop);
      const headers = { authorization: `Bearer ${await requestMachineToken(portcullis.url)}` };
      const guarded: Client[] = [];
      const direct: (readonly string[])[] = [];
      for (const capabilities of CLIENTS) {
        direct.push(await namesFor(await connect(connectDirectly(), capabilities)));
        guarded.push(await connect(transportTo(portcullis.resource, headers), capabilities));
      }
      expect(new Set(direct.map(({ length }) => length)).size).toBeGreaterThan(2);
      // Each client has listed when the others list again.
      for (let round = 0; round < 2; round += 1)
        for (const [index, client] of guarded.entries())
          expect(await namesFor(client)).toEqual(direct[index]);
      const [plain] = guarded;
      expect(await plain?.callTool({ name: 'echo', arguments: { message: 'hello' } })).toMatchObject({
        content: [{ type: 'text', text: 'Echo: hello' }],
      });
    },
  );
});
