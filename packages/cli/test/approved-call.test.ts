/** A call through a running server, approved on the command line. */
import { tmpdir } from 'node:os';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { listen } from '@portcullis/http/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { machineClient, machineCredentials } from '../../../tests/support/machine-client.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { runHere } from './support/in-process.ts';

let backend: Awaited<ReturnType<typeof listen>>;
let portcullis: PortcullisHere;

const executed: string[] = [];

function createBackend(): McpServer {
  const server = new McpServer({ name: 'files', version: '1' });
  for (const name of ['delete', 'move'])
    server.registerTool(name, { inputSchema: z.looseObject({}) }, async () => {
      executed.push(name);
      return { content: [] };
    });
  return server;
}

beforeAll(async () => {
  const handler = createMcpHandler(createBackend);
  backend = await listen(async () => ({ fetch: handler.fetch }), { port: 0, host: '127.0.0.1' });
  portcullis = await startPortcullisHere({
    clients: [{ ...machineClient, scope: 'files:write' }],
    servers: [
      {
        path: '/files',
        backend: { url: `http://127.0.0.1:${backend.port}/mcp` },
        scopes: { 'files:write': 'Change files' },
        tools: { '*': { scopes: ['files:write'], approval: { by: { groups: ['leads'] } } } },
      },
    ],
  });
});

afterAll(async () => {
  await portcullis.stop();
  await backend.close(0);
});

const approvals = async (...args: readonly string[]) => {
  const environment = { PORTCULLIS_DATABASE: portcullis.database, PORTCULLIS_PUBLIC_URL: portcullis.url };
  return (await runHere(['approvals', ...args], { environment, folder: tmpdir() })).output;
};

async function requestToken(): Promise<string> {
  const body = new URLSearchParams({
    ...machineCredentials,
    grant_type: 'client_credentials',
    resource: `${portcullis.url}/files`,
  });
  const response = await fetch(`${portcullis.url}/token`, { method: 'POST', body });
  return ((await response.json()) as { readonly access_token: string }).access_token;
}

async function call(name: string): Promise<Response> {
  return fetch(`${portcullis.url}/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await requestToken()}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":{"path":"/a"}}}`,
  });
}

/** The ID of the only pending approval, once there is one. */
async function pendingId(): Promise<string> {
  await expect.poll(() => approvals('list')).toContain('at /files');
  return (await approvals('list')).slice(0, 8);
}

describe('a call that waits for approval', () => {
  it('continues once an operator allows it on the command line', async () => {
    const response = call('delete');
    const id = await pendingId();
    expect(await approvals('show', id)).toContain('path: "/a"');
    expect(executed).toEqual([]);
    expect(await approvals('allow', id)).toBe('Allowed delete once.\n');
    expect((await response).status).toBe(200);
    expect(executed).toEqual(['delete']);
    expect(await approvals('list')).toBe('No call waits for approval.\n');
  });

  it('is still pending after a restart, and runs when it is sent again', async () => {
    const lost = call('move').catch(() => null);
    const id = await pendingId();
    await portcullis.restart();
    await lost;
    expect(await pendingId()).toBe(id);
    expect(await approvals('allow', id)).toBe('Allowed move once.\n');
    expect((await call('move')).status).toBe(200);
    expect(executed).toEqual(['delete', 'move']);
  });
});
