/** The client commands in a pseudo-terminal with a user who types: questions, hidden input, progress, and Ctrl+C. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { createWorld } from '../../client/test/support/world.ts';
import { type Computer, createComputer, main } from './support/command.ts';
import { mcpResult } from './support/mcp-results.ts';

// `script` of Linux; other systems have a different program of that name.
const pseudoTerminal = '/usr/bin/script';

let computer: Computer;
const running: ChildProcess[] = [];

beforeEach(() => {
  computer = createComputer({
    authorize: async (url) =>
      new URL((await fetch(url, { redirect: 'manual' })).headers.get('location') ?? ''),
  });
});

afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  computer.close();
});

interface Screen {
  /** Waits for text on the screen, after the text waited for before. */
  shows(text: string | RegExp): Promise<void>;
  type(keys: string): void;
  /** All output so far, with control characters. */
  written(): string;
  /** Exit code. */
  readonly ended: Promise<number | null>;
}

function open(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Screen {
  const line = [process.execPath, ...sourceFlags(), main, ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn(pseudoTerminal, ['-qec', line, '/dev/null'], {
    cwd: computer.folder,
    env: { ...computer.environment, TERM: 'xterm', ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running.push(child);
  let [written, read] = ['', 0];
  let look = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
    look();
  });
  return {
    written: () => written,
    type: (keys) => void child.stdin.write(keys),
    ended: new Promise((resolve) => child.once('close', resolve)),
    shows: (text) =>
      new Promise((resolve) => {
        look = () => {
          const rest = written.slice(read);
          const match = typeof text === 'string' ? rest.indexOf(text) : rest.search(text);
          if (match === -1) return;
          read += match + 1;
          look = () => undefined;
          resolve();
        };
        look();
      }),
  };
}

describe.skipIf(!existsSync(pseudoTerminal) || process.platform !== 'linux')('on a terminal', () => {
  it('T146 login asks for a client to register manually, and does not echo its secret', async () => {
    const world = await createWorld({ metadata: { registration_endpoint: undefined } });
    const screen = open(['login', world.serverUrl]);
    await screen.shows('redirect URIs  http://127.0.0.1:');
    await screen.shows('Client ID');
    screen.type('mine\r');
    await screen.shows('Client secret');
    screen.type('hunter2\r');
    await screen.shows('Signed in.');
    expect(await screen.ended).toBe(0);
    expect(screen.written()).toContain('mine');
    expect(screen.written()).not.toContain('hunter2');
    expect(world.as.asked('/token')[0]?.headers.get('authorization')).toBe(`Basic ${btoa('mine:hunter2')}`);
  });

  it.each([
    ['y', 0, 'granted'],
    ['n', 2, 'refused the call'],
  ])('call asks the user before it requests additional scopes: %s', async (key, code, words) => {
    const world = await createWorld();
    world.server.on('/mcp', ({ headers, body }) => {
      const scope = world.tokens.get(headers.get('authorization')?.slice(7) ?? '');
      if (scope === undefined) return { status: 401, headers: { 'www-authenticate': challenge() } };
      const { id, method } = JSON.parse(body || '{}');
      if (method !== 'tools/call') return { body: { jsonrpc: '2.0', id, result: mcpResult(method) } };
      if (!scope.includes('write'))
        return {
          status: 403,
          headers: { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' },
        };
      return { body: { jsonrpc: '2.0', id, result: mcpResult(method, content) } };
    });
    const content = { content: [{ type: 'text', text: 'granted' }] };
    const challenge = () =>
      `Bearer resource_metadata="${world.server.origin}/.well-known/oauth-protected-resource/mcp", scope="read"`;
    const screen = open(['call', world.serverUrl, 'any']);
    await screen.shows('The server requires additional scopes: write. Request them? [y/N]');
    screen.type(`${key}\r`);
    await screen.shows(words === 'granted' ? words : /status 403|refused/);
    expect(await screen.ended).toBe(code);
    expect(world.as.asked('/token')).toHaveLength(key === 'y' ? 2 : 1);
  });

  it('login shows a line of progress after a second, and removes it', async () => {
    const world = await createWorld();
    const slow = Promise.withResolvers<void>();
    world.as.on('POST /token', async () => {
      await slow.promise;
      return { body: { access_token: world.issue('a'), token_type: 'Bearer' } };
    });
    const screen = open(['login', world.serverUrl]);
    await screen.shows(/ … 1 s/);
    slow.resolve();
    await screen.shows('Signed in.');
    expect(await screen.ended).toBe(0);
    const [before = '', after = ''] = screen.written().split('Signed in.');
    // Removed before the result, and not shown again after it.
    expect(before.lastIndexOf('\r\x1b[2K')).toBeGreaterThan(before.lastIndexOf(' s'));
    expect(before.endsWith('\x1b[32m')).toBe(true);
    expect(after).not.toContain('…');
  });

  it('Ctrl+C where a URL is to be pasted ends the command with exit code 130 and no error', async () => {
    const world = await createWorld();
    const screen = open(['login', world.serverUrl, '--no-browser']);
    await screen.shows('Paste the URL');
    screen.type('\x03');
    expect(await screen.ended).toBe(130);
    expect(screen.written()).not.toContain('There was no input');
    expect(world.as.asked('/token')).toEqual([]);
  });

  it('Ctrl+C cancels a sign-in with exit code 130 and closes the loopback receiver', async () => {
    const world = await createWorld();
    computer.close();
    computer = createComputer();
    const screen = open(['login', world.serverUrl]);
    await screen.shows('visit this URL:');
    await expect.poll(() => computer.opened().length).toBe(1);
    const redirectUri = computer.opened()[0]?.searchParams.get('redirect_uri') ?? '';
    screen.type('\x03');
    expect(await screen.ended).toBe(130);
    await expect(fetch(redirectUri)).rejects.toThrow();
    expect(world.as.asked('/token')).toEqual([]);
  });
});
