/** The Inspector's command line and the official clients of both generations, through `portcullis protect`, at backends over HTTP, HTTP+SSE and stdio. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as two from '@modelcontextprotocol/client';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEverythingServer } from '../../conformance/server/everything-server.ts';
import { startSseServer } from '../../conformance/server/sse.ts';
import { installPackages } from '../../support/install.ts';
import { machineClient, requestMachineToken } from '../../support/machine-client.ts';
import { type PortcullisHere, startProtectHere } from '../../support/portcullis-here.ts';

const { modules, missing } = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
if (missing !== undefined) console.warn(missing);

interface Backend {
  /** Of `portcullis protect`. */
  readonly words: readonly string[];
  stop(): Promise<void>;
}

const stdio = fileURLToPath(new URL('../../conformance/server/stdio.ts', import.meta.url));

const backends: Readonly<Record<string, () => Promise<Backend>>> = {
  HTTP: async () => viaUrl(await startEverythingServer('both')),
  'HTTP+SSE': async () => viaUrl(await startSseServer()),
  stdio: async () => ({ words: ['--', process.execPath, stdio], stop: async () => undefined }),
};

function viaUrl({ url, stop }: { readonly url: string; stop(): Promise<void> }): Backend {
  return { words: [url], stop };
}

describe.each(Object.entries(backends))('at a backend over %s', (_transport, start) => {
  let backend: Backend;
  let portcullis: Pick<PortcullisHere, 'url' | 'resource' | 'stop'>;
  let token: string;

  beforeAll(async () => {
    backend = await start();
    portcullis = await startProtectHere(backend.words, { clients: [machineClient] });
    token = await requestMachineToken(portcullis.url);
  });
  afterAll(async () => {
    await portcullis.stop();
    await backend.stop();
  });

  /** Runs the Inspector. @returns the result that it prints */
  async function inspect(words: readonly string[], own = token): Promise<unknown> {
    const program = join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
    const header = `Authorization: Bearer ${own}`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      program,
      '--cli',
      portcullis.resource,
      '--transport',
      'http',
      '--header',
      header,
      ...words,
    ]);
    return JSON.parse(stdout);
  }

  it.skipIf(missing)(
    'the command line of the Inspector lists and calls tools, prompts and resources',
    async () => {
      expect(await inspect(['--method', 'tools/list'])).toMatchObject({
        tools: expect.arrayContaining([expect.objectContaining({ name: 'test_simple_text' })]),
      });
      expect(await inspect(['--method', 'tools/call', '--tool-name', 'test_simple_text'])).toMatchObject({
        content: [{ type: 'text' }],
      });
      expect(await inspect(['--method', 'prompts/list'])).toMatchObject({ prompts: expect.any(Array) });
      expect(await inspect(['--method', 'resources/list'])).toMatchObject({ resources: expect.any(Array) });
    },
  );

  it.skipIf(missing)('the command line of the Inspector is refused without a token', async () => {
    await expect(inspect(['--method', 'tools/list'], 'wrong')).rejects.toThrow(/auth_required|401/);
  });

  it('the official client 1.x lists and calls tools', async () => {
    const client = new ClientOne({ name: 'one', version: '1.0.0' });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const transport = new TransportOne(new URL(portcullis.resource), { requestInit });
    await client.connect(transport as Parameters<ClientOne['connect']>[0]);
    expect((await client.listTools()).tools.length).toBeGreaterThan(3);
    expect(await client.callTool({ name: 'test_simple_text' })).toMatchObject({
      content: [{ type: 'text' }],
    });
    await client.close();
  });

  it.each([
    { revision: '2025-11-25', mode: 'legacy' as const },
    { revision: '2026-07-28', mode: { pin: '2026-07-28' } },
  ])('the official client 2.x lists and calls tools by revision $revision', async ({ mode }) => {
    const client = new two.Client({ name: 'two', version: '1.0.0' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(
      new two.StreamableHTTPClientTransport(new URL(portcullis.resource), { requestInit }),
    );
    expect((await client.listTools()).tools.length).toBeGreaterThan(3);
    expect(await client.callTool({ name: 'test_simple_text' })).toMatchObject({
      content: [{ type: 'text' }],
    });
    await client.close();
  });
});
