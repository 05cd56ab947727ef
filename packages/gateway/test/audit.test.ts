/** The audit of calls: what is recorded of each request, and that recording disturbs none. */

import type { Principal } from '@portcullis/resource-server';
import { afterEach, describe, expect, it } from 'vitest';
import { retainedArguments } from '../src/audit/call-audit.ts';
import type { CallRecord } from '../src/audit/call-record.ts';
import {
  createCallAudit,
  type GatewayAuditEvent,
  type GatewayServer,
  gatewayAuditEvents,
} from '../src/index.ts';
import { answerAll, json, startBackend, type TestBackend } from './support/backend.ts';
import { callOf, sendStateless, startSession } from './support/client.ts';
import { startGateway, type TestGateway } from './support/gateway.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function behind(
  respond: Parameters<typeof startBackend>[0],
): Promise<{ readonly backend: TestBackend; readonly gateway: TestGateway }> {
  const backend = await startBackend(respond);
  const gateway = await startGateway([
    { path: '/mcp', name: 'Files', backend: { url: backend.url } },
    { path: '/all', merges: { own: '/mcp' } },
  ]);
  open.push(backend, gateway);
  return { backend, gateway };
}

describe('a request through the gateway', () => {
  it('is recorded once, with user, client, server, sizes, durations and outcome', async () => {
    const { gateway } = await behind(answerAll);
    await (await gateway.send('alice')).text();
    await expect.poll(() => gateway.calls.length).toBe(1);
    const [call] = gateway.calls;
    expect(call).toMatchObject({
      request: { server: { path: '/mcp' }, principal: { subject: 'alice', clientId: 'inspector' } },
      decision: 'allowed',
      outcome: 'answered',
      status: 200,
      requestBytes: 40,
    });
    expect(call?.responseBytes).toBeGreaterThan(30);
    expect(call?.backendMs).toBeGreaterThan(0);
  });

  it('that is refused is recorded as such, without time at the backend', async () => {
    const { backend, gateway } = await behind(answerAll);
    await gateway.send('alice', { headers: { 'mcp-session-id': 'guessed' } });
    await expect.poll(() => gateway.calls.length).toBe(1);
    expect(gateway.calls).toMatchObject([
      { decision: 'invalid', outcome: 'refused', status: 404, backendMs: 0 },
    ]);
    expect(backend.received).toEqual([]);
  });

  it('whose backend does not answer is recorded as unavailable', async () => {
    const { backend, gateway } = await behind(answerAll);
    await backend.close();
    await gateway.send('alice');
    await expect.poll(() => gateway.calls.length).toBe(1);
    expect(gateway.calls).toMatchObject([{ decision: 'allowed', outcome: 'unavailable', status: 503 }]);
  });

  it('that its client gives up is recorded as cancelled', async () => {
    const { backend, gateway } = await behind(() => {});
    const stop = new AbortController();
    const sent = gateway.send('alice', { signal: stop.signal }).catch(() => null);
    await expect.poll(() => backend.received.length).toBe(1);
    stop.abort();
    await sent;
    await expect.poll(() => gateway.calls.length).toBe(1);
    expect(gateway.calls).toMatchObject([{ outcome: 'cancelled', status: null }]);
  });

  it('that its client gives up is recorded as cancelled where it is translated or merged', async () => {
    // Of revision 2026-07-28.
    const { backend, gateway } = await behind(({ body }, response) => {
      const { id, method } = JSON.parse(body);
      if (method === 'initialize') return void response.writeHead(400).end();
      if (method === 'tools/call') return;
      const result = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, tools: [] };
      json(response, { jsonrpc: '2.0', id, result });
    });
    const user = 'alice_app_mcp.read_mcp.write';
    const inSession = async (path: string, name: string) => {
      const headers = { 'mcp-session-id': (await startSession(gateway, user, path)).session };
      return (signal: AbortSignal) => gateway.send(user, { path, message: callOf(name), headers, signal });
    };
    const stateless = (signal: AbortSignal) =>
      sendStateless(gateway, user, 'tools/call', { name: 'own__hang' }, '/all', signal);
    for (const send of [await inSession('/mcp', 'hang'), await inSession('/all', 'own__hang'), stateless]) {
      const calls = () => backend.received.filter(({ body }) => body.includes('tools/call')).length;
      const before = [calls(), gateway.calls.length] as const;
      const stop = new AbortController();
      const sent = send(stop.signal).catch(() => null);
      await expect.poll(calls).toBe(before[0] + 1);
      stop.abort();
      await sent;
      await expect.poll(() => gateway.calls.length).toBe(before[1] + 1);
      expect(gateway.calls.at(-1)).toMatchObject({ outcome: 'cancelled', status: null });
    }
  });
});

const resource = 'https://mcp.example/mcp';
const owner = { issuer: '', clientId: 'inspector', subject: 'alice', resource, backend: 'http://127.0.0.1' };
const principal = { subject: 'alice', clientId: 'inspector', grantId: 'grant_1' } as Principal;

/** A call whose body has been read. */
function callWith(given: string, audit: GatewayServer['audit']): CallRecord {
  const server = { path: '/mcp', resource: 'https://mcp.example/mcp', audit } as GatewayServer;
  return {
    request: { server, principal, owner, startedAt: performance.now() },
    method: 'tools/call',
    target: 'send',
    decision: 'allowed',
    because: null,
    outcome: 'answered',
    approvals: [],
    status: 200,
    backendMs: 1,
    requestBytes: given.length,
    responseBytes: 1,
    traceId: null,
    arguments: Buffer.from(given),
  };
}

/** The event of a call. */
async function eventOf(given: string, audit: GatewayServer['audit']): Promise<Record<string, unknown>> {
  return new Promise((resolve) =>
    createCallAudit((event) => resolve({ ...event })).record(callWith(given, audit)),
  );
}

describe('the arguments of a call', () => {
  it('are represented by their hash only, equal for equal arguments', async () => {
    const one = await eventOf('{"to":"bob"}', null);
    const same = await eventOf('{"to":"bob"}', null);
    const other = await eventOf('{"to":"eve"}', null);
    expect(one).toMatchObject({ tool: 'send', accountId: 'alice' });
    expect(one).not.toHaveProperty('arguments');
    // printf '{"to":"bob"}' | openssl dgst -sha256 -binary | basenc --base64url
    expect(one['argumentsHash']).toBe('e2YmTZpbPoZOq8_NqMnP4PrzpJ8aWL5a78tB2xPgHZY');
    expect(same['argumentsHash']).toBe(one['argumentsHash']);
    expect(other['argumentsHash']).not.toBe(one['argumentsHash']);
    expect(JSON.stringify(one)).not.toContain('bob');
  });

  it('are kept where the server says so, without the values at its paths', async () => {
    const call = await eventOf('{"to":"bob","login":{"password":"hunter2","user":"b"}}', {
      redact: ['login.password'],
    });
    expect(JSON.parse(String(call['arguments']))).toEqual({
      to: 'bob',
      login: { password: '[redacted]', user: 'b' },
    });
  });

  it.each([
    ['a member', '{"a":1}', ['a'], { a: '[redacted]' }],
    [
      'a member of each element',
      '{"a":[{"k":1},{"k":2}]}',
      ['a.k'],
      { a: [{ k: '[redacted]' }, { k: '[redacted]' }] },
    ],
    ['one element', '{"a":[1,2]}', ['a.1'], { a: [1, '[redacted]'] }],
    ['any member', '{"a":{"x":1,"y":2}}', ['a.*'], { a: { x: '[redacted]', y: '[redacted]' } }],
    ['a member that is missing', '{"a":1}', ['b', 'a.c'], { a: 1 }],
    ['a whole object', '{"a":{"x":1}}', ['a'], { a: '[redacted]' }],
  ])('are redacted at %s', (_name, given, redact, expected) => {
    expect(JSON.parse(retainedArguments(Buffer.from(given), { redact }) ?? '')).toEqual(expected);
  });

  it('are not kept when they are large or no JSON', () => {
    const long = JSON.stringify({ text: 'x'.repeat(5000) });
    expect(retainedArguments(Buffer.from(long), { redact: [] })).toBeNull();
    expect(retainedArguments(Buffer.from('{'), { redact: [] })).toBeNull();
  });
});

it('a call becomes one event, with nothing that is unknown', async () => {
  const event = await eventOf('{}', null);
  expect(event).toMatchObject({ type: 'call.finished', clientId: 'inspector', grantId: 'grant_1' });
  expect(Object.values(event)).not.toContain(null);
});

describe('the events of the gateway in the audit log', () => {
  const called = (method: string, decision: 'allowed' | 'denied'): GatewayAuditEvent => ({
    ...{ type: 'call.finished', server: '/mcp', method, decision, outcome: 'answered' },
    ...{ duration: 1, backendDuration: 1, requestBytes: 1, responseBytes: 1 },
  });

  it.each([
    { event: called('tools/list', 'allowed'), isRoutine: true },
    { event: called('tools/list', 'denied'), isRoutine: false },
    { event: called('tools/call', 'allowed'), isRoutine: false },
    { event: called('resources/read', 'allowed'), isRoutine: false },
    { event: called('prompts/get', 'allowed'), isRoutine: false },
  ])('are routine only when nothing was called or refused: $event.method, $event.decision', (given) => {
    expect(gatewayAuditEvents.isRoutine(given.event)).toBe(given.isRoutine);
    expect(gatewayAuditEvents.isBulk(given.event)).toBe(true);
  });

  it('are stored and queued like those of the server when they are about tools', () => {
    const event = { type: 'tool.changed', server: '/mcp', tool: 'look', change: 'new' } as const;
    expect([gatewayAuditEvents.isRoutine(event), gatewayAuditEvents.isBulk(event)]).toEqual([false, false]);
  });
});
