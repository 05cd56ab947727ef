/** The commands of the client, the real ones in processes of their own, against a real server and a person who signs in. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { owner, type Portcullis, startPortcullis } from '../../../tests/support/portcullis.ts';
import { createUser } from '../../../tests/support/user.ts';
import { createWorld } from '../../client/test/support/world.ts';
import { type Computer, createComputer, main } from './support/command.ts';
import { mcpResult } from './support/mcp-results.ts';

let server: Portcullis;
let computer: Computer;

beforeAll(async () => {
  server = await startPortcullis({
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

  it('login signs in by the browser, and says what was got', async () => {
    const { code, output, errors } = await computer.runProcess(['login', server.resource]);
    expect([code, output]).toEqual([0, expect.stringContaining('Signed in.')]);
    expect(output).toContain(server.resource);
    expect(output).toContain(computer.credentials);
    expect(errors).toContain('Sign in in the browser.');
    expect(computer.opened()).toHaveLength(1);
    expect(output + errors).not.toContain('\x1b');
    expect(statSync(computer.credentials).mode & 0o777).toBe(0o600);
  });

  it('T148 accounts are kept apart by name, and listed without a secret', async () => {
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

  it('tools and call use the session; nobody is asked again', async () => {
    await signIn();
    const before = computer.opened().length;
    const tools = await run(['tools', server.resource]);
    // A slow machine may show progress.
    expect([tools.code, tools.errors.replace('Asking the server …\n', '')]).toEqual([0, '']);
    expect(tools.output).toContain('add_note\n  Adds a note.\n  text: string\n');
    const list = JSON.parse((await run(['tools', server.resource, '--json'])).output);
    expect(list.tools.map(({ name }: { name: string }) => name)).toContain('whoami');
    const call = await run(['call', server.resource, 'whoami']);
    expect([call.code, call.output]).toEqual([0, expect.stringContaining('You are ')]);
    expect(computer.opened()).toHaveLength(before);
  });

  it('a call that needs more scopes says which, and asks for them only where that is allowed', async () => {
    await signIn('--account', 'work', '--scope', 'notes:read');
    const words = ['call', server.resource, 'add_note', 'text=milk', '--account', 'work'];
    const before = computer.opened().length;
    const refused = await run(words);
    expect([refused.code, refused.output]).toEqual([2, '']);
    expect(refused.errors).toContain('The server asks for more: notes:write.');
    expect(refused.errors).toContain(
      `It needs notes:write: run this again with --step-up, or sign in for it by npm run portcullis -- login ${server.resource} --account work --scope notes:read notes:write`,
    );
    expect(computer.opened()).toHaveLength(before);

    const allowed = await run([...words, '--step-up']);
    expect([allowed.code, allowed.output]).toEqual([0, expect.stringContaining('Added note')]);
    expect(computer.opened()).toHaveLength(before + 1);
    const { output } = await run(['sessions', '--json']);
    expect(JSON.parse(output).sessions[0].scopes).toEqual(['notes:read', 'notes:write']);
  });

  it('arguments are text, JSON, or a document on standard input', async () => {
    await signIn();
    const added = await run(['call', server.resource, 'add_note', '--input', '-', '--json'], {
      input: '{"text":"eggs"}',
    });
    const { id } = JSON.parse(added.output).structuredContent;
    const deleted = await run(['call', server.resource, 'delete_note', `id:=${id}`]);
    expect([deleted.code, deleted.output]).toEqual([0, `Deleted note ${id}.\n`]);
    const again = await run(['call', server.resource, 'delete_note', `id:=${id}`]);
    expect([again.code, again.output, again.errors]).toEqual([2, '', `You have no note ${id}.\n`]);
    const wrong = await run(['call', server.resource, 'delete_note', 'id', 'id:=x']);
    expect([wrong.code, wrong.errors.trim().split('\n')]).toEqual([
      1,
      [
        expect.stringContaining('id is no argument'),
        expect.stringContaining('id:= must be followed by JSON'),
      ],
    ]);
  });

  it('token hands a token that works to another program', async () => {
    await signIn();
    const { code, output, errors } = await run(['token', server.resource]);
    expect([code, errors]).toEqual([0, '']);
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

  it('a second login ends what the first one got', async () => {
    const words = [server.resource, '--account', 'twice'];
    await run(['login', ...words]);
    const token = (await run(['token', ...words])).output.trim();
    const again = await run(['login', ...words]);
    expect([again.code, again.errors]).toEqual([0, expect.not.stringContaining('could not be ended')]);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(server.resource, { method: 'POST', headers })).status).toBe(401);
    expect((await run(['call', server.resource, 'whoami', '--account', 'twice'])).code).toBe(0);
  });

  it('logout revokes, forgets that account alone, and says when there was none', async () => {
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
    expect(gone.errors).toContain(`npm run portcullis -- login ${server.resource} --account work`);
    expect((await run(['token', server.resource])).code).toBe(0);
  });
});

it('--no-browser prints the address, and takes the one at which the browser ended', async () => {
  const user = createUser(owner);
  const child = computer.start(['login', server.resource, '--account', 'pasted', '--no-browser']);
  let [output, errors] = ['', ''];
  child.stdout?.on('data', (chunk) => (output += chunk));
  child.stderr?.on('data', (chunk) => {
    errors += chunk;
    const url = /^(http\S+\/authorize\?\S+)$/m.exec(errors)?.[1];
    if (url === undefined || !errors.endsWith('ended: ') || child.stdin?.writableEnded === true) return;
    void user.authorize(url).then((callback) => child.stdin?.end(`nonsense\n${callback.href}\n`));
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, output]).toEqual([0, expect.stringContaining('pasted')]);
  expect(errors).toContain('This is not the address that this sign-in was redirected to.');
  expect(errors).toMatch(
    /a page that cannot be reached, at http:\/\/127\.0\.0\.1:\d+\/callback: that is right\.\n/,
  );
  expect(errors).toContain('Copy the whole address of that page');
});

it('without anything that opens a browser, login prints the address, says to open it, and goes on', async () => {
  // Nothing else is there: no opener of any system.
  const nowhere = join(computer.folder, 'empty');
  mkdirSync(nowhere, { recursive: true });
  const child = computer.start(['login', server.resource, '--account', 'unopened'], { PATH: nowhere });
  let [output, errors] = ['', ''];
  child.stdout?.on('data', (chunk) => (output += chunk));
  const user = createUser(owner);
  child.stderr?.on('data', (chunk) => {
    const before = errors;
    errors += chunk;
    const said = /open this address yourself:\n(http\S+)\n[\s\S]*No browser could be started here/;
    const url = said.exec(errors)?.[1];
    if (url !== undefined && !said.test(before)) void user.authorize(url).then(fetch);
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, output]).toEqual([0, expect.stringContaining('Signed in.')]);
  expect(errors).toContain('No browser could be started here: open the address above in one.');
  expect(errors).not.toMatch(/^\s+at |ENOENT|xdg-open/m);
});

it('--no-browser ends with 3 when nobody pastes anything', async () => {
  const { code, output, errors } = await computer.runProcess([
    ...['login', server.resource, '--account', 'x', '--no-browser'],
  ]);
  expect([code, output]).toEqual([3, '']);
  expect(errors).toContain('portcullis: Nobody answered.');
});

describe('with a scripted server', () => {
  it('--device shows a code, and waits for the person', async () => {
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
        verification_uri: `${as.origin}/activate`,
        expires_in: 600,
        interval: 0,
      },
    });
    const { code, output, errors } = await run(['login', world.serverUrl, '--device', '--json']);
    expect(code).toBe(0);
    expect(errors).toContain(`Open ${as.origin}/activate on any device, and enter WDJB-MJHT`);
    expect(JSON.parse(output)).toMatchObject({ server: world.serverUrl, scheme: 'Bearer' });
    expect(output + errors).not.toMatch(/kept-secret|\p{Cc}\[|at-/u);
  });

  it('--device says where it is not offered, and registers nothing', async () => {
    const world = await createWorld();
    const { code, errors } = await run(['login', world.serverUrl, '--device']);
    expect([code, errors]).toEqual([
      3,
      expect.stringContaining('does not offer device authorization; use --no-browser'),
    ]);
    expect(world.as.asked('/register')).toEqual([]);
  });

  it.each([
    ['/mcp', ''],
    ['/api', ': look whether the path is right, often it is /mcp'],
  ])('at %s where no server is, it says so', async (path, hint) => {
    const world = await createWorld();
    world.server.on(path, { status: 404 });
    const { code, errors } = await run(['tools', world.server.origin + path]);
    expect(code).toBe(1);
    expect(errors).toContain(`There is no MCP server at ${world.server.origin}${path}${hint}\n`);
  });

  it('a scope that is not there is answered with the option that names scopes', async () => {
    const secret = { PORTCULLIS_CLIENT_SECRET: 'kept-in-a-file-and-nowhere-else-0123456789' };
    const words = ['call', server.resource, 'whoami', '--application', '--client-id', 'report'];
    const ask = (scope: string) =>
      run([...words, '--account', scope, '--scope', scope], { environment: secret });
    const { code, errors } = await ask('nothing');
    expect([code, errors]).toEqual([
      3,
      expect.stringContaining('Name scopes that this client may have with --scope'),
    ]);
    expect((await ask('notes:read')).code).toBe(0);
  });

  it('an application gets the scopes that it was registered for, without naming them', async () => {
    const environment = { PORTCULLIS_CLIENT_SECRET: 'kept-in-a-file-and-nowhere-else-0123456789' };
    const words = ['--application', '--client-id', 'report', '--account', 'unnamed'];
    const { code, output } = await run(['call', server.resource, 'whoami', ...words], { environment });
    expect([code, output]).toEqual([0, expect.stringContaining('by report with: notes:read')]);
    const refused = await run(['call', server.resource, 'add_note', 'text=x', ...words], { environment });
    expect([refused.code, refused.output]).toEqual([2, '']);
    expect(refused.errors).toContain('notes:write');
  });

  it('a second command says at once that it waits for the sign-in of the first, how long, and how to go first', async () => {
    const words = ['login', server.resource, '--account', 'waits'];
    const first = computer.start([...words, '--no-browser']);
    await new Promise((resolve) => first.stderr?.once('data', resolve));
    const second = computer.start(['call', server.resource, 'whoami', '--account', 'waits', '--no-browser']);
    let said = '';
    const told = new Promise((resolve) =>
      second.stderr?.on('data', (chunk) => {
        said += chunk;
        if (said.includes('(Ctrl+C where it runs).')) resolve(said);
      }),
    );
    expect(await told).toContain('Another sign-in for this account is under way.');
    expect(said).toContain('ten minutes at most');
    for (const child of [first, second]) {
      const ended = new Promise((resolve) => child.once('close', resolve));
      child.kill();
      await ended;
    }
  });

  it('a command ends quietly when nobody reads on', async () => {
    await run(['login', server.resource]);
    const child = computer.start(['tools', server.resource, '--json']);
    child.stdout?.destroy();
    let errors = '';
    child.stderr?.on('data', (chunk) => (errors += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect([code, errors]).toEqual([0, '']);
  });

  it('T147 shows nothing of an answer that could control a terminal', async () => {
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

describe('T146 secrets', () => {
  const SECRET = 'kept-in-a-file-and-nowhere-else-0123456789';
  const asApplication = [
    ...['--application', '--client-id', 'report', '--account', 'report', '--scope', 'notes:read'],
  ];

  it('come from a file, from the environment, or from standard input', async () => {
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

  it('cannot be given on a command line: no option takes one', async () => {
    for (const command of ['login', 'call', 'tools', 'token', 'logout']) {
      const { output } = await run([command, '--help']);
      expect(output).not.toMatch(/--[\w-]*(secret|token|password)[\w-]* <(?!file)/);
      expect(output).toContain('Exit codes:');
    }
  });

  it('are in no command line while the command runs', async () => {
    const environment = { PORTCULLIS_CLIENT_SECRET: SECRET };
    const child = computer.start(['tools', server.resource, ...asApplication], environment);
    const seen = new Set<string>();
    const watch = setInterval(() => {
      try {
        seen.add(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'));
      } catch {
        // It has gone, or there is no such file system.
      }
    }, 5);
    await new Promise((resolve) => child.once('close', resolve));
    clearInterval(watch);
    expect([...seen].join('\n')).not.toContain(SECRET);
  });
});

// A pseudo-terminal by the program `script`, as Linux has it.
const pseudoTerminal = '/usr/bin/script';
describe.skipIf(!existsSync(pseudoTerminal) || process.platform !== 'linux')('on a terminal', () => {
  function onTerminal(words: readonly string[], environment: Readonly<Record<string, string>> = {}): string {
    const line = [process.execPath, '--conditions=portcullis-source', main, ...words]
      .map((word) => `'${word}'`)
      .join(' ');
    const { stdout } = spawnSync(pseudoTerminal, ['-qec', line, '/dev/null'], {
      cwd: computer.folder,
      env: { ...computer.environment, TERM: 'xterm', ...environment },
      encoding: 'utf8',
    });
    return stdout;
  }

  it('T146 a token is not shown, unless that is asked for', async () => {
    await run(['login', server.resource, '--account', 'screen']);
    const words = ['token', server.resource, '--account', 'screen'];
    const refused = onTerminal(words);
    expect(refused).toContain('A token does not belong on a screen');
    expect(refused).not.toMatch(/eyJ/);
    expect(onTerminal([...words, '--show'])).toMatch(/^eyJ/);
  });

  it('there are colours, where they are welcome', async () => {
    await run(['login', server.resource, '--account', 'colours']);
    const words = ['tools', server.resource, '--account', 'colours'];
    expect(onTerminal(words)).toContain('\x1b[1mwhoami\x1b[22m');
    expect(onTerminal(words, { NO_COLOR: '1' })).not.toContain('\x1b[1m');
  });
});

describe('what goes wrong has an exit code', () => {
  it.each([
    ['a wrong address', ['login', 'ftp://example.com'], 1, 'must be an absolute https URL'],
    [
      'an unknown revision',
      ['tools', 'https://example.com/mcp', '--revision', '1999-01-01'],
      1,
      'revision must be',
    ],
    ['a server that is not there', ['login', 'http://127.0.0.1:9/mcp'], 4, 'could not be reached'],
    ['no session', ['token', 'https://example.com/mcp'], 3, 'Sign in: npm run portcullis -- login'],
    ['a port that is none', ['login', 'https://example.com/mcp', '--port', '99999'], 1, 'must be a port'],
  ])('%s', async (_what, args, code, words) => {
    const ended = await run(args);
    expect([ended.code, ended.output]).toEqual([code, '']);
    expect(ended.errors).toContain(words);
    expect(ended.errors.trim().split('\n')).toHaveLength(1);
  });

  it('T149 settings of the folder in which it runs change nothing', async () => {
    for (const name of ['portcullis.json', '.mcp.json', 'config.json', '.portcullis'])
      writeFileSync(
        join(computer.folder, name),
        '{"credentials":"elsewhere","serverUrl":"https://evil.example"}',
      );
    const { output } = await run(['sessions', '--json']);
    expect(JSON.parse(output).location).toContain(computer.credentials);
  });
});
