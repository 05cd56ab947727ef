/** Sessions of users and of applications at one server: each command uses the one that its options select. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { createUser } from '../../../tests/support/user.ts';
import { createWorld } from '../../client/test/support/world.ts';
import { adviceFor } from '../src/client/advice.ts';
import { HttpResponseError } from '../src/client/transport/responses.ts';
import { type Computer, createComputer } from './support/command.ts';

const SECRET = 'kept-in-a-file-and-nowhere-else-0123456789';

let server: PortcullisHere;
let computer: Computer;

beforeAll(async () => {
  const program = (client_id: string, scope: string) => ({
    client_id,
    client_secret: SECRET,
    grant_types: ['client_credentials'],
    scope,
  });
  server = await startPortcullisHere({
    clients: [program('report', 'notes:read'), program('backup', 'notes:read notes:write')],
  });
});

afterAll(() => server.stop());

beforeEach(() => {
  computer = createComputer(createUser(owner));
  writeFileSync(join(computer.folder, 'secret'), `${SECRET}\n`);
  writeFileSync(join(computer.folder, 'garbage'), 'garbage\n');
});

afterEach(() => computer.close());

const run: Computer['run'] = (args) => computer.run(args);
const as = (clientId: string, file = 'secret') =>
  ['--application', '--client-id', clientId, '--client-secret-file', file] as const;
const whoami = (...more: readonly string[]) =>
  run(['call', server.resource, 'whoami', '--no-browser', ...more]);
const signIn = async () => expect(await computer.run(['login', server.resource])).toMatchObject({ code: 0 });

interface Shown {
  readonly kind: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly since: string;
}

async function sessions(): Promise<readonly Shown[]> {
  const { output } = await run(['sessions', server.resource, '--json']);
  return (JSON.parse(output) as { sessions: readonly Shown[] }).sessions;
}

it('T148 call --application acts as the application although a user is signed in, and checks its secret', async () => {
  await signIn();
  const user = await whoami();
  expect([user.code, user.output]).toEqual([0, expect.not.stringContaining('by report')]);

  const before = await sessions();
  const garbage = await whoami(...as('report', 'garbage'));
  expect([garbage.code, garbage.output]).toEqual([3, '']);
  expect(garbage.errors).toContain('invalid_client');
  expect(await sessions()).toEqual(before);

  const program = await whoami(...as('report'));
  expect([program.code, program.output]).toEqual([0, expect.stringContaining('by report with: notes:read')]);
  // The stored token is bound to that secret.
  expect((await whoami(...as('report', 'garbage'))).code).toBe(3);
  expect((await whoami(...as('backup'))).output).toContain('by backup with');
  expect((await whoami()).output).toBe(user.output);
});

it('T148 the session of an application does not sign the user in', async () => {
  expect((await whoami(...as('report'))).code).toBe(0);
  const asked = await whoami();
  expect([asked.code, asked.output]).toEqual([3, '']);
  expect(asked.errors).toContain('because there is no session yet');
  expect(await run(['token', server.resource])).toMatchObject({ code: 3, output: '' });
});

it('sessions shows who each session acts for, its client, scopes and start', async () => {
  await signIn();
  await whoami(...as('report'));
  const [user, program] = await sessions();
  expect(user).toMatchObject({ kind: 'user', account: 'default', refreshable: true });
  expect(program).toMatchObject({ kind: 'application', clientId: 'report', scopes: ['notes:read'] });
  expect(Date.parse(program?.since ?? '')).toBeGreaterThanOrEqual(Date.parse(user?.since ?? ''));
  const { output } = await run(['sessions']);
  const [first, second] = output.split('\n');
  expect(first).toContain(`you, through the client ${user?.clientId}`);
  expect(second).toMatch(
    /the application report itself .* since \d{4}-\d\d-\d\d \d\d:\d\d UTC .* notes:read$/,
  );
});

it('logout ends the selected session and keeps the others', async () => {
  await signIn();
  await whoami(...as('report'));
  await whoami(...as('backup'));
  const remaining = async () =>
    (await sessions()).map(({ kind, clientId }) => (kind === 'user' ? kind : clientId));
  expect(await remaining()).toEqual(['user', 'backup', 'report']);
  const out = (...words: readonly string[]) => run(['logout', server.resource, '--json', ...words]);
  expect(JSON.parse((await out(...as('report'))).output)).toEqual({ outcome: 'revoked' });
  expect(await remaining()).toEqual(['user', 'backup']);
  expect(JSON.parse((await out()).output)).toEqual({ outcome: 'revoked' });
  expect(JSON.parse((await out()).output)).toEqual({ outcome: 'no_session' });
  expect(await remaining()).toEqual(['backup']);
  // Without the secret the tokens are deleted here and remain valid until they expire.
  const { output } = await out('--application', '--client-id', 'backup');
  expect(JSON.parse(output)).toEqual({ outcome: 'forgotten' });
  expect(await remaining()).toEqual([]);
});

it('token --application prints a token of the application, obtaining one if necessary', async () => {
  await signIn();
  const { code, output } = await run(['token', server.resource, ...as('report')]);
  expect(code).toBe(0);
  const payload = Buffer.from(output.split('.')[1] ?? '', 'base64url').toString();
  expect(JSON.parse(payload)).toMatchObject({ client_id: 'report' });
  expect(await run(['token', server.resource, ...as('report', 'garbage')])).toMatchObject({
    code: 3,
    output: '',
  });
});

it('--application requires --client-id', async () => {
  for (const command of [
    ['call', server.resource, 'whoami'],
    ['logout', server.resource],
  ]) {
    expect(await run([...command, '--application'])).toMatchObject({
      code: 1,
      errors: expect.stringContaining('--application requires --client-id'),
    });
  }
});

describe('an application that lacks a scope', () => {
  const write = (...more: readonly string[]) =>
    run(['call', server.resource, 'add_note', 'text=milk', ...more]);

  it('call --application names the scopes that the registration lacks, and suggests no sign-in', async () => {
    const { code, output, errors } = await write(...as('report'));
    expect([code, output]).toEqual([2, '']);
    expect(errors).toContain(
      'The token of the client report lacks notes:write. The registration of the client report at the authorization server must allow notes:write',
    );
    expect(errors).not.toMatch(/--step-up|login/);
  });

  it('call --application suggests --scope for a scope that was not requested, and gets it with --step-up', async () => {
    const limited = await write(...as('backup'), '--scope', 'notes:read');
    expect([limited.code, limited.output]).toEqual([2, '']);
    expect(limited.errors).toContain('lacks notes:write. Add notes:write to --scope, or use --step-up');
    expect(await write(...as('backup'), '--scope', 'notes:read', '--step-up')).toMatchObject({ code: 0 });
  });
});

it('call --application names neither scopes that the token has nor those of --scope among those it lacks', () => {
  const flags = { account: 'default', application: true, clientId: 'report' } as const;
  const application = { server: server.resource, flags, command: 'portcullis', scopes: ['a'] };
  const error = new HttpResponseError(403, 'insufficient_scope', ['a', 'b', 'c']);
  expect(adviceFor(error, { ...application, flags: { ...flags, scope: ['a', 'b'] } })).toContain(
    'lacks b c. Add c to --scope, or use --step-up. If that is refused, the registration of the client report at the authorization server must allow b c',
  );
  expect(adviceFor(error, { ...application, scopes: ['a', 'b', 'c'] })).toContain(
    'lacks a b c. The registration',
  );
});

describe('an authorization server that is down while the server is up', () => {
  it.each([
    ['call', ['whoami', '--no-browser']],
    ['call', ['whoami', ...as('report')]],
    ['doctor', []],
  ])('%s %j names the authorization server that cannot be reached', async (command, words) => {
    const world = await createWorld();
    await world.as.close();
    const { code, output, errors } = await run([command, world.serverUrl, ...words]);
    expect(code).toBe(4);
    expect(output + errors).toContain(`${world.issuer} could not be reached: connection refused`);
  });
});

it('login --no-browser suggests other options when no valid URL is pasted', async () => {
  const { code, errors } = await computer.run(['login', server.resource, '--no-browser'], {
    input: 'x\nx\nx\n',
  });
  expect(code).toBe(3);
  expect(errors).toContain(
    'Run it again in a terminal, where you can paste the URL, or with --device if the',
  );
  expect(errors).not.toContain('with --no-browser');
});
