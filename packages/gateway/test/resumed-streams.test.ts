/** Streams of sessions that clients resume after the gateway has been restarted. */
import { randomBytes } from 'node:crypto';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { callOf, readUntil, startSession } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

async function start(options: { readonly masterKey: Uint8Array; readonly publicUrl: string }) {
  const gateway = await startGateway([{ path: '/mcp', backend: { command: TINY } }], options);
  onTestFinished(() => gateway.close());
  return gateway;
}

describe('a stream of a session', () => {
  it('resumes a stream whose events are no longer buffered as the stream of the session, and no response', async () => {
    const options = { masterKey: randomBytes(32), publicUrl: 'https://mcp.example' };
    const before = await start(options);
    const { post, session } = await startSession(before, 'alice');
    const get = (to: TestGateway, lastId: string) =>
      to.send('alice', { method: 'GET', headers: { 'mcp-session-id': session, 'last-event-id': lastId } });
    const idsIn = (text: string) => [...text.matchAll(/^id: (\S+)$/gm)].map(([, id = '']) => id);
    const standalone = ((await get(before, '')).body as ReadableStream<Uint8Array>).getReader();
    const [ofSession = ''] = idsIn(await readUntil(standalone, /\n\n/));
    const [ofCall = ''] = idsIn(await (await post(callOf('progress', {}, { progressToken: 1 }))).text());
    await standalone.cancel();
    // Another process, as after a restart.
    const to = await start(options);
    expect((await get(to, ofCall)).status).toBe(405);
    const resumed = await get(to, ofSession);
    expect(resumed.status).toBe(200);
    const reader = (resumed.body as ReadableStream<Uint8Array>).getReader();
    await to.send('alice', { message: callOf('change'), headers: { 'mcp-session-id': session } });
    expect(await readUntil(reader, /list_changed/)).toContain('list_changed');
    await reader.cancel();
  });

  it('delivers the notifications of an official SDK client through a restart of the gateway', async () => {
    const options = { masterKey: randomBytes(32), publicUrl: 'https://mcp.example' };
    let to = await start(options);
    const broken: (() => void)[] = [];
    const transport = new StreamableHTTPClientTransport(new URL(`${to.origin}/mcp`), {
      requestInit: { headers: { authorization: 'Bearer alice' } },
      reconnectionOptions: {
        initialReconnectionDelay: 10,
        maxReconnectionDelay: 10,
        reconnectionDelayGrowFactor: 1,
        maxRetries: 2,
      },
      async fetch(url, init) {
        const response = await fetch(new URL(new URL(url).pathname, to.origin), init);
        if (init?.method !== 'GET' || response.body === null) return response;
        const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
        const writer = writable.getWriter();
        broken.push(() => void writer.abort(new Error('reset')).catch(() => undefined));
        void response.body
          .pipeTo(new WritableStream({ write: (chunk) => writer.write(chunk) }))
          .catch(() => undefined);
        return new Response(readable, response);
      },
    });
    const client = new Client({ name: 'sdk', version: '1' });
    const changes: unknown[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, (change) => void changes.push(change));
    await client.connect(transport as Transport);
    onTestFinished(() => client.close());
    await client.callTool({ name: 'change', arguments: {} });
    await expect.poll(() => changes).toHaveLength(1);
    to = await start(options);
    for (const end of broken.splice(0)) end();
    await expect.poll(() => broken).toHaveLength(1);
    await client.callTool({ name: 'change', arguments: {} });
    await expect.poll(() => changes).toHaveLength(2);
  });
});
