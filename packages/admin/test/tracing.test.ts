/** Requests to the admin API and the console that are traced. */
import { traceWithOpenTelemetry } from '@portcullis/http/opentelemetry';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordSpans } from '../../../tests/support/recorded-spans.ts';
import { call, type Installation, owner, startInstallation } from './installation.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;

let t: Installation;
beforeAll(async () => {
  t = await startInstallation();
});
afterAll(() => t.stop());

it('names the endpoint of the API without its parameters, in the trace of the operator', async () => {
  const token = await t.machineToken('ops');
  const spans = recordSpans();
  traceWithOpenTelemetry();
  expect((await call(t, token, 'GET /users/account_unknown', undefined, { traceparent })).status).toBe(404);
  const span = spans.getFinishedSpans().find(({ name }) => name.startsWith('GET ')) ?? expect.fail();
  expect(span.name).toMatch(/^GET \/admin\/api\/v1\/users\/\{\w+\}$/);
  expect(span.attributes).toMatchObject({ 'http.response.status_code': 404 });
  expect(span.spanContext().traceId).toBe(TRACE);
  expect(JSON.stringify(span.attributes)).not.toContain('account_unknown');
});

it('names the page of the console, in a trace of its own', async () => {
  const spans = recordSpans();
  traceWithOpenTelemetry();
  await fetch(`${t.url}/admin/users`, { redirect: 'manual', headers: { traceparent } });
  const span = spans.getFinishedSpans().find(({ name }) => name === 'GET /admin/users') ?? expect.fail();
  expect(span.spanContext().traceId).not.toBe(TRACE);
  expect(span.links).toMatchObject([{ context: { traceId: TRACE } }]);
});

it('names a tool of the MCP server by the semantic conventions, in the trace of the message, and nothing of its arguments', async () => {
  const token = await t.machineToken('ops', undefined, `${t.url}/admin/mcp`);
  const spans = recordSpans();
  traceWithOpenTelemetry();
  const callTool = async (user: string) => {
    const params = { name: 'find_user', arguments: { user }, _meta: { traceparent } };
    await fetch(`${t.url}/admin/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }),
    }).then((response) => response.text());
    const span = spans.getFinishedSpans().findLast(({ name }) => name === 'tools/call find_user');
    return span ?? expect.fail();
  };
  const found = await callTool(owner.email);
  expect(found.attributes).toEqual({
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'find_user',
    'jsonrpc.request.id': '7',
    'network.transport': 'tcp',
  });
  expect(found.spanContext().traceId).toBe(TRACE);
  const missing = await callTool('unknown@example.com');
  expect(missing.attributes).toMatchObject({ 'error.type': 'tool_error' });
  expect(JSON.stringify(missing.attributes)).not.toContain('example.com');
});
