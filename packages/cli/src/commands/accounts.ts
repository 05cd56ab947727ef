/** `portcullis accounts`: which sessions are kept, without a secret in them. */
import { type CredentialRecord, describeSession, readServerUrl, type Session } from '@portcullis/client';
import type { Command } from 'commander';
import { addJsonOption, credentialsOption } from '../client/flags.ts';
import { withStore } from '../client/open-client.ts';
import { actorOf, sessionShape, shortTime } from '../client/session-text.ts';
import type { Surroundings } from '../surroundings.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';

interface Flags {
  readonly credentials?: string;
  readonly json?: true;
}

export function defineAccounts(program: Command, surroundings: Surroundings): void {
  const command = program
    .command('accounts')
    .summary('list the sessions that are kept')
    .description('Lists the sessions that are kept, of one server or of all.')
    .argument('[server-url]', 'address of a protected server')
    .addOption(credentialsOption());
  addJsonOption(command).action((serverUrl: string | undefined, flags: Flags) =>
    withStore(flags, surroundings, async (store, terminal) => {
      const server = serverUrl === undefined ? null : readServerUrl(serverUrl);
      const records = await store.all();
      const accounts = records
        .filter(({ key }) => server === null || key.server === server)
        .flatMap((record) => accountOf(record, store.location));
      if (flags.json) {
        const shapes = accounts.map(accountShape);
        return terminal.print(`${cleanJson({ place: store.location, accounts: shapes })}\n`);
      }
      terminal.print(table(accounts));
    }),
  );
}

/** Where they are kept is said once. */
function accountShape({ location: _, ...session }: Session): object {
  return sessionShape(session);
}

function accountOf(record: CredentialRecord, place: string): readonly Session[] {
  const session = describeSession(record, place);
  return session === null ? [] : [session];
}

function table(accounts: readonly Session[]): string {
  if (accounts.length === 0) return 'Nobody is signed in anywhere.\n';
  const rows = accounts.map((session) => {
    const { server, account, issuer, scopes, since } = session;
    return [
      server,
      account,
      actorOf(session),
      `authorized by ${issuer}`,
      since === null ? '' : `since ${shortTime(since)}`,
      endOf(session),
      scopes.join(' '),
    ];
  });
  return columns(rows.map((row) => row.map(cleanLine)));
}

function endOf({ refreshable, expiresAt }: Session): string {
  if (refreshable) return 'renewed by itself';
  return expiresAt === null ? 'until refused' : `until ${shortTime(expiresAt)}`;
}
