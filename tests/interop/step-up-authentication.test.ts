/** Step-up authentication (RFC 9470) from end to end: the command line, the guard of an application, and the server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Computer, createComputer } from '../../packages/cli/test/support/command.ts';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { TOO_OLD } from '../support/recent-notes.ts';
import { createUser } from '../support/user.ts';

let server: PortcullisHere;
let computer: Computer;

beforeAll(async () => {
  server = await startPortcullisHere(
    {},
    fileURLToPath(new URL('../support/recent-notes.ts', import.meta.url)),
  );
  computer = createComputer(createUser(owner));
  expect(await computer.run(['login', server.resource])).toMatchObject({ code: 0 });
});

afterAll(async () => {
  computer.close();
  await server.stop();
});

const call = (tool: string, ...words: string[]) => computer.run(['call', server.resource, tool, ...words]);

it('a command signs the user in again where an operation demands a recent sign-in, and only there', async () => {
  await sleep(TOO_OLD * 1000);
  expect(await call('whoami')).toMatchObject({ code: 0 });
  expect(computer.opened()).toHaveLength(1);

  expect(await call('add_note', 'text=Signed in for this')).toMatchObject({ code: 0 });
  const [, again] = computer.opened();
  expect(computer.opened()).toHaveLength(2);
  // Pushed: its parameters are not in the address.
  expect([...(again?.searchParams.keys() ?? [])].toSorted()).toEqual(['client_id', 'request_uri']);

  // The new sign-in is recent enough for the next one.
  expect(await call('add_note', 'text=And this')).toMatchObject({ code: 0 });
  expect(computer.opened()).toHaveLength(2);
});

it('a user without a second factor learns that the operation needs one, and stays signed in', async () => {
  const { code, errors } = await call('list_notes');
  expect(code).not.toBe(0);
  expect(errors).toContain('with an authenticator app or a passkey');
  expect(await call('whoami')).toMatchObject({ code: 0 });
});
