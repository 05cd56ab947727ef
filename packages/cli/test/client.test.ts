/** The client commands login, logout, sessions, token, tools and call against a real server, with a user who signs in. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { createUser } from '../../../tests/support/user.ts';
import { createWorld, type World } from '../../client/test/support/world.ts';
import { type Computer, createComputer, main, withoutProgress } from './support/command.ts';
import { mcpResult } from './support/mcp-results.ts';

let server: PortcullisHere;
let computer: Computer;

beforeAll(async () => {
  server = await startPortcullisHere({
    clients: [
      {
        client_id: 'report',
        client_secret: 'kept-in-a-file-and-nowhere-else-0123456789',
        grant_types: ['client_credentials'],
        scope: 'notes:read',
      },
    ],
  });
  computer = createComputer(createUser(owner));
});

afterAll(async () => {
  computer.close();
  await server.stop();
});

const run: Computer['run'] = (args, more) => computer.run(args, more);

describe('a session', () => {
  let computer: Computer;
  beforeEach(() => {
    computer = createComputer(createUser(owner));
  });
  afterEach(() => computer.close());

  const run: Computer['run'] = (args, more) => computer.run(args, more);
  const signIn = async (...words: readonly string[]) =>
    expect(await run(['login', server.resource, ...words])).toMatchObject({ code: 0 });

  it('login signs in with the browser and prints the session', async () => {
    const { code, output, errors } = await computer.runProcess(['login', server.resource]);
    expect([code, output]).toEqual([0, expect.stringContaining('Signed in.')]);
    expect(output).toContain(server.resource);
    expect(output).toContain(computer.credentials);
    expect(errors).toContain('Sign in in your browser.');
    expect(computer.opened()).toHaveLength(1);
    expect(output + errors).not.toContain('\x1b');
    expect(statSync(computer.credentials).mode & 0o777).toBe(0o600);
  });

  it('login names the scopes that the server does not have, and those that it has', async () => {
    expect(await run(['login', server.resource, '--scope', 'nope:x'])).toMatchObject({
      code: 3,
      errors: expect.stringMatching(/This server has no scope nope:x\. Its scopes: notes:\w+, /),
    });
  });

  it('T148 sessions lists the accounts of a server by name, without secrets', async () => {
    await signIn();
    await signIn('--account', 'work', '--scope', 'notes:read');
    const { output } = await run(['sessions', server.resource, '--json']);
    const { sessions } = JSON.parse(output) as { sessions: readonly Record<string, unknown>[] };
    expect(sessions.map(({ account }) => account)).toEqual(['default', 'work']);
    expect(sessions[1]).toMatchObject({
      server: server.resource,
      issuer: server.url,
      scopes: ['notes:read'],
    });
    expect(output).not.toMatch(/token|secret|eyJ/i);
    const users = (await run(['sessions'])).output;
    expect(users.split('\n')).toHaveLength(3);
    expect((await run(['sessions', 'https://elsewhere.example/mcp'])).output).toBe(
      'There are no sessions.\n',
    );
  });

  it('tools and call use the session without another sign-in', async () => {
    await signIn();
    const before = computer.opened().length;
    const tools = await run(['tools', server.resource]);
    expect([tools.code, withoutProgress(tools.errors)]).toEqual([0, '']);
    expect(tools.output).toContain('add_note\n  Adds a note.\n  text=string\n');
    const list = JSON.parse((await run(['tools', server.resource, '--json'])).output);
    expect(list.tools.map(({ name }: { name: string }) => name)).toContain('whoami');
    const call = await run(['call', server.resource, 'whoami']);
    expect([call.code, call.output]).toEqual([0, expect.stringContaining('You are ')]);
    expect(computer.opened()).toHaveLength(before);
  });

  it('call names the scopes that it lacks, and requests them only with --step-up', async () => {
    await signIn('--account', 'work', '--scope', 'notes:read');
    const words = ['call', server.resource, 'add_note', 'text=milk', '--account', 'work'];
    const before = computer.opened().length;
    const refused = await run(words);
    expect([refused.code, refused.output]).toEqual([2, '']);
    expect(refused.errors).toContain('The server requires additional scopes: notes:write.');
    expect(refused.errors).toContain(
      `The call requires notes:write: run this again with --step-up, or sign in with npm run -s portcullis -- login ${server.resource} --account work --scope notes:read notes:write`,
    );
    expect(computer.opened()).toHaveLength(before);

    const allowed = await run([...words, '--step-up']);
    expect([allowed.code, allowed.output]).toEqual([0, expect.stringContaining('Added note')]);
    expect(computer.opened()).toHaveLength(before + 1);
    const { output } = await run(['sessions', '--json']);
    expect(JSON.parse(output).sessions[0].scopes).toEqual(['notes:read', 'notes:write']);
  });

  it('call takes arguments as text, as JSON, or as a document on standard input', async () => {
    await signIn();
    const added = await run(['call', server.resource, 'add_note', '--input', '-', '--json'], {
      input: '{"text":"eggs"}',
    });
    const { id } = JSON.parse(added.output).structuredContent;
    const deleted = await run(['call', server.resource, 'delete_note', `id:=${id}`]);
    expect([deleted.code, deleted.output]).toEqual([0, `Deleted note ${id}.\n`]);
    const again = await run(['call', server.resource, 'delete_note', `id:=${id}`]);
    expect([again.code, again.output, withoutProgress(again.errors)]).toEqual([
      2,
      '',
      `You have no note ${id}.\n`,
    ]);
    const wrong = await run(['call', server.resource, 'delete_note', 'id', 'id:=x']);
    expect([wrong.code, withoutProgress(wrong.errors).trim().split('\n')]).toEqual([
      1,
      [
        expect.stringContaining('id is not an argument'),
        expect.stringContaining('id:= must be followed by JSON'),
      ],
    ]);
  });

  it('token prints a token that works in another program', async () => {
    await signIn();
    const { code, output, errors } = await run(['token', server.resource]);
    expect([code, withoutProgress(errors)]).toEqual([0, '']);
    const answer = await fetch(server.resource, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${output.trim()}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'whoami', arguments: {} },
      }),
    });
    expect(answer.status).toBe(200);
  });

  it('[X-DPOP-2 X-DPOP-12] login binds tokens to a key wherever the server offers it, as our own does, and token asks for one that is not bound', async () => {
    const words = [server.resource, '--account', 'bound'];
    const login = await run(['login', ...words, '--json']);
    expect(JSON.parse(login.output)).toMatchObject({ scheme: 'DPoP' });
    expect((await run(['call', server.resource, 'whoami', '--account', 'bound'])).code).toBe(0);
    const [, claims = ''] = (await run(['token', ...words])).output.split('.');
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).not.toHaveProperty('cnf');
    expect((await run(['call', server.resource, 'whoami', '--account', 'bound'])).code).toBe(0);
    const plain = await run(['login', ...words, '--json', '--dpop', 'never']);
    expect(JSON.parse(plain.output)).toMatchObject({ scheme: 'Bearer' });
  });

  it('login revokes the tokens of the session that it replaces', async () => {
    const words = [server.resource, '--account', 'twice'];
    await run(['login', ...words]);
    const token = (await run(['token', ...words])).output.trim();
    const again = await run(['login', ...words]);
    expect([again.code, again.errors]).toEqual([0, expect.not.stringContaining('could not be revoked')]);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(server.resource, { method: 'POST', headers })).status).toBe(401);
    expect((await run(['call', server.resource, 'whoami', '--account', 'twice'])).code).toBe(0);
  });

  it('logout revokes and deletes the tokens of one account, and reports when there was no session', async () => {
    await signIn();
    await signIn('--account', 'work');
    const token = (await run(['token', server.resource, '--account', 'work'])).output.trim();
    expect((await run(['logout', server.resource, '--account', 'work', '--json'])).output).toBe(
      '{\n  "outcome": "revoked"\n}\n',
    );
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(server.resource, { method: 'POST', headers })).status).toBe(401);
    expect((await run(['logout', server.resource, '--account', 'work'])).output).toBe(
      'There was no session.\n',
    );
    const gone = await run(['token', server.resource, '--account', 'work']);
    expect([gone.code, gone.output]).toEqual([3, '']);
    expect(gone.errors).toContain(`npm run -s portcullis -- login ${server.resource} --account work`);
    expect((await run(['token', server.resource])).code).toBe(0);
  });
});

it('login --no-browser prints the URL to open and reads the URL of the redirect', async () => {
  const user = createUser(owner);
  const child = computer.start(['login', server.resource, '--account', 'pasted', '--no-browser']);
  let [output, errors] = ['', ''];
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
    const url = /^(http\S+\/authorize\?\S+)$/m.exec(errors)?.[1];
    if (url === undefined || !errors.endsWith('redirected to: ') || child.stdin?.writableEnded === true)
      return;
    void user.authorize(url).then((callback) => child.stdin?.end(`nonsense\n${callback.href}\n`));
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, output]).toEqual([0, expect.stringContaining('pasted')]);
  expect(errors).toContain('This is not the address that this sign-in was redirected to.');
  expect(errors).toMatch(
    /an error because http:\/\/127\.0\.0\.1:\d+\/callback cannot be reached\. This is expected\.\n/,
  );
  expect(errors).toContain('Copy the whole URL from the address bar');
});

it('login prints the URL and continues when no browser can be started', async () => {
  // An empty folder: no opener of any system.
  const nowhere = join(computer.folder, 'empty');
  mkdirSync(nowhere, { recursive: true });
  const child = computer.start(['login', server.resource, '--account', 'unopened'], { PATH: nowhere });
  let [output, errors] = ['', ''];
  child.stdout?.on('data', (chunk) => (output += chunk));
  const user = createUser(owner);
  child.stderr?.on('data', (chunk) => {
    const before = errors;
    errors += chunk;
    const said = /visit this URL:\n(http\S+)\n[\s\S]*No browser could be started\./;
    const url = said.exec(errors)?.[1];
    if (url !== undefined && !said.test(before))
      void fetch(url, { redirect: 'manual' })
        .then(({ headers }) => user.authorize(headers.get('location') ?? ''))
        .then(fetch);
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, output]).toEqual([0, expect.stringContaining('Signed in.')]);
  expect(errors).toContain('No browser could be started. Open the URL above in one');
  expect(errors).not.toMatch(/^\s+at |ENOENT|xdg-open/m);
});

it('login --no-browser exits with 3 when its input ends', async () => {
  const { code, output, errors } = await computer.run([
    'login',
    server.resource,
    '--account',
    'x',
    '--no-browser',
  ]);
  expect([code, output]).toEqual([3, '']);
  expect(errors).toContain('portcullis: There was no input.');
});

/** A world that offers device authorization. */
async function deviceWorld(page: (world: World) => string): Promise<World> {
  const world = await createWorld();
  const { as } = world;
  as.on('GET /.well-known/oauth-authorization-server', {
    body: {
      issuer: as.origin,
      token_endpoint: `${as.origin}/token`,
      registration_endpoint: `${as.origin}/register`,
      device_authorization_endpoint: `${as.origin}/device`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
    },
  });
  as.on('POST /device', {
    body: {
      device_code: 'kept-secret',
      user_code: 'WDJB-MJHT\x1b[2J',
      verification_uri: page(world),
      expires_in: 600,
      interval: 0,
    },
  });
  return world;
}

describe('with a scripted server', () => {
  it('login --device shows a code and waits for the sign-in on the other device', async () => {
    const world = await deviceWorld(({ as }) => `${as.origin}/activate`);
    const { as } = world;
    const { code, output, errors } = await run(['login', world.serverUrl, '--device', '--json']);
    expect(code).toBe(0);
    expect(errors).toContain(`Open ${as.origin}/activate on any device and enter WDJB-MJHT`);
    expect(errors).not.toContain('This page is not at');
    expect(JSON.parse(output)).toMatchObject({ server: world.serverUrl, scheme: 'Bearer' });
    expect(output + errors).not.toMatch(/kept-secret|\p{Cc}\[|at-/u);
  });

  it('login --device says that the page for the code is not at the authorization server', async () => {
    const world = await deviceWorld(() => 'https://login.example.com/activate');
    const { code, errors } = await run(['login', world.serverUrl, '--device']);
    expect(code).toBe(0);
    expect(errors).toContain('Open https://login.example.com/activate on any device and enter WDJB-MJHT');
    expect(errors).toContain(`This page is not at ${world.issuer}. Continue only if you expect that`);
  });

  it('login --device reports a server without device authorization, and registers no client', async () => {
    const world = await createWorld();
    const { code, errors } = await run(['login', world.serverUrl, '--device']);
    expect([code, errors]).toEqual([
      3,
      expect.stringContaining('does not offer device authorization. Its operator can allow it'),
    ]);
    expect(world.as.asked('/register')).toEqual([]);
  });

  it.each([
    ['/mcp', ''],
    ['/api', ': check the path, which is often /mcp'],
  ])('tools reports that there is no MCP server at %s', async (path, hint) => {
    const world = await createWorld();
    world.server.on(path, { status: 404 });
    const { code, errors } = await run(['tools', world.server.origin + path]);
    expect(code).toBe(1);
    expect(errors).toContain(`There is no MCP server at ${world.server.origin}${path}${hint}\n`);
  });

  it('call says that the scopes of --scope are the problem when one is invalid', async () => {
    const secret = { PORTCULLIS_CLIENT_SECRET: 'kept-in-a-file-and-nowhere-else-0123456789' };
    const words = ['call', server.resource, 'whoami', '--application', '--client-id', 'report'];
    const ask = (scope: string) =>
      run([...words, '--account', scope, '--scope', scope], { environment: secret });
    const expected = {
      'notes:write': 'This client is not registered for the scopes of --scope: request others',
      nothing: 'This server has no scope nothing. Its scopes: notes:read',
    };
    for (const [scope, said] of Object.entries(expected)) {
      const { code, errors } = await ask(scope);
      expect([code, errors]).toEqual([3, expect.stringContaining(said)]);
    }
    expect((await ask('notes:read')).code).toBe(0);
  });

  it('call --application gets the scopes of the registration without --scope', async () => {
    const environment = { PORTCULLIS_CLIENT_SECRET: 'kept-in-a-file-and-nowhere-else-0123456789' };
    const words = ['--application', '--client-id', 'report', '--account', 'unnamed'];
    const { code, output } = await run(['call', server.resource, 'whoami', ...words], { environment });
    expect([code, output]).toEqual([0, expect.stringContaining('by report with: notes:read')]);
    const refused = await run(['call', server.resource, 'add_note', 'text=x', ...words], { environment });
    expect([refused.code, refused.output]).toEqual([2, '']);
    expect(refused.errors).toContain('notes:write');
  });

  it('a command reports at once that it waits for the sign-in of another, for how long, and how to cancel that', async () => {
    const words = ['login', server.resource, '--account', 'waits'];
    const first = computer.start([...words, '--no-browser']);
    await new Promise((resolve) => first.stderr?.once('data', resolve));
    const second = computer.start(['call', server.resource, 'whoami', '--account', 'waits', '--no-browser']);
    let said = '';
    const told = new Promise((resolve) =>
      second.stderr?.on('data', (chunk) => {
        said += chunk;
        if (said.includes('(Ctrl+C in its terminal).')) resolve(said);
      }),
    );
    expect(await told).toContain('Another sign-in for this account is in progress.');
    expect(said).toContain('up to ten minutes');
    for (const child of [first, second]) {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill();
      await ended;
    }
  });

  it('a command exits quietly when its output is closed', async () => {
    await run(['login', server.resource]);
    const child = computer.start(['tools', server.resource, '--json']);
    child.stdout?.destroy();
    let errors = '';
    child.stderr?.on('data', (chunk) => (errors += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect([code, withoutProgress(errors)]).toEqual([0, '']);
  });

  it('tools lists what a server with more tools than a call can have arguments offers', async () => {
    const world = await createWorld();
    world.server.on('/mcp', ({ body }) => {
      const { id, method } = JSON.parse(body || '{}');
      const result = mcpResult(method, {
        tools: Array(150_000).fill({ name: 'a', inputSchema: { type: 'object' } }),
      });
      return { body: { jsonrpc: '2.0', id, result } };
    });
    const { code, output, errors } = await run(['tools', world.serverUrl]);
    expect([code, output.length, withoutProgress(errors)]).toEqual([0, 449_999, '']);
  });

  it('call says how numbers are written where the server refuses a text, and exits with 4 while it is unavailable', async () => {
    const world = await createWorld();
    let refusal = 'Invalid arguments: a: expected number, received string';
    const denied = 'The tool "deny" is not allowed with these arguments.';
    const unavailable = 'Files cannot be reached at the moment. Try again later.';
    world.server.on('/mcp', ({ body }) => {
      const text = [{ type: 'text', text: refusal }];
      const { id, method, params = {} } = JSON.parse(body || '{}');
      const error = (code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } });
      if (params.name === 'down') return { status: 503, body: error(-32603, unavailable) };
      if (params.name === 'deny') return { status: 403, body: error(-32003, denied) };
      if (params.name === 'refuse') return { body: error(-32602, refusal) };
      const result = method === 'tools/call' ? { content: text, isError: true } : {};
      return { body: { jsonrpc: '2.0', id, result: mcpResult(method, result) } };
    });
    const call = (...words: readonly string[]) => run(['call', world.serverUrl, ...words]);
    const advice = 'A value that is not text is written with :=, as in a:=1.';
    for (const [tool, refused] of [
      ['get-sum', refusal],
      ['refuse', refusal],
      ['deny', denied],
    ] as const) {
      const { code, errors } = await call(tool, 'a=1', 'b=x');
      expect([code, errors]).toEqual([2, expect.stringContaining(refused)]);
      expect(errors).toContain(advice);
      expect((await call(tool, 'a:=1', 'b=x')).errors).not.toContain(advice);
    }
    for (const unknown of [
      'Unknown tool: nope',
      'Tool nope not found',
      'MCP error -32602: Tool x not found',
    ]) {
      refusal = unknown;
      for (const tool of ['get-sum', 'refuse'])
        expect((await call(tool, 'a=1')).errors).toMatch(
          new RegExp(`${unknown}\\s+\\(its tools: npm run -s portcullis -- tools ${world.serverUrl}\\)\n$`),
        );
    }
    const down = await call('down');
    expect([down.code, down.errors]).toEqual([4, expect.stringContaining(`portcullis: ${unavailable}\n`)]);
    expect((await call('down', '--json')).code).toBe(4);
  });

  it('T147 call prints no control or formatting characters of an HTTP error, nor of a protocol version', async () => {
    const world = await createWorld();
    const evil = '\x1b[31ma\u202eb\u2066c\u200bd\u2028e\x1b[0m';
    let status = 400;
    world.server.on('/mcp', ({ body }) => {
      const { id } = JSON.parse(body || '{}');
      if (status === 400) return { status, body: { error: 'x', error_description: evil } };
      const serverInfo = { name: 'x', version: '1' };
      return {
        body: { jsonrpc: '2.0', id, result: { protocolVersion: evil, capabilities: {}, serverInfo } },
      };
    });
    const call = async () => (await run(['call', world.serverUrl, 'any'])).errors;
    expect(await call()).toContain('portcullis: The server answered with status 400: x, abcd e.');
    status = 200;
    expect(await call()).toBe("portcullis: Server's protocol version is not supported: abcd e\n");
  });

  it('T147 tools and call print no control characters of a response', async () => {
    const world = await createWorld();
    const evil = '\x1b]0;owned\x07\x1b[31mred\r\u202e';
    world.server.on('/mcp', ({ body }) => {
      const { id, method } = JSON.parse(body || '{}');
      const tool = {
        name: `x${evil}`,
        description: evil,
        inputSchema: { type: 'object', properties: { [evil]: { type: evil } } },
      };
      const content = [
        { type: 'text', text: evil },
        { type: 'image', data: 'AAAA', mimeType: evil },
      ];
      const results: Record<string, object> = { 'tools/list': { tools: [tool] }, 'tools/call': { content } };
      if (method === 'tools/call' && body.includes('"refuse"'))
        return { body: { jsonrpc: '2.0', id, error: { code: -1, message: evil } } };
      return { body: { jsonrpc: '2.0', id, result: mcpResult(method, results[method]) } };
    });
    const runs = [
      await run(['tools', world.serverUrl]),
      await run(['tools', world.serverUrl, '--json']),
      await run(['call', world.serverUrl, 'any']),
      await run(['call', world.serverUrl, 'any', '--json']),
      await run(['call', world.serverUrl, 'refuse']),
    ];
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 2]);
    for (const { output, errors } of runs) {
      expect((output + errors).replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(output + errors).toContain('red');
    }
  });
});

describe('T146 client secrets', () => {
  const SECRET = 'kept-in-a-file-and-nowhere-else-0123456789';
  const asApplication = [
    ...['--application', '--client-id', 'report', '--account', 'report', '--scope', 'notes:read'],
  ];

  it('client secrets are read from a file, from the environment, or from standard input', async () => {
    const file = join(computer.folder, 'secret');
    writeFileSync(file, `${SECRET}\n`);
    const ways = [
      { args: ['--client-secret-file', 'secret'] },
      { args: ['--client-secret-file', '-'], more: { input: SECRET } },
      { args: [], more: { environment: { PORTCULLIS_CLIENT_SECRET: SECRET } } },
    ];
    for (const { args, more } of ways) {
      const { code, output, errors } = await run(
        ['call', server.resource, 'whoami', ...asApplication, ...args],
        more ?? {},
      );
      expect([code, output]).toEqual([0, expect.stringContaining('by report with')]);
      expect(output + errors).not.toContain(SECRET);
      await run(['logout', server.resource, '--account', 'report']);
    }
  });

  it('the program that opens the browser does not inherit the settings of the command', async () => {
    const inherited = join(computer.folder, 'inherited');
    for (const name of ['xdg-open', 'open']) {
      const opener = join(computer.folder, name);
      writeFileSync(opener, readFileSync(opener, 'utf8').replace('printf', `env > '${inherited}'\nprintf`));
    }
    const environment = {
      PORTCULLIS_CLIENT_SECRET: SECRET,
      // On Windows it is the same variable.
      Portcullis_Client_Secret: SECRET,
      BROWSER: 'of-the-user',
    };
    const login = await run(['login', server.resource, '--account', 'browser'], { environment });
    expect(login.code).toBe(0);
    const names = readFileSync(inherited, 'utf8')
      .split('\n')
      .map((line) => line.split('=', 1)[0]);
    expect(names).toEqual(expect.arrayContaining(['PATH', 'HOME', 'BROWSER']));
    expect(names.filter((name) => name?.toUpperCase().startsWith('PORTCULLIS_'))).toEqual([]);
  });

  it('no option takes a client secret as its value', async () => {
    for (const command of ['login', 'call', 'tools', 'token', 'logout']) {
      const { output } = await run([command, '--help']);
      expect(output).not.toMatch(/--[\w-]*(secret|token|password)[\w-]* <(?!file)/);
      expect(output).toContain('Exit codes:');
    }
  });

  it('a client secret is in no command line while the command runs', async () => {
    const environment = { PORTCULLIS_CLIENT_SECRET: SECRET };
    const child = computer.start(['tools', server.resource, ...asApplication], environment);
    const seen = new Set<string>();
    const watch = setInterval(() => {
      try {
        seen.add(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'));
      } catch {
        // The process has ended, or there is no such file system.
      }
    }, 5);
    await new Promise((resolve) => child.once('close', resolve));
    clearInterval(watch);
    expect([...seen].join('\n')).not.toContain(SECRET);
  });
});

// `script` of Linux runs a program in a pseudo-terminal.
const pseudoTerminal = '/usr/bin/script';
describe.skipIf(!existsSync(pseudoTerminal) || process.platform !== 'linux')('on a terminal', () => {
  function onTerminal(
    words: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const line = [process.execPath, ...sourceFlags(), main, ...words].map((word) => `'${word}'`).join(' ');
    const { stdout } = spawn(pseudoTerminal, ['-qec', line, '/dev/null'], {
      cwd: computer.folder,
      env: { ...computer.environment, TERM: 'xterm', ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text(stdout);
  }

  it('T146 token prints no token to a terminal without --show', async () => {
    await run(['login', server.resource, '--account', 'screen']);
    const words = ['token', server.resource, '--account', 'screen'];
    const refused = await onTerminal(words);
    expect(refused).toContain('Refused to print a token to a terminal');
    expect(refused).not.toMatch(/eyJ/);
    expect(await onTerminal([...words, '--show'])).toMatch(/^eyJ/);
  });

  it('tools uses colors on a terminal, unless NO_COLOR is set', async () => {
    await run(['login', server.resource, '--account', 'colours']);
    const words = ['tools', server.resource, '--account', 'colours'];
    expect(await onTerminal(words)).toContain('\x1b[1mwhoami\x1b[22m');
    expect(await onTerminal(words, { NO_COLOR: '1' })).not.toContain('\x1b[1m');
  });
});

describe('exit codes', () => {
  it.each([
    ['an unsupported URL', ['login', 'ftp://example.com'], 1, 'must be an absolute https URL'],
    ['no scheme', ['doctor', 'localhost:8080/mcp'], 1, 'Did you mean http://localhost:8080/mcp?'],
    ['no scheme', ['login', 'example.com/mcp'], 1, 'Did you mean https://example.com/mcp?'],
    [
      'an unknown revision',
      ['tools', 'https://example.com/mcp', '--revision', '1999-01-01'],
      1,
      'revision must be',
    ],
    ['an unreachable server', ['login', 'http://127.0.0.1:9/mcp'], 4, 'could not be reached'],
    ['a missing session', ['token', 'https://example.com/mcp'], 3, 'Sign in: npm run -s portcullis -- login'],
    ['an invalid port', ['login', 'https://example.com/mcp', '--port', '99999'], 1, 'must be a port'],
  ])('a command reports %s in one line with its exit code', async (_what, args, code, words) => {
    const ended = await run(args);
    expect([ended.code, ended.output]).toEqual([code, '']);
    expect(ended.errors).toContain(words);
    expect(ended.errors.trim().split('\n')).toHaveLength(1);
  });

  it('T149 the client commands ignore configuration files in the working directory', async () => {
    for (const name of ['portcullis.json', '.mcp.json', 'config.json', '.portcullis'])
      writeFileSync(
        join(computer.folder, name),
        '{"credentials":"elsewhere","serverUrl":"https://evil.example"}',
      );
    const { output } = await run(['sessions', '--json']);
    expect(JSON.parse(output).location).toContain(computer.credentials);
  });
});
