/** The admin MCP server, by the official client: its tools, their scopes, and approvals of changes. */
import { DatabaseSync } from 'node:sqlite';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApproval } from '../../store/testing/approvals.ts';
import { visitConsole } from './console/visitor.ts';
import { call, type Installation, owner, startInstallation, stateOf, userToken } from './installation.ts';

let t: Installation;
let mcp: string;
beforeAll(async () => {
  t = await startInstallation();
  mcp = `${t.url}/admin/mcp`;
});
afterAll(() => t.stop());

async function connect(token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(mcp), { requestInit }));
  return client;
}

async function use(client: Client, name: string, given: Record<string, unknown> = {}) {
  const { content, isError, structuredContent } = await client.callTool({ name, arguments: given });
  const [first] = content as readonly { readonly text?: string }[];
  return { isError: isError === true, text: first?.text ?? '', result: structuredContent };
}

async function invite(email: string): Promise<string> {
  const token = await t.machineToken('ops');
  const { body } = await call(t, token, 'POST /users', { email });
  return (body as { readonly user: { readonly id: string } }).user.id;
}

const MFA = ['pwd', 'otp', 'mfa'];

describe('the admin MCP server', () => {
  it('describes each tool, and says which ones only read', async () => {
    const client = await connect(await t.machineToken('watcher', undefined, mcp));
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThanOrEqual(12);
    for (const { name, description, annotations } of tools) {
      expect([name, description]).toEqual([name, expect.stringMatching(/^.{20,}$/)]);
      expect([name, annotations]).toEqual([
        name,
        expect.objectContaining({ readOnlyHint: expect.any(Boolean), destructiveHint: expect.any(Boolean) }),
      ]);
    }
    await client.close();
  });

  it('finds a user, and says so if there is none', async () => {
    const client = await connect(await t.machineToken('watcher', undefined, mcp));
    expect(await use(client, 'find_user', { user: owner.email })).toMatchObject({
      isError: false,
      result: { user: { email: owner.email }, count: 0 },
    });
    expect(await use(client, 'find_user', { user: 'none@example.com' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('There is no account none@example.com'),
    });
    await client.close();
  });

  it.each(['list_pending_approvals', 'list_servers', 'list_changed_tools', 'what_changed', 'search_events'])(
    '%s has a result without arguments',
    async (name) => {
      const client = await connect(await t.machineToken('watcher', undefined, mcp));
      expect(await use(client, name)).toMatchObject({ isError: false, result: expect.any(Object) });
      await client.close();
    },
  );

  it('a token for the API is refused at the MCP server, and the other way round', async () => {
    await expect(connect(await t.machineToken('ops'))).rejects.toThrow();
    const token = await t.machineToken('ops', undefined, mcp);
    expect((await call(t, token, 'GET /users')).status).toBe(401);
  });

  it('a viewer calls no tool that changes something', async () => {
    const id = await invite('viewed@example.com');
    const before = await stateOf(t);
    const client = await connect(await t.machineToken('watcher', undefined, mcp));
    await expect(use(client, 'disable_user', { user: id, reason: 'test' })).rejects.toThrow();
    expect(await stateOf(t)).toEqual(before);
    await client.close();
  });

  it('a change runs once after its user approved it, and a client without a user is refused', async () => {
    const id = await invite('approved@example.com');
    const machine = await connect(await t.machineToken('ops', undefined, mcp));
    const given = { user: id, reason: 'left the company' };
    expect(await use(machine, 'disable_user', given)).toMatchObject({
      isError: true,
      text: expect.stringContaining('no user who could approve'),
    });
    const client = await connect(await userToken(t, MFA, { role: 'operator' }, mcp));
    const before = await stateOf(t);
    const waiting = await use(client, 'disable_user', given);
    expect(waiting).toMatchObject({ isError: true, text: expect.stringContaining(`${t.url}/approvals/`) });
    expect(await stateOf(t)).toEqual(before);

    const approvalId = /approvals\/([\w-]+)/.exec(waiting.text)?.[1] ?? '';
    const token = await t.machineToken('ops');
    const shown = await call(t, token, `GET /approvals/${approvalId}`);
    expect(shown.body).toMatchObject({
      server: '/admin/mcp',
      tool: 'disable_user',
      arguments: [
        { name: 'user', text: expect.stringContaining(id) },
        { name: 'reason', text: expect.stringContaining('left the company') },
      ],
    });
    expect((await call(t, token, `POST /approvals/${approvalId}/allow`)).status).toBe(200);
    expect(await use(client, 'disable_user', { ...given, reason: 'another' })).toMatchObject({
      isError: true,
    });
    expect(await use(client, 'disable_user', given)).toMatchObject({
      isError: false,
      result: { user: { id, disabledAt: expect.any(Number) } },
    });
    expect(await use(client, 'disable_user', given)).toMatchObject({ isError: true });
    await client.close();
    await machine.close();
  });

  it('a change is allowed by a sign-in with two factors, and by none with one', async () => {
    const id = await invite('two-factors@example.com');
    const given = { user: id, reason: 'left the company' };
    const client = await connect(await userToken(t, MFA, { role: 'operator' }, mcp));
    const waiting = await use(client, 'disable_user', given);
    const path = /\/approvals\/[\w-]+/.exec(waiting.text)?.[0] ?? '';
    const single = await visitConsole(t, 'operator', ['pwd']);
    const before = await stateOf(t);
    const led = await single.open(path);
    expect([led.status, led.headers.get('location')]).toEqual([303, `/admin${path}`]);
    expect((await single.open(`/admin${path}`)).status).toBe(403);
    expect((await single.post(`/admin${path}/allow`, { token: 'x' })).status).toBe(403);
    expect(await use(client, 'disable_user', given)).toMatchObject({ isError: true });
    expect(await stateOf(t)).toEqual(before);

    const visitor = await visitConsole(t);
    expect((await visitor.open(`/admin${path}`)).html).toContain('left the company');
    expect((await visitor.post(`/admin${path}/allow`, {})).status).toBe(303);
    expect(await use(client, 'disable_user', given)).toMatchObject({ isError: false });
    await client.close();
  });
});

describe('the admin MCP server without approvals', () => {
  it('decides about a pending call only where server, tool and arguments are those of the call', async () => {
    const open = await startInstallation({ admin: { operators: { clients: ['ops'] }, approvals: false } });
    try {
      const url = `${open.url}/admin/mcp`;
      const client = new Client({ name: 'test', version: '1.0.0' });
      const requestInit = {
        headers: { authorization: `Bearer ${await open.machineToken('ops', undefined, url)}` },
      };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      const now = Math.floor(Date.now() / 1000);
      const pending = newApproval({ createdAt: now, expiresAt: now + 600 });
      await open.onStore((store) => store.requestApproval(pending, { bySubject: 9, byServer: 9 }));
      const { id, server, tool, arguments: text } = pending;
      const given = { id, server, tool, arguments: text, decision: 'allow', reason: 'asked for' };
      for (const change of [
        { server: '/notes' },
        { tool: 'read_file' },
        { arguments: '{"path":"/notes/a"}' },
      ]) {
        const refused = await use(client, 'decide_approval', { ...given, ...change });
        expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('about another call') });
      }
      expect(await open.onStore((store) => store.findApproval(id, now))).toMatchObject({ outcome: null });
      expect(await use(client, 'decide_approval', given)).toMatchObject({ isError: false });
      expect(await open.onStore((store) => store.findApproval(id, now))).toMatchObject({
        outcome: 'approved',
      });
      await client.close();
    } finally {
      await open.stop();
    }
  });

  it('a failure of the server is an event, and the model reads nothing of its cause', async () => {
    const open = await startInstallation({ admin: { viewers: { clients: ['watcher'] } } });
    try {
      const url = `${open.url}/admin/mcp`;
      const client = new Client({ name: 'test', version: '1.0.0' });
      const token = await open.machineToken('watcher', undefined, url);
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      expect(await use(client, 'list_pending_approvals')).toMatchObject({ isError: false });
      const database = new DatabaseSync(open.database);
      database.exec('ALTER TABLE approvals RENAME TO gone');
      database.close();
      const { isError, text } = await use(client, 'list_pending_approvals');
      const [, reference = ''] = /^The server failed\..* reference ([\w-]+)\.$/.exec(text) ?? [];
      expect([isError, reference]).toEqual([true, expect.stringMatching(/./)]);
      const lines = () => open.output().split('\n');
      await expect
        .poll(() => lines().find((line) => line.includes(reference)))
        .toMatch(/request\.failed.*no such table/s);
      await client.close();
    } finally {
      await open.stop();
    }
  });

  it('an operator decides at once, and the change is in the audit log', async () => {
    const open = await startInstallation({
      admin: { operators: { clients: ['ops'] }, approvals: false },
    });
    try {
      const url = `${open.url}/admin/mcp`;
      const client = new Client({ name: 'test', version: '1.0.0' });
      const token = await open.machineToken('ops', undefined, url);
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      const changed = await use(client, 'disable_user', { user: owner.email, reason: 'test' });
      expect(changed).toMatchObject({ isError: false });
      await expect
        .poll(async () => (await use(client, 'what_changed')).result)
        .toMatchObject({
          events: expect.arrayContaining([
            expect.objectContaining({
              type: 'admin.changed',
              details: expect.objectContaining({ operation: 'users.disable', reason: 'test' }),
            }),
          ]),
        });
      await client.close();
    } finally {
      await open.stop();
    }
  });
});
