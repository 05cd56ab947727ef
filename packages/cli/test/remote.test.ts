/** `portcullis --server <url>`: administration of a remote server. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Installation,
  owner,
  SECRET,
  startInstallation,
  stateOf,
} from '../../admin/test/installation.ts';
import { runHere } from './support/in-process.ts';

let t: Installation;
let folder: string;
beforeAll(async () => {
  // Behind the gateway, which serves metadata of its own.
  const backend = { url: 'http://127.0.0.1:9/mcp' };
  t = await startInstallation({ servers: [{ path: '/wiki', backend }] });
  folder = await mkdtemp(join(tmpdir(), 'portcullis-remote-'));
});
afterAll(async () => {
  await t.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a command as a client that acts for itself. */
function as(client: string, ...words: readonly string[]) {
  const environment = {
    PORTCULLIS_CLIENT_SECRET: SECRET,
    PORTCULLIS_CREDENTIALS: join(folder, `${client}.db`),
  };
  const args = ['--server', t.url, ...words, '--application', '--client-id', client];
  return runHere(args, { environment, folder });
}

describe('portcullis --server', () => {
  it('lists the accounts of another server, as a table and as JSON', async () => {
    const listed = await as('ops', 'users', 'list');
    expect(listed).toMatchObject({ code: 0, output: expect.stringContaining(`operator  -  ${owner.email}`) });
    const { output } = await as('ops', 'users', 'list', '--json');
    expect(JSON.parse(output)).toMatchObject([{ email: owner.email, role: 'operator' }]);
  });

  it('creates, describes, disables and removes an account there, with the reason', async () => {
    expect(await as('ops', 'users', 'add', 'eve@example.com', '--role', 'viewer')).toMatchObject({
      code: 0,
      output: expect.stringContaining('/invitation?token='),
    });
    const described = await as('ops', 'users', 'describe', 'eve@example.com', '--groups', 'a, b', '--json');
    expect(JSON.parse(described.output)).toMatchObject({ groups: ['a', 'b'], role: 'viewer' });
    const disabled = await as('ops', 'users', 'disable', 'eve@example.com', '--reason', 'left', '--json');
    expect(JSON.parse(disabled.output)).toMatchObject({ disabledAt: expect.any(String) });
    const reasons = async () => {
      const { output } = await as('ops', 'events', 'list', '--type', 'admin.changed', '--json');
      const events: readonly { readonly details: { readonly reason: string | null } }[] = JSON.parse(output);
      return events.map(({ details }) => details.reason);
    };
    await expect.poll(reasons).toContain('left');
    expect(await as('ops', 'users', 'remove', 'eve@example.com')).toMatchObject({ code: 0 });
    expect(await as('ops', 'users', 'show', 'eve@example.com')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('There is no account eve@example.com'),
    });
  });

  it.each([
    ['clients', 'list'],
    ['groups', 'list'],
    ['servers', 'list'],
    ['servers', 'review'],
    ['approvals', 'list'],
    ['keys', 'list'],
  ])('%s %s prints what there is', async (...words) => {
    expect(await as('ops', ...words)).toMatchObject({ code: 0, output: expect.stringMatching(/\S/) });
  });

  it('a viewer is refused a change, which leaves everything as it was', async () => {
    expect(await as('watcher', 'users', 'list')).toMatchObject({ code: 0 });
    const before = await stateOf(t);
    const refused = await as('watcher', 'users', 'disable', owner.email);
    expect(refused.code).not.toBe(0);
    expect(await stateOf(t)).toEqual(before);
  });

  it('the other commands reach the admin MCP server as any server', async () => {
    const environment = {
      PORTCULLIS_CLIENT_SECRET: SECRET,
      PORTCULLIS_CREDENTIALS: join(folder, 'mcp.db'),
    };
    const as = ['--application', '--client-id', 'watcher', '--json'];
    const listed = await runHere(['tools', `${t.url}/admin/mcp`, ...as], { environment, folder });
    expect(listed.output).toContain('explain_refusal');
    const words = ['call', `${t.url}/admin/mcp`, 'find_user', `user=${owner.email}`, ...as];
    const { output } = await runHere(words, { environment, folder });
    expect(JSON.parse(output)).toMatchObject({ structuredContent: { user: { email: owner.email } } });
  });

  it('says what is wrong with the URL of a server', async () => {
    expect(await runHere(['--server', 'auth', 'users', 'list'], { environment: {}, folder })).toMatchObject({
      code: 1,
      errors: expect.stringContaining('--server must be the URL of a server'),
    });
  });
});
