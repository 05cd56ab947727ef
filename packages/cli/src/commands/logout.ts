/** `portcullis logout`: revokes the tokens of a session and deletes them. */
import type { Command } from 'commander';
import { addClientOptions, addJsonOption, addProgramOptions, type ProgramFlags } from '../client/flags.ts';
import { withQuietClient } from '../client/open-client.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson } from '../terminal/clean.ts';

const SENTENCES = {
  revoked: 'Signed out: the tokens were revoked and deleted.',
  expired: 'Signed out: the tokens had expired, and were deleted.',
  forgotten:
    'Signed out here: the tokens were deleted. The authorization server did not revoke them; they remain valid until they expire.',
  no_session: 'There was no session.',
} as const;

export function defineLogout(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('logout')
    .summary('end a session')
    .description(
      'Ends a session: revokes its tokens where the authorization server supports that, and deletes them. A session of a client with a secret is revoked only with its --client-id and --client-secret-file.\n' +
        'Ends your own session, or with --application and --client-id that of the application; its tokens are revoked if its secret is given too.',
    )
    .argument('<server-url>', 'URL of the protected server');
  addJsonOption(addProgramOptions(addClientOptions(command))).action(
    (serverUrl: string, flags: ProgramFlags) =>
      withQuietClient(serverUrl, flags, processContext, async ({ client, terminal }) => {
        terminal.during('Revoking the tokens');
        const outcome = await client.signOut();
        terminal.print(flags.json ? `${cleanJson({ outcome })}\n` : `${SENTENCES[outcome]}\n`);
      }),
  );
}
