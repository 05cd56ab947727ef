/** Calls that are traced: their spans, and the trace context that reaches the backend, in the headers and in the message. */
import { SpanKind } from '@opentelemetry/api';
import { traceWithOpenTelemetry } from '@portcullis/http/opentelemetry';
import { registerTracer } from '@portcullis/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordSpans } from '../../../tests/support/recorded-spans.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { answerAll, json, startBackend } from './support/backend.ts';
import { callOf, startSession, textOf } from './support/client.ts';
import { startGateway } from './support/gateway.ts';
import { TINY } from './support/stdio-server.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const OTHER = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${TRACE}-${PARENT}-01`;
const SECRET = 'a-secret-argument';

const open: { close(): Promise<void> }[] = [];
let spans: ReturnType<typeof recordSpans>;

beforeEach(() => {
  spans = recordSpans();
  traceWithOpenTelemetry();
});

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function behind(respond: Parameters<typeof startBackend>[0], more: Partial<GatewayServerOptions> = {}) {
  const backend = await startBackend(respond);
  const gateway = await startGateway([{ path: '/mcp', backend: { url: backend.url }, ...more }]);
  open.push(backend, gateway);
  return { backend, gateway };
}

function callWith(meta?: Readonly<Record<string, string>>) {
  const params = { name: 'send', arguments: { to: SECRET }, ...(meta && { _meta: meta }) };
  return { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
}

/** The spans of the last call: at the gateway, and of its exchange with the backend. */
async function endedSpans() {
  await expect.poll(() => spans.getFinishedSpans().length).toBe(2);
  const find = (kind: SpanKind) =>
    spans.getFinishedSpans().find((span) => span.kind === kind) ?? expect.fail();
  return { call: find(SpanKind.SERVER), exchange: find(SpanKind.CLIENT) };
}

describe('the spans of a call', () => {
  it('have the names and attributes of the semantic conventions, and nothing of its arguments', async () => {
    const { gateway } = await behind(answerAll);
    await gateway.send('alice', { message: callWith(), headers: { 'mcp-protocol-version': '2025-11-25' } });
    const { call, exchange } = await endedSpans();
    for (const span of [call, exchange]) {
      expect(span.name).toBe('tools/call send');
      expect(span.attributes).toMatchObject({
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'send',
        'gen_ai.operation.name': 'execute_tool',
        'jsonrpc.request.id': '7',
        'mcp.protocol.version': '2025-11-25',
        'network.transport': 'tcp',
      });
    }
    expect(call.attributes).toMatchObject({
      'portcullis.decision': 'allowed',
      'portcullis.outcome': 'answered',
    });
    expect(exchange.parentSpanContext?.spanId).toBe(call.spanContext().spanId);
    const text = JSON.stringify(
      [call, exchange].map(({ name, attributes, events }) => [name, attributes, events]),
    );
    expect(text).not.toContain(SECRET);
    expect(gateway.calls).toMatchObject([{ traceId: call.spanContext().traceId }]);
  });

  it('name a session by a hash', async () => {
    const { backend, gateway } = await behind((received, response) =>
      json(
        response,
        { jsonrpc: '2.0', id: JSON.parse(received.body).id, result: {} },
        { 'mcp-session-id': 'session-1' },
      ),
    );
    const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
    const session = (await gateway.send('alice', { message })).headers.get('mcp-session-id') ?? '';
    await endedSpans();
    spans.reset();
    await gateway.send('alice', { message: callWith(), headers: { 'mcp-session-id': session } });
    const { call } = await endedSpans();
    expect(backend.received).toHaveLength(2);
    expect(call.attributes['mcp.session.id']).toMatch(/^[\w-]{22}$/);
    expect(session).not.toContain(call.attributes['mcp.session.id']);
  });

  it('say that it was denied, or that the backend failed', async () => {
    const { backend, gateway } = await behind(answerAll, { tools: { send: false } });
    await gateway.send('alice', { message: callWith() });
    await expect
      .poll(() => spans.getFinishedSpans())
      .toMatchObject([{ attributes: { 'error.type': 'denied' } }]);
    expect(backend.received).toEqual([]);
    spans.reset();
    await backend.close();
    await gateway.send('alice', { message: { jsonrpc: '2.0', id: 1, method: 'ping' } });
    const { call, exchange } = await endedSpans();
    expect(call.attributes['error.type']).toBe('unavailable');
    expect(exchange.status.code).toBe(2);
  });
});

describe('the spans of other requests', () => {
  const finished = async () => {
    await expect.poll(() => spans.getFinishedSpans().length).toBe(1);
    return spans.getFinishedSpans()[0] ?? expect.fail();
  };

  it('name one that the guard refuses, linked to the trace of its client, and nothing of its path elsewhere', async () => {
    const { backend, gateway } = await behind(answerAll);
    const { status } = await gateway.send(null, { message: callWith(), headers: { traceparent } });
    const span = await finished();
    expect([status, span.name]).toEqual([401, 'POST /mcp']);
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/mcp',
      'portcullis.server': '/mcp',
      'http.response.status_code': 401,
    });
    expect(span.links).toMatchObject([{ context: { traceId: TRACE } }]);
    expect(span.spanContext().traceId).not.toBe(TRACE);
    expect(backend.received).toEqual([]);
  });

  it('name a stream, which ends with it, and pass the trace on', async () => {
    const { backend, gateway } = await behind((_received, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': one\n\n');
    });
    const response = await gateway.send('alice', {
      method: 'GET',
      headers: { traceparent, accept: 'text/event-stream' },
    });
    await response.text();
    const span = await finished();
    expect(span.name).toBe('GET /mcp');
    expect(span.attributes).toMatchObject({ 'http.route': '/mcp', 'portcullis.outcome': 'answered' });
    expect(span.spanContext().traceId).toBe(TRACE);
    const sent = `00-${TRACE}-${span.spanContext().spanId}-01`;
    expect(backend.received).toMatchObject([{ headers: { traceparent: sent } }]);
  });

  it('name one that is refused before its body is read', async () => {
    const { backend, gateway } = await behind(answerAll);
    await gateway.send('alice', { message: callWith(), headers: { 'content-type': 'text/plain' } });
    const span = await finished();
    expect([span.name, span.attributes['http.response.status_code']]).toEqual(['POST /mcp', 415]);
    expect(backend.received).toEqual([]);
  });
});

describe('the trace of a call', () => {
  it.each([
    ['the message', { traceparent, tracestate: 'vendor=1' }, { traceparent: `00-${OTHER}-${PARENT}-01` }],
    ['the header', undefined, { traceparent, tracestate: 'vendor=1' }],
  ])('continues that of %s, and reaches the backend in both', async (_, meta, headers) => {
    const { backend, gateway } = await behind(answerAll);
    await gateway.send('alice', { message: callWith(meta), headers });
    const { call, exchange } = await endedSpans();
    expect(call.spanContext().traceId).toBe(TRACE);
    expect(call.parentSpanContext?.spanId).toBe(PARENT);
    const sent = { traceparent: `00-${TRACE}-${exchange.spanContext().spanId}-01`, tracestate: 'vendor=1' };
    const [received] = backend.received;
    expect(received?.headers).toMatchObject(sent);
    expect(JSON.parse(received?.body ?? '')).toEqual(callWith(sent));
  });

  it('of a client without a token is its own, linked to that of the client, whose state ends here', async () => {
    const { backend, gateway } = await behind(answerAll, { tools: { send: { public: true } } });
    const message = callWith({ traceparent, tracestate: 'vendor=1' });
    await gateway.send(null, { message, headers: { traceparent, tracestate: 'vendor=1' } });
    const { call, exchange } = await endedSpans();
    expect(call.spanContext().traceId).not.toBe(TRACE);
    expect(call.links).toMatchObject([{ context: { traceId: TRACE, spanId: PARENT } }]);
    const own = `00-${call.spanContext().traceId}-${exchange.spanContext().spanId}-01`;
    const [received] = backend.received;
    expect(received?.headers).toMatchObject({ traceparent: own });
    expect(received?.headers).not.toHaveProperty('tracestate');
    expect(JSON.parse(received?.body ?? '')).toEqual(callWith({ traceparent: own, tracestate: '' }));
  });

  it.each([
    ['has no parameters', { method: 'ping' }],
    ['has empty parameters', { method: 'ping', params: {} }],
    ['has an empty _meta', { method: 'ping', params: { _meta: {} } }],
    ['has a progress token', { method: 'ping', params: { _meta: { progressToken: 'p' } } }],
    ['has a trace context that is no text', { method: 'ping', params: { _meta: { traceparent: 1 } } }],
    ['has a state alone', { method: 'ping', params: { _meta: { tracestate: 'vendor=1' } } }],
    ['is a notification', { method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } }],
  ])('is added to a message that %s', async (_, body: { method: string; params?: object }) => {
    const { backend, gateway } = await behind((_received, response) => json(response, {}));
    const message = { jsonrpc: '2.0', ...(body.method === 'ping' && { id: 1 }), ...body };
    await gateway.send('alice', { message });
    const { call, exchange } = await endedSpans();
    const sent = JSON.parse(backend.received[0]?.body ?? '');
    const { _meta: meta, ...params } = { ...message.params } as Record<string, unknown>;
    const own = `00-${call.spanContext().traceId}-${exchange.spanContext().spanId}-01`;
    const state = JSON.stringify(meta)?.includes('tracestate') ? { tracestate: '' } : {};
    expect(sent).toEqual({
      ...message,
      params: { ...params, _meta: { ...(meta as object), traceparent: own, ...state } },
    });
  });

  it.each([
    ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }]],
    ['parameters that are null', { jsonrpc: '2.0', id: 1, method: 'ping', params: null }],
  ])('leaves %s as it is, and is in the header', async (_, message) => {
    const { backend, gateway } = await behind(answerAll);
    await gateway.send('alice', { message });
    const { call } = await endedSpans();
    expect(JSON.parse(backend.received[0]?.body ?? '')).toEqual(message);
    expect(backend.received[0]?.headers['traceparent']).toContain(call.spanContext().traceId);
  });

  it('reaches a process in its messages', async () => {
    const gateway = await startGateway([
      { path: '/mcp', backend: { command: TINY } } as GatewayServerOptions,
    ]);
    open.push(gateway);
    const client = await startSession(gateway, 'alice');
    spans.reset();
    const meta = JSON.parse(await textOf(await client.post(callOf('meta'))));
    const { call, exchange } = await endedSpans();
    expect(exchange.attributes).toMatchObject({ 'network.transport': 'pipe' });
    expect(meta.traceparent).toBe(`00-${call.spanContext().traceId}-${exchange.spanContext().spanId}-01`);
  });
});

it('without a tracer, that of the client passes unchanged', async () => {
  registerTracer(null);
  const { backend, gateway } = await behind(answerAll);
  const message = callWith({ traceparent });
  await gateway.send('alice', {
    message,
    headers: { traceparent: 'as-the-client-wrote-it', tracestate: 'a=b' },
  });
  expect(backend.received[0]?.headers).toMatchObject({
    traceparent: 'as-the-client-wrote-it',
    tracestate: 'a=b',
  });
  expect(JSON.parse(backend.received[0]?.body ?? '')).toEqual(message);
  expect(gateway.calls).toMatchObject([{ traceId: null }]);
});
