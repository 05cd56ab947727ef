/** `portcullis token`: hands a good access token to another program. */
import type { Command } from 'commander';
import { CommandFailure, exitCodes } from '../client/exit-codes.ts';
import { addClientOptions, addProgramOptions, type ProgramFlags } from '../client/flags.ts';
import { signInNeeded, withQuietClient } from '../client/open-client.ts';
import type { ProcessContext } from '../process-context.ts';

type Flags = ProgramFlags & { readonly show?: true };

export function defineToken(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('token')
    .summary('hand an access token to another program')
    .description(
      'Writes an access token of a session, renewed if need be, for another program to read from a pipe or a file.\n' +
        'Whoever has it can act as you until it ends, so it is not written onto a screen unless --show asks for that.\n' +
        'A token that is bound to a key (DPoP) is of no use elsewhere, and is refused.',
    )
    .argument('<server-url>', 'address of the protected server')
    .option('--show', 'write it onto the screen too');
  addProgramOptions(addClientOptions(command)).action((serverUrl: string, flags: Flags) =>
    withQuietClient(serverUrl, flags, processContext, async ({ client, terminal }) => {
      if (terminal.outputIsTerminal && !flags.show) {
        throw new CommandFailure(
          exitCodes.usage,
          'A token does not belong on a screen: pass the output on to a program, or add --show',
        );
      }
      terminal.during('Renewing the token');
      // Whoever shows credentials of its own needs nobody to sign in.
      const session = (await client.session()) ?? (flags.application ? await client.signIn() : null);
      const token = session === null ? null : await client.accessToken();
      if (session === null || token === null) throw signInNeeded(serverUrl, flags.account, processContext);
      if (session.scheme === 'DPoP') {
        throw new CommandFailure(
          exitCodes.rules,
          `The token is bound to a key that stays here: use ${processContext.command} call or ${processContext.command} connect`,
        );
      }
      terminal.print(`${token}\n`);
    }),
  );
}
