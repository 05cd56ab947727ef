/** `portcullis token`: prints a valid access token for another program. */
import type { Client, Session } from '@portcullis/client';
import type { Command } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { addClientOptions, addProgramOptions, type ProgramFlags } from '../client/flags.ts';
import { signInNeeded, withQuietClient } from '../client/open-client.ts';
import type { ProcessContext } from '../process-context.ts';

type Flags = ProgramFlags & { readonly show?: true };

/** An application authenticates with its own credentials, also to replace a token that is bound to a key. */
async function openSession(client: Client, { application }: Flags): Promise<Session | null> {
  const session = await client.session();
  if (!application || session?.scheme === 'Bearer') return session;
  return session === null ? client.signIn({ automatic: true }) : client.signIn();
}

export function defineToken(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('token')
    .summary('print an access token for another program')
    .description(
      'Prints an access token of a session, refreshed if necessary, for another program to read from a pipe or a file.\n' +
        'Anyone who has the token can act as you until it expires, so it is not printed to a terminal without --show.\n' +
        'A DPoP-bound token would be useless without its key: a bearer token of the same session is requested in its place.',
    )
    .argument('<server-url>', 'URL of the protected server')
    .option('--show', 'print the token even to a terminal');
  addProgramOptions(addClientOptions(command)).action((serverUrl: string, flags: Flags) =>
    withQuietClient(serverUrl, flags, processContext, async ({ client, terminal }) => {
      if (terminal.outputIsTerminal && !flags.show) {
        throw new CommandFailure(
          exitCodes.usage,
          'Refused to print a token to a terminal: redirect the output to a program, or add --show',
        );
      }
      terminal.during('Refreshing the token');
      client.preferBearer();
      const session = await openSession(client, flags);
      const token = session === null ? null : await client.accessToken();
      const scheme = (await client.session())?.scheme;
      if (session === null || token === null) throw signInNeeded(serverUrl, flags.account, processContext);
      if (scheme === 'DPoP') {
        const { command: portcullis } = processContext;
        const advice = `use ${portcullis} call or ${portcullis} connect, or sign in with ${portcullis} login --dpop never`;
        throw new CommandFailure(exitCodes.rules, `The token is bound to a key on this computer: ${advice}`);
      }
      terminal.print(`${token}\n`);
    }),
  );
}
