/** The end of calls that are open when the server has to stop. */
import { listen } from '@portcullis/http/node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startBackend } from './support/backend.ts';
import { callOf, startSession, subscription } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const LIST = { 'content-type': 'text/event-stream' };

/** A gateway behind the listener of the command, which stops after a moment. */
async function serve(backend: object) {
  const to = await startGateway([{ path: '/mcp', name: 'Files', backend, review: 'auto' } as never]);
  onTestFinished(() => to.close());
  const listening = await listen(
    async () => ({ node: (incoming, outgoing) => to.gateway.handle(incoming, outgoing) }),
    { port: 0, host: '127.0.0.1' },
  );
  const post = (message: unknown, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`http://127.0.0.1:${listening.port}/mcp`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer alice',
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(message),
    });
  return { to, post, stop: (grace = 50) => listening.close(grace) };
}

const shutDown = (id: unknown) => ({
  jsonrpc: '2.0',
  id,
  error: { message: expect.stringContaining('shutting down') },
});

const completed = (id: unknown) => ({
  jsonrpc: '2.0',
  id,
  result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
});

describe('a subscription that is open when a server stops', () => {
  it('is ended at once with its response, and the server waits for nothing else', async () => {
    const backend = await startBackend((_received, response) => {
      response.writeHead(200, LIST).write(': open\n\n');
    });
    onTestFinished(() => backend.close());
    const { post, stop } = await serve({ url: backend.url });
    const response = await post(subscription.message, subscription.headers);
    const stopped = stop(600_000);
    const [event] = (await response.text()).match(/\{.*\}/) ?? [];
    expect(JSON.parse(String(event))).toEqual(completed(subscription.message.id));
    expect(await stopped).toBe(0);
  });

  it('of a process gets the same response after its acknowledgement', async () => {
    const { post, stop } = await serve({ command: TINY });
    const response = await post(
      {
        jsonrpc: '2.0',
        id: 'changes',
        method: 'subscriptions/listen',
        params: {
          notifications: { toolsListChanged: true },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
    );
    const stopped = stop(600_000);
    const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data = '']) =>
      JSON.parse(data),
    );
    expect(events).toMatchObject([
      { method: 'notifications/subscriptions/acknowledged' },
      completed('changes'),
    ]);
    expect(await stopped).toBe(0);
  });
});

describe('a call that is open when the time of a stopping server is over', () => {
  it('gets an error with its id from an HTTP backend that has not answered', async () => {
    const backend = await startBackend(() => {});
    onTestFinished(() => backend.close());
    const { post, stop } = await serve({ url: backend.url });
    const call = post({ ...callOf('slow'), method: 'slow', id: 'seven' });
    await expect.poll(() => backend.received).toHaveLength(1);
    await stop();
    const response = await call;
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toMatchObject(shutDown('seven'));
    await expect.poll(() => backend.aborted()).toBe(1);
  });

  it('gets it as the last event of a stream that has begun', async () => {
    const backend = await startBackend((_received, response) => {
      response.writeHead(200, LIST).write(`data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n`);
    });
    onTestFinished(() => backend.close());
    const { post, stop } = await serve({ url: backend.url });
    const response = await post({ ...callOf('slow'), method: 'slow', id: 7 });
    await stop();
    const events = (await response.text()).split('\n\n').filter((event) => event !== '');
    expect(events[0]).toContain('notifications/message');
    expect(JSON.parse(events.at(-1)?.match(/^data: (.*)$/m)?.[1] ?? '')).toMatchObject(shutDown(7));
  });

  it('gets it from a process that has not answered', async () => {
    const { to, post, stop } = await serve({ command: TINY });
    const { session } = await startSession(to, 'alice');
    const call = { ...callOf('hang'), id: 9 };
    const answer = post(call, { 'mcp-session-id': session });
    await expect.poll(() => to.events.filter(({ line }) => line === 'hanging')).toHaveLength(1);
    await stop();
    const response = await answer;
    expect([response.status, await response.json()]).toMatchObject([503, shutDown(9)]);
  });
});
