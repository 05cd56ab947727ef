/** `portcullis sessions`: lists the stored client sessions, without secrets. */
import { type CredentialRecord, describeSession, readServerUrl, type Session } from '@portcullis/client';
import type { Command } from 'commander';
import { addJsonOption, type ClientFlags, credentialsOption } from '../client/flags.ts';
import { withCredentialStore } from '../client/open-client.ts';
import { describeActor, sessionJson, shortTime } from '../client/session-text.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';

export function defineSessions(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('sessions')
    .summary('list your sessions at protected servers')
    .description('Lists the stored sessions at one server or at all servers.')
    .argument('[server-url]', 'URL of a protected server')
    .addOption(credentialsOption());
  addJsonOption(command).action((serverUrl: string | undefined, flags: ClientFlags) =>
    withCredentialStore(flags, processContext, async (store, terminal) => {
      const server = serverUrl === undefined ? null : readServerUrl(serverUrl);
      const records = await store.all();
      const sessions = records
        .filter(({ key }) => server === null || key.server === server)
        .flatMap((record) => sessionOf(record, store.location));
      if (flags.json) {
        const shapes = sessions.map(withoutLocation);
        return terminal.print(`${cleanJson({ location: store.location, sessions: shapes })}\n`);
      }
      terminal.print(table(sessions));
    }),
  );
}

/** The location is the same for all. */
function withoutLocation({ location: _, ...session }: Session): object {
  return sessionJson(session);
}

function sessionOf(record: CredentialRecord, location: string): readonly Session[] {
  const session = describeSession(record, location);
  return session === null ? [] : [session];
}

function table(sessions: readonly Session[]): string {
  if (sessions.length === 0) return 'There are no sessions.\n';
  const rows = sessions.map((session) => {
    const { server, account, issuer, scopes, since } = session;
    return [
      server,
      account,
      describeActor(session),
      `issuer ${issuer}`,
      `since ${shortTime(since)}`,
      endOf(session),
      scopes.join(' '),
    ];
  });
  return columns(rows.map((row) => row.map(cleanLine)));
}

function endOf({ refreshable, expiresAt }: Session): string {
  if (refreshable) return 'refreshed automatically';
  return expiresAt === null ? 'without a known expiry' : `until ${shortTime(expiresAt)}`;
}
