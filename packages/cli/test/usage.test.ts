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

it('an unknown option of another command has no such hint', async () => {
  const { code, errors } = await run('status', '--unknown');
  expect([code, errors]).toEqual([1, "portcullis: unknown option '--unknown'\n"]);
});
