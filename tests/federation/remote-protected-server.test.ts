/** A protected server in another process: it gets the provider token by token exchange, and operators list and revoke connections. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient, createMemoryStore } from '@portcullis/client';
import { createLoopbackReceiver } from '@portcullis/client/node';
import { TOKEN_EXCHANGE } from '@portcullis/protocol';
import { expect, it, onTestFinished } from 'vitest';
import { callTool } from '../demo/stage.ts';
import { createRecorder } from '../interop/exchanges.ts';
import { startGithub } from '../support/identity-providers/github.ts';
import { likeGithub } from '../support/identity-providers/settings.ts';
import { type Portcullis, startPortcullis } from '../support/portcullis.ts';
import { reservePort } from '../support/ports.ts';
import { sourceFlags } from '../support/source-flags.ts';
import { present, registerTestClient } from './client.ts';
import { stageGithub, until, userAt } from './stage.ts';

/** Times as commands print them. */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The example in its own process, which knows only an issuer and a secret. */
async function runExample(environment: Readonly<Record<string, string>>): Promise<void> {
  const child = spawn(process.execPath, [...sourceFlags(), file('examples/repositories/server.ts')], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  await ready(child);
}

/** The URL at which a program reports ready. Its output is read further, so that it never blocks. */
function ready({ stdout }: ChildProcess): Promise<string> {
  let said = '';
  return new Promise((resolve, reject) => {
    stdout?.on('data', (chunk) => {
      said += String(chunk);
      const url = /^ready (\S+)$/m.exec(said)?.[1];
      if (url !== undefined) resolve(url);
    });
    stdout?.on('end', () => reject(new Error(`it ended: ${said}`)));
  });
}

const SECRET = 'between the server of repositories and the gate';

it('[GW-UP-1 GW-UP-2] the example reads from the identity provider with an exchanged token, and never passes on the client’s', async () => {
  const party = await startGithub();
  onTestFinished(() => party.close());
  const port = String(await reservePort());
  const resource = `http://localhost:${port}/mcp`;
  const portcullis = await startPortcullis({
    identityProviders: [likeGithub(party)],
    resources: [
      {
        resource,
        name: 'Repositories',
        scopes: { 'repositories:read': 'List your repositories at GitHub' },
        tokenExchangeClients: ['repositories'],
      },
    ],
    clients: [{ client_id: 'repositories', client_secret: SECRET, grant_types: [TOKEN_EXCHANGE] }],
  });
  onTestFinished(async () => void (await portcullis.stop()));
  party.registerRedirectUri(`${portcullis.url}/callback/github`);
  await runExample({ PORT: port, ISSUER: portcullis.url, SECRET, GITHUB_API: party.api });

  const recorder = createRecorder();
  const user = userAt(party, 'github');
  const program = createClient({
    serverUrl: resource,
    registration: { clientName: 'Reader' },
    browser: { open: async (url) => void fetch(await user.authorize(url)) },
    receiver: createLoopbackReceiver(),
    store: createMemoryStore(),
    fetch: recorder.fetch,
  });
  const list = () => callTool(program.fetch as never, { resource } as Portcullis, 'list_repositories');
  for (let count = 0; count < 3; count += 1) expect(await (await list()).text()).toContain('ada/compiler');

  const sent = recorder.exchanges.map(({ headers }) => headers.get('authorization') ?? '').at(-1) ?? '';
  const [, ours = 'none'] = sent.split(' ');
  expect(ours.split('.')).toHaveLength(3);
  expect(party.received()).not.toContain(ours);
  expect(party.received()).toContain(party.given[0]);
  expect(party.count('GET /user/repos')).toBe(3);
  // The provider token is cached: one exchange for three calls.
  await expect.poll(() => portcullis.output().match(/provider_token\.released/g)).toHaveLength(1);
});

it('Portcullis starts with the example’s configuration once its client ID is filled in', async () => {
  const { scripts } = JSON.parse(readFileSync(file('examples/repositories/package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const shown = JSON.parse(readFileSync(file('examples/repositories/portcullis.json'), 'utf8'));
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-example-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const configuration = join(folder, 'portcullis.json');
  shown.identityProviders[0].clientId = 'of the app at GitHub';
  writeFileSync(configuration, JSON.stringify(shown));
  const args = scripts.start
    .split(' ')
    .slice(1)
    .map((word) => (word === 'portcullis.json' ? configuration : word));
  const child = spawn(process.execPath, [...args, '--port', '0'], {
    cwd: file('examples/repositories'),
    env: {
      PATH: process.env['PATH'],
      GITHUB_CLIENT_SECRET: 'of the app at GitHub',
      PORTCULLIS_DATABASE: ':memory:',
      PORTCULLIS_KEY: Buffer.alloc(32, 7).toString('base64url'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const url = await ready(child);
  const metadata = await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json();
  expect(metadata).toMatchObject({ grant_types_supported: expect.arrayContaining([TOKEN_EXCHANGE]) });
});

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

async function command(portcullis: Portcullis, ...args: readonly string[]): Promise<Ended> {
  const environment = { PORTCULLIS_DATABASE: portcullis.database, PORTCULLIS_PUBLIC_URL: portcullis.url };
  const child = spawn(process.execPath, [...sourceFlags(), file('packages/cli/bin.js'), ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, errors };
}

it('[GW-3P-11] operators list and revoke connections with provider tokens, which are revoked there too', async () => {
  const { portcullis, party } = await stageGithub();
  party.users.set('ada', { id: 7, login: 'ada \u001b[31mred', email: null, name: null });
  const program = await registerTestClient(portcullis.url, portcullis.resource);
  const connect = async (login: string) =>
    program.redeem(await program.begin(userAt(party, 'github', login)));
  const tokens = await connect('ada');
  await connect('bob');

  const listed = await command(portcullis, 'connections', 'list', '--json');
  expect(listed.errors).toBe('');
  const connections: {
    id: string;
    account: { id: string };
    createdAt: string;
    providerTokens: { subject: string; name: string; checkedAt: string };
  }[] = JSON.parse(listed.output);
  for (const { createdAt, providerTokens } of connections)
    expect([createdAt, providerTokens.checkedAt]).toEqual([
      expect.stringMatching(ISO),
      expect.stringMatching(ISO),
    ]);
  expect(connections.map(({ providerTokens }) => providerTokens)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ identityProvider: 'github', subject: '7', scopes: ['read:user', 'repo'] }),
    ]),
  );
  const { output } = await command(portcullis, 'connections', 'list', '--identity-provider', 'github');
  expect(output).toContain('linked to');
  expect(output).toMatch(/ {2}allowed \d{4}-\d{2}-\d{2}T[\d:]{8}Z, last used \d{4}-\d{2}-\d{2}T[\d:]{8}Z\n/);
  expect(output).toMatch(/ client +Reader \(\S+\)\n/);
  expect(output).not.toContain('\u001b');
  expect((await command(portcullis, 'connections', 'list', '--identity-provider', 'other')).output).toBe(
    'There are no connections.\n',
  );
  for (const text of [listed.output, output])
    for (const token of party.given) expect(text).not.toContain(token);

  const mine = connections.find(({ providerTokens }) => providerTokens.subject === '7');
  const { id = '', account = { id: '' } } = mine ?? {};
  const wrong = await command(portcullis, 'connections', 'end', account.id, 'grant_none');
  expect([wrong.code, wrong.errors]).toEqual([1, expect.stringContaining('has no connection')]);
  expect((await command(portcullis, 'connections', 'end', account.id)).code).toBe(1);
  expect((await present(portcullis.resource, tokens)).status).not.toBe(401);

  const ended = await command(portcullis, 'connections', 'end', account.id, id);
  expect([ended.output, ended.errors]).toEqual(['Ended 1 connection.\n', '']);
  await until(async () => (await present(portcullis.resource, tokens)).status === 401);
  await until(() => !party.isLive(party.given[0] ?? ''));
  expect(party.isLive(party.given[1] ?? '')).toBe(true);

  // A user without an email address is shown by identifier.
  const users = await command(portcullis, 'users', 'list');
  expect(users.output).toContain(account.id);
  expect((await command(portcullis, 'users', 'disable', account.id)).code).toBe(0);
  const back = await program.begin(userAt(party, 'github', 'ada'));
  expect(back.searchParams.get('error')).toBe('access_denied');
});
