/** `portcullis logout`: revokes the tokens of a session and forgets them. */
import type { Command } from 'commander';
import { addClientOptions, addJsonOption, addProgramOptions, type ProgramFlags } from '../client/flags.ts';
import { withQuietClient } from '../client/open-client.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson } from '../terminal/clean.ts';

const SENTENCES = {
  revoked: 'Signed out: the tokens are revoked, and forgotten here.',
  forgotten:
    'Signed out here: the tokens are forgotten. The authorization server did not take them back; they end by themselves.',
  no_session: 'There was no session.',
} as const;

export function defineLogout(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('logout')
    .summary('end a session')
    .description(
      'Ends a session: its tokens are revoked where that is possible, and forgotten.\n' +
        'It is the session of the person; with --application and --client-id that of the application, which is revoked where its secret is given too.',
    )
    .argument('<server-url>', 'address of the protected server');
  addJsonOption(addProgramOptions(addClientOptions(command))).action(
    (serverUrl: string, flags: ProgramFlags) =>
      withQuietClient(serverUrl, flags, processContext, async ({ client, terminal }) => {
        terminal.during('Revoking the tokens');
        const outcome = await client.signOut();
        terminal.print(flags.json ? `${cleanJson({ outcome })}\n` : `${SENTENCES[outcome]}\n`);
      }),
  );
}
