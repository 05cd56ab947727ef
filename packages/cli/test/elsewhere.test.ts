/** `portcullis up` without an application: an authorization server for servers elsewhere, such as the examples. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import { reservePort } from '../../../tests/support/ports.ts';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { createUser } from '../../../tests/support/user.ts';
import { prepare } from '../src/server/prepare.ts';
import { type Computer, createComputer, main } from './support/command.ts';

const pathOf = (location: string) => fileURLToPath(new URL(`../../../${location}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'portcullis-elsewhere-'));
const children = new Set<ChildProcess>();

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** Starts a program and answers what its line `ready` names. */
function start(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [...sourceFlags(), ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let said = '';
  const ready = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const url = /^ready (\S+)$/m.exec(said)?.[1];
      if (url !== undefined) ready.resolve(url);
    });
  }
  child.once('close', (code) => ready.reject(new Error(`it ended with ${code}: ${said}`)));
  return { ready: ready.promise, said: () => said };
}

describe('for two servers elsewhere', () => {
  let issuer: string;
  let announced: () => string;
  let greeter: string;
  let files: string;
  let computer: Computer;

  beforeAll(async () => {
    const [port, other] = [await reservePort(), await reservePort()];
    greeter = `http://localhost:${port}/mcp`;
    files = `http://localhost:${other}/mcp`;
    const resources = [
      { resource: greeter, name: 'Greeter', scopes: { greet: 'Greet you by name' } },
      {
        resource: files,
        name: 'Files',
        scopes: { greet: 'Greet', admin: 'All' },
        hierarchy: { admin: ['greet'] },
      },
    ];
    const config = join(folder, 'config.json');
    writeFileSync(
      config,
      JSON.stringify({ resources, clients: [machine], brand: { accent: { light: '#1c4fc4' } } }),
    );
    const server = start(
      [main, 'up', '--verbose', '--config', config, '--port', '0', '--database', ':memory:'],
      {
        PORTCULLIS_BOOTSTRAP_EMAIL: owner.email,
        PORTCULLIS_BOOTSTRAP_PASSWORD: owner.password,
      },
    );
    issuer = await server.ready;
    announced = server.said;
    await start([pathOf('examples/express/server.ts')], { PORT: String(port), ISSUER: issuer }).ready;
    computer = createComputer(createUser(owner));
  });
  afterAll(() => computer.close());

  const machine = {
    client_id: 'machine',
    client_secret: 'kept-by-the-machine-0123456789',
    grant_types: ['client_credentials'],
    scope: 'greet admin',
  };
  const tokenFor = async (form: Readonly<Record<string, string>>) => {
    const response = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`machine:${machine.client_secret}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
    });
    return [response.status, (await response.json()) as Record<string, unknown>] as const;
  };

  it('the banner lists remote servers and publishes no metadata for them', async () => {
    for (const text of [
      `${greeter}  (Greeter)`,
      `${files}  (Files)`,
      `${issuer}/connections`,
      `npm run -s portcullis -- tools ${greeter}`,
      `"${greeter}"`,
      `"${files}"`,
    ]) {
      expect(announced()).toContain(text);
    }
    expect(announced()).not.toContain('oauth-protected-resource');
    expect((await fetch(`${issuer}/.well-known/oauth-protected-resource`)).status).toBe(404);
    expect((await fetch(`${issuer}/mcp`)).status).toBe(404);
  });

  it('[S-ROLE-2] a user signs in and calls a tool of a protected server elsewhere', async () => {
    const called = await computer.run(['call', greeter, 'greet', '--json']);
    expect([called.code, called.errors]).toEqual([0, expect.any(String)]);
    expect(called.output).toMatch(/Hello user_/);
    expect(computer.opened()).toHaveLength(1);
    // The request itself, with its resource, was pushed.
    expect([...(computer.opened()[0]?.searchParams.keys() ?? [])]).toEqual(['client_id', 'request_uri']);
  });

  it('[S-AUD-1] a token is for one remote server with its own scopes, and unknown resources get none', async () => {
    const [, first] = await tokenFor({});
    const [, second] = await tokenFor({ resource: files, scope: 'admin' });
    const audienceOf = ({ access_token: token }: Record<string, unknown>) =>
      JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString()).aud;
    expect([audienceOf(first), audienceOf(second)]).toEqual([greeter, files]);
    const present = ({ access_token: token }: Record<string, unknown>) =>
      fetch(greeter, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      });
    expect((await present(first)).status).not.toBe(401);
    const refused = await present(second);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('error="invalid_token"'),
    ]);
    expect(await tokenFor({ resource: greeter, scope: 'admin' })).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_scope' }),
    ]);
    expect(await tokenFor({ resource: `${files}/other` })).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_target' }),
    ]);
  });

  describe('the front page', () => {
    it('the front page is a localized HTML page without inline scripts for browsers', async () => {
      const open = (language: string) =>
        fetch(issuer, { headers: { accept: 'text/html,*/*;q=0.8', 'accept-language': language } });
      const response = await open('en');
      const page = await response.text();
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('vary')).toContain('Accept');
      expect(response.headers.get('content-security-policy')).toMatch(
        /default-src 'none'.*frame-ancestors 'none'/,
      );
      for (const text of ['Greeter', greeter, 'Files', files, 'href="/connections"'])
        expect(page).toContain(text);
      expect(page).not.toMatch(/<script(?! [^>]*src=)/);
      const [, stylesheet = ''] = /rel="stylesheet" href="([^"]+)"/.exec(page) ?? [];
      expect((await fetch(new URL(stylesheet, issuer))).headers.get('content-type')).toContain('text/css');
      expect(await (await open('de')).text()).toContain('lang="de"');
    });

    it('the front page is plain text for other clients', async () => {
      const response = await fetch(issuer, { headers: { accept: '*/*' } });
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(await response.text()).toContain(`  Greeter\n  ${greeter}\n`);
      const posted = await fetch(issuer, { method: 'POST' });
      expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    });
  });
});

it('examples/portcullis.json matches the examples as they run on their own', async () => {
  const { settings } = await prepare({
    flags: { config: pathOf('examples/portcullis.json') },
    environment: {},
    folder,
  });
  expect(settings.port).toBe(8484);
  for (const example of ['express', 'fastify', 'hono']) {
    const source = readFileSync(pathOf(`examples/${example}/server.ts`), 'utf8');
    const [, port, issuer] = /PORT = '(\d+)', ISSUER = '([^']+)'/.exec(source) ?? [];
    expect(issuer).toBe(`http://localhost:${settings.port}`);
    expect(settings.resources).toMatchObject([
      { resource: `http://localhost:${port}/mcp`, scopes: { greet: expect.any(String) } },
    ]);
  }
});
