/** `portcullis up`: startup banner, routes, restart, startup issues, and shutdown, mostly as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { owner, type Portcullis, startPortcullis } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { createUser } from '../../../tests/support/user.ts';
import { SettingsError } from '../src/errors.ts';
import { prepare } from '../src/server/prepare.ts';
import { start } from '../src/server/start.ts';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const CALLBACK = 'http://127.0.0.1:9/callback';

async function register(url: string): Promise<string> {
  const response = await fetch(`${url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      client_name: 'Test',
    }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { client_id: string }).client_id;
}

function postForm(url: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Signs the owner in and answers the token response. */
async function getTokens(
  url: string,
  clientId: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Tokens> {
  const verifier = randomBytes(32).toString('base64url');
  const address = new URL(`${url}/authorize`);
  address.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: CALLBACK,
    state: 'state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }).toString();
  const callback = await createUser(owner).authorize(address);
  const response = await postForm(`${url}/token`, {
    grant_type: 'authorization_code',
    code: callback.searchParams.get('code') ?? '',
    redirect_uri: CALLBACK,
    client_id: clientId,
    code_verifier: verifier,
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Tokens;
}

async function callTool(
  url: string,
  token: string | null,
  name: string,
  input: Readonly<Record<string, unknown>> = {},
) {
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  });
}

/** An entry of `mcpServers`. */
interface Entry {
  readonly command: string;
  readonly args: readonly string[];
}

it('`up --verbose` prints every address, and how to connect each kind of client', async () => {
  const { output } = await tryStart({ app }, {}, true);
  const [, url = ''] = /^ready (\S+)$/m.exec(output) ?? [];
  // The first account comes before everything else.
  expect(output.indexOf('/setup?token=')).toBeLessThan(output.indexOf(`${url}/mcp`));
  for (const text of [
    `${url}/mcp`,
    `${url}/.well-known/oauth-authorization-server`,
    `${url}/.well-known/oauth-protected-resource/mcp`,
    ':memory:',
    `npx mcp-remote ${url}/mcp`,
    '@modelcontextprotocol/inspector',
    'StreamableHTTPClientTransport',
    'off: the setting admin turns it on',
  ]) {
    expect(output).toContain(text);
  }
  const snippet = /^ {2}\{\n[\s\S]*?^ {2}\}$/m.exec(output)?.[0] ?? '';
  const [entry] = Object.values<Entry>(JSON.parse(snippet).mcpServers);
  expect(entry?.args.slice(-2)).toEqual(['connect', `${url}/mcp`]);
  expect(entry?.args.join(' ')).not.toContain('npm');
});

describe('a running server', () => {
  let portcullis: Portcullis;
  /** What it said before anybody asked it for anything. */
  let output: string;
  beforeAll(async () => {
    portcullis = await startPortcullis();
    output = portcullis.output();
  });
  afterAll(() => portcullis.stop());

  it('`up` prints its server, how to try it, and last that it is ready, without warnings', () => {
    expect(output).toContain(`  server  ${portcullis.url}/mcp\n`);
    expect(output).toContain(`tools ${portcullis.url}/mcp\n`);
    expect(output).toMatch(new RegExp(`\nready ${portcullis.url}\n$`));
    expect(output).not.toContain('\x1b');
    // Without an identity provider there is nothing to register; the rest is for --verbose.
    expect(output).not.toMatch(/redirect URI|mcpServers|well-known/);
    expect(portcullis.errors()).toBe('');
  });

  it.each([
    ['/healthz', 200],
    ['/readyz', 200],
    ['/', 200],
    ['/.well-known/oauth-authorization-server', 200],
    ['/.well-known/openid-configuration', 200],
    ['/.well-known/oauth-protected-resource', 200],
    ['/.well-known/oauth-protected-resource/mcp', 200],
    ['/jwks', 200],
    ['/mcp', 401],
    ['/mcp/below', 401],
    ['/nothing', 404],
    ['/.well-known/oauth-protected-resource/other', 404],
  ])('a GET of %s on a running server returns %i', async (path, status) => {
    expect((await fetch(portcullis.url + path)).status).toBe(status);
  });

  it.each([
    ['GET', 'en', /^text\/html/, 'Page not found'],
    ['GET', 'de', /^text\/html/, 'Seite nicht gefunden'],
    ['POST', 'en', /^application\/json/, 'not_found'],
  ])(
    'a browser’s %s of an unknown path, in the language %s, gets the content type %s',
    async (method, language, type, words) => {
      const headers = { accept: 'text/html,*/*;q=0.8', 'accept-language': language };
      const response = await fetch(`${portcullis.url}/nothing<b>`, { method, headers });
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toMatch(type);
      expect(response.headers.get('vary')).toBe('Accept');
      const text = await response.text();
      expect(text).toContain(words);
      expect(text).not.toContain('/nothing');
      const isPage = method === 'GET';
      expect(response.headers.get('content-security-policy')?.includes("default-src 'none'") ?? false).toBe(
        isPage,
      );
    },
  );

  it('a program that requests an unknown path gets JSON', async () => {
    const response = await fetch(`${portcullis.url}/nothing`, { headers: { accept: '*/*' } });
    expect([response.status, await response.json()]).toMatchObject([404, { error: 'not_found' }]);
  });

  it.each(['/', '/healthz', '/readyz', '/metrics'])(
    'a POST of %s returns 405 with the allowed methods, and HEAD the same as GET without a body',
    async (path) => {
      const posted = await fetch(portcullis.url + path, { method: 'POST' });
      expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      const head = await fetch(portcullis.url + path, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
    },
  );

  it('[S-ROLE-1 S-GEN-1] `up` serves the authorization server and the protected server at one origin', async () => {
    const client = await register(portcullis.url);
    const tokens = await getTokens(portcullis.url, client, { resource: portcullis.resource });
    expect((await callTool(portcullis.url, null, 'whoami')).status).toBe(401);
    const response = await callTool(portcullis.url, tokens.access_token, 'whoami');
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(client);
  });

  it('[S-ERR-403] a token with only the scope read cannot write, and the error names the required scope', async () => {
    const client = await register(portcullis.url);
    const tokens = await getTokens(portcullis.url, client, { scope: 'notes:read' });
    expect((await callTool(portcullis.url, tokens.access_token, 'list_notes')).status).toBe(200);
    const response = await callTool(portcullis.url, tokens.access_token, 'add_note', { text: 'no' });
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toMatch(
      /^Bearer error="insufficient_scope".* scope="[^"]*notes:write/,
    );
    expect(await (await callTool(portcullis.url, tokens.access_token, 'list_notes')).text()).not.toContain(
      'no\\"',
    );
  });

  it('the log of `up` records the events and contains no secret', async () => {
    const client = await register(portcullis.url);
    const tokens = await getTokens(portcullis.url, client);
    expect((await callTool(portcullis.url, `${tokens.access_token}x`, 'whoami')).status).toBe(401);
    // Lines are written a moment after what they record.
    await expect
      .poll(() => portcullis.output())
      .toMatch(
        new RegExp(
          `^\\d\\d:\\d\\d:\\d\\d token.issued grantType=authorization_code clientId=${client} `,
          'm',
        ),
      );
    await expect
      .poll(() => portcullis.output())
      .toMatch(/^\d\d:\d\d:\d\d request.rejected status=401 error=invalid_token /m);
    for (const secret of [...Object.values(tokens).map(String), owner.password]) {
      if (secret.length > 20) expect(portcullis.output()).not.toContain(secret);
    }
  });

  it('accounts, clients, keys, tokens and notes survive a restart', async () => {
    const client = await register(portcullis.url);
    const before = await getTokens(portcullis.url, client);
    const keys = await (await fetch(`${portcullis.url}/jwks`)).text();
    await callTool(portcullis.url, before.access_token, 'add_note', { text: 'survives' });

    await portcullis.restart();

    expect(await (await fetch(`${portcullis.url}/jwks`)).text()).toBe(keys);
    const notes = await callTool(portcullis.url, before.access_token, 'list_notes');
    expect(await notes.text()).toContain('survives');
    const refreshed = await postForm(`${portcullis.url}/token`, {
      grant_type: 'refresh_token',
      refresh_token: before.refresh_token,
      client_id: client,
    });
    expect(refreshed.status).toBe(200);
    expect((await getTokens(portcullis.url, client)).access_token).toEqual(expect.any(String));
    // Once the first account exists, these settings have no effect, and the banner says so.
    expect(portcullis.output()).toContain(
      'PORTCULLIS_BOOTSTRAP_EMAIL and PORTCULLIS_BOOTSTRAP_PASSWORD have no effect',
    );
  });
});

describe('metadata: false', () => {
  let portcullis: PortcullisHere;
  beforeAll(async () => {
    portcullis = await startPortcullisHere({ metadata: false });
  });
  afterAll(() => portcullis.stop());

  it.each([
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
  ])('[AS-META-7 AS-META-9] with metadata turned off, %s returns 404', async (path) => {
    expect((await fetch(portcullis.url + path, { redirect: 'manual' })).status).toBe(404);
  });

  it('[AS-FALLBACK-1 AS-FALLBACK-2 AS-FALLBACK-3 AS-FALLBACK-4 AS-FALLBACK-5 AS-FALLBACK-6 S-401-3] with metadata turned off, clients use the default paths at the root of the host', async () => {
    const challenge = await fetch(portcullis.resource, { method: 'POST' });
    expect(challenge.status).toBe(401);
    expect(challenge.headers.get('www-authenticate')).toMatch(/^Bearer (?!.*resource_metadata)/);
    const client = await register(portcullis.url);
    const tokens = await getTokens(portcullis.url, client);
    expect((await callTool(portcullis.url, tokens.access_token, 'whoami')).status).toBe(200);
    const refreshed = await postForm(`${portcullis.url}/token`, {
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      client_id: client,
    });
    expect(refreshed.status).toBe(200);
  });
});

const main = fileURLToPath(new URL('../bin.js', import.meta.url));
const app = fileURLToPath(new URL('../../../examples/notes/src/app.ts', import.meta.url));

interface Spawned {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly errors: () => string;
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Resolves with the URL of the line `ready`. */
  readonly ready: Promise<string>;
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-up-'));
  writeFileSync(join(folder, 'file'), '');
  writeFileSync(join(folder, 'broken.json'), '{');
  writeFileSync(join(folder, 'empty.ts'), 'export const other = 1;');
});
afterAll(() => rmSync(folder, { recursive: true }));

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
});

const up = (flags: readonly string[], environment?: Readonly<Record<string, string>>): Spawned =>
  spawnCommand(['up', ...flags], environment);

function spawnCommand(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Spawned {
  const child = spawn(process.execPath, [...sourceFlags(), main, ...words], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORTCULLIS_DATABASE: ':memory:', PORTCULLIS_PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  let output = '';
  let errors = '';
  const ready = Promise.withResolvers<string>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    const url = /^ready (\S+)$/m.exec(output)?.[1];
    if (url !== undefined) ready.resolve(url);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  return { child, output: () => output, errors: () => errors, ended, ready: ready.promise };
}

/** Starts in the process of the test and stops again. Returns what was printed, with the issues that prevented the start. */
async function tryStart(
  flags: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = {},
  isVerbose = false,
): Promise<{ readonly errors: string; readonly output: string }> {
  let [output, errors] = ['', ''];
  const set = { PORTCULLIS_DATABASE: ':memory:', PORTCULLIS_PORT: '0', ...environment };
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
  const collect = new Writable({
    write(chunk, _encoding, done) {
      output += chunk;
      done();
    },
  });
  const complain = (line: string): void => {
    errors += `portcullis: ${line}\n`;
  };
  try {
    const running = await start(await prepare({ flags, environment: set, folder }), {
      environment: set,
      folder,
      streams: { input: Readable.from([]), output: collect, errors: sink },
      write: (text) => void collect.write(text),
      complain,
      styled: false,
      isVerbose,
      version: '0.0.0',
      command: 'portcullis',
      launch: ['portcullis'],
    });
    await running.stop(0);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const issue of error.issues) complain(issue);
  }
  return { errors, output };
}

describe('what keeps it from starting', () => {
  const secretUrl = 'postgres://user:hunter2@127.0.0.1:1/db';
  it.each([
    {
      what: 'a configuration that is missing',
      set: { CONFIG: 'nowhere.json' },
      names: ['PORTCULLIS_CONFIG'],
    },
    { what: 'a configuration that is broken', set: { CONFIG: 'broken.json' }, names: ['PORTCULLIS_CONFIG'] },
    { what: 'a data folder that cannot be', set: { DATABASE: 'file/x.db' }, names: ['PORTCULLIS_DATABASE'] },
    {
      what: 'a data folder that is not writable',
      set: { DATABASE: '/proc/x/x.db' },
      names: ['PORTCULLIS_DATABASE'],
    },
    { what: 'a database that does not answer', set: { DATABASE: secretUrl }, names: ['PORTCULLIS_DATABASE'] },
    { what: 'a key file that cannot be', set: { KEY_FILE: 'file/x' }, names: ['PORTCULLIS_KEY_FILE'] },
    { what: 'an address of another computer', set: { HOST: '203.0.113.1' }, names: ['PORTCULLIS_HOST'] },
    { what: 'an application that is missing', set: { APP: 'nothing.ts' }, names: ['PORTCULLIS_APP'] },
    { what: 'a module without an application', set: { APP: 'empty.ts' }, names: ['PORTCULLIS_APP'] },
    {
      what: 'a public URL in the clear',
      set: { PUBLIC_URL: 'http://x.example' },
      names: ['PORTCULLIS_PUBLIC_URL'],
    },
    {
      what: 'an account that cannot be',
      set: { BOOTSTRAP_EMAIL: 'invalid', BOOTSTRAP_PASSWORD: 'hunter2' },
      names: ['PORTCULLIS_BOOTSTRAP_EMAIL', 'PORTCULLIS_BOOTSTRAP_PASSWORD'],
    },
    {
      what: 'several issues',
      set: { PORT: 'x', KEY: 'y', LOG: 'z' },
      names: ['PORTCULLIS_PORT', 'PORTCULLIS_KEY', 'PORTCULLIS_LOG'],
    },
  ])(
    'an issue prevents startup and is reported in one line that names the setting: $what',
    async ({ set, names }) => {
      const environment = Object.fromEntries(
        Object.entries(set).map(([name, value]) => [`PORTCULLIS_${name}`, value ?? '']),
      );
      const { errors, output } = await tryStart({}, { PORTCULLIS_APP: app, ...environment });
      const lines = errors.trimEnd().split('\n');
      expect(lines.map((line) => /^portcullis: (PORTCULLIS_[A-Z_]+)\b/.exec(line)?.[1])).toEqual(names);
      expect(errors).not.toContain('hunter2');
      expect(output).not.toContain('ready');
    },
  );

  it('a port that is taken, by flag or variable, prevents startup and no file is created', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    const issue = (name: string) =>
      `portcullis: ${name} is ${port}, which another program uses on 127.0.0.1: choose another with --port, or 0 for any free one\n`;
    const database = { PORTCULLIS_DATABASE: 'taken/x.db' };
    const program = up(['--app', app, '--port', port], database);
    expect(await program.ended).toBe(1);
    expect(program.errors()).toBe(issue('--port'));
    const { errors } = await tryStart({ app }, { ...database, PORTCULLIS_PORT: port });
    expect(errors).toBe(issue('PORTCULLIS_PORT'));
    expect(existsSync(join(folder, 'taken'))).toBe(false);
    other.close();
  });

  it('an issue is reported at startup after a warning about long-lived access tokens', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    writeFileSync(join(folder, 'long.json'), JSON.stringify({ lifetimes: { accessToken: 600_000 } }));
    const { errors } = await tryStart({ app, config: 'long.json', port });
    other.close();
    const [warning, issue] = errors.trimEnd().split('\n');
    expect(warning).toMatch(
      /^portcullis: lifetimes\.accessToken \(in long\.json\) is 600000 seconds, about 7 days/,
    );
    expect(issue).toMatch(/^portcullis: --port is /);
  });

  it('an invalid client in the configuration file prevents startup', async () => {
    writeFileSync(
      join(folder, 'clients.json'),
      JSON.stringify({ clients: [{ client_id: 'x', grant_types: ['client_credentials'] }] }),
    );
    const { errors } = await tryStart({ app, config: 'clients.json' });
    expect(errors).toMatch(/^portcullis: clients\.0\.token_endpoint_auth_method \(in clients\.json\): .*\n$/);
  });
});

it('the banner and the JSON log show the redirect URIs to register at identity providers, which logins then use', async () => {
  const endpoint = (name: string) => `http://127.0.0.1:9/${name}`;
  const endpoints = {
    authorization: endpoint('authorize'),
    token: endpoint('token'),
    userinfo: endpoint('me'),
  };
  const forge = {
    ...{
      id: 'forge',
      name: 'Forge',
      kind: { endpoints, userinfoClaims: { subject: 'id' } },
      clientId: 'gate',
    },
    scopes: ['read'],
  };
  const github = { preset: 'github', clientId: 'x', clientSecret: 'y' };
  writeFileSync(join(folder, 'both.json'), JSON.stringify({ identityProviders: [github, forge] }));
  const server = up(['--app', app, '--config', 'both.json', '--log', 'json']);
  const url = await server.ready;
  expect(server.output()).toMatch(
    /\n {2}redirect URI {2}http:\/\/localhost:\d+\/callback\/github {2}\(register it at GitHub\)\n {16}http:\/\/localhost:\d+\/callback\/forge {2}\(register it at Forge\)\n/,
  );
  const lines = server
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  expect(
    lines.map((line) => JSON.parse(line)).filter(({ type }) => type === 'identity_provider.configured'),
  ).toMatchObject([
    { name: 'GitHub', redirectUri: `${url}/callback/github` },
    { name: 'Forge', redirectUri: `${url}/callback/forge` },
  ]);
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
});

it('a server that has accounts prints no setup link, and how to make an account an operator where there is something to administer', async () => {
  const environment = { PORTCULLIS_DATABASE: join(folder, 'administered.db') };
  const made = await tryStart(
    { app },
    {
      ...environment,
      PORTCULLIS_BOOTSTRAP_EMAIL: 'ada@example.com',
      PORTCULLIS_BOOTSTRAP_PASSWORD: 'correct horse battery staple',
    },
  );
  expect(made.output).toContain('The first account was created from the settings.');
  const advice = 'To make an account an operator: portcullis users role <email> operator\n';
  writeFileSync(join(folder, 'administered.json'), JSON.stringify({ admin: {} }));
  const { output } = await tryStart({ app, config: 'administered.json' }, environment);
  expect(output).toContain(`The first account exists. Sign in when a client requests access.\n${advice}`);
  expect(output).not.toContain('/setup?token=');
  expect((await tryStart({ app }, environment)).output).not.toContain(advice);
});

it('a server with only federated login creates no first account, and names the identity provider', async () => {
  const company = {
    id: 'company',
    name: 'Our company',
    kind: { issuer: 'https://login.company.example' },
    clientId: 'gate',
    scopes: ['openid'],
    backChannelLogout: 'sessions',
  };
  writeFileSync(
    join(folder, 'elsewhere.json'),
    JSON.stringify({ localAccounts: false, identityProviders: [company] }),
  );
  const { output } = await tryStart({ app, config: 'elsewhere.json' });
  expect(output).toContain('\nUsers sign in with Our company.\n');
  expect(output).toMatch(
    /\n {2}logout URL {4}http:\/\/localhost:\d+\/back-channel-logout\/company {2}\(register it at Our company for back-channel logout\)\n/,
  );
  expect(output).not.toContain('/setup?token=');
  const both = await tryStart(
    { app, config: 'elsewhere.json' },
    {
      PORTCULLIS_BOOTSTRAP_EMAIL: 'ada@example.com',
      PORTCULLIS_BOOTSTRAP_PASSWORD: 'correct horse battery staple',
    },
  );
  expect(both.errors).toBe(
    'portcullis: PORTCULLIS_BOOTSTRAP_EMAIL must be left out when localAccounts (in elsewhere.json) is false\n',
  );
});

it('files of the server and the application are created for this user only', async () => {
  const server = up(['--app', app], { PORTCULLIS_DATABASE: 'kept/portcullis.db' });
  await server.ready;
  const modes = ['kept', 'kept/portcullis.db', 'kept/notes.db', 'data/portcullis.key'].map((path) =>
    (statSync(join(folder, path)).mode & 0o777).toString(8),
  );
  expect(modes).toEqual(['700', '600', '600', '600']);
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
});

describe('the end', () => {
  it('on SIGTERM the server rejects new connections, completes pending requests and exits with 0', async () => {
    const server = up(['--app', app]);
    const url = new URL(await server.ready);
    const body = 'grant_type=nothing';
    const pending = send(new URL('/token', url), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length },
    });
    const answer = once(pending, 'response');
    pending.write(body.slice(0, 5));
    await expect.poll(() => fetch(new URL('/healthz', url)).then(({ status }) => status)).toBe(200);

    server.child.kill('SIGTERM');
    await expect.poll(() => fetch(new URL('/healthz', url)).catch(() => 'refused')).toBe('refused');
    expect(server.child.exitCode).toBeNull();
    pending.end(body.slice(5));

    const [response] = await answer;
    expect(response.statusCode).toBe(401);
    response.resume();
    expect(await server.ended).toBe(0);
    expect(server.errors()).toBe('');
  });

  it('on SIGINT the server exits with 0 when no request is pending', async () => {
    const server = up(['--app', app]);
    await server.ready;
    server.child.kill('SIGINT');
    expect(await server.ended).toBe(0);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'on the first %s the server exits with 0 while the start waits for a command, which ends with it',
    async (signal) => {
      const waiting = join(folder, `waiting-${signal}`);
      const program = `require('node:fs').writeFileSync(${JSON.stringify(waiting)}, String(process.pid)); setInterval(() => {}, 1000)`;
      const server = spawnCommand(['protect', '--', process.execPath, '-e', program]);
      await expect.poll(() => existsSync(waiting) && readFileSync(waiting, 'utf8') !== '').toBe(true);
      server.child.kill(signal);
      expect(await server.ended).toBe(0);
      const pid = Number(readFileSync(waiting, 'utf8'));
      await expect.poll(() => isAlive(pid)).toBe(false);
    },
  );

  it('the server exits at once on a second SIGTERM', async () => {
    const server = up(['--app', app]);
    const url = new URL(await server.ready);
    const pending = send(new URL('/token', url), { method: 'POST', headers: { 'content-length': 9 } });
    pending.on('error', () => {});
    pending.write('a');
    await expect.poll(() => fetch(new URL('/healthz', url)).then(({ status }) => status)).toBe(200);
    server.child.kill('SIGTERM');
    await expect.poll(() => fetch(new URL('/healthz', url)).catch(() => 'refused')).toBe('refused');
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(143);
  });
});
