/** `portcullis --server <url>`: administration of a remote server. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ListeningServer, listen } from '@portcullis/http/node';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import {
  type Installation,
  owner,
  SECRET,
  startInstallation,
  stateOf,
  userToken,
} from '../../admin/test/installation.ts';
import { main } from './support/command.ts';
import { runHere } from './support/in-process.ts';

let t: Installation;
let folder: string;
let received: ListeningServer;
/** Of the events that the webhook has got, and how it responds to a test. */
const types: string[] = [];
let status = 204;
beforeAll(async () => {
  // Behind the gateway, which serves metadata of its own.
  const backend = { url: 'http://127.0.0.1:9/mcp' };
  received = await listen(
    async () => ({
      async fetch(request) {
        types.push(JSON.parse(await request.text()).type);
        return new Response(null, { status: types.at(-1) === 'webhook.test' ? status : 204 });
      },
    }),
    { port: 0, host: '127.0.0.1' },
  );
  const url = `http://127.0.0.1:${received.port}/`;
  const webhooks = [{ name: 'siem', url, secret: `whsec_${'a'.repeat(32)}`, types: ['key.*'] }];
  const scim = {
    ...{ id: 'acme', name: 'Acme', kind: { issuer: 'https://sso.example.com' } },
    ...{ clientId: 'portcullis', scopes: ['openid'], scim: {} },
  };
  t = await startInstallation({ servers: [{ path: '/wiki', backend }], webhooks, identityProviders: [scim] });
  folder = await mkdtemp(join(tmpdir(), 'portcullis-remote-'));
});
afterAll(async () => {
  await t.stop();
  await received.close(0);
  await rm(folder, { recursive: true, force: true });
});

/** Runs a command as a client that acts for itself. */
function as(client: string, ...words: readonly string[]) {
  const args = ['--server', t.url, ...words, '--application', '--client-id', client];
  return runHere(args, { environment: environmentOf(client), folder });
}

function environmentOf(client: string) {
  return {
    PORTCULLIS_CLIENT_SECRET: SECRET,
    PORTCULLIS_CREDENTIALS: join(folder, `${client}.db`),
  };
}

describe('portcullis --server', () => {
  it('lists the accounts of another server as the command beside its database does, and as JSON', async () => {
    const listed = await as('ops', 'users', 'list');
    expect(listed.code).toBe(0);
    expect(listed.output.replace(/^\S+/, 'day')).toBe(`day  enabled   ${owner.email}  operator\n`);
    const { output } = await as('ops', 'users', 'list', '--json');
    expect(JSON.parse(output)).toMatchObject([{ email: owner.email, role: 'operator' }]);
  });

  it('creates, describes, disables and removes an account there, with the reason', async () => {
    expect(await as('ops', 'users', 'add', 'eve@example.com', '--role', 'viewer')).toMatchObject({
      code: 0,
      output: expect.stringContaining('/invitation?token='),
    });
    const profile = ['--name', 'Eve', '--groups', 'a, b'];
    const described = await as('ops', 'users', 'describe', 'eve@example.com', ...profile, '--json');
    const expected = { name: 'Eve', groups: ['a', 'b'], role: 'viewer' };
    expect(JSON.parse(described.output)).toMatchObject(expected);
    const disabled = await as('ops', 'users', 'disable', 'eve@example.com', '--reason', 'left', '--json');
    expect(JSON.parse(disabled.output)).toMatchObject({ disabledAt: expect.any(String) });
    const reasons = async () => {
      const { output } = await as('ops', 'events', '--type', 'admin.changed', '--json');
      const events: readonly { readonly reason: string | null }[] = output
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      return events.map(({ reason }) => reason);
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
    ['groups'],
    ['clients', 'initial-access-tokens'],
    ['connections', 'list', '--client', 'ops'],
    ['statistics', '--over', 'hour'],
    ['access'],
    ['access', '--group', 'staff'],
    ['servers', 'test'],
    ['scim', 'tokens', 'list'],
    ['webhooks', 'list'],
    ['mail', 'status'],
    ['servers', 'list'],
    ['servers', 'review'],
    ['approvals', 'list'],
    ['keys', 'list'],
  ])('%s %s prints what there is', async (...words) => {
    expect(await as('ops', ...words)).toMatchObject({ code: 0, output: expect.stringMatching(/\S/) });
  });

  it('adds a client there, changes it and rotates its secret, which is in a file and not in the output', async () => {
    const web = ['--method', 'client_secret_basic', '--redirect-uri', 'https://app.example/'];
    const added = await as('ops', 'clients', 'add', '--id', 'app', ...web, '--scope', 'notes:read', '--json');
    expect(JSON.parse(added.output)).toMatchObject({ client_id: 'app', scope: 'notes:read' });
    const changed = await as('ops', 'clients', 'update', 'app', '--client-name', 'App');
    expect(changed).toMatchObject({ code: 0, output: 'The client app is updated.\n' });
    expect((await as('ops', 'clients', 'show', 'app', '--json')).output).toContain('"name": "App"');
    const file = join(folder, 'app.secret');
    const rotated = await as(
      'ops',
      'clients',
      'rotate-secret',
      'app',
      '--overlap',
      '1h',
      '--secret-file',
      file,
    );
    expect(rotated).toMatchObject({ code: 0, output: expect.stringContaining('is accepted until') });
    const secret = (await readFile(file, 'utf8')).trim();
    expect(rotated.output).not.toContain(secret);
    const basic = Buffer.from(`app:${secret}`).toString('base64');
    const response = await fetch(`${t.url}/revoke`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({ token: 'none' }),
    });
    expect(response.status).toBe(200);
  });

  it('a client of the configuration is neither changed nor given a secret from elsewhere, and no file is left', async () => {
    const before = await stateOf(t);
    const file = join(folder, 'none.secret');
    for (const words of [
      ['update', 'watcher', '--client-name', 'x'],
      ['rotate-secret', 'watcher'],
    ])
      expect(await as('ops', 'clients', ...words, '--secret-file', file)).toMatchObject({
        code: 1,
        errors: expect.stringContaining('is defined in the configuration'),
      });
    expect(existsSync(file)).toBe(false);
    expect(await stateOf(t)).toEqual(before);
  });

  it('creates, lists and revokes an initial access token there', async () => {
    const { output } = await as('ops', 'clients', 'invite', '--days', '2', '--note', 'for CI', '--json');
    const { id, token } = JSON.parse(output);
    expect(token).toMatch(/\S/);
    const list = async () => (await as('ops', 'clients', 'initial-access-tokens')).output;
    expect(await list()).toContain('for CI');
    expect(await as('ops', 'clients', 'revoke-initial-access-token', id)).toMatchObject({ code: 0 });
    expect(await list()).not.toContain('for CI');
  });

  it('lists what users allowed a client, and ends one connection or all of an account', async () => {
    await userToken(t, ['pwd', 'otp', 'mfa'], { role: 'operator' });
    const listed = async (...words: readonly string[]) => {
      const { output } = await as('ops', 'connections', 'list', ...words, '--json');
      return JSON.parse(output) as readonly { readonly id: string; readonly clientId: string }[];
    };
    const [first] = await listed(owner.email);
    expect(await listed('--client', first?.clientId ?? '')).toMatchObject([
      { id: first?.id, user: { email: owner.email } },
    ]);
    expect(await as('ops', 'connections', 'end', owner.email)).toMatchObject({ code: 1 });
    expect(await as('ops', 'connections', 'end', first?.id ?? '')).toMatchObject({ code: 0 });
    expect(await listed(owner.email)).toEqual([]);
    expect(await as('ops', 'connections', 'end', owner.email, '--all')).toMatchObject({ code: 0 });
  });

  it('counts there what the command counts beside the database', async () => {
    const counted = async (run: ReturnType<typeof as>) => {
      const { items, total } = JSON.parse((await run).output);
      return { steps: items.length, counts: total.counts.toSorted(byType), refusals: total.refusals };
    };
    const byType = (one: { type: string }, other: { type: string }) => one.type.localeCompare(other.type);
    const here = ['statistics', '--json', '--database', t.database];
    await expect
      .poll(async () => {
        const remote = await counted(as('ops', 'statistics', '--json'));
        const local = await counted(runHere(here, { environment: {}, folder }));
        return remote.steps === 25 && JSON.stringify(remote) === JSON.stringify(local);
      })
      .toBe(true);
    const { output } = await as('ops', 'statistics', '--over', 'week');
    expect(output).toMatch(/^from \(UTC\) +sign-ins .*\n(\d{4}-\d\d-\d\d .*\n){8}total/);
  });

  it('finds the events of an authorization by a reference code', async () => {
    const page = await fetch(`${t.url}/authorize?client_id=none&response_type=code`);
    const [code = ''] = /[0-9A-Z]{4}-[0-9A-Z]{4}/.exec(await page.text()) ?? [];
    const found = async () => (await as('ops', 'events', '--reference', code.toLowerCase())).output;
    await expect.poll(found).toContain('request.rejected');
    expect(await as('ops', 'events', '--reference', 'AAAA-AAAA')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('no event matches'),
    });
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

  it('tries a webhook there, says what it responds, and delivers events again', async () => {
    expect(await as('ops', 'webhooks', 'test', 'siem')).toMatchObject({ code: 0 });
    expect(types).toContain('webhook.test');
    status = 500;
    const failed = await as('ops', 'webhooks', 'test', 'siem');
    expect(failed).toMatchObject({ code: 1, errors: expect.stringContaining('siem did not accept it: ') });
    await as('ops', 'keys', 'rotate');
    const rotations = () => types.filter((type) => type === 'key.rotated' || type === 'key.created').length;
    await expect.poll(rotations).toBeGreaterThan(0);
    const before = rotations();
    expect(await as('ops', 'webhooks', 'replay', 'siem', '--since', '1h')).toMatchObject({ code: 0 });
    await expect.poll(rotations).toBeGreaterThan(before);
    expect(await as('ops', 'webhooks', 'replay', 'none', '--since', '1h')).toMatchObject({ code: 1 });
  });

  it('creates, lists and revokes a SCIM token there, for a provider that provisions', async () => {
    const { output, errors } = await as(
      'ops',
      'scim',
      'tokens',
      'create',
      'acme',
      '--note',
      'first',
      '--json',
    );
    const { id, token, endpoint } = JSON.parse(output || errors);
    expect([token, endpoint]).toEqual([expect.stringMatching(/\S/), `${t.url}/scim/v2`]);
    expect((await as('ops', 'scim', 'tokens', 'list')).output).toContain('first');
    expect(await as('ops', 'scim', 'tokens', 'revoke', id)).toMatchObject({ code: 0 });
    expect(await as('ops', 'scim', 'tokens', 'create', 'other')).toMatchObject({
      code: 1,
      errors: expect.stringContaining(
        'No identity provider other has scim in the configuration: there is acme',
      ),
    });
    expect((await as('ops', 'scim', 'tokens', 'list')).output).toBe('There are none.\n');
  });

  it('sends no test mail where no mail is sent, and says so', async () => {
    expect(await as('ops', 'mail', 'test', 'ada@example.com')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('the setting mail is not set'),
    });
  });

  it('follows the events there', async () => {
    const words = [
      '--server',
      t.url,
      'events',
      '--follow',
      '--type',
      'account.created',
      '--json',
      '--last',
      '0',
    ];
    const child = spawn(
      process.execPath,
      [...sourceFlags(), main, ...words, '--application', '--client-id', 'ops'],
      { env: { ...process.env, ...environmentOf('follower') }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    onTestFinished(() => void child.kill());
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    let added = 0;
    const seen = async () => {
      added += 1;
      await as('ops', 'users', 'add', `followed${added}@example.com`);
      return output;
    };
    await expect.poll(seen, { interval: 500 }).toContain('account.created');
    expect(output).not.toContain('key.');
  });

  it('lists the members of a group there', async () => {
    await as('ops', 'users', 'add', 'member@example.com');
    await as('ops', 'users', 'describe', 'member@example.com', '--groups', 'readers');
    expect((await as('ops', 'groups')).output).toMatch(/^readers +1 user +1 by users describe$/m);
    expect((await as('ops', 'groups', 'readers')).output).toContain('member@example.com');
    expect(await as('ops', 'groups', 'none')).toMatchObject({ code: 1 });
  });

  it('says of a command that needs this computer why it acts on no other server', async () => {
    const refused = await as('ops', 'keys', 'reencrypt', '--new-key-file', 'x');
    expect(refused).toMatchObject({
      code: 1,
      errors: expect.stringContaining(
        'keys reencrypt does not act on another server: it reads the master keys',
      ),
    });
  });

  it('says what is wrong with the URL of a server', async () => {
    expect(await runHere(['--server', 'auth', 'users', 'list'], { environment: {}, folder })).toMatchObject({
      code: 1,
      errors: expect.stringContaining('--server must be the URL of a server'),
    });
  });
});
