/** MCP servers of others, protected by `portcullis protect`: a call of each of their tools. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { installPackages } from '../../support/install.ts';
import { machineClient, requestMachineToken } from '../../support/machine-client.ts';
import { startProtectHere } from '../../support/portcullis-here.ts';
import { backendPrograms, installPrograms } from './backends.ts';

const { modules, missing } = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
if (missing === undefined) await installPrograms(modules);
else console.warn(missing);

describe.skipIf(missing)('backends that are installed on demand', () => {
  for (const { name, command, calls } of backendPrograms) {
    it(`${name} behind \`portcullis protect\` answers a call of each of its tools`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'backend-'));
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      const client = await connect(['--', ...command(modules, folder)], folder);
      const expected = calls(folder);
      const { tools } = await client.listTools();
      const optional = ['simulate-research-query'];
      expect(
        tools
          .map((tool) => tool.name)
          .filter((tool) => !optional.includes(tool))
          .toSorted(),
      ).toEqual(Object.keys(expected).toSorted());
      for (const [tool, input] of Object.entries(expected)) {
        const result = await client.callTool({ name: tool, arguments: input });
        expect(result.isError ?? false, `${tool}: ${JSON.stringify(result.content)}`).toBe(false);
        // A backend gets no other variable of the host.
        if (tool === 'get-env') expect(readVariables(result.content)).toEqual(['HOME', 'PATH']);
      }
    });
  }
});

/** The names in the JSON object that a tool returns. */
function readVariables(content: unknown): readonly string[] {
  const [first] = content as readonly { readonly text: string }[];
  return Object.keys(JSON.parse(first?.text ?? '')).toSorted();
}

/** @param folder the root of the client */
async function connect(words: readonly string[], folder: string): Promise<Client> {
  const portcullis = await startProtectHere(words, { clients: [machineClient] });
  onTestFinished(portcullis.stop);
  const token = await requestMachineToken(portcullis.url);
  const capabilities = { roots: {}, sampling: {}, elicitation: {} };
  const client = new Client({ name: 'backends', version: '1.0.0' }, { capabilities });
  client.setRequestHandler(ListRootsRequestSchema, async () => ({
    roots: [{ uri: `file://${folder}`, name: 'root' }],
  }));
  client.setRequestHandler(ElicitRequestSchema, async () => ({
    action: 'accept' as const,
    content: { name: 'Ada' },
  }));
  client.setRequestHandler(CreateMessageRequestSchema, async () => ({
    model: 'a model',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'hello' },
  }));
  const transport = new StreamableHTTPClientTransport(new URL(portcullis.resource), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport as Parameters<Client['connect']>[0]);
  onTestFinished(() => client.close());
  return client;
}
