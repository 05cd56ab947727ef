/** What an approval is bound to besides the bytes of the arguments, which approved-bytes.test.ts shows. */
import type { CallApprovals } from '@portcullis/authorization-server';
import type { DefinitionPinRecord, DefinitionPinStore } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import { createApprovalGate } from '../src/approvals/approval-gate.ts';
import { createPinBoard } from '../src/catalogue/pins.ts';
import { scanBody } from '../src/messages/body-scanner.ts';
import type { GatewayServerOptions } from '../src/options.ts';
import { defineTestServers } from './support/gateway.ts';

type Requested = Parameters<CallApprovals['request']>[0];

const principal = { issuer: 'https://as.example', subject: 'user_ada', clientId: 'app', grantId: 'grant_1' };

const FORWARD = ['X-Tenant', 'x-zone', 'traceparent', 'x-request-id'];

function setGate(
  records: readonly DefinitionPinRecord[] = [],
  review: 'first-use' | 'auto' = 'first-use',
  backend: GatewayServerOptions['backend'] = { url: 'http://127.0.0.1:9/mcp', forward: FORWARD },
) {
  const [server] = defineTestServers(
    [{ path: '/files', name: 'Files', backend, review }],
    'http://localhost',
  );
  if (server === undefined) throw new Error('there is no server');
  const requested: Requested[] = [];
  const approvals: CallApprovals = {
    async request(call) {
      requested.push(call);
      return {
        kind: 'approved',
        use: { ids: [], consume: async () => true, reportUnknownOutcome: () => {} },
      };
    },
  };
  const pins = { findPins: async () => records } as unknown as DefinitionPinStore;
  const gate = createApprovalGate(approvals, createPinBoard(pins));
  return async (params: string, headers: Readonly<Record<string, string>> = {}): Promise<Requested> => {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    const [message] = scanBody(body).messages;
    if (message === undefined) throw new Error('there is no message');
    const because = { rule: 'servers[0].tools["*"].approval', reason: 'the call needs an approval' };
    const needed = { by: 'user', lasts: 'call', rule: because.rule } as const;
    await gate.find(
      { principal, incoming: { headers } } as never,
      { server, message, approvals: [needed], because },
      { bytes: body, sent: body },
    );
    const last = requested.at(-1);
    if (last === undefined) throw new Error('nothing was requested');
    return last;
  };
}

const CALL = '"name":"remove","arguments":{"path":"/a"}';

describe('an approval', () => {
  it.each([
    ['a task', ',"task":{"ttl":60000}'],
    ['another lifetime of a task', ',"task":{"ttl":60000.0}'],
    ['a member of `_meta` that a server may read', ',"_meta":{"com.example/dryRun":false}'],
    ['another value of it', ',"_meta":{"com.example/dryRun":true}'],
    ['a related task', ',"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}'],
    ['input that the backend requested', ',"inputResponses":{"to":{"action":"accept"}}'],
    ['other input', ',"inputResponses":{"to":{"action":"accept","content":{"to":"bob"}}}'],
    ['the state of the backend', ',"requestState":"step"'],
    ['a parameter of a later revision', ',"priority":9007199254740993'],
    ['another digit of it', ',"priority":9007199254740992'],
  ])('is bound to %s', async (_what, more) => {
    const request = setGate();
    const [plain, other] = [await request(`{${CALL}}`), await request(`{${CALL}${more}}`)];
    expect(other.argumentsHash).not.toBe(plain.argumentsHash);
    expect((await request(`{${CALL}${more}}`)).argumentsHash).toBe(other.argumentsHash);
  });

  it('is bound to each header that is forwarded, and to no parameter that looks like one', async () => {
    const request = setGate();
    const requested = [
      await request(`{${CALL}}`),
      await request(`{${CALL}}`, { 'x-tenant': 'a' }),
      await request(`{${CALL}}`, { 'x-tenant': 'b' }),
      await request(`{${CALL}}`, { 'x-zone': 'a' }),
      await request(`{${CALL},"headers":{"x-tenant":"a"}}`),
      await request(`{${CALL},"headers":{"x-tenant":"a"}}`, { 'x-tenant': 'a' }),
    ];
    expect(new Set(requested.map((call) => call.argumentsHash)).size).toBe(requested.length);
    expect(new Set(requested.map((call) => call.arguments)).size).toBe(requested.length);
    expect(await request(`{${CALL}}`, { 'x-tenant': 'a' })).toEqual(requested[1]);
  });

  it('is not bound to headers that identify a request, or are not forwarded', async () => {
    const request = setGate();
    const headers = { traceparent: '00-1', 'x-request-id': '7', 'x-other': 'a', 'user-agent': 'b' };
    expect(await request(`{${CALL}}`, headers)).toEqual(await request(`{${CALL}}`));
  });

  it('is bound to each value of these members', async () => {
    const request = setGate();
    const values = [
      '"task":{"ttl":60000}',
      '"task":{"ttl":60000.0}',
      '"priority":9007199254740992',
      '"priority":9007199254740993',
      '"priority":"1"',
      '"priority":1',
    ];
    const hashes: string[] = [];
    for (const more of values) hashes.push((await request(`{${CALL},${more}}`)).argumentsHash);
    expect(new Set(hashes).size).toBe(values.length);
  });

  it.each([
    ['the token of its progress', ',"_meta":{"progressToken":7}'],
    ['the revision and the client', ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}'],
    ['the trace', ',"_meta":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}'],
  ])('is not bound to %s', async (_what, more) => {
    const request = setGate();
    const [plain, other] = [await request(`{${CALL}}`), await request(`{${CALL}${more}}`)];
    expect(other).toEqual(plain);
  });

  it('is bound to the backend that is configured at the path of the server', async () => {
    const backends = [
      { url: 'http://127.0.0.1:9/mcp' },
      { url: 'http://127.0.0.1:10/mcp' },
      { command: ['files'] },
      { command: ['other'] },
    ];
    const requested: Requested[] = [];
    for (const backend of backends) requested.push(await setGate([], 'auto', backend)(`{${CALL}}`));
    expect(new Set(requested.map((call) => call.backend)).size).toBe(backends.length);
    const [first] = requested;
    expect(requested.map((call) => ({ ...call, backend: null }))).toEqual(
      backends.map(() => ({ ...first, backend: null })),
    );
    expect(await setGate([], 'auto', backends[0])(`{${CALL}}`)).toEqual(first);
  });

  it('is not requested for parameters that parsers read differently', async () => {
    const request = setGate();
    await expect(request(`{${CALL},"priority":1,"priority":2}`)).rejects.toThrow('cannot be shown');
    expect((await request(`{${CALL},"priority":2}`)).arguments).toBe('[{"path":"/a"},{"priority":2}]');
  });

  it.each<[string, string, string, Record<string, string>?]>([
    ['the arguments alone', `{${CALL}}`, '{"path":"/a"}'],
    ['no arguments', '{"name":"remove"}', ''],
    ['what is sent beside them', `{${CALL},"task":{"ttl":1.0}}`, '[{"path":"/a"},{"task":{"ttl":1.0}}]'],
    [
      'members of `_meta` with an effect',
      '{"name":"remove","_meta":{"progressToken":7,"com.example/force":true}}',
      '[{},{"_meta":{"com.example/force":true}}]',
    ],
    ['a header', `{${CALL}}`, '[{"path":"/a"},{},{"x-tenant":"a"}]', { 'x-tenant': 'a' }],
  ])('shows its approver %s', async (_what, params, expected, headers = {}) => {
    expect((await setGate()(params, headers)).arguments).toBe(expected);
  });

  it('is not requested for parameters that are too long to be shown', async () => {
    const request = setGate();
    const withMeta = (length: number) => `{${CALL},"_meta":{"com.example/note":"${'x'.repeat(length)}"}}`;
    await expect(request(withMeta(256 * 1024))).rejects.toThrow('too long to be shown');
    expect((await request(withMeta(250 * 1024))).arguments).toContain('com.example/note');
  });

  it('is bound to the definition of the tool that was approved last, and to the issuer', async () => {
    const pin = (status: DefinitionPinRecord['status'], definition: string, changedAt: number) =>
      ({ ...{ name: 'remove', hash: definition, status, definition }, covers: 'whole', changedAt }) as const;
    const known = [pin('approved', '{"name":"remove","v":1}', 10), pin('approved', '{"name":"remove"}', 5)];
    const waiting = pin('pending', '{"name":"remove","v":2}', 20);
    const before = await setGate([...known, waiting])(`{${CALL}}`);
    expect(before).toMatchObject({ issuer: 'https://as.example', definition: '{"name":"remove","v":1}' });
    const after = await setGate([...known, { ...waiting, status: 'approved' }])(`{${CALL}}`);
    expect(after).toEqual({ ...before, definition: '{"name":"remove","v":2}' });
    expect((await setGate(known, 'auto')(`{${CALL}}`)).definition).toBeNull();
  });
});
