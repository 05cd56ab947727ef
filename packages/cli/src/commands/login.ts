/** `portcullis login`: signs the user in at a protected server, and prints the session. */
import type { Session } from '@portcullis/client';
import type { Command } from 'commander';
import { addJsonOption, addSignInOptions, type SignInFlags } from '../client/flags.ts';
import { withClient } from '../client/open-client.ts';
import { sessionJson, sessionLines } from '../client/session-text.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson } from '../terminal/clean.ts';
import type { Terminal } from '../terminal/terminal.ts';

type Flags = SignInFlags & { readonly prompt?: string; readonly newRegistration?: true };

export function defineLogin(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('login')
    .summary('sign in at a protected server')
    .description(
      'Signs in at a protected server. Later commands use this session and refresh its tokens automatically.',
    )
    .argument('<server-url>', 'URL of the protected server')
    .option('--prompt <word>', 'value of the prompt parameter, for example select_account')
    .option(
      '--new-registration',
      'register the client again, for a sign-in page that reports an unknown client',
    );
  addJsonOption(addSignInOptions(command)).action((serverUrl: string, flags: Flags) =>
    login(serverUrl, flags, processContext),
  );
}

function login(serverUrl: string, flags: Flags, processContext: ProcessContext): Promise<void> {
  return withClient(serverUrl, flags, processContext, async ({ client, terminal }) => {
    terminal.during('Discovering the authorization server');
    const { prompt, newRegistration } = flags;
    const session = await client.signIn({
      ...(prompt !== undefined && { prompt }),
      ...(newRegistration && { newRegistration: true }),
    });
    show(session, flags, terminal);
  });
}

function show(session: Session, { json }: Flags, terminal: Terminal): void {
  const text = `${terminal.styles.good('Signed in.')}\n${sessionLines(session).join('\n')}\n`;
  terminal.print(json ? `${cleanJson(sessionJson(session))}\n` : text);
}
