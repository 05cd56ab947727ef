/** Advice with errors: it never names an option that was just given. */
import { ClientError } from '@portcullis/client';
import { expect, it } from 'vitest';
import { adviceForUser, hintFor } from '../src/client/exit-codes.ts';
import { HttpResponseError } from '../src/client/transport/responses.ts';

const cancelled = new ClientError('cancelled', 'The sign-in was not completed.');
const invalidScope = new ClientError('authorization_failed', 'No.', { oauthError: 'invalid_scope' });

it.each([
  [cancelled, ['login', 'https://mcp.example'], ['--no-browser', '--device']],
  [cancelled, ['login', 'https://mcp.example', '--no-browser'], ['--device']],
  [cancelled, ['login', 'https://mcp.example', '--device'], []],
  [invalidScope, ['login', 'https://mcp.example'], ['--scope']],
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
  const user = {
    server: 'https://mcp.example',
    account: 'default',
    command: 'portcullis',
    scopes: ['notes:read'],
    stepUp,
  };
  expect(adviceForUser(error, user)).toMatch(expected);
});
