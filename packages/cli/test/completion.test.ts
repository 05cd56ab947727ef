/** `portcullis completion`: the scripts know every command, and bash completes by the one for bash. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runHere } from './support/in-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...words: readonly string[]) => runHere(words, { environment: {}, folder });

const commands = [
  'up',
  'config',
  'users',
  'clients',
  'connections',
  'keys',
  'events',
  'servers',
  'policy',
  'migrate',
  'login',
  'logout',
  'sessions',
  'token',
  'call',
  'tools',
  'connect',
  'doctor',
];

it.each(['bash', 'zsh', 'fish'])('completion for %s knows every command', async (shell) => {
  const { code, output, errors } = await run('completion', shell);
  expect([code, errors]).toEqual([0, '']);
  for (const word of [...commands, 'users add', 'clients disable', 'json', 'no-browser'])
    expect(output).toContain(word);
});

it('completion rejects an unknown shell', async () => {
  const { code, errors } = await run('completion', 'cmd');
  expect([code, errors]).toEqual([1, expect.stringContaining('bash, zsh, fish')]);
});

describe('in bash', () => {
  it.each([
    ['portcullis log', ['login', 'logout']],
    ['portcullis users dis', ['disable']],
    ['portcullis doctor https://example.com --js', ['--json']],
    ['portcullis call https://example.com login --no', ['--no-browser']],
    ['portcullis nothing', []],
  ])('bash completes %s', async (line, expected) => {
    const { output } = await run('completion', 'bash');
    const file = join(folder, 'completion.bash');
    writeFileSync(file, output);
    const words = line.split(' ');
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _portcullis; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const found = execFileSync('bash', ['-c', script, 'bash', file, ...words], { encoding: 'utf8' });
    expect(found.trim().split('\n').filter(Boolean).toSorted()).toEqual(expected);
  });
});

describe('help', () => {
  it.each(commands)('`%s --help` describes the command and each option', async (command) => {
    const { code, output } = await run(command, '--help');
    expect(code).toBe(0);
    const lines = output.split('\n').filter((line) => /^ {2}-/.test(line));
    for (const line of lines) expect(line).toMatch(/^ {2}-.* {2,}\S/);
    expect(output).toMatch(/^Usage: portcullis/);
  });

  it.each(['users', 'clients', 'connections', 'keys'])(
    '`%s --help` summarizes each subcommand',
    async (group) => {
      const list = (await run(group, '--help')).output.split('Commands:\n')[1] ?? '';
      const summaries = list.split(/^ {2}(?=\S)/m).map((entry) => entry.replace(/^.*? {2,}/, '').trim());
      for (const summary of summaries.filter(Boolean)) expect(summary).toMatch(/^[a-z][^.]*$/);
      expect(summaries.length).toBeGreaterThan(2);
    },
  );

  it('help lists the exit codes of client commands', async () => {
    for (const command of ['login', 'call', 'doctor'])
      expect((await run(command, '--help')).output).toMatch(/Exit codes:\n {2}0 {4}success\n/);
  });
});
