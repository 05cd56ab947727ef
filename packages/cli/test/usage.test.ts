/** What the command line says about arguments that are missing or in the wrong place. */
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { runHere } from './support/in-process.ts';

const run = (...args: readonly string[]) => runHere(args, { environment: {}, folder: tmpdir() });

it.each([
  [['call'], 'server-url', 'portcullis call [options] <server-url> <tool> [arguments...]'],
  [['users', 'add'], 'email', 'portcullis users add [options] <email>'],
])('%j without an argument says how it is written', async (args, name, usage) => {
  expect(await run(...args)).toEqual({
    code: 1,
    output: '',
    errors: `portcullis: missing required argument '${name}'\nUsage: ${usage}\n${usage.split(' [')[0]} --help shows options and examples\n`,
  });
});

it('`protect` with options of another command says where -- belongs', async () => {
  expect(await run('protect', 'npx', '-y', 'foo')).toEqual({
    code: 1,
    output: '',
    errors:
      "portcullis: unknown option '-y'\nTo protect a command, put -- before it: portcullis protect -- npx -y foo\n",
  });
});

it.each([
  [['users', 'list', '--server', 'https://auth.example.com'], '--server <url> goes before the command'],
  [
    ['users', 'describe', 'ada@example.com', '--reason', 'x'],
    '--reason is for commands that act on another server: --server <url> goes before the command',
  ],
])('%j says where --server belongs', async (args, message) => {
  expect(await run(...args)).toEqual({ code: 1, output: '', errors: `portcullis: ${message}\n` });
});

it('the help for another server says what each group of commands is about', async () => {
  const { output } = await run('--server', 'https://auth.example.com', '--help');
  const commands = output.slice(output.indexOf('Commands:')).split('\n');
  expect(commands.filter((line) => /^ {2}\S+( \[\S+\])*$/.test(line))).toEqual([]);
  expect(output).toMatch(/reset user accounts/);
});

it('the help of client commands says of --revision that it is about authorization', async () => {
  expect((await run('call', '--help')).output).toMatch(
    /--revision <date>\s+revision of MCP[^-]*authorization rules/,
  );
});

it('the help of commands beside the database says what the port is for, where nothing listens', async () => {
  expect((await run('users', 'list', '--help')).output).not.toContain('listen');
  expect((await run('up', '--help')).output).toContain('port to listen on');
});

it('an unknown option of another command has no such hint', async () => {
  const { code, errors } = await run('status', '--unknown');
  expect([code, errors]).toEqual([1, "portcullis: unknown option '--unknown'\n"]);
});
