/** `portcullis accounts`: which sessions are kept, without a secret in them. */
import { type CredentialRecord, readServerUrl } from '@portcullis/client';
import type { Command } from 'commander';
import { addJsonOption, credentialsOption } from '../client/flags.ts';
import { withStore } from '../client/open-client.ts';
import type { Surroundings } from '../surroundings.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';

interface Flags {
  readonly credentials?: string;
  readonly json?: true;
}

/** What is shown of a record. */
interface Account {
  readonly server: string;
  readonly account: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly expiresAt: string | null;
  readonly refreshable: boolean;
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
        .flatMap((record) => accountOf(record));
      if (flags.json) return terminal.print(`${cleanJson({ place: store.place, accounts })}\n`);
      terminal.print(table(accounts));
    }),
  );
}

function accountOf({ key, tokens }: CredentialRecord): readonly Account[] {
  if (tokens === null) return [];
  const { clientId, scopes, expiresAt, refreshToken } = tokens;
  return [
    {
      ...key,
      clientId,
      scopes,
      expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      refreshable: refreshToken !== null,
    },
  ];
}

function table(accounts: readonly Account[]): string {
  if (accounts.length === 0) return 'Nobody is signed in anywhere.\n';
  const rows = accounts.map(({ server, account, issuer, scopes, refreshable, expiresAt }) => [
    server,
    account,
    `by ${issuer}`,
    refreshable ? 'renewed by itself' : `until ${expiresAt ?? 'refused'}`,
    scopes.join(' '),
  ]);
  return columns(rows.map((row) => row.map(cleanLine)));
}
